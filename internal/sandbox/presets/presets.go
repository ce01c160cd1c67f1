// Package presets lists the hosts that this machine's package managers use.
//
// The tools are asked: what GOPROXY, npm's registry, pip's index, cargo's sources,
// Maven's mirrors and the system's package sources are set to, or what the tool has
// built in. So a mirror that the user has set up is allowed, and the public host that
// it replaces is not. A tool that cannot report what it has built in has one constant
// here, with its source.
//
// Tools are run outside of every sandbox. Invariants: a program or a file of a
// workspace is neither run nor read; no result contains a user name or a password;
// a tool that has answered is not run again, and a failure is not kept. Answers of tools
// are on the disk, too, by the programs and files that they come from.
package presets

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
	"github.com/ohgw/ohgw/internal/subpath"
)

// Config is the world of the tools.
type Config struct {
	// Getenv reads the user's environment.
	Getenv func(string) string
	// Home is the user's home directory.
	Home string
	// Dir is a private directory of ohgw. Each tool runs in an empty directory in it.
	Dir string
	// Cache is a private file for answers; "" keeps them in memory only.
	Cache string
	// Now is for the age of answers; nil is this machine's clock.
	Now func() time.Time
	// Run runs a tool with exactly this environment and returns its output; nil runs
	// it. Args has an absolute path.
	Run func(ctx context.Context, dir string, env, args []string) ([]byte, error)
	// Patience is how long a tool may be idle until callers stop waiting for it; 0: 15 s.
	Patience time.Duration
	// Resolve lists the addresses of a name; nil is this machine's resolver.
	Resolve func(ctx context.Context, name string) ([]netip.Addr, error)
	// Failed is told of each tool that could not be asked, once each time; it may be nil.
	Failed func(error)
	// Root replaces "/" for the files of the system; empty is "/".
	Root string
}

// Asker asks the tools, each until it has answered. Close it.
type Asker struct {
	cfg  Config
	ctx  context.Context // ends with the Asker
	end  context.CancelFunc
	wait sync.WaitGroup

	mu    sync.Mutex
	tools map[string]*asked
}

