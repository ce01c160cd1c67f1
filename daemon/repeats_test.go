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
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

// A client that comes back within the grace reads the answer from its first byte.
func TestARepeatWithinTheGraceGetsEverythingFromTheStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := apitest.Script(daemontest.Delta("one "), daemontest.Wait(20*time.Second), daemontest.Delta("two"), daemontest.Finish("one two"))
		g := apitest.Serve(t, b)
		g.Cut(apitest.Ask("go", apitest.Streamed), 2)
		time.Sleep(9 * time.Second)
		res := g.Chat(apitest.Ask("go", apitest.Streamed))
		if f := apitest.Parse(t, res); f.Text() != "one two" || f.End != "[DONE]" {
			t.Errorf(`the text = %q, want "one two", the end = %q`, f.Text(), f.End)
		}
		apitest.Equal(t, "the number of runs", b.Runs(), 1)
		apitest.Equal(t, "the number of interrupts", b.Interrupts(), 0)
		apitest.Equal(t, "X-OpenHands-Replayed", res.Header.Get("X-OpenHands-Replayed"), "true")
	})
}

// A run whose client does not come back within the grace is cancelled.
func TestARunNobodyComesBackForIsInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := apitest.Script(daemontest.Delta("one "), daemontest.Hang())
		g := apitest.Serve(t, b)
		g.Cut(apitest.Ask("go", apitest.Streamed), 2)
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
		b := apitest.Script(daemontest.Delta("one "), daemontest.Wait(time.Hour), daemontest.Finish("one two"))
		g := apitest.Serve(t, b)
		g.Cut(apitest.Ask("go", apitest.Streamed), 2, "X-OpenHands-On-Disconnect", "detach")
		time.Sleep(30 * time.Minute)
		if c := apitest.Completed(t, g.Chat(apitest.Ask("go"))); c.Text() != "one two" {
			t.Errorf(`the text = %q, want "one two"`, c.Text())
		}
		apitest.Equal(t, "the number of runs", b.Runs(), 1)
		apitest.Equal(t, "the number of interrupts", b.Interrupts(), 0)
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
	g := apitest.Serve(t, apitest.Script(steps...))
	res := g.Send(g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("go", apitest.Streamed)))
	<-done // over a pipe without a buffer, of which the client has read only the head
	f := apitest.Parse(t, g.Finish(res))
	if n := len(f.Text()); n != 500_000+len("\n\nend") || f.End != "[DONE]" {
		t.Errorf("%d bytes, ended with %q", n, f.End)
	}
}

func TestAReaderThatFallsTooFarBehindIsToldSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var steps []daemontest.Step
		for range 300 {
			steps = append(steps, daemontest.Delta(strings.Repeat("x", 100_000)))
		}
		g := apitest.Serve(t, apitest.Script(append(steps, daemontest.Finish("end"))...))
		res := g.Send(g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("go", apitest.Streamed)))
		synctest.Wait() // all is written, and more than is kept
		f := apitest.Parse(t, g.Finish(res))
		apitest.FrameError(t, []byte(f.End), "client_too_slow", "")
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
		b := apitest.Script(append(steps, daemontest.Wait(time.Minute), daemontest.Finish("end"))...)
		g := apitest.Serve(t, b)
		g.Cut(apitest.Ask("go", apitest.Streamed), 1, "X-OpenHands-On-Disconnect", "detach")
		time.Sleep(30 * time.Second)
		f := apitest.Parse(t, g.Chat(apitest.Ask("go", apitest.Streamed)))
		if apitest.FrameError(t, []byte(f.End), "client_too_slow", ""); f.Text() != "" {
			t.Errorf("a stream from the middle: %d bytes", len(f.Text()))
		}
		if c := apitest.Completed(t, g.Chat(apitest.Ask("go"))); c.Text() != "end" || b.Runs() != 1 {
			t.Errorf(`the text = %q, want "end", after %d runs`, c.Text(), b.Runs())
		}
	})
}

// OpenAI's SDKs mark their repeats: one during the run gets that run's answer.
func TestAMarkedRepeatJoinsTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := apitest.Script(daemontest.Delta("one "), daemontest.Wait(time.Minute), daemontest.Finish("one two"))
		g := apitest.Serve(t, b)
		var wg sync.WaitGroup
		var first, second apitest.Completion
		wg.Go(func() { first = apitest.Completed(t, g.Chat(apitest.Ask("go"))) })
		time.Sleep(time.Second)
		wg.Go(func() { second = apitest.Completed(t, g.Chat(apitest.Ask("go"), "X-Stainless-Retry-Count", "1")) })
		wg.Wait()
		apitest.Equal(t, "first.text()", first.Text(), "one two")
		apitest.Equal(t, "second.text()", second.Text(), first.Text())
		apitest.Equal(t, "the number of runs", b.Runs(), 1)
	})
}

func TestTwoConnectedClientsWantTwoAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := apitest.Script(daemontest.Wait(time.Minute), daemontest.Finish("done"))
		g := apitest.Serve(t, b)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { apitest.Completed(t, g.Chat(apitest.Ask("go"), "X-Stainless-Retry-Count", "0")) })
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
		b := apitest.Script(daemontest.Wait(5*time.Second), daemontest.Finish("done"))
		g := apitest.Serve(t, b)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if res, err := g.Client.Do(g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("go")).WithContext(ctx)); err == nil {
			res.Body.Close()
			t.Fatal("the first request was answered")
		}
		time.Sleep(time.Second) // the run goes on
		if c := apitest.Completed(t, g.Chat(apitest.Ask("go"))); c.Text() != "done" || b.Runs() != 1 {
			t.Errorf(`the text = %q, want "done", after %d runs`, c.Text(), b.Runs())
		}
		// And once more, after the end: it was delivered now.
		apitest.Completed(t, g.Chat(apitest.Ask("go")))
		if b.Runs() != 2 {
			t.Errorf("%d runs, want 2", b.Runs())
		}
	})
}

func TestAnAnswerNobodyGotIsForTheNextWhoAsks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := apitest.Script(daemontest.Wait(5*time.Second), daemontest.Finish("done"))
		g := apitest.Serve(t, b)
		g.Cut(apitest.Ask("go", apitest.Streamed), 1)
		time.Sleep(20 * time.Second) // it ended within the grace, unread
		if f := apitest.Parse(t, g.Chat(apitest.Ask("go", apitest.Streamed))); f.Text() != "done" || b.Runs() != 1 {
			t.Errorf(`the text = %q, want "done", after %d runs`, f.Text(), b.Runs())
		}
	})
}

// Who has the whole answer and asks the same again gets another run.
func TestTheSameMessageAfterItsAnswerIsANewRun(t *testing.T) {
	t.Parallel()
	b := daemontest.New("default")
	g := apitest.Serve(t, b)
	for i := range 3 {
		apitest.Completed(t, g.Chat(apitest.Ask("go")))
		apitest.Parse(t, g.Chat(apitest.Ask("go", apitest.Streamed)))
		if n := b.Runs(); n != 2*(i+1) {
			t.Fatalf("%d runs after %d requests", n, 2*(i+1))
		}
	}
}

// A key gets its answer again for the same request, and a conflict for another.
func TestAnIdempotencyKeyIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	b := daemontest.New("default")
	g := apitest.Serve(t, b)
	first := g.Chat(apitest.Ask("go"), "Idempotency-Key", "k1")
	second := g.Chat(apitest.Ask("go"), "Idempotency-Key", "k1")
	if a, b := apitest.Completed(t, first), apitest.Completed(t, second); a.Text() != b.Text() || a.Usage != b.Usage {
		t.Errorf("the completions = %+v, %+v", a, b)
	}
	const id = "X-OpenHands-ServerConversation-ID"
	apitest.Equal(t, "first.header.Get(id)", first.Header.Get(id), second.Header.Get(id))
	apitest.Equal(t, "Idempotency-Replayed of the first", first.Header.Get("Idempotency-Replayed"), "")
	apitest.Equal(t, "Idempotency-Replayed of the second", second.Header.Get("Idempotency-Replayed"), "true")
	if f := apitest.Parse(t, g.Chat(apitest.Ask("go", apitest.Streamed), "Idempotency-Key", "k1")); f.Text() != "ok" {
		t.Errorf("streamed: %q", f.Text())
	}
	res := g.Chat(apitest.Ask("something else"), "Idempotency-Key", "k1")
	apitest.Envelope(t, res, http.StatusConflict, "idempotency_key_conflict", "Idempotency-Key")
	if res.Header.Get("X-Should-Retry") != "false" {
		t.Errorf("headers %v", res.Header)
	}
	apitest.Completed(t, g.Chat(apitest.Ask("go"), "Idempotency-Key", "k2"))
	limited := strings.Replace(apitest.Ask("go"), "openhands_default", "openhands_cheap", 1)
	b.SetProfiles(agentapi.Profile{Name: "default"}, agentapi.Profile{Name: "cheap"})
	apitest.Completed(t, g.Chat(limited, "Idempotency-Key", "k1", "Authorization", "Bearer "+apitest.LimitedKey))
	if b.Runs() != 3 {
		t.Errorf("%d runs, want 3", b.Runs())
	}
}

func TestAnIdempotencyKeySurvivesARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := daemontest.New("default")
	state := func(c *daemon.Config) { c.StateDir, c.OneShotTTL = dir, time.Hour }
	g := apitest.Serve(t, b, state)
	apitest.Completed(t, g.Chat(apitest.Ask("go"), "Idempotency-Key", "k1"))
	if err := g.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := g.Daemon.Close(); err != nil {
		t.Fatal(err)
	}
	g = apitest.Serve(t, b, state)
	res := g.Chat(apitest.Ask("go"), "Idempotency-Key", "k1")
	if c := apitest.Completed(t, res); c.Text() != "ok" || b.Runs() != 1 || res.Header.Get("Idempotency-Replayed") != "true" {
		t.Errorf(`the text = %q, want "ok", after %d runs, the header = %v`, c.Text(), b.Runs(), res.Header)
	}
}

// A run that failed is not run again by an SDK that retries, however often.
func TestAFailedRunIsNotRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := apitest.Script(daemontest.Say("So far."), daemontest.Fail("LLMAuthenticationError", "wrong key"))
		g := apitest.Serve(t, b)
		res := g.Chat(apitest.Ask("go"))
		e := apitest.Envelope(t, res, http.StatusBadGateway, "llm_error", "")
		if res.Header.Get("X-Should-Retry") != "false" || res.Header.Get("X-OpenHands-Run-Status") != "error" || strings.Contains(e["message"].(string), "before") {
			t.Errorf("the error and the headers: %v, %v", e, res.Header)
		}
		// The pauses of a client that tries seven times and marks nothing.
		for i, pause := range []int{1, 2, 4, 8, 16, 32} {
			time.Sleep(time.Duration(pause) * time.Second)
			res := g.Chat(apitest.Ask("go"))
			e := apitest.Envelope(t, res, http.StatusBadGateway, "llm_error", "")
			apitest.Equal(t, "X-OpenHands-Replayed", res.Header.Get("X-OpenHands-Replayed"), "true")
			apitest.Contains(t, `e["message"].(string)`, e["message"].(string), "X-OpenHands-Repeat: run")
			if want := fmt.Sprintf("starts a new run after %d s", min(80, 10<<(i+1))); !strings.Contains(e["message"].(string), want) {
				t.Errorf("repeat %d: %q, want %q", i, e["message"], want)
			}
		}
		f := apitest.Parse(t, g.Chat(apitest.Ask("go", apitest.Streamed)))
		if e := apitest.FrameError(t, []byte(f.End), "llm_error", ""); !strings.Contains(e["message"].(string), "before") {
			t.Errorf("streamed: %v", e)
		}
		if b.Runs() != 1 {
			t.Fatalf("%d runs, want 1", b.Runs())
		}
		apitest.Envelope(t, g.Chat(apitest.Ask("go"), "X-OpenHands-Repeat", "run"), http.StatusBadGateway, "llm_error", "")
		if b.Runs() != 2 {
			t.Errorf("%d runs, want 2: a new one was asked for", b.Runs())
		}
		time.Sleep(81 * time.Second)
		g.Chat(apitest.Ask("go"))
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
		g := apitest.Serve(t, b)
		apitest.Envelope(t, g.Chat(apitest.Ask("go")), http.StatusBadGateway, "llm_error", "")
		failing = false
		apitest.Envelope(t, g.Chat(apitest.Ask("go")), http.StatusBadGateway, "llm_error", "")
		b.SetProfiles(agentapi.Profile{Name: "default", Revision: "2"}) // the list of profiles is fresh for a second more
		apitest.Completed(t, g.Chat(apitest.Ask("go")))
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
		b := apitest.Script(daemontest.Fail("LLMAuthenticationError", "wrong key"))
		g := apitest.Serve(t, b)
		g.Do(http.MethodGet, "/v1/models", "")
		time.Sleep(time.Hour)
		b.SetProfiles(agentapi.Profile{Name: "default", Revision: "2"})
		time.Sleep(time.Hour)
		for range 5 {
			apitest.Envelope(t, g.Chat(apitest.Ask("go")), http.StatusBadGateway, "llm_error", "")
			time.Sleep(5 * time.Second)
		}
		if b.Runs() != 1 {
			t.Errorf("%d runs, want 1", b.Runs())
		}
		b.SetProfiles(agentapi.Profile{Name: "default", Revision: "3"})
		apitest.Envelope(t, g.Chat(apitest.Ask("go")), http.StatusBadGateway, "llm_error", "")
		if b.Runs() != 2 {
			t.Errorf("%d runs, want 2: now it was repaired", b.Runs())
		}
	})
}

func TestARepairWhileTheRunGoesOnCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := apitest.Script(daemontest.Wait(10*time.Second), daemontest.Fail("LLMAuthenticationError", "wrong key"))
		g := apitest.Serve(t, b)
		g.Cut(apitest.Ask("go", apitest.Streamed), 1)
		time.Sleep(5 * time.Second) // the list is old now
		b.SetProfiles(agentapi.Profile{Name: "default", Revision: "2"})
		apitest.Envelope(t, g.Chat(apitest.Ask("go")), http.StatusBadGateway, "llm_error", "")
		if b.Runs() != 1 {
			t.Errorf("%d runs, want 1", b.Runs())
		}
		apitest.Envelope(t, g.Chat(apitest.Ask("go")), http.StatusBadGateway, "llm_error", "")
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
		g := apitest.Serve(t, b)
		body := strings.Replace(apitest.Ask("go", apitest.Streamed), "openhands_default", "openhands_cheap", 1)
		g.Cut(body, 1)
		res := g.Chat(body, "Authorization", "Bearer "+apitest.LimitedKey, "X-Stainless-Retry-Count", "1")
		apitest.Parse(t, res)
		apitest.Equal(t, "the number of runs", b.Runs(), 2)
		apitest.Equal(t, "X-OpenHands-Replayed", res.Header.Get("X-OpenHands-Replayed"), "")
	})
}

// A full queue is 429 with Retry-After, which SDKs obey by themselves.
func TestAFullQueueIsTryLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		b := apitest.Script(daemontest.Until(gate), daemontest.Finish("done"))
		g := apitest.Serve(t, b, func(c *daemon.Config) { c.MaxRuns, c.MaxQueue = 2, 1 })
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() { apitest.Completed(t, g.Chat(apitest.Ask(fmt.Sprint("go ", i)))) })
		}
		synctest.Wait()
		for _, body := range []string{apitest.Ask("one more"), apitest.Ask("one more", apitest.Streamed)} {
			res := g.Chat(body)
			e := apitest.Envelope(t, res, http.StatusTooManyRequests, "rate_limit_exceeded", "")
			if n, err := strconv.Atoi(res.Header.Get("Retry-After")); err != nil || n < 1 || n > 8 || e["type"] != "rate_limit_error" {
				t.Errorf("the error and the headers: %v, %v", e, res.Header)
			}
			if res.Header.Get("X-Should-Retry") != "" {
				t.Error("clients are told not to repeat")
			}
		}
		close(gate)
		wg.Wait()
		apitest.Completed(t, g.Chat(apitest.Ask("one more"), "X-Stainless-Retry-Count", "1"))
		if b.Runs() != 4 {
			t.Errorf("%d runs, want 4", b.Runs())
		}
	})
}

func TestWhoWaitsForASlotIsToldSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		g := apitest.Serve(t, apitest.Script(daemontest.Until(gate), daemontest.Finish("done")), func(c *daemon.Config) { c.MaxRuns = 1 })
		var wg sync.WaitGroup
		wg.Go(func() { apitest.Completed(t, g.Chat(apitest.Ask("first"))) })
		synctest.Wait()
		var f apitest.Frames
		wg.Go(func() { f = apitest.Parse(t, g.Chat(apitest.Ask("second", apitest.Streamed))) })
		synctest.Wait()
		close(gate)
		wg.Wait()
		apitest.Begins(t, "the reasoning", f.Reasoning(), "Waiting for ")
		apitest.Equal(t, "the text", f.Text(), "done")
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
		g := apitest.Serve(t, b, func(c *daemon.Config) { c.Heartbeat = time.Hour })
		var wg sync.WaitGroup
		wg.Go(func() { apitest.Completed(t, g.As(apitest.Key, "openhands_default", "first", apitest.Conversation)) })
		synctest.Wait()
		var f apitest.Frames
		wg.Go(func() {
			f = apitest.Parse(t, g.Chat(apitest.Ask("second", apitest.Streamed), apitest.HeaderID, apitest.Conversation, "X-OpenHands-Details", "actions"))
		})
		synctest.Wait()
		close(first)
		synctest.Wait()
		close(second)
		wg.Wait()
		apitest.Equal(t, "the reasoning", f.Reasoning(), "")
		apitest.Equal(t, "the text", f.Text(), "two")
		var places []float64
		for _, c := range f.Chunks {
			if n, ok := c.Extension["queue"].(float64); ok {
				places = append(places, n)
			}
		}
		if len(places) < 1 || places[0] != 1 {
			t.Errorf("places in the queue: %v", places)
		}
		waits := f.Chunks[len(f.Chunks)-3]
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
		g := apitest.Serve(t, b)
		var wg sync.WaitGroup
		for i := range 9 {
			wg.Go(func() {
				prompt := fmt.Sprint("turn ", i)
				if c := apitest.Completed(t, g.Chat(apitest.Ask(prompt), "X-OpenHands-ServerConversation-ID", apitest.Conversation)); c.Text() != "re: "+prompt {
					t.Errorf("the text = %q, want that of %q", c.Text(), prompt)
				}
			})
			synctest.Wait()
		}
		for _, body := range []string{apitest.Ask("too many"), apitest.Ask("too many", apitest.Streamed)} {
			res := g.Chat(body, "X-OpenHands-ServerConversation-ID", apitest.Conversation)
			apitest.Envelope(t, res, http.StatusTooManyRequests, "conversation_busy", "")
			if n, err := strconv.Atoi(res.Header.Get("Retry-After")); err != nil || n < 1 || n > 8 {
				t.Errorf("Retry-After %q", res.Header.Get("Retry-After"))
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
			if open.ID != apitest.Conversation {
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
		g := apitest.Serve(t, daemontest.New("default"))
		apitest.Completed(t, g.Chat(apitest.Ask("go")))
		g.Backend.SetDown(daemontest.Unavailable())
		// The list of models is fresh: the failure is not known yet, and the
		// stream has begun.
		f := apitest.Parse(t, g.Chat(apitest.Ask("one", apitest.Streamed)))
		apitest.FrameError(t, []byte(f.End), "agent_server_unavailable", "")
		synctest.Wait()
		for _, body := range []string{apitest.Ask("two", apitest.Streamed), apitest.Ask("three")} {
			res := g.Chat(body)
			apitest.Envelope(t, res, http.StatusServiceUnavailable, "agent_server_unavailable", "")
			apitest.Equal(t, "Retry-After", res.Header.Get("Retry-After"), "2")
			apitest.Equal(t, "X-Should-Retry", res.Header.Get("X-Should-Retry"), "")
		}
		g.Backend.SetDown(nil)
		apitest.Completed(t, g.Chat(apitest.Ask("three")))
		if g.Backend.Runs() != 2 {
			t.Errorf("%d runs, want 2", g.Backend.Runs())
		}
	})
}

func TestAConversationThatCannotBeOpenedRaisesDoubt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := apitest.Serve(t, daemontest.New("default"))
		apitest.Completed(t, g.Chat(apitest.Ask("go")))
		g.Backend.SetDown(daemontest.Unavailable())
		// The list is fresh, but the conversation is looked up first.
		apitest.Envelope(t, g.Chat(apitest.Ask("one", apitest.Streamed), "X-OpenHands-ServerConversation-ID", apitest.Conversation), http.StatusServiceUnavailable, "agent_server_unavailable", "")
		synctest.Wait()
		apitest.Envelope(t, g.Chat(apitest.Ask("two", apitest.Streamed)), http.StatusServiceUnavailable, "agent_server_unavailable", "")
	})
}

func TestAContinuedConversationFailsBeforeItsStreamBegins(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, daemontest.New("default"))
	g.Do(http.MethodGet, "/v1/models", "")
	g.Backend.FailOpen(&agentapi.Error{Kind: agentapi.ErrRefused, Msg: "The agent-server says no."})
	res := g.Chat(apitest.Ask("go", apitest.Streamed), "X-OpenHands-ServerConversation-ID", apitest.Conversation)
	apitest.Envelope(t, res, http.StatusBadGateway, "agent_server_error", "")
}

