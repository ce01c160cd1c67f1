package agentserver_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/uuid"
)

// questions are the messages of the user in a log.
func questions(log []event.Event) (texts []string) {
	for _, e := range log {
		if m, ok := e.Body.(*event.Message); ok && e.Source == event.SourceUser {
			texts = append(texts, m.LLMMessage.Content[0].Text)
		}
	}
	return texts
}

// occupy starts a run of another client, which lasts until it is released. It returns
// when that run has started.
func (w *world) occupy(t *testing.T) (release func()) {
	t.Helper()
	gate := make(chan struct{})
	w.model.then(func(ctx context.Context, say func(string)) (fakeserver.Reply, error) {
		select {
		case <-gate:
		case <-ctx.Done():
		}
		return text("theirs")(context.WithoutCancel(ctx), say)
	})
	id := w.foreign(t, "openai/test")
	w.post(t, "/api/conversations/"+id+"/events", `{"role":"user","content":[{"type":"text","text":"theirs"}],"run":true}`)
	synctest.Wait()
	return func() { close(gate) }
}

func TestThirtyTurnsShareTheRoomOfTheServer(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		var mu sync.Mutex
		most := 0
		w.Server = fakeserver.New(t, fakeserver.Options{InMemory: true, Model: func(ctx context.Context, _ fakeserver.Prompt, say func(string)) (fakeserver.Reply, error) {
			mu.Lock()
			most = max(most, w.Runs())
			mu.Unlock()
			return slowly("one two three", time.Second)(ctx, say)
		}})
		w.SaveProfile("fast", fakeserver.Profile{Model: "openai/test", BaseURL: "http://llm.test/v1"})
		client := w.Client()
		b, err := agentserver.New(agentserver.Config{URL: w.URL, HTTP: client})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		ids := make([]string, 30)
		var wg sync.WaitGroup
		for i := range ids {
			ids[i] = uuid.New()
			wg.Go(func() {
				c, err := b.Open(t.Context(), agentapi.OpenRequest{ID: ids[i], New: true, Profile: "fast", Workspace: "/w"})
				if err != nil {
					t.Errorf("open %d: %v", i, err)
					return
				}
				defer c.Close()
				res, err := turn.Run(t.Context(), c, turn.Input{Message: agentapi.Message{Text: fmt.Sprint("go ", i)}, Emit: func(turn.Update) {}})
				if err != nil || res.Outcome != turn.Finished || res.Answer != "one two three" {
					t.Errorf("turn %d: %+v, %v", i, res, err)
				}
			})
		}
		wg.Wait()
		for i, id := range ids {
			if got, want := questions(w.Log(id)), []string{fmt.Sprint("go ", i)}; !slices.Equal(got, want) {
				t.Errorf("conversation %d has the messages %q", i, got)
			}
		}
		if most != 10 {
			t.Errorf("%d runs at the same time, want 10", most)
		}
		if n := len(w.Calls("POST", "/events")); n != 30 {
			t.Errorf("%d messages were sent", n)
		}
	})
}

// TestARefusedRunStartsWhenThereIsRoom counts the requests for it: few while other
// clients keep the room.
func TestARefusedRunStartsWhenThereIsRoom(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{MaxRuns: 1}, func(t *testing.T, w *world) {
		c := w.open(t)
		release := w.occupy(t)
		var queue []string
		over := begin(t, c, func(u turn.Update) {
			if u.Kind == turn.Queue {
				queue = append(queue, u.Text)
			}
		})
		time.Sleep(10 * time.Minute)
		release()
		o := <-over
		o.wantAnswer(t, "ok", "ok")
		if o.took > 10*time.Minute+5*time.Second {
			t.Errorf("the turn took %v", o.took)
		}
		if got := questions(w.Log(c.Info().ID)); !slices.Equal(got, []string{"go"}) {
			t.Errorf("the log has the messages %q", got)
		}
		if n := len(w.Calls("POST", "/"+c.Info().ID+"/run")); n < 100 || n > 400 {
			t.Errorf("the run was asked for %d times in 10 minutes", n)
		}
		if len(queue) != 2 || !strings.Contains(queue[0], "Waiting for the agent-server") || queue[1] != "" {
			t.Errorf("the client was told %q", queue)
		}
	})
}

