package session_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/session"
)

func TestCondenseSaysWhatCameOfIt(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		done gateway.Condensed
		err  error
		note string // in the log; "" for none
		said string
	}{
		"summarized":        {gateway.Condensed{Done: true, Before: 5203, After: 1040}, nil, "was summarized; context about 5.2k → 1.0k tokens.", "summarizing"},
		"of unknown size":   {gateway.Condensed{Done: true}, nil, "The earlier conversation was summarized.", "summarizing"},
		"nothing to do":     {gateway.Condensed{}, nil, "", "nothing to shorten yet"},
		"unknown yet":       {gateway.Condensed{}, unknown(), "", "nothing to shorten yet"},
		"unsupported":       {gateway.Condensed{}, &gateway.Error{Code: "condenser_unavailable", Message: "no condenser."}, "was not shortened: No condenser.", ""},
		"of an old gateway": {gateway.Condensed{}, &gateway.Error{Code: "unknown_url", Message: "Unknown."}, "older than the chat", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := old()
			s := &script{pieces: []gateway.Piece{gateway.Started{}, gateway.Text("yes"), done()}}
			talk(t, s, func(cfg *session.Config) { cfg.History = a }, func(c *chat) {
				c.do(c.Submit("go", "go"))
				a.condensed, a.err = tc.done, tc.err
				cmd, ok := c.Condense()
				if !ok {
					t.Error("the command stays in the input")
				}
				c.do(cmd)
				last := c.shown()[len(c.shown())-1]
				if tc.note != "" && !strings.Contains(last, tc.note) || tc.note == "" && strings.HasPrefix(last, "note:") {
					t.Errorf("the log ends with %q, want %q", last, tc.note)
				}
				if tc.said != "" && !slices.ContainsFunc(c.view.lines, func(s string) bool { return strings.Contains(s, tc.said) }) {
					t.Errorf("%q was not said: %q", tc.said, c.view.lines)
				}
				if tc.done.After != 0 && c.Context.Tokens != tc.done.After {
					t.Errorf("the context is %+v", c.Context)
				}
			})
		})
	}
}

// Where nothing was asked yet, the gateway is not asked for a summary.
func TestCondenseOfANewConversationAsksNobody(t *testing.T) {
	t.Parallel()
	a := old()
	talk(t, &script{}, func(cfg *session.Config) { cfg.History = a }, func(c *chat) {
		cmd, _ := c.Condense()
		c.do(cmd)
		if a.condensing != 0 {
			t.Error("the gateway was asked")
		}
	})
}
