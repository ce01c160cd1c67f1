//go:build e2e

package terminal_test

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// arguments are those of a tool call.
func arguments(t testing.TB, fields map[string]any) string {
	t.Helper()
	data, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// tests lets the LLM run a test that fails, repair the code, and plan.
func (p *person) tests() {
	p.Helper()
	path := p.write("project/retry.go", "package retry\n\nfunc wait() {\n\tsleep(3)\n}\n")
	p.llm.On(llmtest.Says("fix it"),
		llmtest.Tool("terminal", arguments(p, map[string]any{"command": "echo 'FAIL: it is slow'; false"})),
		llmtest.Tool("file_editor", arguments(p, map[string]any{"command": "str_replace", "path": path, "old_str": "\tsleep(3)", "new_str": "\tclock.sleep(3) // 日本語"})),
		llmtest.Tool("task_tracker", arguments(p, map[string]any{"command": "plan", "task_list": []map[string]any{
			{"title": "Find the reason", "status": "done"}, {"title": "Repair it", "status": "in_progress"}, {"title": "Test it", "status": "todo"},
		}})),
		llmtest.Text("It is repaired."),
	)
}

func TestWhatTheAgentDidIsSeen(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.tests()
	s := p.chat(size{80, 40}, "")
	s.sees("ready")
	s.asks("fix it")
	shown := s.sees("It is repaired.", "ready", "1 failed")
	for _, want := range []string{
		"✗ $ echo 'FAIL: it is slow'; false  exit code 1", "│ FAIL: it is slow",
		"✓ Edit ", "+1 −1", "│ 4 -     sleep(3)", "│ 4 +     clock.sleep(3) // 日本語",
		"Plan · 1 of 3 done", "✓ Find the reason", "• Repair it", "○ Test it",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not on the screen:\n%s", want, shown)
		}
	}
}

func TestADiffIsSideBySideInAWideTerminal(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.tests()
	s := p.chat(size{80, 40}, "")
	s.sees("ready")
	s.asks("fix it")
	s.sees("It is repaired.", "ready")
	s.misses("│ 4 +     clock.sleep(3) // 日本語 │")
	s.tmux("resize-window", "-x", "140", "-y", "40")
	s.until("the old line beside the new one", func(shown string) bool {
		for line := range strings.Lines(shown) {
			if strings.Contains(line, "4 -     sleep(3)") && strings.Contains(line, "│ 4 +     clock.sleep(3)") {
				return true
			}
		}
		return false
	})
	s.tmux("resize-window", "-x", "60", "-y", "30")
	s.until("the old line above the new one", func(shown string) bool {
		return strings.Contains(shown, "4 -     sleep(3)\n")
	})
}

func TestActionsOpenByKeysAndByTheMouse(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.llm.On(llmtest.Says("look"),
		llmtest.Tool("terminal", `{"command": "echo first-output"}`), llmtest.Tool("terminal", `{"command": "echo $((20+2))-second"}`), llmtest.Text("I looked."))
	s := p.chat(usual, "", "NO_COLOR=1")
	s.sees("ready")
	s.asks("look")
	s.sees("▸ 2 actions", "I looked.", "ready")
	s.press("C-o")
	s.sees("│ 22-second")
	s.press("C-o")
	s.sees("│ first-output", "│ 22-second")
	s.press("C-o")
	s.misses("22-second\n")
	s.press("M-Up", "M-Up", "Enter")
	s.sees("› ✓ $ echo first-output", "│ first-output")
	s.press("Enter", "Escape")
	s.misses("│ first-output")
	s.misses("› ✓")
	if out := s.tmux("capture-pane", "-p", "-e"); regexp.MustCompile(`\x1b\[[0-9;]*3[0-8]`).MatchString(out) {
		t.Errorf("colours in spite of NO_COLOR:\n%q", out)
	}
	s.types("/mouse")
	s.press("Enter")
	s.sees("▸ 2 actions")
	row := 0
	for i, line := range strings.Split(s.shown(), "\n") {
		if strings.Contains(line, "▸ 2 actions") {
			row = i
		}
	}
	// A click as a terminal reports it, in the third column.
	s.tmux("send-keys", "-l", "--", "\x1b[<0;3;"+strconv.Itoa(row+1)+"M\x1b[<0;3;"+strconv.Itoa(row+1)+"m")
	s.sees("│ 22-second")
}

func TestPlainSaysHowActionsWent(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.tests()
	s := p.chat(size{100, 40}, "--plain")
	s.sees("Model: openhands")
	s.asks("fix it")
	shown := s.sees("It is repaired.", "Done:")
	for _, want := range []string{
		"Working: $ echo 'FAIL: it is slow'; false", "Failed: exit code 1, ", "Last line of its output: FAIL: it is slow",
		"1 line added, 1 line removed", "Plan: 3 tasks", "done: Find the reason", "in progress: Repair it", "todo: Test it",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not on the screen:\n%s", want, shown)
		}
	}
}
