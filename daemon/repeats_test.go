package daemon_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/daemontest"
	"github.com/ohgw/ohgw/internal/sse"
)

// cut begins a stream, reads n frames and hangs up.
func (g *gateway) cut(body string, n int, header ...string) {
	g.t.Helper()
	ctx, cancel := context.WithCancel(g.t.Context())
	defer cancel()
	res := g.send(g.request(http.MethodPost, "/v1/chat/completions", body, header...).WithContext(ctx))
	defer res.Body.Close()
	r := sse.NewReader(res.Body, 1<<20)
	for range n {
		if _, err := r.Next(); err != nil {
			g.t.Fatal(err)
		}
	}
}

// A client that comes back within the grace reads the answer from its first byte.
func TestARepeatWithinTheGraceGetsEverythingFromTheStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := script(daemontest.Delta("one "), daemontest.Wait(20*time.Second), daemontest.Delta("two"), daemontest.Finish("one two"))
		g := serve(t, b)
		g.cut(ask("go", streamed), 2)
		time.Sleep(9 * time.Second)
		res := g.chat(ask("go", streamed))
		if f := parse(t, res); f.text() != "one two" || f.end != "[DONE]" {
			t.Errorf("%q, %q", f.text(), f.end)
		}
		equal(t, "the number of runs", b.Runs(), 1)
		equal(t, "the number of interrupts", b.Interrupts(), 0)
		equal(t, "X-OpenHands-Replayed", res.header.Get("X-OpenHands-Replayed"), "true")
	})
}

// A run whose client does not come back within the grace is cancelled.
func TestARunNobodyComesBackForIsInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := script(daemontest.Delta("one "), daemontest.Hang())
		g := serve(t, b)
		g.cut(ask("go", streamed), 2)
		synctest.Wait()
		time.Sleep(9 * time.Second)
		if b.Interrupts() != 0 {
			t.Error("interrupted within the grace")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if b.Interrupts() != 1 {
			t.Errorf("%d interrupts, want 1", b.Interrupts())
		}
	})
}

// With the header for it, a run goes on without its client.
func TestADetachedRunGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := script(daemontest.Delta("one "), daemontest.Wait(time.Hour), daemontest.Finish("one two"))
		g := serve(t, b)
		g.cut(ask("go", streamed), 2, "X-OpenHands-On-Disconnect", "detach")
		time.Sleep(30 * time.Minute)
		if c := completed(t, g.chat(ask("go"))); c.text() != "one two" {
			t.Errorf("%q", c.text())
		}
		equal(t, "the number of runs", b.Runs(), 1)
		equal(t, "the number of interrupts", b.Interrupts(), 0)
	})
}

// A client that reads slowly blocks no run, and what waits for it is bounded.
func TestASlowReaderDoesNotHoldTheRun(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	var steps []daemontest.Step
	for range 500 {
		steps = append(steps, daemontest.Delta(strings.Repeat("x", 1000)))
	}
	steps = append(steps, func(*daemontest.Run) bool { close(done); return true }, daemontest.Finish("end"))
	g := serve(t, script(steps...))
	res := g.send(g.request(http.MethodPost, "/v1/chat/completions", ask("go", streamed)))
	<-done // over a pipe without a buffer, of which the client has read only the head
	f := parse(t, g.finish(res))
	if n := len(f.text()); n != 500_000+len("\n\nend") || f.end != "[DONE]" {
		t.Errorf("%d bytes, ended with %q", n, f.end)
	}
}

func TestAReaderThatFallsTooFarBehindIsToldSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var steps []daemontest.Step
		for range 300 {
			steps = append(steps, daemontest.Delta(strings.Repeat("x", 100_000)))
		}
		g := serve(t, script(append(steps, daemontest.Finish("end"))...))
		res := g.send(g.request(http.MethodPost, "/v1/chat/completions", ask("go", streamed)))
		synctest.Wait() // all is written, and more than is kept
		f := parse(t, g.finish(res))
		frameError(t, []byte(f.end), "client_too_slow", "")
	})
}

