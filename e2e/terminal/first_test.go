//go:build e2e

package terminal_test

import (
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// knowsTheTests sets what the LLM does when it is asked about the tests.
func (p *person) knowsTheTests() {
	p.llm.On(llmtest.Says("tests pass"),
		llmtest.Reply{Text: "I will run them.", Calls: []llmtest.Call{{Name: "terminal", Args: `{"command":"echo ok"}`}}},
		llmtest.Finish("**They do.** All 12 of them:\n\n```go\nfunc TestAll(t *testing.T) {}\n```\n\n| package | tests |\n| --- | --- |\n| `cli` | 7 |\n| `tui` | 5 |\n"),
	)
}

func TestAFirstQuestionIsAnswered(t *testing.T) {
	t.Parallel()
	for _, z := range sizes {
		t.Run(z.String(), func(t *testing.T) {
			t.Parallel()
			p := newPerson(t)
			p.knowsTheTests()
			s := p.chat(z, "")
			s.sees("ready")
			s.golden("welcome", z)
			s.asks("Do the tests pass?")
			s.sees("1 action")
			s.golden("answer", z)
			s.press("C-d")
			if code := s.ended(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			s.sees("Continue later with:")
		})
	}
}
