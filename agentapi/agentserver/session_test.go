package agentserver_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
)

func TestSocketIsTheOneThatTheServerHas(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"1.43.1": "/sockets/events/", "1.46.0": "/sockets/events/", "1.47.0": "/sockets/session/", "1.58.2": "/sockets/session/",
	} {
		inBubble(t, fakeserver.Options{Version: version}, func(t *testing.T, w *world) {
			w.model.then(text("hello"))
			c := w.open(t)
			run(t, c).wantAnswer(t, "hello", "hello")
			for _, kind := range []string{"/sockets/events/", "/sockets/session/"} {
				if got := len(w.Calls("GET", kind+c.Info().ID)); (got == 1) != (kind == want) {
					t.Errorf("version %s: %d sockets at %s", version, got, kind)
				}
			}
		})
	}
}

// cuts breaks session sockets in front of frames that a seed chooses, and counts that.
func cuts(w *world, random *rand.Rand, count *int) {
	left := 2 + random.IntN(4)
	next := random.IntN(12)
	w.OnFrame(func(_ int, _ event.Event) fakeserver.Fate {
		if next--; next >= 0 || left == 0 {
			return fakeserver.Send
		}
		left--
		*count++
		next = random.IntN(10)
		return fakeserver.Break
	})
}

// logged are the ids of the events of the log of a conversation.
func (w *world) logged(c agentapi.Conversation) (ids []string) {
	for _, e := range w.Log(c.Info().ID) {
		ids = append(ids, e.ID)
	}
	return ids
}

// persisted reads the events of the log up to one, or to the end of the stream.
func persisted(t *testing.T, s agentapi.Stream, last string) (ids []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	for {
		e, err := s.Next(ctx)
		if errors.Is(err, agentapi.ErrLost) {
			return ids
		}
		if err != nil {
			t.Errorf("after %d events: %v", len(ids), err)
			return ids
		}
		if e.Persisted() {
			ids = append(ids, e.ID)
		}
		if e.ID == last {
			return ids
		}
	}
}

// TestNoCutOfASessionSocketLosesOrDoublesAnything breaks the socket at any places of a
// turn with tools, while texts are written too. The log is fetched by number: what is
// read of it over REST does not grow with the cuts.
func TestNoCutOfASessionSocketLosesOrDoublesAnything(t *testing.T) {
	t.Parallel()
	const seeds, places = 40, 100
	count := 0
	for seed := range uint64(seeds) {
		inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
			random := rand.New(rand.NewPCG(seed, 0))
			pace := time.Duration(random.IntN(3)) * 50 * time.Millisecond
			w.model.script = []thought{
				tool("Looking.", "echo hi"), tool("Waiting.", "sleep 1"), slowly(sentence, pace), text("again"),
			}
			c := w.open(t)
			watch, err := c.Watch(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			defer watch.Close()
			if _, err := watch.Next(t.Context()); err != nil { // the state from which on nothing may be missing
				t.Fatal(err)
			}
			cuts(w, random, &count)
			run(t, c).wantAnswer(t, sentence, "Looking.\n\nWaiting.\n\n"+sentence)
			w.OnFrame(nil)
			run(t, c).wantAnswer(t, "again", "again")
			want := w.logged(c)
			if diff := cmp.Diff(want, persisted(t, watch, want[len(want)-1])); diff != "" {
				t.Errorf("seed %d: events (-log +watched):\n%s", seed, diff)
			}
			// Before each message, the newest event is looked for.
			if n := len(w.Calls("GET", "/events/search")); n > 2 {
				t.Errorf("seed %d: the log was read %d times over REST", seed, n)
			}
		})
	}
	if count < places {
		t.Errorf("%d cuts, want %d", count, places)
	}
}