// Who comes for an answer whose beginning is not kept any more is told so in a
// stream, and has its end without one.
func TestARepeatOfAVeryLongAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var steps []daemontest.Step
		for range 300 {
			steps = append(steps, daemontest.Delta(strings.Repeat("x", 100_000)))
		}
		b := script(append(steps, daemontest.Wait(time.Minute), daemontest.Finish("end"))...)
		g := serve(t, b)
		g.cut(ask("go", streamed), 1, "X-OpenHands-On-Disconnect", "detach")
		time.Sleep(30 * time.Second)
		f := parse(t, g.chat(ask("go", streamed)))
		if frameError(t, []byte(f.end), "client_too_slow", ""); f.text() != "" {
			t.Errorf("a stream from the middle: %d bytes", len(f.text()))
		}
		if c := completed(t, g.chat(ask("go"))); c.text() != "end" || b.Runs() != 1 {
			t.Errorf("%q, %d runs", c.text(), b.Runs())
		}
	})
}

// OpenAI's SDKs mark their repeats: one during the run gets that run's answer.
func TestAMarkedRepeatJoinsTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := script(daemontest.Delta("one "), daemontest.Wait(time.Minute), daemontest.Finish("one two"))
		g := serve(t, b)
		var wg sync.WaitGroup
		var first, second completion
		wg.Go(func() { first = completed(t, g.chat(ask("go"))) })
		time.Sleep(time.Second)
		wg.Go(func() { second = completed(t, g.chat(ask("go"), "X-Stainless-Retry-Count", "1")) })
		wg.Wait()
		equal(t, "first.text()", first.text(), "one two")
		equal(t, "second.text()", second.text(), first.text())
		equal(t, "the number of runs", b.Runs(), 1)
	})
}

func TestTwoConnectedClientsWantTwoAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := script(daemontest.Wait(time.Minute), daemontest.Finish("done"))
		g := serve(t, b)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { completed(t, g.chat(ask("go"), "X-Stainless-Retry-Count", "0")) })
		}
		wg.Wait()
		if b.Runs() != 2 {
			t.Errorf("%d runs, want 2", b.Runs())
		}
	})
}

// The AI SDK and LangChain for JavaScript mark nothing: a repeat after a broken
// connection gets the same run.
func TestAnUnmarkedRepeatAfterABrokenConnectionJoins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := script(daemontest.Wait(5*time.Second), daemontest.Finish("done"))
		g := serve(t, b)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if res, err := g.client.Do(g.request(http.MethodPost, "/v1/chat/completions", ask("go")).WithContext(ctx)); err == nil {
			res.Body.Close()
			t.Fatal("the first request was answered")
		}
		time.Sleep(time.Second) // the run goes on
		if c := completed(t, g.chat(ask("go"))); c.text() != "done" || b.Runs() != 1 {
			t.Errorf("%q, %d runs", c.text(), b.Runs())
		}
		// And once more, after the end: it was delivered now.
		completed(t, g.chat(ask("go")))
		if b.Runs() != 2 {
			t.Errorf("%d runs, want 2", b.Runs())
		}
	})
}

func TestAnAnswerNobodyGotIsForTheNextWhoAsks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := script(daemontest.Wait(5*time.Second), daemontest.Finish("done"))
		g := serve(t, b)
		g.cut(ask("go", streamed), 1)
		time.Sleep(20 * time.Second) // it ended within the grace, unread
		if f := parse(t, g.chat(ask("go", streamed))); f.text() != "done" || b.Runs() != 1 {
			t.Errorf("%q, %d runs", f.text(), b.Runs())
		}
	})
}

// Who has the whole answer and asks the same again gets another run.
func TestTheSameMessageAfterItsAnswerIsANewRun(t *testing.T) {
	t.Parallel()
	b := daemontest.New("default")
	g := serve(t, b)
	for i := range 3 {
		completed(t, g.chat(ask("go")))
		parse(t, g.chat(ask("go", streamed)))
		if n := b.Runs(); n != 2*(i+1) {
			t.Fatalf("%d runs after %d requests", n, 2*(i+1))
		}
	}
}

