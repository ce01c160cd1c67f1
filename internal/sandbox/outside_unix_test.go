//go:build unix

package sandbox_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/ohgw/ohgw/internal/sandbox"
)

func outside(t *testing.T) sandbox.Box {
	t.Helper()
	box := sandbox.Outside(sandbox.Off, sandbox.Mark{})
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	return box
}

// start starts a shell command whose stdout can be read.
func start(t *testing.T, box sandbox.Box, command string, files ...*os.File) (sandbox.Process, *bufio.Reader) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	p, err := box.Start(t.Context(), sandbox.Program{
		Args: []string{"sh", "-c", command}, Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: t.TempDir(), Files: append([]*os.File{nil, w}, files...),
	})
	_ = w.Close()
	if err != nil {
		t.Fatal(err)
	}
	return p, bufio.NewReader(r)
}

// line is the next line of a program.
func line(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	text, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(text, "\n")
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestExitCodesAreThoseOfShells(t *testing.T) {
	t.Parallel()
	box := outside(t)
	for command, want := range map[string]int{"exit 0": 0, "exit 3": 3, "kill -TERM $$": 128 + 15, "kill -KILL $$": 128 + 9} {
		p, _ := start(t, box, command)
		if code, err := p.Wait(); code != want || err != nil {
			t.Errorf("%s: exit code = %d, error %v", command, code, err)
		}
		if err := p.Kill(); err != nil {
			t.Errorf("kill after the end: %v", err)
		}
	}
}

// inherit opens a descriptor as ohgw would inherit it: without a close-on-exec flag.
func inherit(t *testing.T) {
	t.Helper()
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
}

func TestAProgramHasTheGivenDescriptorsAlone(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip(err)
	}
	inherit(t)
	box := outside(t)
	extra, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer extra.Close()
	_, out := start(t, box, `read x; echo "stdin: $? $x"`)
	if got := line(t, out); got != "stdin: 1 " {
		t.Errorf("stdin is not empty: %q", got)
	}
	in, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	defer in.Close()
	ready, readyOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer ready.Close()
	p, err := box.Start(t.Context(), sandbox.Program{
		Args: []string{"/bin/sh", "-c", "echo ready; read x"}, Files: []*os.File{in, readyOut, nil, extra},
	})
	_ = readyOut.Close()
	if err != nil {
		t.Fatal(err)
	}
	line(t, bufio.NewReader(ready))
	entries, err := os.ReadDir("/proc/" + strconv.Itoa(p.PID()) + "/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if number(t, e.Name()) > 3 {
			t.Errorf("descriptor %s is open", e.Name())
		}
	}
	if len(entries) != 4 {
		t.Errorf("%d descriptors", len(entries))
	}
}

func TestKillEndsTheGroup(t *testing.T) {
	t.Parallel()
	p, out := start(t, outside(t), `sleep 1000 & echo on; wait`)
	line(t, out)
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if code, err := p.Wait(); code != 128+9 || err != nil {
		t.Errorf("exit code = %d, error %v", code, err)
	}
	if _, err := out.ReadString('\n'); !errors.Is(err, io.EOF) { // when the child has let go of it
		t.Error(err)
	}
}

