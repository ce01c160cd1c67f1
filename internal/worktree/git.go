package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ohgw/ohgw/internal/bounded"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// Limits of what git prints, in bytes.
const (
	maxOutput = 64 << 20
	maxErrors = 4 << 10
)

// shop is where git runs: a box and the directory that is its workspace.
type shop struct {
	box sandbox.Box
	env []string
	dir string
}

// open opens the box of a directory.
func (t Tree) open(ctx context.Context, dir string, shown ...string) (*shop, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	box, env, err := t.Box(ctx, real, shown...)
	if err != nil {
		return nil, err
	}
	env = append(slices.Clip(env), "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
	return &shop{box: box, env: env, dir: real}, nil
}

// gitError says that git has failed.
type gitError struct {
	command string
	code    int
	said    string
}

func (e *gitError) Error() string {
	return fmt.Sprintf("git %s: exit code %d: %s", e.command, e.code, e.said)
}

// settings are those that count for each command. Nothing that a repository sets up is run,
// and nothing of it is tidied up.
func settings() []string {
	var args []string
	for _, s := range []string{
		"core.hooksPath=" + os.DevNull, "core.fsmonitor=false", "gc.auto=0", "maintenance.auto=false", "commit.gpgSign=false",
		"fetch.writeCommitGraph=false", "fetch.recurseSubmodules=false", "submodule.recurse=false", "protocol.file.allow=always",
	} {
		args = append(args, "-c", s)
	}
	return args
}

// git runs git in the box, and returns what it prints, without white space around it.
func (s *shop) git(ctx context.Context, args ...string) (string, error) {
	out, said := &bounded.Head{Max: maxOutput}, &bounded.Tail{Max: maxErrors}
	code, err := s.run(ctx, slices.Concat([]string{"git", "--no-pager"}, settings(), args), out, said)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", &Error{Msg: "git is not installed where agents find programs", Err: err}
	case err != nil:
		return "", fmt.Errorf("git %s: %w", args[0], err)
	case code != 0:
		return "", &gitError{command: args[0], code: code, said: said.String()}
	}
	return strings.TrimSpace(string(out.Bytes())), nil
}

// run runs a program in the box. The end of ctx ends it.
func (s *shop) run(ctx context.Context, args []string, outputs ...io.Writer) (code int, err error) {
	files := []*os.File{nil}
	var readers []*os.File
	closeAll := func(list []*os.File) {
		for _, f := range list {
			_ = f.Close() // nothing was written by this handle
		}
	}
	for range outputs {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(append(readers, files[1:]...))
			return 0, err
		}
		readers, files = append(readers, r), append(files, w)
	}
	defer closeAll(readers)
	p, err := s.box.Start(ctx, sandbox.Program{Args: args, Dir: s.dir, Env: s.env, Files: files})
	closeAll(files[1:])
	if err != nil {
		return 0, err
	}
	stop := context.AfterFunc(ctx, func() {
		_ = p.Kill()
		closeAll(readers) // another process may hold the other ends
	})
	defer stop()
	var copies sync.WaitGroup
	for i, out := range outputs {
		copies.Go(func() { _, _ = io.Copy(out, readers[i]) }) // A pipe that is closed here ends it.
	}
	code, err = p.Wait()
	err = errors.Join(err, p.Kill())
	copies.Wait()
	if ctx.Err() != nil {
		return code, ctx.Err()
	}
	return code, err
}

// yes asks git a question that it answers by its exit code; an error is a no.
func (s *shop) yes(ctx context.Context, args ...string) bool {
	_, err := s.git(ctx, args...)
	return err == nil
}

// branches finds the commits of the branches that there are of some.
func (s *shop) branches(ctx context.Context, names []string) (map[string]string, error) {
	args := []string{"for-each-ref", "--format=%(objectname) %(refname)"}
	for _, name := range names {
		args = append(args, heads+name)
	}
	out, err := s.git(ctx, args...)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for line := range strings.Lines(out) {
		commit, ref, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name := strings.TrimPrefix(ref, heads); slices.Contains(names, name) {
			found[name] = commit
		}
	}
	return found, nil
}

func (s *shop) close() error { return s.box.Close() }
