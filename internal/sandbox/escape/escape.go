// Package escape tries to break out of a sandbox, in seven ways.
//
// A copy of ohgw itself makes the attempts inside; outside there are canaries that
// notice if one succeeds. Invariant: an attempt that could not be made counts as an
// error, never as refused.
package escape

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	"github.com/ohgw/ohgw/internal/sandbox/escape/attempt"
)

// Supported says that the attempts can be made on this system: they need /proc.
const Supported = runtime.GOOS == "linux"

// Result is how one attempt went.
type Result struct {
	Name    string
	Refused bool
}

// Run makes all attempts in a box of a level with the default policy, with its files
// in the state directory of the user.
func Run(ctx context.Context, level sandbox.Level, u boxes.User) (results []Result, err error) {
	base := filepath.Join(u.State, "sandbox")
	if err := paths.MakePrivate(base); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(base, "test-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c, err := newCanaries(dir)
	if err != nil {
		return nil, err
	}
	defer c.close()
	p, err := boxes.Plan(boxes.User{Home: u.Home, State: dir, Private: append(u.Private, u.State), Environ: u.Environ}, c.workspace)
	if err != nil {
		return nil, err
	}
	box, err := boxes.New(boxes.Config{Level: level, Policy: p})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, box.Close()) }()
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return nil, err
	}
	defer func() { _ = self.Close() }()
	for _, a := range c.attempts() {
		refused, err := try(ctx, box, ownProgram, self, c.workspace, a)
		if err != nil {
			return results, fmt.Errorf("%s: %w", a.name, err)
		}
		results = append(results, Result{Name: a.name, Refused: kept(a, refused)})
	}
	return results, nil
}

// tried is one attempt: what it is called, and the arguments of the program inside.
type tried struct {
	name string
	args []string
	seen func() bool // outside; may be nil
}

// ownProgram is descriptor 3 inside: the path of ohgw may be hidden there.
const ownProgram = "/proc/self/fd/3"

// try makes one attempt, with ohgw itself as descriptor 3.
func try(ctx context.Context, box sandbox.Box, program string, self *os.File, dir string, a tried) (bool, error) {
	running, err := box.Start(ctx, sandbox.Program{
		Args: append([]string{program}, append([]string{attempt.Name}, a.args...)...), Dir: dir,
		Files: []*os.File{nil, nil, nil, self},
	})
	if err != nil {
		return false, err
	}
	stop := context.AfterFunc(ctx, func() { _ = running.Kill() })
	defer stop()
	code, err := running.Wait()
	switch {
	case err != nil:
		return false, err
	case ctx.Err() != nil:
		return false, ctx.Err()
	case code != attempt.Succeeded && code != attempt.Refused:
		return false, fmt.Errorf("the attempt was not made: exit code %d", code)
	}
	return code == attempt.Refused, nil
}

// canaries are what an attempt would reach.
type canaries struct {
	workspace, secret, beside string
	tcp, unix                 net.Listener
	signals                   *signals
}

func newCanaries(dir string) (*canaries, error) {
	c := &canaries{workspace: filepath.Join(dir, "workspace"), secret: filepath.Join(dir, "secret"), beside: filepath.Join(dir, "beside")}
	git := filepath.Join(c.workspace, ".git")
	for _, made := range []string{c.workspace, git, filepath.Join(git, "objects"), filepath.Join(git, "refs")} {
		if err := os.Mkdir(made, 0o700); err != nil {
			return nil, err
		}
	}
	for file, text := range map[string]string{
		c.secret: "canary\n", filepath.Join(git, "HEAD"): "ref: refs/heads/main\n", filepath.Join(git, "config"): "[core]\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	var err error
	if c.tcp, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	// The path of a Unix socket is short; that of the state directory may be long.
	if c.unix, err = net.Listen("unix", "@ohgw-"+rand.Text()); err != nil {
		_ = c.tcp.Close()
		return nil, err
	}
	c.signals = newSignals()
	return c, nil
}

func (c *canaries) close() {
	_ = c.tcp.Close()
	_ = c.unix.Close()
	c.signals.stop()
}

// kept says that nothing outside was reached. Where a canary can tell, the program
// inside is not asked: what it wrote may be in the box's own file system.
func kept(a tried, refused bool) bool {
	if a.seen != nil {
		return !a.seen()
	}
	return refused
}

func (c *canaries) attempts() []tried {
	return []tried{
		{"read a file outside", []string{"read", c.secret}, nil},
		{"write beside the workspace", []string{"write", c.beside}, func() bool { return exists(c.beside) }},
		{"connect to a port of this machine", []string{"connect", "tcp", c.tcp.Addr().String()}, nil},
		{"connect to a Unix socket outside", []string{"connect", "unix", c.unix.Addr().String()}, nil},
		{"make a namespace", []string{"unshare"}, nil},
		{"signal ohgw", []string{"signal", strconv.Itoa(os.Getpid())}, c.signals.came},
		{"redirect git with .git/commondir", []string{"commondir", filepath.Join(c.workspace, ".git", "commondir")}, nil},
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