// 64 clients at once: nothing is mixed up and nothing stays behind (goleak).
func TestManyClientsAtOnce(t *testing.T) {
	t.Parallel()
	b := daemontest.New("default")
	b.Script = func(prompt string) []daemontest.Step {
		return []daemontest.Step{daemontest.Tool("echo " + prompt), daemontest.Delta("re: "), daemontest.Finish("re: " + prompt)}
	}
	g := apitest.Serve(t, b)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			prompt := fmt.Sprint("prompt ", i)
			if i%2 == 0 {
				if c := apitest.Completed(t, g.Chat(apitest.Ask(prompt))); c.Text() != "re: "+prompt {
					t.Errorf("the text = %q, want that of %q", c.Text(), prompt)
				}
				return
			}
			if f := apitest.Parse(t, g.Chat(apitest.Ask(prompt, apitest.Streamed))); f.Text() != "re: "+prompt || f.End != "[DONE]" {
				t.Errorf("the text = %q, the end = %q, want those of %q", f.Text(), f.End, prompt)
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
		b := apitest.Script(daemontest.Delta("one "), daemontest.Wait(5*time.Second), daemontest.Finish("one two"))
		g := apitest.Serve(t, b, func(c *daemon.Config) { c.Drain = 10 * time.Second })
		res := g.Send(g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("go", apitest.Streamed)))
		stopped := make(chan error, 1)
		go func() { stopped <- g.Stop() }()
		time.Sleep(time.Second)
		for _, r := range []apitest.Response{
			g.Chat(apitest.Ask("new")), g.Chat(apitest.Ask("new", apitest.Streamed)), g.Do(http.MethodGet, "/v1/models", ""), g.Do(http.MethodGet, "/readyz", "", "Authorization", ""),
		} {
			apitest.Envelope(t, r, http.StatusServiceUnavailable, "not_ready", "")
			if !r.Close {
				t.Error("the connection stays open")
			}
		}
		if r := g.Do(http.MethodGet, "/healthz", "", "Authorization", ""); r.Status != http.StatusOK || r.Body != `{"status":"draining"}`+"\n" {
			t.Errorf("status = %d, want 200, body = %s", r.Status, r.Body)
		}
		if f := apitest.Parse(t, g.Finish(res)); f.Text() != "one two" || f.End != "[DONE]" {
			t.Errorf(`the text = %q, want "one two", the end = %q`, f.Text(), f.End)
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}

func TestDrainInterruptsWhatTakesTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := apitest.Script(daemontest.Delta("one "), daemontest.Hang())
		g := apitest.Serve(t, b, func(c *daemon.Config) { c.Drain = 10 * time.Second })
		stream := g.Send(g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("go", apitest.Streamed)))
		plain := make(chan apitest.Response, 1)
		go func() { plain <- g.Chat(apitest.Ask("go, plainly")) }()
		synctest.Wait()
		began := time.Now()
		stopped := make(chan error, 1)
		go func() { stopped <- g.Stop() }()
		f := apitest.Parse(t, g.Finish(stream))
		apitest.FrameError(t, []byte(f.End), "run_interrupted", "")
		res := <-plain
		apitest.Envelope(t, res, http.StatusInternalServerError, "run_interrupted", "")
		apitest.Equal(t, "X-Should-Retry", res.Header.Get("X-Should-Retry"), "false")
		apitest.Equal(t, "X-OpenHands-Run-Status", res.Header.Get("X-OpenHands-Run-Status"), "cancelled")
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
	g := apitest.Serve(t, apitest.Script(daemontest.Say("So far."), daemontest.Interrupted()))
	res := g.Chat(apitest.Ask("go"))
	if c := apitest.Completed(t, res); !strings.HasPrefix(c.Text(), "So far.\n\nThe run was interrupted.") || res.Header.Get("X-OpenHands-Run-Status") != "cancelled" {
		t.Errorf("the text = %q, the header = %v", c.Text(), res.Header)
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
		g := apitest.Serve(t, b)
		for i := range 30 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*500*time.Millisecond)
			res, err := g.Client.Do(g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask(strconv.Itoa(i), apitest.Streamed)).WithContext(ctx))
			if err == nil {
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
			cancel()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if s := g.Do(http.MethodGet, "/healthz", "").Body; !strings.Contains(s, `"running":0,"queued":0`) {
			t.Errorf("the health = %s", s)
		}
	})
}
