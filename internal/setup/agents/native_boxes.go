package agents

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/daemon/native/files"
	"github.com/ohgw/ohgw/daemon/native/git"
	"github.com/ohgw/ohgw/daemon/native/shell"
	"github.com/ohgw/ohgw/daemon/native/wire"
	"github.com/ohgw/ohgw/internal/bounded"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	"github.com/ohgw/ohgw/internal/sandbox/manager"
	"github.com/ohgw/ohgw/internal/subpath"
	"github.com/ohgw/ohgw/internal/workdir"
)

// maxAPIBoxes is how many boxes are kept in which nothing was asked for just now.
const maxAPIBoxes = 16

// apiBoxes are where OpenHands' own API works for its clients beside conversations:
// a box for each workspace, with the rights of a conversation there. A path belongs to
// the workspace that all conversations share (--workspace); else to the git repository
// that it is in; else to its directory. What no box may have for a workspace, such as
// /etc, is seen from the box of the API's own directory.
type apiBoxes struct {
	manager *manager.Manager
	dir     string // of the API in the state directory
	only    string // the one workspace that there may be; "" for any
	home    string // of the user
	environ []string

	mu     sync.Mutex
	open   map[string]*apiBox // by workspace
	uses   int
	closed bool
}

// apiBox is the box of a workspace.
type apiBox struct {
	sandbox.Box

	workspace string
	users     int
	used      int // the number of the newest use

	mu    sync.Mutex
	files map[string]sandbox.Streams // by the directory to which they are confined; "" is none
}

// newAPIBoxes makes them. Dir is made when it is needed.
func newAPIBoxes(m *manager.Manager, dir, only, home string, environ []string) *apiBoxes {
	return &apiBoxes{manager: m, dir: dir, only: only, home: home, environ: environ, open: map[string]*apiBox{}}
}

// outsideError says why no box shows a path.
type outsideError struct{ why string }

func (e *outsideError) Error() string { return e.why }

// Unwrap says what kind of error it is.
func (e *outsideError) Unwrap() error { return sandbox.ErrOutside }

// hold gives the box for a path until release is called. A relative path, and "", is
// below the API's own directory, or the one workspace.
func (b *apiBoxes) hold(ctx context.Context, path string) (box *apiBox, at string, release func(), err error) {
	base := b.only
	if base == "" {
		base = filepath.Join(b.dir, "workspace")
		if err := paths.MakePrivate(base); err != nil {
			return nil, "", nil, err
		}
	}
	at = filepath.Clean(path)
	if !filepath.IsAbs(path) {
		at = filepath.Join(base, path)
	}
	dir, at, err := locate(at)
	if err != nil {
		return nil, "", nil, err
	}
	workspace, err := b.workspaceOf(dir, base)
	if err != nil {
		return nil, "", nil, err
	}
	box, idle, err := b.enter(ctx, workspace)
	if err != nil {
		return nil, "", nil, err
	}
	if idle != nil {
		err = idle.Close()
	}
	return box, at, sync.OnceFunc(func() { b.leave(box) }), err
}

// workspaceOf is the workspace of a directory, which has no links; nor has the result.
func (b *apiBoxes) workspaceOf(dir, base string) (string, error) {
	base, err := filepath.EvalSymlinks(base)
	if err != nil {
		return "", err
	}
	switch {
	case subpath.Within(b.realWorktrees(), dir):
		return b.worktreeAt(dir), nil
	case b.only != "" && !subpath.Within(base, dir):
		return "", &outsideError{dir + " is outside of " + b.only + ", where all conversations of this ohgw work (ohgw serve --workspace)"}
	case b.only != "" || subpath.Within(base, dir):
		return base, nil
	}
	for up := range subpath.Up(dir) {
		if _, err := os.Lstat(filepath.Join(up, ".git")); err == nil && b.manager.Check(up) == nil {
			return up, nil
		}
	}
	err = b.manager.Check(dir)
	if home, ok := errors.AsType[*boxes.HomeError](err); ok && subpath.Within(home.Home, dir) {
		return "", &outsideError{"the sandbox keeps clients out of your home directory; name a directory of one project in it"}
	}
	if err != nil {
		return base, nil // it cannot be a workspace, so another one is it
	}
	return dir, nil
}

// locate is the innermost directory of a path that exists, and the path; neither has a
// link, but what is at the path may be one to a file.
func locate(path string) (dir, at string, err error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		if info, err := os.Stat(real); err != nil || info.IsDir() {
			return real, real, err
		}
	}
	up, rest := filepath.Dir(path), filepath.Base(path)
	for {
		real, err := filepath.EvalSymlinks(up)
		if err == nil {
			dir = real
			if info, err := os.Stat(real); err == nil && !info.IsDir() {
				dir = filepath.Dir(real)
			}
			return dir, filepath.Join(real, rest), nil
		}
		if up == filepath.Dir(up) || !workdir.Missing(err) {
			return "", "", err
		}
		up, rest = filepath.Dir(up), filepath.Join(filepath.Base(up), rest)
	}
}

