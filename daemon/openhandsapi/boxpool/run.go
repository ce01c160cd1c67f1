package boxpool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/ohgw/ohgw/daemon/openhandsapi/git"
	"github.com/ohgw/ohgw/daemon/openhandsapi/shell"
	"github.com/ohgw/ohgw/internal/bounded"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// Limits of git.
const (
	gitTime   = 30 * time.Second
	gitOutput = 32 << 20 // bytes
	// scriptTime is how long a script may take: it reads a whole workspace.
	scriptTime = 5 * time.Minute
)

// env is the environment of programs in a box.
func (pool *Pool) env(box sandbox.Box) []string {
	if level := box.Level(); level == sandbox.Off || level == sandbox.External {
		return slices.Clip(pool.Clean)
	}
	return sandbox.EnvironOf(box, pool.Environ)
}

// Git runs git in the box of a directory.
func (pool *Pool) Git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	out := &bounded.Head{Max: gitOutput, Full: func() error { return fmt.Errorf("it prints more than %d MiB", gitOutput>>20) }}
	err := pool.print(ctx, dir, out, append([]string{"git", "--no-pager"}, args...)...)
	return out.Bytes(), err
}

// Shell runs a script of the shell in the box of a directory.
func (pool *Pool) Shell(ctx context.Context, dir string, out io.Writer, script string, args ...string) error {
	if runtime.GOOS == "windows" {
		return git.ErrNoShell
	}
	ctx, cancel := context.WithTimeout(ctx, scriptTime)
	defer cancel()
	return pool.print(ctx, dir, out, append([]string{"/bin/sh", "-c", script, "sh"}, args...)...)
}

// print runs a program in the box of a directory. Git does not prompt in it.
func (pool *Pool) print(ctx context.Context, dir string, out io.Writer, args ...string) error {
	box, at, release, err := pool.hold(ctx, dir)
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
		Env: append(pool.env(box.Box), "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0"),
	})
	_ = w.Close()
	if err != nil {
		return commandError(err, at)
	}
	stop := context.AfterFunc(ctx, func() {
		_ = p.Kill()
		_ = r.Close() // another process may hold the other end
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

// Commands are the shell commands of the API.
func (pool *Pool) Commands(now func() time.Time, log *slog.Logger) *shell.Shell {
	return shell.New(shell.Config{Dir: filepath.Join(pool.Dir, "bash_events"), Starter: pool, Now: now, Logger: log})
}

// Start starts a command in the box of a directory.
func (pool *Pool) Start(ctx context.Context, command, dir string, stdout, stderr *os.File) (shell.Process, error) {
	box, at, release, err := pool.hold(ctx, dir)
	if err != nil {
		return nil, err
	}
	p, err := box.Start(ctx, sandbox.Program{Args: shellArgs(command), Env: pool.env(box.Box), Dir: at, Files: []*os.File{nil, stdout, stderr}})
	if err != nil {
		release()
		return nil, commandError(err, at)
	}
	return &process{p, release}, nil
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

// process keeps its box until it has ended.
type process struct {
	sandbox.Process

	release func()
}

// Wait waits for the command.
func (c *process) Wait() (int, error) {
	defer c.release()
	return c.Process.Wait()
}
