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
// nothing is run twice.
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
)

// Config is the world of the tools.
type Config struct {
	// Getenv reads the user's environment.
	Getenv func(string) string
	// Home is the user's home directory.
	Home string
	// Dir is a private directory of ohgw. Each tool runs in an empty directory in it.
	Dir string
	// Run runs a tool with exactly this environment and returns its output; nil runs
	// it. Args has an absolute path.
	Run func(ctx context.Context, dir string, env, args []string) ([]byte, error)
	// Resolve lists the addresses of a name; nil is this machine's resolver.
	Resolve func(ctx context.Context, name string) ([]netip.Addr, error)
	// Limit is for one tool; zero is 15 s.
	Limit time.Duration
	// Root replaces "/" for the files of the system; empty is "/".
	Root string
}

// Asker asks the tools, each once. Close it.
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
	if c.Limit == 0 {
		c.Limit = 15 * time.Second
	}
	if c.Root == "" {
		c.Root = "/"
	}
	if c.Run == nil {
		c.Run = run
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

// asked is one tool, asked or being asked.
type asked struct {
	done  chan struct{}
	found Found // after done
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

// Expand lists the entries of a preset, for netpolicy.Config. @packages and @auto
// leave out what Strict refuses.
func (w Workspace) Expand(ctx context.Context, preset string) ([]netpolicy.Entry, error) {
	found, err := w.Ask(ctx, preset)
	return found.Entries, err
}

// Ask is Expand with all that was found.
func (w Workspace) Ask(ctx context.Context, preset string) (Found, error) {
	names := []string{preset}
	switch preset {
	case "packages":
		names = packages
	case "auto":
		names = w.used()
	default:
		if why := leaky[preset]; w.Strict && why != "" {
			return Found{}, fmt.Errorf("sandbox.strict refuses @%s, because %s: allow single hosts", preset, why)
		}
	}
	var waiting []*asked
	for _, name := range names {
		if !w.Strict || leaky[name] == "" {
			a, err := w.start(name)
			if err != nil {
				return Found{}, err
			}
			waiting = append(waiting, a)
		}
	}
	var all Found
	for _, a := range waiting {
		select {
		case <-a.done:
			all.Entries = append(all.Entries, a.found.Entries...)
			all.Env = append(all.Env, a.found.Env...)
			all.Problems = append(all.Problems, a.found.Problems...)
		case <-ctx.Done():
			return Found{}, ctx.Err()
		}
	}
	return all, nil
}

// start asks one tool, if that was not done yet. Others wait for the same answer,
// so the question does not end with the context of the first.
func (w Workspace) start(name string) (*asked, error) {
	ask := questions[name]
	if ask == nil {
		return nil, fmt.Errorf("@%s is not a preset", name)
	}
	path := w.path()
	a := w.Asker
	a.mu.Lock()
	defer a.mu.Unlock()
	key := name + "\x00" + strings.Join(path, "\x00")
	known := a.tools[key]
	if known == nil {
		known = &asked{done: make(chan struct{})}
		a.tools[key] = known
		a.wait.Go(func() {
			defer close(known.done)
			q := &question{asker: a, preset: name, path: path}
			ask(a.ctx, q)
			known.found = q.found
		})
	}
	return known, nil
}

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
			if below(p, dir) || below(p, realDir) {
				return true
			}
		}
	}
	return false
}

func below(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
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
