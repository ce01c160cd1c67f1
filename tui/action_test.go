package tui

import (
	"context"
	"testing"

	"github.com/ohgw/ohgw/internal/gateway"
)

func number[T int | float64](n T) *T { return &n }

// ran are the pieces of a command that ended with an exit code.
func ran(id, command, output string, exit int) []gateway.Piece {
	state := "done"
	if exit != 0 {
		state = "failed"
	}
	begun := gateway.Call{ID: id, State: "running", Tool: "terminal", Kind: "command", Line: "$ " + command, Input: command}
	ended := begun
	ended.State, ended.Input, ended.Output, ended.ExitCode, ended.Seconds = state, "", output, &exit, number(0.312)
	return []gateway.Piece{begun, ended}
}

func pieces(all ...any) []gateway.Piece {
	list := []gateway.Piece{gateway.Started{}}
	for _, p := range all {
		switch p := p.(type) {
		case gateway.Piece:
			list = append(list, p)
		case []gateway.Piece:
			list = append(list, p...)
		}
	}
	done := finished()
	done.Context = gateway.Context{Tokens: 5203, Window: 128_000}
	return append(list, done)
}

// deeds are one action of each kind, as an agent that fixes a test does them.
func deeds() []gateway.Piece {
	plan := func(id string, status ...string) gateway.Call {
		c := gateway.Call{ID: id, State: "done", Tool: "task_tracker", Kind: "tasks", Line: "Plan the work", Seconds: number(0.004)}
		for i, title := range []string{"Find out why the test is flaky", "Inject the clock", "Run it 100 times"} {
			c.Tasks = append(c.Tasks, gateway.Task{Title: title, Status: status[i]})
		}
		return c
	}
	edit := gateway.Call{
		ID: "5", State: "done", Tool: "file_editor", Kind: "edit", Line: "Edit internal/retry/retry.go", Path: "internal/retry/retry.go", Seconds: number(0.021),
		Diff:  "@@ -12,3 +12,3 @@\n func (r *Retry) wait() {\n-\ttime.Sleep(r.pause)\n+\tr.clock.Sleep(r.pause) // 日本語\n }\n",
		Added: 1, Removed: 1,
	}
	mcp := gateway.Call{ID: "7", State: "done", Tool: "tracker_search", Kind: "mcp", Line: "tracker_search", Output: "[Tool 'tracker_search' executed.]\n#12 flaky retry", Seconds: number(1.25)}
	asked := mcp
	asked.State, asked.Input, asked.Output = "running", "{\n  \"query\": \"flaky\"\n}", ""
	return pieces(
		plan("1", "in_progress", "todo", "todo"),
		ran("2", "ls internal/retry", "retry.go\nretry_test.go", 0), ran("3", "cat internal/retry/retry.go", "package retry", 0),
		ran("4", "go test ./internal/retry/...", "--- FAIL: TestRetry (0.01s)\n    retry_test.go:21: took 1.2s\nFAIL\nFAIL\texample.com/retry 0.012s", 1),
		gateway.Text("The test sleeps for real.\n"), edit, plan("6", "done", "done", "in_progress"), asked, mcp, gateway.Text("It is deterministic now."),
	)
}

func TestTheLatestActionOpens(t *testing.T) {
	s := &script{answer: says(pieces(ran("1", "ls", "one.go\ntwo.go", 0), ran("2", "pwd", "/home/me", 0), gateway.Text("done"))...)}
	talk(t, s, nil, func(c *chat) {
		c.ask("go")
		c.sees("▸ 2 actions, at last $ pwd")
		c.misses("/home/me", "one.go")
		c.press("ctrl+o")
		c.sees("✓ $ pwd", "312 ms", "/home/me")
		c.misses("one.go")
		c.press("ctrl+o")
		c.sees("one.go", "two.go", "/home/me")
		c.press("ctrl+o")
		c.misses("one.go", "/home/me")
	})
}