// A key gets its answer again for the same request, and a conflict for another.
func TestAnIdempotencyKeyIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	b := daemontest.New("default")
	g := serve(t, b)
	first := g.chat(ask("go"), "Idempotency-Key", "k1")
	second := g.chat(ask("go"), "Idempotency-Key", "k1")
	if a, b := completed(t, first), completed(t, second); a.text() != b.text() || a.Usage != b.Usage {
		t.Errorf("%+v, %+v", a, b)
	}
	const id = "X-OpenHands-ServerConversation-ID"
	equal(t, "first.header.Get(id)", first.header.Get(id), second.header.Get(id))
	equal(t, "Idempotency-Replayed of the first", first.header.Get("Idempotency-Replayed"), "")
	equal(t, "Idempotency-Replayed of the second", second.header.Get("Idempotency-Replayed"), "true")
	if f := parse(t, g.chat(ask("go", streamed), "Idempotency-Key", "k1")); f.text() != "ok" {
		t.Errorf("streamed: %q", f.text())
	}
	res := g.chat(ask("something else"), "Idempotency-Key", "k1")
	envelope(t, res, http.StatusConflict, "idempotency_key_conflict", "Idempotency-Key")
	if res.header.Get("X-Should-Retry") != "false" {
		t.Errorf("headers %v", res.header)
	}
	completed(t, g.chat(ask("go"), "Idempotency-Key", "k2"))
	limited := strings.Replace(ask("go"), "openhands_default", "openhands_cheap", 1)
	b.SetProfiles(agentapi.Profile{Name: "default"}, agentapi.Profile{Name: "cheap"})
	completed(t, g.chat(limited, "Idempotency-Key", "k1", "Authorization", "Bearer "+limitedKey))
	if b.Runs() != 3 {
		t.Errorf("%d runs, want 3", b.Runs())
	}
}

func TestAnIdempotencyKeySurvivesARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := daemontest.New("default")
	state := func(c *daemon.Config) { c.StateDir, c.OneShotTTL = dir, time.Hour }
	g := serve(t, b, state)
	completed(t, g.chat(ask("go"), "Idempotency-Key", "k1"))
	if err := g.stop(); err != nil {
		t.Fatal(err)
	}
	if err := g.daemon.Close(); err != nil {
		t.Fatal(err)
	}
	g = serve(t, b, state)
	res := g.chat(ask("go"), "Idempotency-Key", "k1")
	if c := completed(t, res); c.text() != "ok" || b.Runs() != 1 || res.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("%q, %d runs, %v", c.text(), b.Runs(), res.header)
	}
}

// A run that failed is not run again by an SDK that retries, however often.
func TestAFailedRunIsNotRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := script(daemontest.Say("So far."), daemontest.Fail("LLMAuthenticationError", "wrong key"))
		g := serve(t, b)
		res := g.chat(ask("go"))
		e := envelope(t, res, http.StatusBadGateway, "llm_error", "")
		if res.header.Get("X-Should-Retry") != "false" || res.header.Get("X-OpenHands-Run-Status") != "error" || strings.Contains(e["message"].(string), "before") {
			t.Errorf("the error and the headers: %v, %v", e, res.header)
		}
		// The pauses of a client that tries seven times and marks nothing.
		for i, pause := range []int{1, 2, 4, 8, 16, 32} {
			time.Sleep(time.Duration(pause) * time.Second)
			res := g.chat(ask("go"))
			e := envelope(t, res, http.StatusBadGateway, "llm_error", "")
			equal(t, "X-OpenHands-Replayed", res.header.Get("X-OpenHands-Replayed"), "true")
			contains(t, `e["message"].(string)`, e["message"].(string), "X-OpenHands-Repeat: run")
			if want := fmt.Sprintf("starts a new run after %d s", min(80, 10<<(i+1))); !strings.Contains(e["message"].(string), want) {
				t.Errorf("repeat %d: %q, want %q", i, e["message"], want)
			}
		}
		f := parse(t, g.chat(ask("go", streamed)))
		if e := frameError(t, []byte(f.end), "llm_error", ""); !strings.Contains(e["message"].(string), "before") {
			t.Errorf("streamed: %v", e)
		}
		if b.Runs() != 1 {
			t.Fatalf("%d runs, want 1", b.Runs())
		}
		envelope(t, g.chat(ask("go"), "X-OpenHands-Repeat", "run"), http.StatusBadGateway, "llm_error", "")
		if b.Runs() != 2 {
			t.Errorf("%d runs, want 2: a new one was asked for", b.Runs())
		}
		time.Sleep(81 * time.Second)
		g.chat(ask("go"))
		if b.Runs() != 3 {
			t.Errorf("%d runs, want 3: the failure is old", b.Runs())
		}
	})
}

func TestARepairedProfileEndsTheRepetitionAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := daemontest.New("default")
		failing := true
		b.Script = func(string) []daemontest.Step {
			if failing {
				return []daemontest.Step{daemontest.Fail("LLMAuthenticationError", "wrong key")}
			}
			return []daemontest.Step{daemontest.Finish("done")}
		}
		g := serve(t, b)
		envelope(t, g.chat(ask("go")), http.StatusBadGateway, "llm_error", "")
		failing = false
		envelope(t, g.chat(ask("go")), http.StatusBadGateway, "llm_error", "")
		b.SetProfiles(agentapi.Profile{Name: "default", Revision: "2"}) // the list of profiles is fresh for a second more
		completed(t, g.chat(ask("go")))
		if b.Runs() != 2 {
			t.Errorf("%d runs, want 2", b.Runs())
		}
	})
}

// A profile that was changed long before a request is not one that was
// repaired after it, although the gateway had not looked at it meanwhile.
func TestAChangeBeforeTheRunIsNoRepair(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := script(daemontest.Fail("LLMAuthenticationError", "wrong key"))
		g := serve(t, b)
		g.do(http.MethodGet, "/v1/models", "")
		time.Sleep(time.Hour)
		b.SetProfiles(agentapi.Profile{Name: "default", Revision: "2"})
		time.Sleep(time.Hour)
		for range 5 {
			envelope(t, g.chat(ask("go")), http.StatusBadGateway, "llm_error", "")
			time.Sleep(5 * time.Second)
		}
		if b.Runs() != 1 {
			t.Errorf("%d runs, want 1", b.Runs())
		}
		b.SetProfiles(agentapi.Profile{Name: "default", Revision: "3"})
		envelope(t, g.chat(ask("go")), http.StatusBadGateway, "llm_error", "")
		if b.Runs() != 2 {
			t.Errorf("%d runs, want 2: now it was repaired", b.Runs())
		}
	})
}

func TestARepairWhileTheRunGoesOnCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := script(daemontest.Wait(10*time.Second), daemontest.Fail("LLMAuthenticationError", "wrong key"))
		g := serve(t, b)
		g.cut(ask("go", streamed), 1)
		time.Sleep(5 * time.Second) // the list is old now
		b.SetProfiles(agentapi.Profile{Name: "default", Revision: "2"})
		envelope(t, g.chat(ask("go")), http.StatusBadGateway, "llm_error", "")
		if b.Runs() != 1 {
			t.Errorf("%d runs, want 1", b.Runs())
		}
		envelope(t, g.chat(ask("go")), http.StatusBadGateway, "llm_error", "")
		if b.Runs() != 2 {
			t.Errorf("%d runs, want 2", b.Runs())
		}
	})
}

func TestNobodyGetsTheAnswerOfAnotherToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := daemontest.New("default", "cheap")
		b.Script = func(string) []daemontest.Step {
			return []daemontest.Step{daemontest.Wait(5 * time.Second), daemontest.Finish("done")}
		}
		g := serve(t, b)
		body := strings.Replace(ask("go", streamed), "openhands_default", "openhands_cheap", 1)
		g.cut(body, 1)
		res := g.chat(body, "Authorization", "Bearer "+limitedKey, "X-Stainless-Retry-Count", "1")
		parse(t, res)
		equal(t, "the number of runs", b.Runs(), 2)
		equal(t, "X-OpenHands-Replayed", res.header.Get("X-OpenHands-Replayed"), "")
	})
}

