package chat

import (
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/cli/clitest"
	"github.com/ohgw/ohgw/internal/fault"
)

func TestAQuestionIsCheckedBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*options{
		"two conversations": {prompt: "hi", conversation: "x", last: true},
		"a negative time":   {prompt: "hi", timeout: -time.Second},
		"no prompt":         {},
		"no such image":     {prompt: "hi", images: []string{"nothing.png"}},
	} {
		o.App = clitest.New(t, nil).App
		if err := run(t.Context(), o); fault.CodeOf(err) != fault.Usage {
			t.Errorf("%s: %v, want a usage error", name, err)
		}
	}
}

func TestTheTextOnStdinGoesWithThePrompt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ prompt, stdin, want string }{
		{"why?", "", "why?"},
		{"", "why?\n", "why?\n"},
		{"why?", "a log\n", "why?\n\n<stdin>\na log\n</stdin>"},
	} {
		a := clitest.New(t, nil)
		a.Stdin = strings.NewReader(tt.stdin)
		if got, err := readPrompt(t.Context(), a.App, tt.prompt); err != nil || got != tt.want {
			t.Errorf("readPrompt(%q) with %q on stdin = %q, %v; want %q", tt.prompt, tt.stdin, got, err, tt.want)
		}
	}
}
