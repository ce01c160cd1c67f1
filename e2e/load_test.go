//go:build e2e

package e2e_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// inParallel calls do for 0 to n-1, workers at a time.
func inParallel(n, workers int, do func(i int)) {
	jobs := make(chan int)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := range jobs {
				do(i)
			}
		})
	}
	for i := range n {
		jobs <- i
	}
	close(jobs)
	group.Wait()
}

// TestSixtyFourAtOnce sends 64 streams at the same time; each has to get its
// own answer, whole, and the agents must not have run more than once each.
func TestSixtyFourAtOnce(t *testing.T) {
	s := newStack(t, racyProgram(t))
	const n = 64
	began := time.Now()
	inParallel(n, n, func(i int) {
		want := fmt.Sprintf("This is answer %d.", i)
		text, mark := prompt("[[pace 5ms]] [[say " + want + "]]")
		res := s.post(t, chat(text, true))
		got := readStream(t, res.Body)
		if res.StatusCode != http.StatusOK || got.text != want || got.last().Data != done {
			t.Errorf("request %d: %s %q, last frame %q", i, res.Status, got.text, got.last().Data)
		}
		if calls := len(s.asked(mark)); calls != 1 {
			t.Errorf("request %d: the LLM was asked %d times", i, calls)
		}
	})
	t.Logf("%d streams in %v", n, time.Since(began).Round(time.Millisecond))
}

// oneShots runs n requests that are a task of their own.
func (g *gateway) oneShots(t *testing.T, n int) {
	t.Helper()
	inParallel(n, 8, func(i int) {
		text, _ := prompt("[[finish Done.]]")
		res := g.post(t, chat(text, false))
		if body := bodyOf(t, res); res.StatusCode != http.StatusOK || !strings.Contains(body, "Done.") {
			t.Errorf("request %d: %s %s", i, res.Status, body)
		}
	})
}

// leavesNothing fails the test unless the backend and the gateway have removed
// all conversations. Removal follows the answer.
func (g *gateway) leavesNothing(t *testing.T, conversations func() int) {
	t.Helper()
	waittest.Until(t, patience, "nothing is left behind", func() (any, bool) {
		var found []string
		if n := conversations(); n > 0 {
			found = append(found, fmt.Sprintf("%d conversations of the backend", n))
		}
		for _, pattern := range []string{"workspaces/*", "conversations/*"} {
			paths, _ := filepath.Glob(filepath.Join(g.State, pattern))
			found = append(found, paths...)
		}
		return found, len(found) == 0
	})
}

// TestOneShotsLeaveNothing runs requests that are a task of their own, with no
// time to live: neither a real agent-server nor the gateway keeps any. They are
// few, because each is a second of the server's processor; many are in the next tests.
func TestOneShotsLeaveNothing(t *testing.T) {
	s := newStack(t, plainProgram(t), "--one-shot-ttl", "0s")
	s.oneShots(t, 16) // as many at a time as run, twice
	s.leavesNothing(t, func() int { return s.conversations(t) })
}

func TestAThousandOneShotsOfAnAgentServerLeaveNothing(t *testing.T) {
	llm, fake := llmtest.New(t), newFake(t)
	fake.SaveProfile("scripted", fakeserver.Profile{Model: "openai/test", BaseURL: llm.URL, Key: "sk-llm-test"})
	g := serve(t, plainProgram(t), server{fake.URL, fakeKey}, "--one-shot-ttl", "0s")
	g.oneShots(t, 200) // what is made once for good
	before := g.resident()
	g.oneShots(t, 1000)
	g.leavesNothing(t, func() int { return len(fake.Conversations()) })
	grown := g.resident() - before
	t.Logf("idle: %.1f MB; %.1f MB more after 1,000 one-shots", mb(before), mb(grown))
	const most = 16 << 20 // the collector decides when it gives memory back
	if grown > most {
		t.Errorf("the process has grown by %.1f MB", mb(grown))
	}
}

func TestAThousandOneShotsOfTheEmbeddedAgentLeaveNothing(t *testing.T) {
	llm := llmtest.New(t)
	g := serveEmbedded(t, plainProgram(t), llm.URL, "--one-shot-ttl", "0s")
	g.oneShots(t, 200) // what is made once for good
	before := g.resident()
	g.oneShots(t, 1000)
	g.leavesNothing(t, func() int { return 0 })
	grown := g.resident() - before
	t.Logf("idle: %.1f MB; %.1f MB more after 1,000 one-shots", mb(before), mb(grown))
	const most = 8 << 20 // the collector decides when it gives memory back
	if grown > most {
		t.Errorf("the process has grown by %.1f MB", mb(grown))
	}
}

// TestAThousandIdleStreamsAreCheap holds 1,000 streams open on agents that
// never answer, in front of a fake agent-server.
func TestAThousandIdleStreamsAreCheap(t *testing.T) {
	const n = 1000
	llm, fake := llmtest.New(t), newFake(t)
	fake.SaveProfile("scripted", fakeserver.Profile{Model: "openai/test", BaseURL: llm.URL, Key: "sk-llm-test"})
	g := serve(t, plainProgram(t), server{fake.URL, fakeKey}, "--max-runs", fmt.Sprint(n), "--drain", "0s")
	warm, _ := prompt("[[finish Hello.]]")
	bodyOf(t, g.post(t, chat(warm, false)))
	before := g.resident()
	var open sync.WaitGroup
	var streams [n]*http.Response
	starting := make(chan struct{}, 50) // idle streams are measured, not a thousand that start at once
	for i := range streams {
		open.Go(func() {
			starting <- struct{}{}
			defer func() { <-starting }()
			text, _ := prompt("[[hang]]")
			res := g.post(t, chat(text, true))
			if res.StatusCode != http.StatusOK {
				t.Errorf("stream %d: %s", i, res.Status)
				return
			}
			frames(t, res.Body, func(frame) bool { return false }) // the first one is here
			streams[i] = res
		})
	}
	open.Wait()
	llm.Await(t, n+1) // all agents are at work
	grown := g.resident() - before
	t.Logf("idle: %.1f MB; with %d streams %.1f MB more", mb(before), n, mb(grown))
	if limit := 150 << 20; grown > limit {
		t.Errorf("%d idle streams take %.1f MB, more than 150", n, mb(grown))
	}
	if before > 40<<20 {
		t.Errorf("idle memory is %.1f MB, more than 40", mb(before))
	}
	for _, res := range streams {
		if res != nil {
			res.Body.Close()
		}
	}
}

func mb(bytes int) float64 { return float64(bytes) / (1 << 20) }
