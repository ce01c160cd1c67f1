package session_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/session"
)

// careful is a gateway whose agent wants to run a command after each answer,
// until there is none left.
type careful struct {
	script

	commands []string
	err      error
}

func (c *careful) Ask(_ context.Context, q gateway.Question) iter.Seq2[gateway.Piece, error] {
	c.asked = append(c.asked, q)
	return func(yield func(gateway.Piece, error) bool) {
		if c.err != nil {
			yield(nil, c.err)
			return
		}
		done := gateway.Done{RunStatus: "finished"}
		_ = yield(gateway.Started{}, nil)
		if len(c.commands) > 0 {
			id, line := fmt.Sprint(len(c.commands)), c.commands[0]
			c.commands = c.commands[1:]
			_ = yield(gateway.Call{ID: id, State: "running", Kind: "command", Tool: "terminal", Line: "$ " + line, Input: line}, nil)
			_ = yield(gateway.Call{ID: id, State: "waiting", Kind: "command", Tool: "terminal", Line: "$ " + line}, nil)
			done = gateway.Done{RunStatus: "waiting_for_confirmation", Waiting: []gateway.Action{{Tool: "terminal", Line: "$ " + line}}}
		}
		_ = yield(done, nil)
	}
}

func consenting(t *testing.T, c *careful, test func(*chat)) {
	t.Helper()
	talk(t, &c.script, func(cfg *session.Config) { cfg.Endpoint = c }, test)
}

// stages are the questions that were asked, in short.
func (c *careful) stages() string {
	var all []string
	for _, q := range c.asked {
		all = append(all, q.Text)
	}
	return strings.Join(all, " ")
}

func TestAnActionIsAcceptedForTheConversation(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		consent session.Consent
		waits   string // after it
		asked   string
	}{
		{"once", session.Once, "$ make", "go yes"},
		{"the same", session.Always, "$ rm x", "go yes yes"},
		{"all", session.All, "", "go yes yes yes"},
		{"refused", session.Refuse, "$ make", "go no"},
	} {
		c := &careful{commands: []string{"make", "make", "rm x"}}
		consenting(t, c, func(chat *chat) {
			chat.do(chat.Submit("go", "go"))
			chat.do(chat.Decide(tc.consent))
			if got := strings.Join(chat.Pending, " "); got != tc.waits {
				t.Errorf("%s: %q waits, want %q", tc.name, got, tc.waits)
			}
			if got := c.stages(); got != tc.asked {
				t.Errorf("%s: asked %q, want %q", tc.name, got, tc.asked)
			}
			chat.New()
			c.commands = []string{"make"}
			chat.do(chat.Submit("go", "go"))
			if len(chat.Pending) != 1 {
				t.Errorf("%s: a new conversation does not ask", tc.name)
			}
		})
	}
}

func TestOnlyWhatIsKnownInFullIsAcceptedAgain(t *testing.T) {
	t.Parallel()
	for _, line := range []string{strings.Repeat("x", 16<<10), "curl -H [redacted]"} {
		c := &careful{commands: []string{line, line}}
		consenting(t, c, func(chat *chat) {
			chat.do(chat.Submit("go", "go"))
			chat.do(chat.Decide(session.Always))
			if len(chat.Pending) != 1 {
				t.Errorf("%.20q was accepted a second time", line)
			}
			chat.view.has(t, "accepted once: the action cannot be compared")
		})
	}
}

func TestAModeGoesWithEachQuestion(t *testing.T) {
	t.Parallel()
	c := &careful{commands: []string{"make", "rm x"}}
	consenting(t, c, func(chat *chat) {
		if _, ok := chat.SetMode("sometimes"); ok {
			t.Error("a mode that is not there was taken")
		}
		chat.do(chat.Submit("go", "go"))
		chat.do(chat.Decide(session.All))
		c.commands = []string{"make"}
		if _, ok := chat.SetMode("always"); !ok {
			t.Error("the mode was not taken")
		}
		chat.do(chat.Submit("go on", "go on"))
		if len(chat.Pending) != 1 {
			t.Error("the mode does not take back the consent")
		}
		last := len(c.asked) - 1
		if got := c.asked[last].Confirmation; got != gateway.ConfirmAlways || c.asked[0].Confirmation != "" {
			t.Errorf("modes %q and %q", c.asked[0].Confirmation, got)
		}
	})
}

func TestAModeThatIsRefusedIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	c := &careful{err: &gateway.Error{Kind: gateway.Refused, Code: "forbidden_confirmation", Message: "no"}}
	consenting(t, c, func(chat *chat) {
		_, _ = chat.SetMode("never")
		chat.do(chat.Submit("go", "go"))
		c.err = nil
		chat.do(chat.Retry())
		if len(c.asked) != 2 || c.asked[0].Confirmation != "never" || c.asked[1].Confirmation != "" {
			t.Errorf("asked %+v", c.asked)
		}
	})
}