func TestTextGoesOnAfterACutThatLostNoPiece(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		w.model.script = []thought{slowly(sentence, time.Second)}
		var pieces []string
		c := w.open(t)
		o := <-begin(t, c, func(u turn.Update) {
			pieces = append(pieces, u.Text)
			if len(pieces) == 3 {
				w.Cut()
			}
		})
		o.wantAnswer(t, sentence, sentence)
		if diff := cmp.Diff(strings.SplitAfter(sentence, " "), pieces); diff != "" {
			t.Errorf("pieces (-written +live):\n%s", diff)
		}
	})
}

func TestTextWithAMissingPieceComesWithItsMessage(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		w.model.script = []thought{slowly(sentence, time.Second)}
		o := <-begin(t, w.open(t), once(func() {
			w.Fail("GET", "/server_info", 2, 503, `{}`)
			w.SlowSubscribe(2500 * time.Millisecond)
			w.Cut()
		}))
		o.wantAnswer(t, sentence, sentence)
	})
}

// retried is a text that the provider breaks off after some pieces.
func retried(pieces ...string) thought {
	return func(_ context.Context, say func(string)) (fakeserver.Reply, error) {
		for _, piece := range pieces {
			say(piece)
		}
		return fakeserver.Reply{}, fakeserver.ErrRetry
	}
}

func TestTextOfASecondAttemptIsAParagraphOfItsOwn(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		w.model.script = []thought{retried("half ", "of it "), text("the answer")}
		run(t, w.open(t)).wantAnswer(t, "the answer", "half of it \n\nthe answer")
	})
}

func TestSecondAttemptAfterALostPieceComesWithItsMessage(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		broken := func(ctx context.Context, say func(string)) (fakeserver.Reply, error) {
			say("half ")
			if err := sleep(ctx, time.Second); err != nil {
				return fakeserver.Reply{}, err
			}
			say("of it ") // no client listens
			return fakeserver.Reply{}, errors.Join(sleep(ctx, 5*time.Second), fakeserver.ErrRetry)
		}
		w.model.script = []thought{broken, text("the answer")}
		o := <-begin(t, w.open(t), once(func() {
			w.SlowSubscribe(2 * time.Second)
			w.Cut()
		}))
		o.wantAnswer(t, "the answer", "half \n\nthe answer")
	})
}

// A provider may have an id for each chunk: then each piece is an attempt to the server.
func TestAttemptsOfOnePieceAreOneText(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		w.model.script = []thought{retried("one "), retried("two "), retried("three "), func(_ context.Context, say func(string)) (fakeserver.Reply, error) {
			say("four")
			return fakeserver.Reply{Text: "one two three four"}, nil
		}}
		run(t, w.open(t)).wantAnswer(t, "one two three four", "one two three four")
	})
}

func TestSlowReaderOfASessionSocketLosesNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{Backlog: 1 << 20}, func(t *testing.T, w *world) {
		big := strings.Repeat("0123456789abcdef", 1<<13) // 128 KiB
		const steps = 12                                 // more than may wait at the server
		for i := range steps {
			w.model.script = append(w.model.script, tool(fmt.Sprint(i)+big, "echo hi"))
		}
		w.model.script = append(w.model.script, text("done"))
		c := w.open(t)
		stream, err := c.Watch(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		if _, err := stream.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 70 { // no caller takes what the stream has, so the stream stops reading
			w.post(t, "/api/conversations/"+c.Info().ID+"/events", `{"role":"user","content":[{"type":"text","text":"x"}]}`)
		}
		if err := c.Send(t.Context(), agentapi.Message{Text: "go"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		want := w.logged(c)
		if got := persisted(t, stream, want[len(want)-1]); !slices.Equal(got, want) {
			t.Errorf("%d events came, the log has %d", len(got), len(want))
		}
		if n := len(w.Calls("GET", "/sockets/session/"+c.Info().ID)); n < 2 {
			t.Errorf("%d sockets: the server dropped none", n)
		}
	})
}

func TestEventAsLargeAsAFrameOfASessionSocketIsRead(t *testing.T) {
	t.Parallel()
	const limit = 256 << 10 // less than the real one: megabytes of JSON take seconds with the race detector
	for name, tt := range map[string]struct {
		frame    int // of the server; 0: as in the real one
		size     int // of the answer
		sessions bool
	}{
		"just below":            {limit, limit - 2048, true},
		"just above":            {limit, limit, false},
		"far above":             {limit, 2 * limit, false},
		"above the real server": {0, 4 << 20, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, fakeserver.Options{Frame: tt.frame}, func(t *testing.T, w *world) {
				big := strings.Repeat("x", tt.size)
				say := func(context.Context, func(string)) (fakeserver.Reply, error) { return fakeserver.Reply{Text: big}, nil }
				w.model.script = []thought{tool("first", "echo hi"), say, text("next")}
				c := w.open(t)
				if o := run(t, c); o.err != nil || o.Answer != big || o.text != "first\n\n"+big {
					t.Errorf("answer of %d bytes, text of %d, want %d; %v", len(o.Answer), len(o.text), tt.size, o.err)
				}
				run(t, c).wantAnswer(t, "next", "next")
				events := len(w.Calls("GET", "/sockets/events/"+c.Info().ID))
				if (events == 0) != tt.sessions {
					t.Errorf("%d events sockets were opened", events)
				}
			})
		})
	}
}