// A full queue is 429 with Retry-After, which SDKs obey by themselves.
func TestAFullQueueIsTryLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		b := script(daemontest.Until(gate), daemontest.Finish("done"))
		g := serve(t, b, func(c *daemon.Config) { c.MaxRuns, c.MaxQueue = 2, 1 })
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() { completed(t, g.chat(ask(fmt.Sprint("go ", i)))) })
		}
		synctest.Wait()
		for _, body := range []string{ask("one more"), ask("one more", streamed)} {
			res := g.chat(body)
			e := envelope(t, res, http.StatusTooManyRequests, "rate_limit_exceeded", "")
			if n, err := strconv.Atoi(res.header.Get("Retry-After")); err != nil || n < 1 || n > 8 || e["type"] != "rate_limit_error" {
				t.Errorf("the error and the headers: %v, %v", e, res.header)
			}
			if res.header.Get("X-Should-Retry") != "" {
				t.Error("clients are told not to repeat")
			}
		}
		close(gate)
		wg.Wait()
		completed(t, g.chat(ask("one more"), "X-Stainless-Retry-Count", "1"))
		if b.Runs() != 4 {
			t.Errorf("%d runs, want 4", b.Runs())
		}
	})
}

func TestWhoWaitsForASlotIsToldSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		g := serve(t, script(daemontest.Until(gate), daemontest.Finish("done")), func(c *daemon.Config) { c.MaxRuns = 1 })
		var wg sync.WaitGroup
		wg.Go(func() { completed(t, g.chat(ask("first"))) })
		synctest.Wait()
		var f frames
		wg.Go(func() { f = parse(t, g.chat(ask("second", streamed))) })
		synctest.Wait()
		close(gate)
		wg.Wait()
		begins(t, "the reasoning", f.reasoning(), "Waiting for ")
		equal(t, "the text", f.text(), "done")
	})
}

// A client that wants details gets its place in the queue, and no line that looks
// like an action; and the place as soon as it waits no more.
func TestWhoWantsDetailsGetsThePlaceInTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first, second := make(chan struct{}), make(chan struct{})
		b := daemontest.New("default")
		b.Script = func(prompt string) []daemontest.Step {
			if prompt == "first" {
				return []daemontest.Step{daemontest.Until(first), daemontest.Finish("one")}
			}
			return []daemontest.Step{daemontest.Until(second), daemontest.Finish("two")}
		}
		g := serve(t, b, func(c *daemon.Config) { c.Heartbeat = time.Hour })
		var wg sync.WaitGroup
		wg.Go(func() { completed(t, g.as(key, "openhands_default", "first", conversation)) })
		synctest.Wait()
		var f frames
		wg.Go(func() {
			f = parse(t, g.chat(ask("second", streamed), headerID, conversation, "X-OpenHands-Details", "actions"))
		})
		synctest.Wait()
		close(first)
		synctest.Wait()
		close(second)
		wg.Wait()
		equal(t, "the reasoning", f.reasoning(), "")
		equal(t, "the text", f.text(), "two")
		var places []float64
		for _, c := range f.chunks {
			if n, ok := c.Extension["queue"].(float64); ok {
				places = append(places, n)
			}
		}
		if len(places) < 1 || places[0] != 1 {
			t.Errorf("places in the queue: %v", places)
		}
		waits := f.chunks[len(f.chunks)-3]
		if n := waits.Extension["queue"]; n != nil && n != 0.0 {
			t.Errorf("the last place is %v", n)
		}
	})
}

