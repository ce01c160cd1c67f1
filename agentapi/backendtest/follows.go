package backendtest

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

func follows() []behaviour {
	return []behaviour{
		{name: "FollowReadsATurnThatIsOver", check: checkFollowOver},
		{name: "FollowEndsWhereTheNextTurnBegins", check: checkFollowEarlier},
		{name: "FollowJoinsATurnThatGoesOn", check: checkFollowRunning},
		{name: "FollowOfNothingEnds", check: func(t *testing.T, s *Setup) {
			s.LLM.Reply(llmtest.Text("one"))
			c := s.open(t)
			for range 2 { // in an empty conversation, and after a turn
				b := baseline(t, c)
				_, err := turn.Follow(within(t, patience), c, b, func(turn.Update) {}, nil)
				if !errors.Is(err, turn.ErrNoTurn) {
					t.Errorf("Follow: %v, want %v", err, turn.ErrNoTurn)
				}
				if len(s.LLM.Requests()) == 0 {
					say(t, c, "go")
				}
			}
		}},
	}
}

// baseline is where a turn would start now.
func baseline(t *testing.T, c agentapi.Conversation) turn.Baseline {
	t.Helper()
	r := turn.NewReader(nil)
	if _, err := r.Add(next(t, watch(t, c, ""))); err != nil {
		t.Fatal(err)
	}
	return r.Baseline()
}

func checkFollowOver(t *testing.T, s *Setup) {
	s.LLM.Reply(
		llmtest.Text("before"),
		llmtest.Tool("terminal", `{"command":"echo hi"}`), llmtest.Finish("the answer"),
	)
	c := s.open(t)
	say(t, c, "first")
	var from turn.Baseline
	want := play(t, c, turn.Input{
		Message: agentapi.Message{Text: "second"},
		Ready:   func(b turn.Baseline) error { from = b; return nil },
	})
	var got played
	var err error
	got.Result, err = turn.Follow(within(t, patience), s.openAs(t, agentapi.OpenRequest{ID: c.Info().ID}), from,
		func(u turn.Update) { got.updates = append(got.updates, u) }, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Result, got.Result); diff != "" {
		t.Errorf("result (-run +follow):\n%s", diff)
	}
	if got.text() != want.text() || got.progress() != want.progress() {
		t.Errorf("live text %q, progress %q; the run had %q and %q", got.text(), got.progress(), want.text(), want.progress())
	}
}

// checkFollowEarlier reads each turn of a log after the last one has ended.
func checkFollowEarlier(t *testing.T, s *Setup) {
	s.LLM.Reply(
		llmtest.Tool("terminal", `{"command":"echo hi"}`), llmtest.Finish("the first"),
		llmtest.Text("the second"),
		llmtest.Fail(401, "no"),
		llmtest.Text("the last"),
	)
	c := s.open(t)
	var bases []turn.Baseline
	var wants []played
	for _, text := range []string{"one", "two", "three", "four"} {
		wants = append(wants, play(t, c, turn.Input{
			Message: agentapi.Message{Text: text},
			Ready:   func(b turn.Baseline) error { bases = append(bases, b); return nil },
		}))
	}
	for i, want := range wants {
		res, err := turn.Follow(within(t, patience), s.openAs(t, agentapi.OpenRequest{ID: c.Info().ID}), bases[i], func(turn.Update) {}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want.Usage == (turn.Usage{}) { // then the log has no numbers
			want.Context = turn.Context{}
		}
		if diff := cmp.Diff(want.Result, res); diff != "" {
			t.Errorf("turn %d (-run +follow):\n%s", i, diff)
		}
	}
}

func checkFollowRunning(t *testing.T, s *Setup) {
	hold, reply := gate()
	s.LLM.Reply(llmtest.Tool("terminal", `{"command":"echo hi"}`), reply)
	c := s.open(t)
	from := make(chan turn.Baseline, 1)
	first := begin(t, c, turn.Input{
		Message: agentapi.Message{Text: "go"},
		Ready:   func(b turn.Baseline) error { from <- b; return nil },
	})
	feed(t, hold, "half ")
	joined := make(chan struct{})
	over := make(chan played, 1)
	owned(t, func() {
		var p played
		p.Result, p.err = turn.Follow(within(t, patience), s.openAs(t, agentapi.OpenRequest{ID: c.Info().ID}), <-from,
			func(u turn.Update) {
				if len(p.updates) == 0 {
					close(joined)
				}
				p.updates = append(p.updates, u)
			}, nil)
		over <- p
	})
	await(t, "first update of the follower", joined)
	feed(t, hold, "done")
	close(hold)
	want, got := await(t, "first turn", first), await(t, "follower", over)
	if want.err != nil || got.err != nil {
		t.Fatalf("run %v, follow %v", want.err, got.err)
	}
	if diff := cmp.Diff(want.Result, got.Result); diff != "" {
		t.Errorf("result (-run +follow):\n%s", diff)
	}
	if got.Answer != "half done" || !strings.HasSuffix(got.text(), got.Answer) || strings.Count(got.text(), "half") != 1 {
		t.Errorf("answer %q, live text %q", got.Answer, got.text())
	}
}
