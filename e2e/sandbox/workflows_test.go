//go:build e2e && linux

package sandbox_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox"
)

// workflow is a piece of everyday work.
type workflow struct {
	name    string
	needs   string // programs, with blanks between
	network string // a preset; "" for none
	script  string // of bash; it works if it ends well
	// closed says why it must fail, and reduced why it must at level reduced: words of
	// docs/sandbox.md.
	closed, reduced string
}

// family is work that shares a workspace, and so the home directory of the sandbox:
// one step after another.
type family struct {
	name      string
	workflows []workflow
}

const (
	works   = "works"
	closed  = "closed, as documented"
	notHere = "not here"
	fails   = "FAILS"
)

// patience is for a workflow on a busy machine.
const patience = 3 * time.Minute

// TestWorkflows does everyday work in the sandbox. What fails there is tried outside:
// if it fails, too, this machine cannot do it, and nothing is learnt.
func TestWorkflows(t *testing.T) {
	level := sandbox.Level(cmp.Or(os.Getenv("OHGW_TEST_SANDBOX_LEVEL"), string(sandbox.Full)))
	w := newWorld(t, level)
	if err := os.RemoveAll(w.at(".local/bin")); err != nil { // The user's own is read-only inside.
		t.Fatal(err)
	}
	w.newAgent()
	showLent(t, w.root)
	var mu sync.Mutex
	outcomes := map[string]string{}
	var names []string
	t.Run("all", func(t *testing.T) {
		for _, f := range families(w) {
			for _, flow := range f.workflows {
				names = append(names, flow.name)
			}
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join(w.home, "src", f.name)
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				for i, flow := range f.workflows {
					since := time.Now()
					result, said := w.do(t.Context(), dir, f.workflows[:i], flow)
					t.Logf("%-24s %s (%d ms)%s", result, flow.name, time.Since(since).Milliseconds(), said)
					if result == fails {
						t.Errorf("%s fails in the sandbox:%s", flow.name, said)
					}
					mu.Lock()
					outcomes[flow.name] = result
					mu.Unlock()
				}
			})
		}
	})
	count := map[string]int{}
	for result := range maps.Values(outcomes) {
		count[result]++
	}
	fmt.Printf("%d workflows: %d work, %d are closed as documented, %d cannot be done on this machine, %d fail\n",
		len(outcomes), count[works], count[closed], count[notHere], count[fails])
	for _, name := range names {
		if outcomes[name] == notHere {
			fmt.Printf("not here: %s\n", name)
		}
	}
	if count[works]+count[notHere] < map[sandbox.Level]int{sandbox.Full: 44, sandbox.Reduced: 42}[level] {
		t.Errorf("at level %s, %d workflows work", level, count[works])
	}
	if len(outcomes) != 49 || count[closed] > map[sandbox.Level]int{sandbox.Full: 5, sandbox.Reduced: 7}[level] || count[notHere] > 20 {
		t.Errorf("%d workflows, of which %d are closed and %d were not done", len(outcomes), count[closed], count[notHere])
	}
}

// do does one piece of work, and says what came of it.
func (w *world) do(ctx context.Context, dir string, earlier []workflow, flow workflow) (result, said string) {
	for name := range strings.FieldsSeq(flow.needs) {
		if _, err := exec.LookPath(name); err != nil {
			return notHere, ": there is no " + name
		}
	}
	var network []string
	if flow.network != "" {
		network = []string{flow.network}
	}
	mustFail := flow.closed
	if w.level == sandbox.Reduced {
		mustFail = cmp.Or(flow.closed, flow.reduced)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	file := filepath.Join(dir, "work.sh")
	w.file(file, "set -e\n"+flow.script+"\n")
	cmd := w.boxed(ctx, network, "bash", file)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	out, err := cmd.CombinedOutput()
	switch {
	case mustFail != "" && err != nil:
		if !documented(mustFail) {
			return fails, fmt.Sprintf(": docs/sandbox.md does not say %q", mustFail)
		}
		return closed, ""
	case mustFail != "":
		return fails, ": it is to be closed, and works"
	case err == nil:
		return works, ""
	}
	said = fmt.Sprintf(": %v\n%s", err, last(out))
	if there, err := w.doOutside(ctx, earlier, flow); err != nil {
		return notHere, fmt.Sprintf("%s\nit fails outside, too: %v\n%s", said, err, last(there))
	}
	return fails, said
}

// doOutside does the work without a sandbox, after what comes before it.
func (w *world) doOutside(ctx context.Context, earlier []workflow, flow workflow) (out []byte, err error) {
	dir := w.t.TempDir()
	for _, step := range append(slices.Clip(earlier), flow) {
		cmd := exec.CommandContext(ctx, "bash", "-c", "set -e\n"+step.script)
		cmd.Dir, cmd.Env, cmd.WaitDelay = dir, w.environ(), time.Second
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		out, err = cmd.CombinedOutput()
		if cmd.Process != nil {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left in the background
		}
	}
	return out, err
}

func last(out []byte) string { return string(out[max(0, len(out)-2000):]) }

// documented says whether docs/sandbox.md has the words.
func documented(words string) bool {
	text, err := os.ReadFile("../../docs/sandbox.md")
	return err == nil && strings.Contains(strings.Join(strings.Fields(string(text)), " "), words)
}

// newAgent starts an SSH agent of the user.
func (w *world) newAgent() {
	w.t.Helper()
	program, err := exec.LookPath("ssh-agent")
	if err != nil {
		return
	}
	w.agent = filepath.Join(w.run, "agent")
	cmd := exec.CommandContext(w.t.Context(), program, "-D", "-a", w.agent)
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

func families(w *world) []family {
	return []family{
		{"git", gitWork},
		{"shell", shellWork},
		{"python", pythonWork},
		{"node", nodeWork},
		{"go", goWork},
		{"rust", rustWork},
		{"java", javaWork},
		{"servers", serverWork},
		{"closed", closedWork(w)},
	}
}