func TestKillAfterTheEndEndsWhatIsLeftOfTheGroup(t *testing.T) {
	t.Parallel()
	p, out := start(t, outside(t), `sleep 1000 & echo on`)
	line(t, out)
	if code, err := p.Wait(); code != 0 || err != nil {
		t.Errorf("exit code = %d, error %v", code, err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.ReadString('\n'); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

func TestATerminalIsTheProgramsOwn(t *testing.T) {
	t.Parallel()
	master, slave, err := pty.Open()
	if err != nil {
		t.Skip(err)
	}
	defer master.Close()
	box := outside(t)
	p, err := box.Start(t.Context(), sandbox.Program{
		Args: []string{"/bin/sh", "-c", "echo hi >/dev/tty"}, Files: []*os.File{slave, slave, slave}, Terminal: true,
	})
	_ = slave.Close()
	if err != nil {
		t.Fatal(err)
	}
	if got := line(t, bufio.NewReader(master)); strings.TrimSpace(got) != "hi" {
		t.Errorf("line = %q", got)
	}
	if code, err := p.Wait(); code != 0 || err != nil {
		t.Errorf("exit code = %d, error %v", code, err)
	}
}

func TestCloseEndsWhatRunsAndStartsNothingMore(t *testing.T) {
	t.Parallel()
	box := sandbox.Outside(sandbox.External, sandbox.Mark{})
	if box.Level() != sandbox.External {
		t.Error(box.Level())
	}
	p, _ := start(t, box, "sleep 1000; true")
	if err := box.Close(); err != nil {
		t.Error(err)
	}
	if code, err := p.Wait(); code != 128+9 || err != nil {
		t.Errorf("exit code = %d, error %v", code, err)
	}
	if _, err := box.Start(t.Context(), sandbox.Program{Args: []string{"/bin/true"}}); !errors.Is(err, sandbox.ErrClosed) {
		t.Error(err)
	}
	if err := box.Close(); err != nil {
		t.Error(err)
	}
}

func TestAProgramThatCannotStartIsSaid(t *testing.T) {
	t.Parallel()
	box := outside(t)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tt := range map[string]struct {
		ctx  context.Context
		p    sandbox.Program
		want error
	}{
		"not found": {t.Context(), sandbox.Program{Args: []string{"sh"}, Env: []string{"PATH=" + t.TempDir()}}, os.ErrNotExist},
		"no file":   {t.Context(), sandbox.Program{Args: []string{"/nosuch/program"}}, os.ErrNotExist},
		"no dir":    {t.Context(), sandbox.Program{Args: []string{"/bin/sh"}, Dir: "/nosuch"}, os.ErrNotExist},
		"cancelled": {canceled, sandbox.Program{Args: []string{"/bin/sh"}}, context.Canceled},
		"no args":   {t.Context(), sandbox.Program{}, nil},
	} {
		_, err := box.Start(tt.ctx, tt.p)
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) && name != "not found" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRunGivesTheOutputAndEndsTheRest(t *testing.T) {
	t.Parallel()
	box := outside(t)
	run := func(ctx context.Context, command string, patience time.Duration) (string, error) {
		var out strings.Builder
		err := sandbox.Run(ctx, box, sandbox.Program{Args: []string{"/bin/sh", "-c", command}, Dir: t.TempDir(), Env: []string{"X=1", "X=2"}}, &out, patience)
		return out.String(), err
	}
	if out, err := run(t.Context(), "echo $X; echo err >&2; exit 4", time.Minute); out != "2\nerr\n" || err == nil || err.Error() != "exit status 4" {
		t.Errorf("output = %q, error %v", out, err)
	}
	if out, err := run(t.Context(), "/bin/sleep 1000 & echo on", time.Millisecond); out != "on\n" || err != nil {
		t.Errorf("output = %q, error %v", out, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := run(ctx, "/bin/sleep 1000; true", time.Minute); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a command that is cut off: %v", err)
	}
}

func TestFindLooksWhereTheProgramWould(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, path, want string }{
		{"mine", "/nosuch:" + dir, filepath.Join(dir, "mine")},
		{"mine", "/nosuch:.", ""},
		{"mine", "", ""},
		{"./mine", "", "./mine"},
		{filepath.Join(dir, "mine"), "", filepath.Join(dir, "mine")},
		{filepath.Join(dir, "other"), "", ""},
	} {
		got, err := sandbox.Find(tt.name, []string{"PATH=" + tt.path})
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("Find(%q, %q) = %q, %v", tt.name, tt.path, got, err)
		}
	}
}

func TestAMissingProgramIsNamedOnce(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"/no/such/program": "stat /no/such/program: no such file or directory",
		"no-such-program":  `exec: "no-such-program": executable file not found in $PATH`,
	} {
		if _, err := sandbox.Find(name, []string{"PATH=/bin"}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}
