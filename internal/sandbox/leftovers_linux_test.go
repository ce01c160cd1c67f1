package sandbox_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox"
	_ "github.com/ohgw/ohgw/internal/sandbox/helperinit" // the test binary is a helper, too
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// TestMain is also the program that the tests kill: one that starts programs in
// a box and waits. What it starts holds descriptor 3, whose other end is the test's.
func TestMain(m *testing.M) {
	mode := os.Getenv("SANDBOX_TEST")
	if mode == "" {
		waittest.Main(m)
	}
	if err := act(mode, os.Getenv("SANDBOX_TEST_STATE"), os.Getenv("SANDBOX_TEST_COMMAND")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func act(mode, state, command string) error {
	leave := func() error { return nil }
	if mode != "plain" {
		leave = sandbox.Adopt(state, mode == "all")
	}
	held := os.NewFile(3, "held")
	box := sandbox.Outside(sandbox.Off, sandbox.Mark{State: state, Conversation: "c"})
	ready, out, err := os.Pipe()
	if err != nil {
		return err
	}
	if _, err := box.Start(context.Background(), sandbox.Program{
		Args: []string{"sh", "-c", command}, Env: []string{"PATH=" + os.Getenv("PATH")}, Files: []*os.File{nil, held, out},
	}); err != nil {
		return err
	}
	_, _ = held.Close(), out.Close()
	text, err := bufio.NewReader(ready).ReadString('\n') // on stderr, where the program says its number
	if err != nil {
		return err
	}
	fmt.Print(text)
	_, _ = io.Copy(io.Discard, os.Stdin)
	return leave()
}

// maker is a process that has started a program.
type maker struct {
	*exec.Cmd
	in   io.Closer
	held *os.File // ends when nothing of the program is left
	left int      // the number of the program
}

func newMaker(t *testing.T, mode, state, command string) *maker {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	held, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = held.Close() })
	m := &maker{Cmd: exec.CommandContext(t.Context(), self), held: held}
	m.Env = append(os.Environ(), "SANDBOX_TEST="+mode, "SANDBOX_TEST_STATE="+state, "SANDBOX_TEST_COMMAND="+command)
	m.ExtraFiles, m.Stderr = []*os.File{end}, os.Stderr
	in, errIn := m.StdinPipe()
	out, errOut := m.StdoutPipe()
	if errIn != nil || errOut != nil {
		t.Fatal(errIn, errOut)
	}
	m.in = in
	err = m.Start()
	_ = end.Close()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscan(out, &m.left); err != nil {
		t.Fatal(err)
	}
	return m
}

// kill kills the process as kill -9 does.
func (m *maker) kill(t *testing.T) {
	t.Helper()
	if err := m.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = m.Wait() // it was killed
}

// stop ends the process as a signal does that it handles.
func (m *maker) stop(t *testing.T) {
	t.Helper()
	_ = m.in.Close()
	if err := m.Wait(); err != nil {
		t.Fatal(err)
	}
}

// gone waits until nothing holds the descriptor any more.
func (m *maker) gone(t *testing.T) {
	t.Helper()
	if _, err := io.Copy(io.Discard, m.held); err != nil {
		t.Fatal(err)
	}
}

const (
	child = "echo $$ >&2; exec sleep 1000"
	// detached has left its session and its parents, and its stderr.
	detached = `setsid sh -c 'echo $$ >&2; exec sleep 1000 2>/dev/null' & wait`
	// anonymous has left its environment, too.
	anonymous = `env -i setsid sh -c 'echo $$ >&2; exec /bin/sleep 1000 2>/dev/null' & exit`
)

func TestProgramsEndWithAKilledMaker(t *testing.T) {
	t.Parallel()
	m := newMaker(t, "plain", t.TempDir(), child)
	m.kill(t)
	m.gone(t)
}