// Two requests of one conversation run one after the other.
func TestRequestsToOneConversationQueueInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		b := daemontest.New("default")
		b.Script = func(prompt string) []daemontest.Step {
			return []daemontest.Step{daemontest.Until(gate), daemontest.Finish("re: " + prompt)}
		}
		g := serve(t, b)
		var wg sync.WaitGroup
		for i := range 9 {
			wg.Go(func() {
				prompt := fmt.Sprint("turn ", i)
				if c := completed(t, g.chat(ask(prompt), "X-OpenHands-ServerConversation-ID", conversation)); c.text() != "re: "+prompt {
					t.Errorf("%q", c.text())
				}
			})
			synctest.Wait()
		}
		for _, body := range []string{ask("too many"), ask("too many", streamed)} {
			res := g.chat(body, "X-OpenHands-ServerConversation-ID", conversation)
			envelope(t, res, http.StatusTooManyRequests, "conversation_busy", "")
			if n, err := strconv.Atoi(res.header.Get("Retry-After")); err != nil || n < 1 || n > 8 {
				t.Errorf("Retry-After %q", res.header.Get("Retry-After"))
			}
		}
		close(gate)
		wg.Wait()
		for i, m := range b.Prompts() {
			if want := fmt.Sprint("turn ", i); m.Text != want {
				t.Errorf("prompt %d is %q, want %q", i, m.Text, want)
			}
		}
		made := 0
		for _, open := range b.Opened() {
			if open.ID != conversation {
				t.Errorf("opened %+v", open)
			}
			made++
		}
		if made != 9 {
			t.Errorf("opened %d times", made)
		}
	})
}

// What is known before the stream begins keeps its status.
func TestABackendThatIsDownIsAStatusForStreamsToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := serve(t, daemontest.New("default"))
		completed(t, g.chat(ask("go")))
		g.backend.SetDown(daemontest.Unavailable())
		// The list of models is fresh: the failure is not known yet, and the
		// stream has begun.
		f := parse(t, g.chat(ask("one", streamed)))
		frameError(t, []byte(f.end), "agent_server_unavailable", "")
		synctest.Wait()
		for _, body := range []string{ask("two", streamed), ask("three")} {
			res := g.chat(body)
			envelope(t, res, http.StatusServiceUnavailable, "agent_server_unavailable", "")
			equal(t, "Retry-After", res.header.Get("Retry-After"), "2")
			equal(t, "X-Should-Retry", res.header.Get("X-Should-Retry"), "")
		}
		g.backend.SetDown(nil)
		completed(t, g.chat(ask("three")))
		if g.backend.Runs() != 2 {
			t.Errorf("%d runs, want 2", g.backend.Runs())
		}
	})
}

func TestAConversationThatCannotBeOpenedRaisesDoubt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := serve(t, daemontest.New("default"))
		completed(t, g.chat(ask("go")))
		g.backend.SetDown(daemontest.Unavailable())
		// The list is fresh, but the conversation is looked up first.
		envelope(t, g.chat(ask("one", streamed), "X-OpenHands-ServerConversation-ID", conversation), http.StatusServiceUnavailable, "agent_server_unavailable", "")
		synctest.Wait()
		envelope(t, g.chat(ask("two", streamed)), http.StatusServiceUnavailable, "agent_server_unavailable", "")
	})
}

func TestAContinuedConversationFailsBeforeItsStreamBegins(t *testing.T) {
	t.Parallel()
	g := serve(t, daemontest.New("default"))
	g.do(http.MethodGet, "/v1/models", "")
	g.backend.FailOpen(&agentapi.Error{Kind: agentapi.ErrRefused, Msg: "The agent-server says no."})
	res := g.chat(ask("go", streamed), "X-OpenHands-ServerConversation-ID", conversation)
	envelope(t, res, http.StatusBadGateway, "agent_server_error", "")
}

// 64 clients at once: nothing is mixed up and nothing stays behind (goleak).
func TestManyClientsAtOnce(t *testing.T) {
	t.Parallel()
	b := daemontest.New("default")
	b.Script = func(prompt string) []daemontest.Step {
		return []daemontest.Step{daemontest.Tool("echo " + prompt), daemontest.Delta("re: "), daemontest.Finish("re: " + prompt)}
	}
	g := serve(t, b)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			prompt := fmt.Sprint("prompt ", i)
			if i%2 == 0 {
				if c := completed(t, g.chat(ask(prompt))); c.text() != "re: "+prompt {
					t.Errorf("%q", c.text())
				}
				return
			}
			if f := parse(t, g.chat(ask(prompt, streamed))); f.text() != "re: "+prompt || f.end != "[DONE]" {
				t.Errorf("%q, %q", f.text(), f.end)
			}
		})
	}
	wg.Wait()
	if b.Runs() != 64 {
		t.Errorf("%d runs", b.Runs())
	}
}

