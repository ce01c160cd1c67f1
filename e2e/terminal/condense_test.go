//go:build e2e

package terminal_test

import (
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

func TestCondenseInTheChat(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.llm.On(llmtest.Says("<events>"), llmtest.Text("The user said one and two."))
	s := p.chat(usual, "")
	s.sees("ready")
	s.asks("/condense")
	s.sees("nothing to shorten yet")
	for _, text := range []string{"Earlier I said one", "two"} {
		s.asks(text)
		s.sees("You said: "+text, "● ready")
	}
	s.asks("/condense")
	s.sees("The earlier conversation was summarized")
	s.asks("three")
	s.sees("You said: three", "● ready")
	s.press("C-d")
	s.ended()
}
