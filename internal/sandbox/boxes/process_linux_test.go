package boxes_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	"github.com/ohgw/ohgw/internal/sandbox/inside"
	"github.com/ohgw/ohgw/internal/sandbox/policy"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -TERM $$": 143, "kill -KILL $$": 137} {
		if out, code := w.sh(script); code != want {
			t.Errorf("%s: exit code %d: %s", script, code, out)
		}
	}
	_, err := w.box.Start(t.Context(), sandbox.Program{Args: []string{"no-such-program"}, Env: w.env(), Dir: w.workspace})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a program that does not exist: %v", err)
	}
	_, err = w.box.Start(t.Context(), sandbox.Program{Args: []string{"true"}, Env: w.env(), Dir: w.workspace + "/none"})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that does not exist: %v", err)
	}
	if _, err = w.box.Start(t.Context(), sandbox.Program{}); err == nil {
		t.Error("a program without a name starts")
	}
}

func TestOnlyGivenDescriptors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if out, code := w.run("/bin/ls", "/proc/self/fd"); code != 0 || strings.Fields(out)[len(strings.Fields(out))-1] != "3" {
		t.Errorf("exit code %d, descriptors %q", code, out) // 3 is the directory itself
	}
	r, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := w.box.Start(t.Context(), sandbox.Program{Args: []string{"sh", "-c", "echo five >&5"}, Env: w.env(), Dir: w.workspace, Files: []*os.File{nil, nil, nil, nil, nil, in}})
	in.Close()
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(r); string(text) != "five\n" || err != nil {
		t.Errorf("text = %q, error %v", text, err)
	}
	if code, err := p.Wait(); code != 0 || err != nil {
		t.Error(code, err)
	}
}

// The pipes of this program do not block, and programs do not expect that.
func TestAProgramWaitsForItsPipe(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	_, err = w.box.Start(t.Context(), sandbox.Program{
		Args: []string{"sh", "-c", "echo reads; read -r line <&3; echo \"[$line]\""}, Env: w.env(), Dir: w.workspace, Files: []*os.File{nil, end, end, r},
	})
	end.Close()
	r.Close()
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); line != "reads\n" || err != nil {
		t.Fatal(line, err)
	}
	if _, err := in.WriteString("late\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := lines.ReadString('\n'); line != "[late]\n" || err != nil {
		t.Error(line, err)
	}
}

func TestKillEndsTheGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, out := w.start("/bin/sh", "-c", "sleep 1000 & sleep 1000 & echo ready; wait")
	defer out.Close()
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); line != "ready\n" {
		t.Fatal(line, err)
	}
	if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", p.PID())); err != nil || string(name) != "sh\n" {
		t.Errorf("the process outside is %q, %v", name, err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(lines); err != nil { // The output ends when all of them are dead.
		t.Error(rest, err)
	}
	if code, err := p.Wait(); code != 137 || err != nil {
		t.Error(code, err)
	}
	if err := p.Kill(); err != nil {
		t.Error(err)
	}
}

// The leader is gone; its group is not.
func TestKillEndsWhatIsLeftOfTheGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, out := w.start("/bin/sh", "-c", "sleep 1000 & exit 5")
	defer out.Close()
	if code, err := p.Wait(); code != 5 || err != nil {
		t.Fatal(code, err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(out); err != nil {
		t.Error(err)
	}
}

// A program that makes its parent its debugger, in all ways: the parent is the
// helper, which waits for it all the same.
func TestWaitEndsForTracedPrograms(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, script := range map[string]string{
		"the program": "import ctypes\nctypes.CDLL(None).ptrace(0,0,0,0)\nimport os\nos.execv('/bin/true',['true'])",
		"a thread":    "import ctypes,threading\nt=threading.Thread(target=lambda: ctypes.CDLL(None).ptrace(0,0,0,0))\nt.start();t.join()",
		"an orphan":   "import ctypes,os\nif os.fork()==0:\n os.setsid()\n ctypes.CDLL(None).ptrace(0,0,0,0)\n os.kill(os.getpid(),19)",
	} {
		// The output is not waited for: a stopped orphan has it until the box ends.
		p, out := w.start("/usr/bin/env", "python3", "-c", script)
		if code, err := p.Wait(); err != nil || code != 0 && code != 137 {
			t.Errorf("%s: exit code %d, %v", name, code, err)
		}
		out.Close()
	}
}

func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, out := w.start("/bin/bash", "-c", "(setsid sleep 1000 &) ; trap '' TERM HUP INT; echo ready; while :; do sleep 1000; done")
	defer out.Close()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatal(line, err)
	}
	if err := w.box.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(out); err != nil { // No process has the pipe any more.
		t.Error(err)
	}
	if code, err := p.Wait(); code != 137 || err != nil {
		t.Error(code, err)
	}
	if _, err := w.box.Start(t.Context(), sandbox.Program{Args: []string{"true"}, Env: w.env(), Dir: w.workspace}); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// A box whose helper died is made again with the next program.
func TestBoxIsMadeAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, out := w.start("/bin/sh", "-c", "echo ready; exec sleep 1000")
	defer out.Close()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatal(line, err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
	if err != nil {
		t.Fatal(err)
	}
	var pid, parent int
	var name, state string
	if _, err := fmt.Sscan(string(status), &pid, &name, &state, &parent); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(parent, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if code, err := p.Wait(); code != 137 || err != nil {
		t.Error(code, err)
	}
	if out, code := w.sh("echo again"); code != 0 || out != "again" {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// doomedVariable makes the test binary a daemon with boxes, which is killed.
const doomedVariable = "OHGW_TEST_DOOMED_BOX"

// doomedBoxes is how many boxes it has.
const doomedBoxes = 20

func doomed(root string) {
	level, root, _ := strings.Cut(root, ":")
	for range doomedBoxes {
		box, err := boxes.New(boxes.Config{Level: sandbox.Level(level), Policy: policy.Policy{Workspace: root + "/ws", Home: root + "/own", HomeAt: root + "/user"}})
		if err != nil {
			panic(err)
		}
		p, err := box.Start(context.Background(), sandbox.Program{
			Args: []string{"/bin/sh", "-c", "(setsid sleep 1000 &); (nohup sleep 1000 &); echo ready; exec sleep 1000"},
			Dir:  root + "/ws", Files: []*os.File{nil, os.Stdout, os.Stdout},
		})
		if err != nil {
			panic(err)
		}
		fmt.Println(p.PID())
	}
	select {}
}

// namespaces are those of a process.
func namespaces(pid string) (found []string) {
	for _, kind := range []string{"user", "pid", "mnt", "net"} {
		if name, err := os.Readlink("/proc/" + pid + "/ns/" + kind); err == nil {
			found = append(found, name)
		}
	}
	return found
}

// inNamespaces finds the processes that have one of these namespaces: their ids with the
// times of their starts. The names of namespaces are given again, to those of other programs,
// when they are gone.
func inNamespaces(t *testing.T, wanted map[string]bool) map[string]bool {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, entry := range entries {
		if !slices.ContainsFunc(namespaces(entry.Name()), func(name string) bool { return wanted[name] }) {
			continue
		}
		if start := startOf(entry.Name()); start != "" {
			found[entry.Name()+" "+start] = true
		}
	}
	return found
}

// startOf is when a process has started, in ticks since the start of the system; "" if it
// is gone.
func startOf(pid string) string {
	const start = 19 // among the fields behind the name of the program
	data, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) <= start {
		return ""
	}
	return fields[start]
}

func TestNothingOutlivesOhgw(t *testing.T) {
	t.Parallel()
	needBox(t)
	for _, level := range []sandbox.Level{sandbox.Full, sandbox.Reduced} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			outlived(t, level)
		})
	}
}

func outlived(t *testing.T, level sandbox.Level) {
	root := t.TempDir()
	for _, dir := range []string{"ws", "own", "user"} {
		if err := os.Mkdir(root+"/"+dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{doomedVariable + "=" + string(level) + ":" + root, "TMPDIR=" + root, "PATH=" + os.Getenv("PATH")}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	own := map[string]bool{}
	for ready, pids := 0, 0; ready < doomedBoxes || pids < doomedBoxes; {
		line, err := lines.ReadString('\n')
		if line = strings.TrimSpace(line); err != nil {
			t.Fatal(err)
		}
		if _, err := strconv.Atoi(line); err != nil {
			if line == "ready" {
				ready++
			}
			continue // what nohup says
		}
		pids++
		for _, name := range namespaces(line) {
			own[name] = true
		}
	}
	for _, name := range namespaces("self") {
		delete(own, name)
	}
	before := inNamespaces(t, own)
	if level == sandbox.Full && (len(own) < 4*doomedBoxes || len(before) < 4*doomedBoxes) {
		t.Fatalf("there are %d namespaces with %d processes", len(own), len(before))
	}
	killed := time.Now()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(lines); err != nil { // It ends when no program has the pipe.
		t.Error(err)
	}
	_ = cmd.Wait()
	waittest.Until(t, waittest.Patience, "no process has the namespaces of a box", func() (any, bool) {
		left := inNamespaces(t, own)
		maps.DeleteFunc(left, func(process string, _ bool) bool { return !before[process] })
		return len(left), len(left) == 0
	})
	t.Logf("everything was gone after %v", time.Since(killed).Round(time.Millisecond))
}

// terminal starts a shell on a terminal.
func (w *world) terminal() (sandbox.Process, *os.File) {
	w.t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		w.t.Fatal(err)
	}
	defer slave.Close()
	p, err := w.box.Start(w.t.Context(), sandbox.Program{
		Args: []string{"/bin/bash", "--norc", "--noprofile", "--noediting", "-i"}, Env: append(w.env(), "PS1=", "PS2="),
		Dir: w.workspace, Files: []*os.File{slave, slave, slave}, Terminal: true,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return p, master
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 2 { // The second shell has a terminal of its own.
		p, master := w.terminal()
		stuck := time.AfterFunc(2*time.Minute, func() { _ = p.Kill() })
		_, err := io.WriteString(master, "stty -echo\ntty\nsleep 1000 &\nkill %1; wait %1 2>/dev/null; echo jobs $?\nsh -c \"echo run''ning; exec sleep 1000\"\n")
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(master)
		var all strings.Builder
		for lines.Scan() {
			fmt.Fprintln(&all, lines.Text())
			if strings.Contains(lines.Text(), "running") {
				_, _ = io.WriteString(master, "\x03exit 9\n")
			}
		}
		code, err := p.Wait()
		stuck.Stop()
		master.Close()
		if text := all.String(); err != nil || code != 9 || !strings.Contains(text, "/dev/console") || !strings.Contains(text, "jobs 143") || strings.Contains(text, "no job control") {
			t.Errorf("exit code %d, %v: %s", code, err, text)
		}
	}
}

func TestHelperRefusesACommandLine(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{inside.Name}, {inside.Name, "-c", "true"}} {
		cmd := exec.Command("/proc/self/exe")
		cmd.Args = args
		out, err := cmd.CombinedOutput()
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 125 || !strings.Contains(string(out), "not run by hand") {
			t.Errorf("%q: %v: %s", args, err, out)
		}
	}
}
