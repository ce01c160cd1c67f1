package responses_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/chats"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/responses"
)

func said(user, answer string) []openai.Turn {
	return []openai.Turn{{Role: "user", Text: user}, {Role: "assistant", Text: answer}}
}

// spoken ends a response that is not stored, to a question, with the answer "hi".
func spoken(s *responses.Store, number int, token, question string, change ...func(*responses.Record)) string {
	rec := &responses.Record{Token: token, Model: "m", Unstored: true}
	for _, f := range change {
		f(rec)
	}
	l := responses.NewLive(responses.Config{
		Store: s, Record: rec, Now: func() time.Time { return noon }, Asked: chats.Transcript([]openai.Turn{{Role: "user", Text: question}}),
		Conclude: func(turn.Result, error) responses.Ending {
			return responses.Ending{Status: openai.ResponseCompleted, Answer: "hi"}
		},
	})
	conversation := fmt.Sprint("c", number)
	if rec.Conversation != "" {
		conversation = rec.Conversation
	}
	l.Admitted(conversation, fmt.Sprintf("%032x", number), noon)
	if err := l.Begin(turn.Baseline{}); err != nil {
		panic(err)
	}
	l.End(turn.Result{Answer: "hi"}, nil, true)
	return l.ID()
}

func past(token string, after time.Duration) responses.Past {
	return responses.Past{Token: token, Model: "m", Now: noon.Add(after), Loose: time.Minute}
}

// Of each token the newest 1,024 responses are found by what was said; how many
// another token has makes no difference.
func TestTheNewestResponsesAreFoundByWords(t *testing.T) {
	t.Parallel()
	s := responses.Open("")
	spoken(s, 1, "b", "of another token")
	for i := range 1025 {
		spoken(s, 10+i, "a", fmt.Sprint("question ", i))
	}
	for question, want := range map[string]bool{"question 0": false, "question 1": true, "question 1024": true, "of another token": false} {
		if got := s.BySaid(past("a", 0), chats.Transcript(said(question, "hi"))) != nil; got != want {
			t.Errorf("%q is found: %v", question, got)
		}
	}
	if s.BySaid(past("b", 0), chats.Transcript(said("of another token", "hi"))) == nil {
		t.Error("the other token's response was forgotten")
	}
}

func TestWordsAreForgottenAfterTheirTime(t *testing.T) {
	t.Parallel()
	s := responses.Open("")
	loose := spoken(s, 1, "t", "loose")
	spoken(s, 2, "t", "stored", func(r *responses.Record) { r.Unstored = false })
	for _, tc := range []struct {
		question string
		after    time.Duration
		want     bool
	}{
		{"loose", 59 * time.Second, true},
		{"loose", time.Minute, false},
		{"stored", 23 * time.Hour, true},
		{"stored", 24 * time.Hour, false},
	} {
		if got := s.BySaid(past("t", tc.after), chats.Transcript(said(tc.question, "hi"))) != nil; got != tc.want {
			t.Errorf("%q is found after %v: %v", tc.question, tc.after, got)
		}
	}
	if s.ByItem(past("t", 0), loose) == nil || s.ByItem(past("t", time.Minute), loose) != nil || s.ByItem(past("u", 0), loose) != nil {
		t.Error("an unstored response is not found by its id in its time alone, or by another token")
	}
	if err := s.Forget(t.Context(), "c1"); err != nil || s.ByItem(past("t", 0), loose) != nil {
		t.Errorf("the response of a conversation that is gone is found (%v)", err)
	}
}

// An unstored response has one place after it, too.
func TestAnUnstoredResponseIsGoneOnFromOnce(t *testing.T) {
	t.Parallel()
	s := responses.Open("")
	first := spoken(s, 1, "t", "one")
	rec := s.ByItem(past("t", 0), first)
	if !s.Claim(rec) || s.Claim(rec) {
		t.Error("it was not claimed exactly once")
	}
	spoken(s, 2, "t", "two", func(r *responses.Record) { r.Previous, r.Claims = first, true })
	if next := s.ByItem(past("t", 0), first).Next; next != "" {
		t.Errorf("%s follows it, in another conversation", next)
	}
	second := spoken(s, 3, "t", "two", func(r *responses.Record) { r.Previous, r.Claims, r.Conversation = first, true, "c1" })
	if rec = s.ByItem(past("t", 0), first); rec.Next != second || s.Claim(rec) {
		t.Errorf("%q follows it, want %q, and nothing more", rec.Next, second)
	}
}

// The end of a copy leaves the place after the previous response to whom it is
// promised.
func TestACopyGivesNoPlaceBack(t *testing.T) {
	t.Parallel()
	for name, unstored := range map[string]bool{"stored": false, "not stored": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := responses.Open("")
			rec, err := s.Load(answered(t, s, "1", "c1"))
			if err != nil || !s.Claim(rec) {
				t.Fatal("the response cannot be claimed", err)
			}
			spoken(s, 2, "t", "copy", func(r *responses.Record) { r.Previous, r.Unstored = rec.ID, unstored })
			if s.Claim(rec) {
				t.Error("the place was given away twice")
			}
		})
	}
}

func TestTheResponseOfAnItem(t *testing.T) {
	t.Parallel()
	const digits = "0123456789abcdef0123456789abcdef"
	for item, want := range map[string]string{
		"msg_" + digits + "0": "resp_" + digits, "rs_" + digits + "12": "resp_" + digits, "mcpr_" + digits + "1": "resp_" + digits,
		"msg_" + digits: "", "msg_" + digits + "x": "", "fc_" + digits + "0": "resp_" + digits, "call_" + digits: "resp_" + digits, "msg": "", "": "", "resp_" + digits: "", "msg_" + digits[:31] + "G0": "",
	} {
		if got := responses.ResponseOf(item); got != want {
			t.Errorf("ResponseOf(%q) is %q, want %q", item, got, want)
		}
	}
}
