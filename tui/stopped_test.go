package tui

import (
	"context"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/gateway"
)

// stubborn is a conversation whose command obeys a while after its run was stopped.
type stubborn struct {
	shelf
	looks []gateway.Call // one for each time that the chat asks; the last one stays
	asked int
}

func (s *stubborn) Earlier(context.Context, string, int) ([]gateway.Item, bool, error) {
	call := s.looks[min(s.asked, len(s.looks)-1)]
	s.asked++
	return []gateway.Item{{Kind: gateway.Asked, Text: "build"}, {Kind: gateway.Did, Call: &call}}, false, nil
}

// What a stopped command has written by then is shown where it stands.
func TestAStoppedCommandShowsWhatItHasWritten(t *testing.T) {
	begun := gateway.Call{ID: "1", State: "running", Tool: "terminal", Kind: "command", Line: "$ make", Input: "make"}
	over := begun
	over.State, over.Output = "interrupted", "This call was interrupted. What it had written by then:\nbuilt 1 of 7\nbuilt 2 of 7"
	silent, done := over, over
	silent.Output = "This call was interrupted."
	done.State, done.Output = "done", "built 7 of 7"
	for name, tt := range map[string]struct {
		looks        []gateway.Call
		sees, misses []string
		asked        int
	}{
		"at once":            {[]gateway.Call{over}, []string{"■ $ make  interrupted", "│ built 1 of 7", "│ built 2 of 7", "■ stopped after"}, []string{"This call"}, 1},
		"when it has obeyed": {[]gateway.Call{begun, begun, over}, []string{"■ $ make  interrupted", "│ built 2 of 7"}, nil, 3},
		"without a word":     {[]gateway.Call{silent}, []string{"■ $ make  interrupted"}, []string{"This call", "│"}, 1},
		"it was done":        {[]gateway.Call{done}, []string{"✓ $ make"}, []string{"interrupted"}, 1},
		"never":              {[]gateway.Call{begun}, []string{"■ $ make  interrupted"}, nil, 6},
	} {
		t.Run(name, func(t *testing.T) {
			history := &stubborn{looks: tt.looks}
			s := &script{answer: func(ctx context.Context, _ gateway.Question, say func(gateway.Piece)) error {
				say(gateway.Started{})
				say(begun)
				<-ctx.Done()
				return ctx.Err()
			}}
			talk(t, s, func(cfg *Config) { cfg.History = history }, func(c *chat) {
				c.ask("build")
				c.wait(2 * time.Second)
				c.press("esc")
				c.wait(time.Minute)
				c.sees(tt.sees...)
				c.misses(tt.misses...)
				if history.asked != tt.asked {
					t.Errorf("the history was asked %d times, want %d", history.asked, tt.asked)
				}
			})
		})
	}
}
