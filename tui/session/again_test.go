package session_test

import (
	"context"
	"testing"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/session"
)

// What stood on the screen stays when the gateway that comes back has no more of
// the answer, and is replaced where it has.
func TestAnAnswerThatIsLostStays(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		after []gateway.Piece
		want  string
	}{
		"nothing more":      {nil, "twenty words"},
		"less":              {[]gateway.Piece{gateway.Text("twen")}, "twenty words"},
		"something else":    {[]gateway.Piece{gateway.Text("quite another")}, "quite another"},
		"what it was":       {[]gateway.Piece{gateway.Text("twenty words and more")}, "twenty words and more"},
		"an action instead": {[]gateway.Piece{gateway.Progress("$ ls")}, "twenty words"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{err: &gateway.Error{Kind: gateway.Failed, Message: "The run was interrupted."}}
			s.pieces = append([]gateway.Piece{gateway.Started{}, gateway.Text("twenty words"), gateway.Lost{Attempt: 1}, gateway.Started{}}, tc.after...)
			talk(t, s, nil, func(c *chat) {
				c.do(c.Submit("go", "go"))
				a := c.Log.LastAnswer()
				if a.Source() != tc.want || !a.Failed() {
					t.Errorf("it says %q, failed: %v", a.Source(), a.Failed())
				}
			})
		})
	}
}

// A gateway that is away for long fails the answer; once it is back, the full
// answer takes the place of what stood there.
func TestTheFullAnswerReplacesALostOne(t *testing.T) {
	t.Parallel()
	s := &script{
		pieces: []gateway.Piece{gateway.Started{}, gateway.Text("twenty words")},
		err:    &gateway.Error{Kind: gateway.Unreachable, Message: "The connection was lost."},
	}
	talk(t, s, nil, func(c *chat) {
		away := true
		s.models = func() ([]gateway.Model, error) {
			if away {
				return nil, &gateway.Error{Kind: gateway.Unreachable, Message: "refused"}
			}
			return []gateway.Model{{ID: "one"}}, nil
		}
		c.run(c.Submit("go", "go"))
		c.settle()
		if a := c.Log.LastAnswer(); a.Source() != "twenty words" || !a.Failed() {
			t.Fatalf("it says %q, failed: %v", a.Source(), a.Failed())
		}
		away = false
		s.pieces, s.err = []gateway.Piece{gateway.Started{}, gateway.Text("twenty words and more"), done()}, nil
		c.do(c.Connect())
		a := c.Log.LastAnswer()
		if a.Source() != "twenty words and more" || a.Failed() || len(c.Log.Messages()) != 2 {
			t.Errorf("it says %q, failed: %v, of %d messages", a.Source(), a.Failed(), len(c.Log.Messages()))
		}
		if len(s.asked) != 2 || s.asked[0].Key != s.asked[1].Key {
			t.Error("it ran again")
		}
	})
}

func TestASavedAnswerHasItsModel(t *testing.T) {
	t.Parallel()
	var saved string
	s := &script{pieces: []gateway.Piece{gateway.Started{}, gateway.Text("yes"), done()}}
	talk(t, s, func(cfg *session.Config) {
		cfg.Save = func(_ context.Context, path, text string) (string, error) { saved = text; return path, nil }
	}, func(c *chat) {
		c.do(c.Submit("go", "go"))
		c.do(c.SetModel("two"))
		c.do(c.Submit("on", "on"))
		c.do(c.Save("f.md"))
		if want := "## You\n\ngo\n\n## one\n\nyes\n\n## You\n\non\n\n## two\n\nyes\n\n"; saved != want {
			t.Errorf("saved %q", saved)
		}
	})
}
