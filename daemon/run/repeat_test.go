package run_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/daemon/run"
)

// visitor is a client of a random history.
type visitor struct {
	attachment *run.Attachment
	gone       atomic.Bool // it has hung up
}

// history is what random clients do at a manager.
type history struct {
	*world
	rng      *rand.Rand
	visitors []*visitor        // connected
	made     []*run.Attachment // of the requests that made a job
	joined   int
}

// come sends a request.
func (h *history) come() {
	texts := []string{"hello", "fail", fmt.Sprintf("nap %d", h.rng.IntN(30_000))}
	req := ask(texts[h.rng.IntN(len(texts))])
	req.Fingerprint = run.Fingerprint{byte(h.rng.IntN(3))}
	req.Retry, req.Fresh, req.Detach = h.rng.IntN(4) == 0, h.rng.IntN(3) == 0, h.rng.IntN(4) == 0
	req.ProfileRevision = strconv.Itoa(h.rng.IntN(2))
	v := &visitor{}
	if h.rng.IntN(2) == 0 {
		req.Gone = v.gone.Load
	}
	v.attachment = h.submit(req)
	h.visitors = append(h.visitors, v)
	if v.attachment.Replayed() {
		h.joined++
		return
	}
	h.made = append(h.made, v.attachment)
}

// act has a client do what clients do; some leave.
func (h *history) act() {
	if len(h.visitors) == 0 {
		return
	}
	i := h.rng.IntN(len(h.visitors))
	v := h.visitors[i]
	switch h.rng.IntN(5) {
	case 0:
		v.gone.Store(true)
		return
	case 1:
		if h.hasEnded(v.attachment) {
			v.attachment.Delivered()
			v.attachment.Undelivered()
		}
		return
	case 2:
		if h.hasEnded(v.attachment) {
			v.attachment.Delivered()
		}
	case 3:
		v.attachment.Forgo()
	}
	v.attachment.Close()
	h.visitors = slices.Delete(h.visitors, i, i+1)
}

// hasEnded reports whether the job of a client is over; it reads the answer so far.
func (h *history) hasEnded(a *run.Attachment) bool {
	ctx, cancel := context.WithCancel(h.t.Context())
	cancel()
	err := error(nil)
	for err == nil {
		_, err = a.Next(ctx)
	}
	return errors.Is(err, io.EOF)
}

// compare asks for each kind of request which job it repeats.
func (h *history) compare(seed uint64) {
	h.t.Helper()
	for print := range byte(3) {
		for _, retry := range []bool{false, true} {
			who := run.Asker{Access: run.Access{Token: "t"}, Fingerprint: run.Fingerprint{print}, Retry: retry}
			if found, passed := h.m.Repeats(h.made, who); found != passed {
				h.t.Fatalf("seed %d: the job of request %d (retry %v) = %q, a pass over all finds %q", seed, print, retry, found, passed)
			}
		}
	}
}

// Whatever clients do, the job that a request repeats is the one that a pass over all
// jobs finds.
func TestARepeatIsFoundAsByAPassOverAllJobs(t *testing.T) {
	t.Parallel()
	joined := 0
	for seed := range uint64(20) {
		inBubble(t, run.Config{MaxRuns: 100, OneShotTTL: -1}, func(w *world) {
			h := &history{world: w, rng: rand.New(rand.NewPCG(seed, 7))}
			for range 150 {
				if h.rng.IntN(3) == 0 {
					h.come()
				} else {
					h.act()
				}
				time.Sleep(time.Duration(h.rng.IntN(4000))*time.Millisecond + time.Microsecond)
				synctest.Wait()
				h.compare(seed)
			}
			for _, v := range h.visitors {
				v.attachment.Close()
			}
			joined += h.joined
		})
	}
	if joined < 100 {
		t.Errorf("only %d requests joined a job", joined)
	}
}
