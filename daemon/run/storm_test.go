package run_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/uuid"
)

// books are what the clients of a storm saw.
type books struct {
	mu       sync.Mutex
	admitted int                     // requests that made a job
	joined   map[run.Fingerprint]int // requests without a mark that joined one
	lost     map[run.Fingerprint]int // clients that went away without their answer
	answers  map[string]int          // by answer: how many clients that joined nothing have it
	stopped  map[string]bool         // conversations in which a client stopped something
}

// storm is one client of many.
type storm struct {
	*world
	*books
	rng    *rand.Rand
	shared []string // conversations
}

// request is one of few, so that many are identical.
func (s *storm) request() run.Request {
	text := fmt.Sprintf("nap %d", 100*(1+s.rng.IntN(5)))
	req := run.Request{
		Asker:  run.Asker{Access: run.Access{Token: []string{"t", "u"}[s.rng.IntN(2)]}, Retry: s.rng.IntN(5) == 0},
		Terms:  run.Terms{Profile: "p", ProfileRevision: "1"},
		Course: run.Course{Detach: s.rng.IntN(10) == 0},
	}
	if s.rng.IntN(3) == 0 {
		req.ConversationID = s.shared[s.rng.IntN(len(s.shared))]
	}
	if s.rng.IntN(5) == 0 {
		req.IdempotencyKey = fmt.Sprintf("key %d", s.rng.IntN(4))
		req.ConversationID = ""
		text = "nap 300 for " + req.Token + " " + req.IdempotencyKey
	}
	req.Message = agentapi.Message{Text: text}
	req.Fingerprint = sha256.Sum256([]byte(req.Token + req.ConversationID + text))
	return req
}

// step makes one request and does with it what clients do.
func (s *storm) step() {
	req := s.request()
	time.Sleep(time.Duration(s.rng.IntN(300)) * time.Millisecond)
	a, err := s.m.Submit(s.t.Context(), req)
	if err != nil {
		if !errors.Is(err, run.ErrQueueFull) && !errors.Is(err, run.ErrConversationBusy) && !s.wasStopped(req.ConversationID, err) {
			s.t.Errorf("%q: %v", req.Message.Text, err)
		}
		return
	}
	defer a.Close()
	s.count(req, a)
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	patience := time.Duration(s.rng.IntN(1000)) * time.Millisecond
	switch s.rng.IntN(10) {
	case 0, 1, 2:
		time.AfterFunc(patience, cancel)
	case 3:
		time.AfterFunc(patience, func() {
			s.mu.Lock()
			s.stopped[a.ConversationID()] = true
			s.mu.Unlock()
			s.m.Stop(req.Token, a.ConversationID(), req.IdempotencyKey)
		})
	}
	for err == nil {
		_, err = a.Next(ctx)
	}
	if !errors.Is(err, io.EOF) {
		s.mu.Lock()
		s.lost[req.Fingerprint]++
		s.mu.Unlock()
		return
	}
	a.Delivered()
	s.check(req, a)
}

func (s *storm) count(req run.Request, a *run.Attachment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !a.Replayed():
		s.admitted++
	case !req.Retry && req.IdempotencyKey == "":
		s.joined[req.Fingerprint]++
	}
}

func (s *storm) wasStopped(conversation string, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped[conversation] && errors.Is(err, run.ErrStopped)
}

// check looks at the answer of a client that stayed for it.
func (s *storm) check(req run.Request, a *run.Attachment) {
	res, err := a.Result()
	text := req.Message.Text
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil && res.Outcome == turn.Finished:
		if !strings.HasSuffix(res.Answer, ": "+text) {
			s.t.Errorf("%q was answered with %q", text, res.Answer)
		}
		if !a.Replayed() {
			s.answers[res.Answer]++
		}
	case s.stopped[a.ConversationID()] && (errors.Is(err, run.ErrStopped) || err == nil && res.Outcome == turn.Interrupted):
	case req.IdempotencyKey != "" && (errors.Is(err, run.ErrAbandoned) || errors.Is(err, run.ErrInterrupted)):
	default:
		s.t.Errorf("%q, key %q: %v, %+v", text, req.IdempotencyKey, err, res)
	}
}

// Clients of all kinds at once: what they saw agrees with what the agent did,
// and nothing is left.
func TestAStormKeepsItsBooks(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		cfg := run.Config{MaxRuns: 4, MaxQueue: 24, Grace: 200 * time.Millisecond, OneShotTTL: time.Minute, StateDir: t.TempDir()}
		inBubble(t, cfg, func(w *world) {
			w.b.obeys = 50 * time.Millisecond
			b := &books{joined: map[run.Fingerprint]int{}, lost: map[run.Fingerprint]int{}, answers: map[string]int{}, stopped: map[string]bool{}}
			shared := []string{uuid.New(), uuid.New(), uuid.New()}
			var wg sync.WaitGroup
			for client := range uint64(16) {
				wg.Go(func() {
					s := &storm{world: w, books: b, rng: rand.New(rand.NewPCG(seed, client)), shared: shared}
					for range 25 {
						s.step()
					}
				})
			}
			wg.Wait()
			time.Sleep(time.Minute)
			synctest.Wait()
			if st := w.m.Stats(); st.Running != 0 || st.Queued != 0 {
				t.Errorf("seed %d: at the end %+v", seed, st)
			}
			runs, _ := w.b.counts()
			if runs > b.admitted || runs == 0 {
				t.Errorf("seed %d: %d runs for %d requests that joined none", seed, runs, b.admitted)
			}
			for answer, n := range b.answers {
				if n != 1 {
					t.Errorf("seed %d: %q is the answer of %d requests that joined none", seed, answer, n)
				}
			}
			for print, n := range b.joined {
				if n > b.lost[print] {
					t.Errorf("seed %d: %d requests without a mark joined a run, %d clients had gone", seed, n, b.lost[print])
				}
			}
			for text, n := range w.b.sent() {
				if strings.Contains(text, "key") && n != 1 {
					t.Errorf("seed %d: %q ran %d times", seed, text, n)
				}
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			if _, convs := w.b.counts(); convs > len(shared) || w.m.Remembered() != 0 {
				t.Errorf("seed %d: %d conversations and %d jobs are left", seed, convs, w.m.Remembered())
			}
		})
	}
}