// TestRefusedRunsStartInOrder: the first that was refused is the first to run.
func TestRefusedRunsStartInOrder(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{MaxRuns: 1}, func(t *testing.T, w *world) {
		convs := []agentapi.Conversation{w.open(t), w.open(t), w.open(t), w.open(t)}
		release := w.occupy(t)
		var mu sync.Mutex
		var order []int
		var ends []<-chan outcome
		for i, c := range convs {
			w.model.then(slowly("a b c", time.Second))
			began := once(func() { mu.Lock(); order = append(order, i); mu.Unlock() })
			ends = append(ends, begin(t, c, func(u turn.Update) {
				if u.Kind == turn.Text {
					began(u)
				}
			}))
			time.Sleep(300 * time.Millisecond)
		}
		release()
		for _, over := range ends {
			(<-over).wantAnswer(t, "a b c", "a b c")
		}
		if !slices.Equal(order, []int{0, 1, 2, 3}) {
			t.Errorf("the runs began in the order %v", order)
		}
	})
}

// TestAWithdrawnRunNeverStarts gives up a turn that waits for room. No run answers its
// message, and the next turn of the conversation has the message once.
func TestAWithdrawnRunNeverStarts(t *testing.T) {
	t.Parallel()
	var prompts []fakeserver.Prompt
	opts := fakeserver.Options{MaxRuns: 1}
	var w2 *world
	opts.Model = func(ctx context.Context, p fakeserver.Prompt, say func(string)) (fakeserver.Reply, error) {
		prompts = append(prompts, p)
		return w2.model.think(ctx, p, say)
	}
	inBubble(t, opts, func(t *testing.T, w *world) {
		w2 = w
		c := w.open(t)
		release := w.occupy(t)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		began := time.Now()
		res, err := turn.Run(ctx, c, turn.Input{Message: agentapi.Message{Text: "first"}, Emit: func(turn.Update) {}})
		if err != nil || res.Outcome != turn.Interrupted || res.Answer != "" {
			t.Errorf("turn: %+v, %v", res, err)
		}
		if took := time.Since(began); took < time.Minute || took > time.Minute+time.Second {
			t.Errorf("it ended after %v", took)
		}
		release()
		time.Sleep(time.Hour)
		if n := w.Runs(); n != 0 || len(prompts) != 1 {
			t.Errorf("%d runs, %d prompts: the withdrawn message was answered", n, len(prompts))
		}
		res, err = turn.Run(t.Context(), c, turn.Input{Message: agentapi.Message{Text: "second"}, Emit: func(turn.Update) {}})
		if err != nil || res.Outcome != turn.Finished || res.Answer != "ok" {
			t.Errorf("the next turn: %+v, %v", res, err)
		}
		var seen []string
		for _, m := range prompts[len(prompts)-1].Messages {
			if m.Role == "user" {
				seen = append(seen, m.Content[0].Text)
			}
		}
		if !slices.Equal(seen, []string{"first", "second"}) {
			t.Errorf("the model was shown %q", seen)
		}
	})
}