// enter finds or makes the box of a workspace. One that is idle has to be closed if
// there are many.
func (b *apiBoxes) enter(ctx context.Context, workspace string) (box, idle *apiBox, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, nil, sandbox.ErrClosed
	}
	box = b.open[workspace]
	if box == nil {
		if box, err = b.make(ctx, workspace); err != nil {
			return nil, nil, err
		}
		b.open[workspace] = box
		idle = b.oldest()
	}
	b.uses++
	box.users, box.used = box.users+1, b.uses
	return box, idle, nil
}

func (b *apiBoxes) make(ctx context.Context, workspace string) (*apiBox, error) {
	sum := sha256.Sum256([]byte(workspace))
	name := hex.EncodeToString(sum[:8])
	box, err := b.manager.Box(ctx, manager.Env{Conversation: "api-" + name, Dir: filepath.Join(b.dir, "boxes", name), Workspace: workspace})
	return &apiBox{Box: box, workspace: workspace, files: map[string]sandbox.Streams{}}, err
}

// maxConfined is how many directories of one box have access of their own.
const maxConfined = 16

// streams is access to the files of the box, which is opened once.
func (b *apiBox) streams(confined string) (sandbox.Streams, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if found := b.files[confined]; found != nil {
		return found, nil
	}
	if len(b.files) > maxConfined {
		return nil, errors.New("too many directories of one workspace are served at the same time")
	}
	dir := confined
	if dir == "" {
		dir = b.workspace
	}
	files, err := sandbox.StreamsOf(b.Box, dir, confined != "")
	if err == nil {
		b.files[confined] = files
	}
	return files, err
}

// Close ends what runs in the box.
func (b *apiBox) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for _, files := range b.files {
		errs = append(errs, files.Close())
	}
	return errors.Join(append(errs, b.Box.Close())...)
}

// oldest takes out the box that was idle the longest, if there are too many.
func (b *apiBoxes) oldest() *apiBox {
	if len(b.open) <= maxAPIBoxes {
		return nil
	}
	var found *apiBox
	for _, box := range b.open {
		if box.users == 0 && box.used > 0 && (found == nil || box.used < found.used) {
			found = box
		}
	}
	if found != nil {
		delete(b.open, found.workspace)
	}
	return found
}

func (b *apiBoxes) leave(box *apiBox) {
	b.mu.Lock()
	defer b.mu.Unlock()
	box.users--
}

// Close ends what runs in the boxes.
func (b *apiBoxes) Close() error {
	b.mu.Lock()
	b.closed = true
	open := b.open
	b.open = nil
	b.mu.Unlock()
	var errs []error
	for _, box := range open {
		errs = append(errs, box.Close())
	}
	return errors.Join(errs...)
}

// env is the environment of programs in a box.
func (b *apiBoxes) env(box sandbox.Box) []string {
	if level := box.Level(); level == sandbox.Off || level == sandbox.External {
		return tool.CleanEnvironment(b.environ, nil)
	}
	return sandbox.EnvironOf(box, b.environ)
}

// routes are those of files.
func (b *apiBoxes) routes(conversations control.Engine, log *slog.Logger) []wire.Route {
	return append(git.Routes(git.Config{Boxes: b}), files.Routes(files.Config{
		Boxes: b, Home: b.home, Only: b.only, Logger: log,
		Workspace: func(ctx context.Context, id string) (string, error) {
			record, err := conversations.Record(ctx, id)
			if err != nil {
				return "", err
			}
			var state struct {
				Workspace struct {
					Dir string `json:"working_dir"`
				} `json:"workspace"`
			}
			if err := json.Unmarshal(record.State, &state); err != nil {
				return "", fmt.Errorf("read the state of conversation %s: %w", id, err)
			}
			return state.Workspace.Dir, nil
		},
	})...)
}

// Limits of git.
const (
	gitTime   = 30 * time.Second
	gitOutput = 32 << 20 // bytes
	// scriptTime is how long a script may take: it reads a whole workspace.
	scriptTime = 5 * time.Minute
)

// Git runs git in the box of a directory.
func (b *apiBoxes) Git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	out := &bounded.Head{Max: gitOutput, Full: func() error { return fmt.Errorf("it prints more than %d MiB", gitOutput>>20) }}
	err := b.print(ctx, dir, out, append([]string{"git", "--no-pager"}, args...)...)
	return out.Bytes(), err
}

