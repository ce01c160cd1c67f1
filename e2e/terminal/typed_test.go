//go:build e2e

package terminal_test

import (
	"testing"
)

func TestAnUnknownCommandIsNotSent(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	s := p.chat(usual, "")
	s.sees("ready")
	s.asks("/modle work")
	s.sees("there is no command /modle; did you mean /model?", "› /modle work")
	s.press("C-u")
	s.asks("/usr/bin/x is a path")
	s.sees("You said: /usr/bin/x is a path")
	if n := p.asked("modle"); n != 0 {
		t.Errorf("the unknown command was sent %d times", n)
	}
}