func TestServerThatRestartsDuringASessionTellsWhatItsLogHas(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		w.model.script = []thought{tool("first", "echo hi"), slowly(sentence, time.Second)}
		time.Sleep(time.Minute) // so that a restart can be told by the uptime
		c := w.open(t)
		stream, err := c.Watch(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		if _, err := stream.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		o := <-begin(t, c, func(u turn.Update) {
			if strings.Contains(u.Text, "three") {
				w.Kill()
				time.AfterFunc(3*time.Second, func() { w.Restart(t) })
			}
		})
		if o.err != nil || o.Outcome != turn.Failed || o.Cause == nil || o.Cause.Kind != turn.CauseLost || !strings.Contains(o.text, "one two three") {
			t.Errorf("turn %+v", o)
		}
		searches := len(w.Calls("GET", "/events/search"))
		if diff := cmp.Diff(w.logged(c), persisted(t, stream, "")); diff != "" {
			t.Errorf("events (-log +watched):\n%s", diff)
		}
		if searches > 1 {
			t.Errorf("the log was read %d times over REST", searches)
		}
	})
}

// A machine that lost its power may have lost the end of a log that a client has read:
// the numbers are given again.
func TestLogThatLostItsEndIsNotReadByNumber(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]int{"shorter": 0, "longer again": 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
				w.model.script = []thought{text("one"), text("two")}
				time.Sleep(time.Minute) // so that a restart can be told by the uptime
				c := w.open(t)
				run(t, c).wantAnswer(t, "one", "one")
				stream, err := c.Watch(t.Context(), "")
				if err != nil {
					t.Fatal(err)
				}
				defer stream.Close()
				if _, err := stream.Next(t.Context()); err != nil {
					t.Fatal(err)
				}
				run(t, c).wantAnswer(t, "two", "two")
				path := "/sockets/session/" + c.Info().ID
				before := len(w.Calls("GET", path))
				w.Kill()
				w.LoseEvents(c.Info().ID, 4)
				time.Sleep(3 * time.Second)
				w.Restart(t)
				kept := len(w.logged(c))
				for range more {
					w.post(t, "/api/conversations/"+c.Info().ID+"/events", `{"role":"user","content":[{"type":"text","text":"x"}]}`)
				}
				got := persisted(t, stream, "")
				seen := map[string]int{}
				for _, id := range got {
					if seen[id]++; seen[id] > 1 {
						t.Errorf("event %s came twice", id)
					}
				}
				log := w.logged(c)
				for _, id := range log[kept:] {
					if seen[id] == 0 {
						t.Errorf("event %s did not come", id)
					}
				}
				if n := len(w.Calls("GET", path)); n != before+1 {
					t.Errorf("%d session sockets after the restart, want 1", n-before)
				}
			})
		})
	}
}