func TestDrainLetsRunsEndAndRefusesNewOnes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := script(daemontest.Delta("one "), daemontest.Wait(5*time.Second), daemontest.Finish("one two"))
		g := serve(t, b, func(c *daemon.Config) { c.Drain = 10 * time.Second })
		res := g.send(g.request(http.MethodPost, "/v1/chat/completions", ask("go", streamed)))
		stopped := make(chan error, 1)
		go func() { stopped <- g.stop() }()
		time.Sleep(time.Second)
		for _, r := range []response{
			g.chat(ask("new")), g.chat(ask("new", streamed)), g.do(http.MethodGet, "/v1/models", ""), g.do(http.MethodGet, "/readyz", "", "Authorization", ""),
		} {
			envelope(t, r, http.StatusServiceUnavailable, "not_ready", "")
			if !r.close {
				t.Error("the connection stays open")
			}
		}
		if r := g.do(http.MethodGet, "/healthz", "", "Authorization", ""); r.status != http.StatusOK || r.body != `{"status":"draining"}`+"\n" {
			t.Errorf("%d %s", r.status, r.body)
		}
		if f := parse(t, g.finish(res)); f.text() != "one two" || f.end != "[DONE]" {
			t.Errorf("%q, %q", f.text(), f.end)
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}

func TestDrainInterruptsWhatTakesTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := script(daemontest.Delta("one "), daemontest.Hang())
		g := serve(t, b, func(c *daemon.Config) { c.Drain = 10 * time.Second })
		stream := g.send(g.request(http.MethodPost, "/v1/chat/completions", ask("go", streamed)))
		plain := make(chan response, 1)
		go func() { plain <- g.chat(ask("go, plainly")) }()
		synctest.Wait()
		began := time.Now()
		stopped := make(chan error, 1)
		go func() { stopped <- g.stop() }()
		f := parse(t, g.finish(stream))
		frameError(t, []byte(f.end), "run_interrupted", "")
		res := <-plain
		envelope(t, res, http.StatusInternalServerError, "run_interrupted", "")
		equal(t, "X-Should-Retry", res.header.Get("X-Should-Retry"), "false")
		equal(t, "X-OpenHands-Run-Status", res.header.Get("X-OpenHands-Run-Status"), "cancelled")
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < 10*time.Second || took > 12*time.Second || b.Interrupts() != 2 {
			t.Errorf("took %v, %d interrupts", took, b.Interrupts())
		}
	})
}

func TestARunThatSomebodyElseInterruptsIsAnAnswer(t *testing.T) {
	t.Parallel()
	g := serve(t, script(daemontest.Say("So far."), daemontest.Interrupted()))
	res := g.chat(ask("go"))
	if c := completed(t, res); !strings.HasPrefix(c.text(), "So far.\n\nThe run was interrupted.") || res.header.Get("X-OpenHands-Run-Status") != "cancelled" {
		t.Errorf("%q, %v", c.text(), res.header)
	}
}

// Readers that hang up in the middle of everything leave nothing behind.
func TestHangingUpAnywhereLeavesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := daemontest.New("default")
		b.Script = func(string) []daemontest.Step {
			return []daemontest.Step{daemontest.Delta("a"), daemontest.Wait(time.Second), daemontest.Delta("b"), daemontest.Wait(10 * time.Second), daemontest.Finish("ab")}
		}
		g := serve(t, b)
		for i := range 30 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*500*time.Millisecond)
			res, err := g.client.Do(g.request(http.MethodPost, "/v1/chat/completions", ask(strconv.Itoa(i), streamed)).WithContext(ctx))
			if err == nil {
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
			cancel()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if s := g.do(http.MethodGet, "/healthz", "").body; !strings.Contains(s, `"running":0,"queued":0`) {
			t.Errorf("%s", s)
		}
	})
}