// TestADecisionWaitsForRoom accepts what waits on a server that is full. Given up,
// it has changed nothing.
func TestADecisionWaitsForRoom(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{MaxRuns: 1}, func(t *testing.T, w *world) {
		w.Configure(func(_, conversation map[string]any) { conversation["confirmation_mode"] = true })
		w.model.then(tool("", "echo hi"))
		c := w.open(t)
		if o := run(t, c); o.Outcome != turn.Waiting {
			t.Fatalf("turn %+v", o)
		}
		release := w.occupy(t)
		accept := turn.Input{Decision: &agentapi.Decision{Accept: true}, Emit: func(turn.Update) {}}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		if _, err := turn.Run(ctx, c, accept); !errors.Is(err, context.Canceled) {
			t.Errorf("a decision that was given up: %v", err)
		}
		if st, err := c.State(t.Context()); err != nil || st.Status != event.Waiting {
			t.Errorf("State() = %v, %v", st.Status, err)
		}
		time.AfterFunc(time.Minute, release)
		w.model.then(text("done"))
		if res, err := turn.Run(t.Context(), c, accept); err != nil || res.Outcome != turn.Finished || res.Answer != "done" {
			t.Errorf("turn: %+v, %v", res, err)
		}
	})
}

func TestACreationWaitsForRoom(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{MaxRuns: 1}, func(t *testing.T, w *world) {
		id := w.foreign(t, "openai/test") // there would be no room for it later
		w.model.then(slowly("theirs", time.Minute))
		w.post(t, "/api/conversations/"+id+"/events", `{"role":"user","content":[{"type":"text","text":"theirs"}],"run":true}`)
		var lines []string
		req := agentapi.OpenRequest{
			ID: uuid.New(), New: true, Profile: "fast", Workspace: "/w", Progress: func(line string) { lines = append(lines, line) },
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := w.backend.Open(ctx, req); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Open that was given up: %v", err)
		}
		c, err := w.backend.Open(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		run(t, c).wantAnswer(t, "ok", "ok")
		if len(lines) != 2 || !strings.HasPrefix(lines[0], "Waiting for the agent-server") {
			t.Errorf("lines %q", lines)
		}
	})
}

// TestARefusalOfAProxyIsNotTakenForTheServers: the message is in no log.
func TestARefusalOfAProxyIsNotTakenForTheServers(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`<h1>Too Many Requests</h1>`, `{"detail":"slow down"}`} {
		inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
			c := w.open(t)
			w.Fail("POST", "/events", 1, 429, body)
			if err := c.Send(t.Context(), agentapi.Message{Text: "go"}); !errors.Is(err, agentapi.ErrUnavailable) {
				t.Errorf("%s: %v, want %v", body, err, agentapi.ErrUnavailable)
			}
			if n := len(w.Calls("POST", "/run")); n != 0 {
				t.Errorf("%s: the run was asked for", body)
			}
		})
	}
}

// TestAWaitForRoomEndsWithTheConversation: what is gone is not asked for again.
func TestAWaitForRoomEndsWithTheConversation(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{MaxRuns: 1}, func(t *testing.T, w *world) {
		c := w.open(t)
		release := w.occupy(t)
		defer release()
		over := begin(t, c, nil)
		time.Sleep(time.Minute)
		w.remove(t, c.Info().ID)
		if o := <-over; !errors.Is(o.err, agentapi.ErrLost) && !errors.Is(o.err, agentapi.ErrConversationNotFound) {
			t.Errorf("turn %+v", o)
		}
	})
}

func TestRoomIsWhatTheServerHasShown(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{MaxRuns: 3}, func(t *testing.T, w *world) {
		convs := []agentapi.Conversation{w.open(t), w.open(t), w.open(t)}
		release := w.occupy(t)
		if n := w.backend.Room(); n != 0 {
			t.Errorf("Room() = %d before anything was refused", n)
		}
		var ends []<-chan outcome
		for _, c := range convs {
			w.model.then(slowly("a", time.Minute))
			ends = append(ends, begin(t, c, nil))
			time.Sleep(time.Second)
		}
		if n := w.backend.Room(); n != 2 {
			t.Errorf("Room() = %d, want 2: somebody else has the third", n)
		}
		release()
		for i, over := range ends {
			(<-over).wantAnswer(t, "a", "a")
			if err := convs[i].Close(); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(5 * time.Minute)
		if n := w.backend.Room(); n < 30 {
			t.Errorf("Room() = %d long after the last refusal", n)
		}
	})
}