// Shell runs a script of the shell in the box of a directory.
func (b *apiBoxes) Shell(ctx context.Context, dir string, out io.Writer, script string, args ...string) error {
	if runtime.GOOS == "windows" {
		return git.ErrNoShell
	}
	ctx, cancel := context.WithTimeout(ctx, scriptTime)
	defer cancel()
	return b.print(ctx, dir, out, append([]string{"/bin/sh", "-c", script, "sh"}, args...)...)
}

// print runs a program, in which git asks nobody, in the box of a directory.
func (b *apiBoxes) print(ctx context.Context, dir string, out io.Writer, args ...string) error {
	box, at, release, err := b.hold(ctx, dir)
	if err != nil {
		return err
	}
	defer release()
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	p, err := box.Start(ctx, sandbox.Program{
		Args: args, Dir: at, Files: []*os.File{nil, w},
		Env: append(b.env(box.Box), "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0"),
	})
	_ = w.Close()
	if err != nil {
		return commandError(err, at)
	}
	stop := context.AfterFunc(ctx, func() {
		_ = p.Kill()
		_ = r.Close() // somebody else may hold the other end
	})
	defer stop()
	_, err = io.Copy(out, r)
	if err != nil {
		err = errors.Join(err, p.Kill())
	}
	code, waitErr := p.Wait()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", args[0], ctx.Err())
	case err != nil || waitErr != nil:
		return errors.Join(err, waitErr)
	case code != 0:
		return &sandbox.ExitError{Code: code}
	}
	return nil
}

// Files is access to the files around a path.
func (b *apiBoxes) Files(ctx context.Context, path string) (streams sandbox.Streams, at string, release func(), err error) {
	box, at, release, err := b.hold(ctx, path)
	if err != nil {
		return nil, "", nil, err
	}
	confined := ""
	if b.only != "" {
		confined = box.workspace
	}
	if streams, err = box.streams(confined); err != nil {
		release()
		return nil, "", nil, err
	}
	return streams, at, release, nil
}

// Below is access to a directory and what is in it.
func (b *apiBoxes) Below(ctx context.Context, dir string) (streams sandbox.Streams, root string, release func(), err error) {
	box, at, release, err := b.hold(ctx, dir)
	if err != nil {
		return nil, "", nil, err
	}
	if streams, err = box.streams(at); err != nil {
		release()
		return nil, "", nil, err
	}
	return streams, at, release, nil
}

// MakeDir makes a directory. In the user's home directory, where no box may work, ohgw
// makes what is not hidden: it is a workspace to be, as those of new conversations.
func (b *apiBoxes) MakeDir(ctx context.Context, path string) error {
	streams, at, release, err := b.Files(ctx, path)
	if err == nil {
		defer release()
		return streams.MakeDir(at)
	}
	if _, at, locateErr := locate(path); locateErr == nil && b.only == "" && errors.Is(err, sandbox.ErrOutside) {
		home, homeErr := filepath.EvalSymlinks(b.home)
		rel, ok := subpath.Rel(home, at)
		if homeErr == nil && ok && !strings.Contains("/"+filepath.ToSlash(rel), "/.") {
			return os.MkdirAll(at, 0o750)
		}
	}
	return err
}

// commands are the shell commands of the API.
func (b *apiBoxes) commands(now func() time.Time, log *slog.Logger) *shell.Shell {
	return shell.New(shell.Config{Dir: filepath.Join(b.dir, "bash_events"), Starter: b, Now: now, Logger: log})
}

// Start starts a command in the box of a directory.
func (b *apiBoxes) Start(ctx context.Context, command, dir string, stdout, stderr *os.File) (shell.Process, error) {
	box, at, release, err := b.hold(ctx, dir)
	if err != nil {
		return nil, err
	}
	p, err := box.Start(ctx, sandbox.Program{Args: shellArgs(command), Env: b.env(box.Box), Dir: at, Files: []*os.File{nil, stdout, stderr}})
	if err != nil {
		release()
		return nil, commandError(err, at)
	}
	return &apiCommand{p, release}, nil
}

// commandError says of a directory that is not there that it is not: the box names the
// program.
func commandError(err error, dir string) error {
	if info, statErr := os.Stat(dir); statErr == nil && !info.IsDir() {
		return fmt.Errorf("%s is not a directory", dir)
	} else if errors.Is(statErr, fs.ErrNotExist) {
		return fmt.Errorf("there is no directory %s", dir)
	}
	return err
}

func shellArgs(command string) []string {
	if runtime.GOOS == "windows" {
		return []string{"cmd.exe", "/c", command}
	}
	return []string{"/bin/sh", "-c", command}
}

// apiCommand keeps its box until it has ended.
type apiCommand struct {
	sandbox.Process

	release func()
}

// Wait waits for the command.
func (c *apiCommand) Wait() (int, error) {
	defer c.release()
	return c.Process.Wait()
}