func TestAFailedCommandDoesNotLookDone(t *testing.T) {
	s := &script{answer: says(pieces(ran("1", "ls", "", 0), ran("2", "false", "no such luck", 1), ran("3", "pwd", "", 0), gateway.Text("done"))...)}
	talk(t, s, nil, func(c *chat) {
		c.ask("go")
		c.sees("✗ $ false", "exit code 1 · 312 ms", "3 actions · 1 failed")
	})
}

func TestASelectedActionOpens(t *testing.T) {
	s := &script{answer: says(pieces(ran("1", "ls", "one.go", 0), ran("2", "pwd", "/home/me", 0), gateway.Text("done"))...)}
	talk(t, s, nil, func(c *chat) {
		c.ask("go")
		c.press("alt+up", "alt+up", "enter")
		c.sees("✓ $ ls", "one.go")
		c.misses("/home/me")
		c.press("enter", "alt+down", "enter")
		c.sees("/home/me")
		c.misses("one.go")
		c.press("esc", "ctrl+o", "ctrl+o")
		c.misses("/home/me")
	})
}

// waits are the pieces of a turn whose command waits for a confirmation.
func waits() []gateway.Piece {
	call := gateway.Call{ID: "1", State: "running", Tool: "terminal", Kind: "command", Line: "$ make release", Input: "make release"}
	pending := call
	pending.State = "waiting"
	return []gateway.Piece{gateway.Started{}, call, pending, gateway.Done{RunStatus: "waiting_for_confirmation", Waiting: []gateway.Action{{Tool: "terminal", Line: call.Line}}}}
}

func TestAConfirmedActionGetsItsResultWhereItStands(t *testing.T) {
	s := &script{}
	s.answer = func(_ context.Context, q gateway.Question, say func(gateway.Piece)) error {
		all := waits()
		if q.Decision == gateway.Accept {
			all = pieces(gateway.Call{ID: "1", State: "done", Tool: "terminal", Kind: "command", Line: "$ make release", Output: "released", ExitCode: number(0)}, gateway.Text("It is out."))
		}
		for _, p := range all {
			say(p)
		}
		return nil
	}
	talk(t, s, nil, func(c *chat) {
		c.ask("release it")
		c.sees("? $ make release  waits for your confirmation")
		c.press("y", "enter")
		c.sees("✓ $ make release", "It is out.")
		c.misses("waits for your confirmation")
		c.press("ctrl+o")
		c.sees("│ released")
	})
}

func TestARefusedActionIsRejected(t *testing.T) {
	s := &script{}
	s.answer = func(_ context.Context, q gateway.Question, say func(gateway.Piece)) error {
		all := waits()
		if q.Decision == gateway.Reject {
			all = pieces(gateway.Text("Then not."))
		}
		for _, p := range all {
			say(p)
		}
		return nil
	}
	talk(t, s, nil, func(c *chat) {
		c.ask("release it")
		c.press("n", "enter")
		c.sees("✗ $ make release  rejected", "Then not.")
	})
}

func TestAStoppedActionDoesNotLookAtWork(t *testing.T) {
	s := &script{answer: hangs(gateway.Started{}, gateway.Call{ID: "1", State: "running", Kind: "command", Line: "$ sleep 9"})}
	talk(t, s, nil, func(c *chat) {
		c.ask("sleep")
		c.sees("◌ $ sleep 9")
		c.press("esc")
		c.sees("■ $ sleep 9  interrupted")
	})
}

func TestAFileOfTheDirectoryIsNamedInShort(t *testing.T) {
	s := &script{answer: says(pieces(gateway.Call{ID: "1", State: "done", Kind: "edit", Line: "Edit /home/me/src/a/b.go", Diff: "@@ -1 +1 @@\n-x\n+y\n", Added: 1, Removed: 1})...)}
	talk(t, s, func(cfg *Config) { cfg.Start.Workspace = "/home/me/src" }, func(c *chat) {
		c.ask("go")
		c.sees("✓ Edit a/b.go  +1 −1")
	})
}
