package tui

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain looks for goroutines that outlive a chat. Bubble Tea's own reader of
// keys outlives a program that is killed, and its timers run out by themselves.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(
		m,
		goleak.IgnoreAnyFunction("github.com/charmbracelet/ultraviolet.(*TerminalReader).StreamEvents"),
		goleak.IgnoreAnyFunction("github.com/charmbracelet/ultraviolet.(*TerminalReader).StreamEvents.func1"),
		goleak.IgnoreAnyFunction("charm.land/bubbletea/v2.Tick.func1"),
	)
}