// New makes an Asker, which has asked nothing yet.
func New(c Config) *Asker {
	if c.Root == "" {
		c.Root = "/"
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Patience == 0 {
		c.Patience = patience
	}
	if c.Failed == nil {
		c.Failed = func(error) {}
	}
	if c.Resolve == nil {
		c.Resolve = resolve
	}
	a := &Asker{cfg: c, tools: map[string]*asked{}}
	a.ctx, a.end = context.WithCancel(context.Background())
	return a
}

// Close ends the tools that are still being asked.
func (a *Asker) Close() {
	a.end()
	a.wait.Wait()
}

// Found is what the tools said.
type Found struct {
	Entries []netpolicy.Entry
	// Env are variables, as NAME=value, that make the tools in a sandbox use the same
	// hosts, because they do not see the user's files there.
	Env []string
	// Problems are tools that could not be asked. Nothing of them is allowed.
	Problems []error
}

// Unknown says why the hosts of a preset are not all known, and what to do about it, as
// the end of a sentence; nil if they are known.
func (f Found) Unknown(preset string) error {
	if len(f.Problems) == 0 {
		return nil
	}
	return fmt.Errorf("a package manager did not list the hosts it uses (%w): try again, or see ohgw sandbox explain @%s", f.Problems[0], preset)
}

// asked is one tool, asked or being asked.
type asked struct {
	preset string
	done   chan struct{}
	found  Found // after done

	late   chan struct{} // closed when it is idle for too long to be waited for
	isLate sync.Once
}

func newAsked(preset string) *asked {
	return &asked{preset: preset, done: make(chan struct{}), late: make(chan struct{})}
}

// tooLate makes all callers stop waiting for the tool. The question continues.
func (a *asked) tooLate() { a.isLate.Do(func() { close(a.late) }) }

// failed reports whether the tool was asked in vain.
func (a *asked) failed() bool {
	select {
	case <-a.done:
		return len(a.found.Problems) > 0
	default:
		return false
	}
}

// packages are the presets in @packages.
var packages = []string{"go", "node", "python", "rust", "java", "system"}

// leaky says how a preset's hosts can carry data out.
var leaky = map[string]string{
	"go":     "a module path that is asked for reaches the server of that path",
	"node":   "packages are published at the same host",
	"github": "a push or a gist with another account's token is possible",
}

// Leak says how data can leave through the hosts of a preset; it is empty for
// presets that only download.
func Leak(preset string) string { return leaky[preset] }

// Workspace is the presets as they are for one workspace.
type Workspace struct {
	Asker *Asker
	// Dirs are the workspace and its like: programs in them are not run.
	Dirs []string
	// Strict refuses the presets through which data can leave.
	Strict bool
}

// Expand lists the entries of a preset, for netpolicy.Config.
func (w Workspace) Expand(ctx context.Context, preset string) ([]netpolicy.Entry, error) {
	found, err := w.Ask(ctx, preset)
	return found.Entries, err
}

// Parts are the presets that a preset consists of: itself, or for @packages and @auto
// those that Strict does not refuse.
func (w Workspace) Parts(preset string) []string {
	switch preset {
	case "packages":
	case "auto":
		return slices.DeleteFunc(w.used(), w.refused)
	default:
		return []string{preset}
	}
	return slices.DeleteFunc(slices.Clone(packages), w.refused)
}

func (w Workspace) refused(preset string) bool { return w.Strict && leaky[preset] != "" }

// Ask finds out what the tools of a preset use. It waits for as long as they need, or
// until ctx ends. One that does nothing for a while is a problem; the question goes on,
// and counts as soon as it is answered. Those that failed before are asked again.
func (w Workspace) Ask(ctx context.Context, preset string) (Found, error) {
	waiting, err := w.start(preset)
	if err != nil {
		return Found{}, err
	}
	var all Found
	for _, a := range waiting {
		select {
		case <-a.done:
			all.add(a.found)
		case <-a.late:
			select {
			case <-a.done:
				all.add(a.found)
			default:
				all.Problems = append(all.Problems, &lateError{a, w.Asker.cfg.Patience})
			}
		case <-ctx.Done():
			return Found{}, ctx.Err()
		}
	}
	return all, nil
}

// lateError says that a tool is not waited for any longer.
type lateError struct {
	asked    *asked
	patience time.Duration
}

func (e *lateError) Error() string {
	return fmt.Sprintf("@%s: no answer yet after %v", e.asked.preset, e.patience)
}

// Answered is closed when the tool has answered, for [netpolicy.Later].
func (e *lateError) Answered() <-chan struct{} { return e.asked.done }

var _ netpolicy.Later = (*lateError)(nil)

// Begin asks the tools of a preset, and does not wait for them. Those that failed
// before are asked again.
func (w Workspace) Begin(preset string) {
	_, _ = w.start(preset) // Ask has the same error
}

// Known collects what the tools of a preset have said so far. Nothing is asked.
func (w Workspace) Known(preset string) Found {
	var all Found
	names := w.Parts(preset)
	w.Asker.mu.Lock()
	defer w.Asker.mu.Unlock()
	for _, name := range names {
		known := w.Asker.tools[w.key(name)]
		if known == nil {
			continue
		}
		select {
		case <-known.done:
			all.add(known.found)
		default:
		}
	}
	return all
}

func (f *Found) add(more Found) {
	f.Entries = append(f.Entries, more.Entries...)
	f.Env = append(f.Env, more.Env...)
	f.Problems = append(f.Problems, more.Problems...)
}

// start asks the tools of a preset that have not answered yet.
func (w Workspace) start(preset string) (waiting []*asked, err error) {
	for _, name := range w.Parts(preset) {
		if w.refused(name) {
			return nil, fmt.Errorf("sandbox.strict refuses @%s, because %s: allow single hosts", name, leaky[name])
		}
		known, err := w.startOne(name)
		if err != nil {
			return nil, err
		}
		waiting = append(waiting, known)
	}
	return waiting, nil
}

// startOne asks one tool. Others wait for the same answer, so the question does not end
// with the context of the first.
func (w Workspace) startOne(name string) (*asked, error) {
	if questions[name] == nil {
		return nil, fmt.Errorf("@%s is not a preset", name)
	}
	path, key := w.path(), w.key(name)
	a := w.Asker
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.tools[key]
	if known != nil && !known.failed() {
		return known, nil
	}
	q := &question{asker: a, preset: name, path: path}
	of := q.stamp()
	kept, old, ok := a.recall(key, of)
	if !ok {
		known = newAsked(name)
		a.tools[key] = known
		a.wait.Go(func() { a.ask(key, of, known, q) })
		return known, nil
	}
	known = newAsked(name)
	known.found = kept
	close(known.done)
	a.tools[key] = known
	if old {
		a.wait.Go(func() {
			again := newAsked(name)
			a.ask(key, of, again, q)
			if a.ctx.Err() == nil && !again.failed() {
				a.mu.Lock()
				defer a.mu.Unlock()
				a.tools[key] = again
			}
		})
	}
	return known, nil
}

// ask asks one tool, and keeps what it says.
func (a *Asker) ask(key, of string, known *asked, q *question) {
	defer close(known.done)
	q.late = known.tooLate
	questions[q.preset](a.ctx, q)
	known.found = q.found
	if a.ctx.Err() != nil {
		return
	}
	for _, problem := range q.found.Problems {
		a.cfg.Failed(problem)
	}
	if len(q.found.Problems) == 0 {
		a.keep(key, of, q.found)
	}
}

// key is what an answer depends on.
func (w Workspace) key(name string) string { return name + "\x00" + strings.Join(w.path(), "\x00") }

// path are the directories in which programs are looked for: absolute ones that do
// not belong to a project, whose programs the agent could have replaced.
func (w Workspace) path() []string {
	var dirs []string
	for _, dir := range filepath.SplitList(w.Asker.cfg.Getenv("PATH")) {
		if filepath.IsAbs(dir) && !w.inside(dir) && !projects(dir) {
			dirs = append(dirs, filepath.Clean(dir))
		}
	}
	return dirs
}

// inside reports whether a path is in the workspace, also behind links.
func (w Workspace) inside(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	for _, dir := range w.Dirs {
		realDir, err := filepath.EvalSymlinks(dir)
		if err != nil {
			realDir = dir
		}
		for _, p := range []string{filepath.Clean(path), real} {
			if subpath.Within(dir, p) || subpath.Within(realDir, p) {
				return true
			}
		}
	}
	return false
}

// projects reports whether a directory has the programs of a project: those of a
// virtual environment, or of npm's packages.
func projects(dir string) bool {
	_, err := os.Stat(filepath.Join(filepath.Dir(dir), "pyvenv.cfg"))
	return err == nil || slices.Contains(strings.Split(filepath.ToSlash(dir), "/"), "node_modules")
}

// manifests are the files by which @auto recognises what a workspace uses.
var manifests = map[string][]string{
	"go":     {"go.mod", "go.work"},
	"node":   {"package.json"},
	"python": {"pyproject.toml", "requirements.txt", "setup.py", "setup.cfg", "Pipfile"},
	"rust":   {"Cargo.toml"},
	"java":   {"pom.xml", "build.gradle", "build.gradle.kts"},
}

// used are the presets for the manifests in the workspace and in its directories.
// Only their names count; nothing is read.
func (w Workspace) used() []string {
	var names []string
	for _, name := range packages {
		if slices.ContainsFunc(manifests[name], w.has) {
			names = append(names, name)
		}
	}
	return names
}

func (w Workspace) has(file string) bool {
	for _, dir := range w.Dirs {
		for _, pattern := range []string{file, "*/" + file} {
			if found, err := fs.Glob(os.DirFS(dir), pattern); err == nil && len(found) > 0 {
				return true
			}
		}
	}
	return false
}

// errNotThere is a tool that this machine does not have.
var errNotThere = errors.New("not installed")
