package session_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/session"
)

// A model that the user typed before there was a list is looked for in the first list, and
// a question that was refused because of its name is asked again.
func TestAModelIsLookedForInAListThatCameLate(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		early bool   // the question is asked before there is a list
		alone bool   // the chat does not ask for the list again by itself
		pick  string // the model that the user chooses before there is a list
		find  string
		why   error
		asked []string
		note  string
	}{
		"found":                 {find: "one", asked: []string{"one"}},
		"found after a refusal": {early: true, find: "one", asked: []string{"typed", "one"}},
		"found by the refusal":  {early: true, alone: true, find: "one", asked: []string{"typed", "one"}},
		"close to another":      {why: errors.New(`there is no model "typed"; did you mean one? ohgw models lists the models`), asked: []string{"typed"}, note: `note There is no model "typed"; did you mean one? ohgw models lists the models. Ctrl+P shows those there are.`},
		"unknown":               {find: "typed", asked: []string{"typed"}, note: "note The model typed is not available here now."},
		"chosen meanwhile":      {pick: "two", find: "one", asked: []string{"two"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listed := false
			refused := &gateway.Error{Kind: gateway.Refused, Code: "model_not_found", Message: "no such model"}
			s := &script{err: refused}
			s.models = func() ([]gateway.Model, error) {
				if !listed && tt.alone {
					return nil, &gateway.Error{Kind: gateway.Locked, Message: "a key is needed"}
				}
				if !listed {
					return nil, &gateway.Error{Kind: gateway.Unreachable, Message: "slow"}
				}
				return []gateway.Model{{ID: "one"}, {ID: "two"}}, nil
			}
			talk(t, s, func(cfg *session.Config) {
				cfg.Start.Model = "typed"
				cfg.Start.Find = func(context.Context, []gateway.Model) (string, error) { return tt.find, tt.why }
			}, func(c *chat) {
				if tt.pick != "" {
					c.do(c.SetModel(tt.pick))
				}
				listed = tt.alone
				if tt.early {
					c.do(c.Submit("go", "go"))
				}
				listed = true
				time.Sleep(time.Minute) // the list is asked for again by itself
				c.settle()
				if !tt.early {
					c.do(c.Submit("go", "go"))
				}
				var asked []string
				for _, q := range s.asked {
					asked = append(asked, q.Model)
				}
				if !slices.Equal(asked, tt.asked) {
					t.Errorf("asked %q, want %q\n%q", asked, tt.asked, c.view.lines)
				}
				if tt.note != "" {
					c.view.has(t, tt.note)
				}
			})
		})
	}
}
