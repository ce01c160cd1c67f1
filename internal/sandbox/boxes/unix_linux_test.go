package boxes_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ohgw/ohgw/internal/sandbox/boxes"
)

// unixInside makes Unix sockets where programs can write, and connects to them.
func unixInside(string) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	for _, at := range []string{"relative", filepath.Join(dir, "absolute"), filepath.Join(os.Getenv("HOME"), "s"), filepath.Join(os.Getenv("TMPDIR"), "s")} {
		for _, network := range []string{"unix", "unixpacket"} {
			if err := unixEcho(network, at); err != nil {
				return fmt.Errorf("%s %s: %w", network, at, err)
			}
		}
	}
	// The mode is what the program wants.
	old := unix.Umask(0o177)
	ln, err := net.Listen("unix", "private")
	unix.Umask(old)
	if err != nil {
		return err
	}
	defer ln.Close()
	if info, err := os.Stat("private"); err != nil || info.Mode().Perm() != 0o600 {
		return fmt.Errorf("%v, %w", info.Mode(), err)
	}
	// The path of a socket stays in use, also when no process listens at it.
	if _, err := net.Listen("unix", "private"); !errors.Is(err, unix.EADDRINUSE) {
		return fmt.Errorf("again: %w", err)
	}
	return nil
}

func unixEcho(network, at string) error {
	ln, err := net.Listen(network, at)
	if err != nil {
		return err
	}
	if name := ln.Addr().String(); name != at {
		return fmt.Errorf("it is called %s", name)
	}
	go func() {
		for conn, err := ln.Accept(); err == nil; conn, err = ln.Accept() {
			_, _ = conn.Write([]byte("tea"))
			conn.Close()
		}
	}()
	link := at + ".link"
	if err := os.Symlink(filepath.Base(at), link); err != nil {
		return err
	}
	for _, to := range []string{at, link} {
		conn, err := net.Dial(network, to)
		if err != nil {
			return err
		}
		got := make([]byte, 3)
		if _, err := io.ReadFull(conn, got); err != nil || string(got) != "tea" {
			return fmt.Errorf("%q, %w", got, err)
		}
		conn.Close()
	}
	ln.Close() // It removes the file.
	if conn, err := net.Dial(network, at); err == nil {
		return fmt.Errorf("connected to %s, which is closed", conn.RemoteAddr())
	}
	return os.Remove(link)
}

// reachInside tries to get out of the box by Unix sockets. The outside is a directory
// with a listener, which also is in the workspace, as "guest".
func reachInside(outside string) error {
	canary := filepath.Join(outside, "canary")
	if err := errors.Join(os.Symlink(canary, "to-canary"), os.Symlink(outside, "to-outside"), os.Symlink(filepath.Join(outside, "made"), "to-made")); err != nil {
		return err
	}
	var open []error
	for _, at := range []string{canary, "to-canary", "to-outside/canary", "guest", "@" + outside, "/proc/self/root" + canary, "/proc/1/root" + canary} {
		if conn, err := net.Dial("unix", at); err == nil {
			open = append(open, errors.New("connected to "+at))
			conn.Close()
		}
	}
	for _, at := range []string{filepath.Join(outside, "made"), "to-outside/made", "@abstract", "", "/tmp/made-by-a-box", "../made"} {
		if ln, err := net.Listen("unix", at); err == nil {
			open = append(open, errors.New("made "+at))
			ln.Close()
		}
	}
	if ln, err := net.Listen("unix", "to-made"); err == nil { // a link that leads nowhere
		open = append(open, errors.New("made what a link leads to"))
		ln.Close()
	}
	return errors.Join(append(open, swapUnix(canary))...)
}

// swapUnix exchanges a listener of the box for a link to the canary, and a directory
// for a link to that of the canary, all the time.
func swapUnix(canary string) error {
	ln, err := net.Listen("unix", "own")
	if err != nil {
		return err
	}
	defer ln.Close()
	if err := errors.Join(os.Mkdir("dir", 0o700), os.Symlink(canary, "own-evil"), os.Symlink(filepath.Dir(canary), "dir-evil")); err != nil {
		return err
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, name := range []string{"own", "dir"} {
				_ = unix.Renameat2(unix.AT_FDCWD, name, unix.AT_FDCWD, name+"-evil", unix.RENAME_EXCHANGE)
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	for range 200 {
		if conn, err := net.Dial("unix", "own"); err == nil {
			conn.Close()
		}
		if made, err := net.Listen("unix", "dir/made"); err == nil {
			made.Close()
		}
	}
	return nil
}

func TestReducedUnixSockets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, reduced)
	if out, code := w.inside("unix"); code != 0 {
		t.Error(out)
	}
}

// Programs of level reduced neither reach the sockets of others, nor make files by
// sockets where they cannot write.
func TestReducedUnixSocketsOfOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, reduced)
	outside, err := os.MkdirTemp("", "o")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(outside) })
	canary := listenUnix(t, filepath.Join(outside, "canary"))
	abstract := listenUnix(t, "@"+outside)
	// The user's own, in the workspace.
	guest := listenUnix(t, filepath.Join(outside, "guest"))
	if err := os.Rename(filepath.Join(outside, "guest"), filepath.Join(w.workspace, "guest")); err != nil {
		t.Skip(err) // another file system
	}
	if out, code := w.inside("reach " + outside); code != 0 {
		t.Error(out)
	}
	for _, ln := range []*net.UnixListener{canary, abstract, guest} {
		nobodyCame(t, ln)
	}
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 1 {
		t.Errorf("the entries: %v, %v", entries, err)
	}
}

// A socket that the user allows can be reached.
func TestReducedAllowedSocket(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "o")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "agent")
	ln := listenUnix(t, at)
	w := newWorld(t, reduced, func(_ *world, c *boxes.Config) { c.Policy.Read = append(c.Policy.Read, at) })
	go func() {
		for conn, err := ln.Accept(); err == nil; conn, err = ln.Accept() {
			_, _ = io.WriteString(conn, "the agent")
			conn.Close()
		}
	}()
	if out, code := w.inside("dialunix " + at); out != "the agent" {
		t.Errorf("exit code %d: %s", code, out)
	}
}

func listenUnix(t *testing.T, at string) *net.UnixListener {
	t.Helper()
	ln, err := net.Listen("unix", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return ln.(*net.UnixListener)
}