func TestTheNextStartEndsTheLeftoversOfAKilledMaker(t *testing.T) {
	t.Parallel()
	state, other := t.TempDir(), t.TempDir()
	lives := newMaker(t, "plain", state, detached)
	strangers := newMaker(t, "plain", other, detached)
	m := newMaker(t, "plain", state, detached)
	m.kill(t)
	strangers.kill(t)
	if n := sandbox.EndLeftovers(state); n < 1 {
		t.Errorf("%d leftovers", n)
	}
	m.gone(t)
	if n := sandbox.EndLeftovers(state); n != 0 {
		t.Errorf("%d more leftovers: of a maker that lives", n)
	}
	if n := sandbox.EndLeftovers(other); n < 1 {
		t.Errorf("%d leftovers of the other state: they were ended with the first one's", n)
	}
	strangers.gone(t)
	lives.kill(t)
	if n := sandbox.EndLeftovers(state); n < 1 {
		t.Errorf("%d leftovers of the last one", n)
	}
	lives.gone(t)
}

func TestAForgedMarkEndsNothing(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	m := newMaker(t, "plain", state, detached)
	m.kill(t)
	if n := sandbox.EndLeftovers(state); n < 1 {
		t.Errorf("%d leftovers", n)
	}
	m.gone(t)
	mark := markOf(t, state)
	namespace := strings.Split(mark, ":")[1]
	for name, forged := range map[string]string{
		"of a PID namespace elsewhere": strings.Replace(mark, ":"+namespace+":", ":1:", 1),
		"made after the program":       mark[:strings.Index(mark, namespace)] + namespace + ":999999999:18446744073709551615:c",
		"without a maker":              mark[:strings.Index(mark, namespace)] + "c",
	} {
		cmd := exec.CommandContext(t.Context(), "sleep", "1000")
		cmd.Env = append(os.Environ(), forged)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if n := sandbox.EndLeftovers(state); n != 0 {
			t.Errorf("a program with a mark %s was ended", name)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // was killed
	}
}

// markOf is the mark of the program of a state that was left.
func markOf(t *testing.T, state string) string {
	t.Helper()
	box := sandbox.Outside(sandbox.Off, sandbox.Mark{State: state, Conversation: "c"})
	defer box.Close()
	var out strings.Builder
	if err := sandbox.Run(t.Context(), box, sandbox.Program{Args: []string{"/bin/sh", "-c", "env"}, Env: []string{"PATH=" + os.Getenv("PATH")}}, &out, 0); err != nil {
		t.Fatal(err)
	}
	for _, entry := range strings.Split(out.String(), "\n") {
		if strings.HasPrefix(entry, "AI_AGENT_PROGRAM=") {
			return entry
		}
	}
	t.Fatal("no mark")
	return ""
}

func TestACleanStopEndsWhatLeftItsSession(t *testing.T) {
	t.Parallel()
	m := newMaker(t, "adopt", t.TempDir(), detached)
	m.stop(t)
	m.gone(t)
}

func TestACleanStopOfAMakerAloneEndsAllBelowIt(t *testing.T) {
	t.Parallel()
	m := newMaker(t, "all", t.TempDir(), anonymous)
	m.stop(t)
	m.gone(t)
}

// What a person started from a chat has no mark, and goes on.
func TestACleanStopLeavesWhatIsNotTheAgents(t *testing.T) {
	t.Parallel()
	m := newMaker(t, "adopt", t.TempDir(), anonymous)
	m.stop(t)
	if err := m.held.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := m.held.Read(make([]byte, 1)); !os.IsTimeout(err) {
		t.Fatalf("it was ended: %v", err)
	}
	if err := syscall.Kill(m.left, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = m.held.SetReadDeadline(time.Time{})
	m.gone(t)
}

func TestABoxEndsWhatLeftItsSession(t *testing.T) {
	t.Parallel()
	box := sandbox.Outside(sandbox.Off, sandbox.Mark{State: t.TempDir(), Conversation: "c"})
	_, out := start(t, box, "setsid sh -c 'echo ready; exec sleep 1000' & wait")
	line(t, out)
	if err := box.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.ReadString('\n'); err != io.EOF {
		t.Error(err)
	}
}
