package tui

import (
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
	return append(list, finished())
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
