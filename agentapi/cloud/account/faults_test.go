package account_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/backendtest/fakecloud"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/agentapi/event"
)

// faulty is a cloud that spoils its answers, with one conversation from before it did.
type faulty struct {
	*fakecloud.Server

	id string

	mu     sync.Mutex
	strays []string // requests to the host of the redirects
}

func newFaulty(t *testing.T, seed uint64) *faulty {
	t.Helper()
	say := func(context.Context, fakeserver.Prompt, func(string)) (fakeserver.Reply, error) {
		return fakeserver.Reply{Text: "ok"}, nil
	}
	f := &faulty{Server: fakecloud.New(t, fakecloud.Options{Key: cloudKey, Hosted: true, Grouped: true, Model: say})}
	f.SaveProfile("fast", fakeserver.Profile{Model: "openai/test"})
	foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.strays = append(f.strays, r.Method+" "+r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{}`)
	}))
	t.Cleanup(foreign.Close)
	conv, err := newClient(t, f.URL).Start(t.Context(), account.StartRequest{Text: "hello"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.id = conv.ID
	f.Spoil(seed, foreign.URL)
	return f
}

// TestFaultsStartNothingTwiceAndLeakNoKey makes calls until 5,000 answers were
// faults. It ends, so nothing hung.
func TestFaultsStartNothingTwiceAndLeakNoKey(t *testing.T) {
	t.Parallel()
	// On a busy machine most calls end at their 40 ms: there are more of them until enough
	// have started or sent something.
	const workers, most = 8, 20_000
	faults := faultsWanted(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	total, done, failed := 0, 0, 0
	for seed := range uint64(workers) {
		u := newFaulty(t, seed)
		c := newClient(t, u.URL, knownV1, func(o *account.Options) { o.Timeout, o.Idle = 40*time.Millisecond, 40*time.Millisecond })
		wg.Go(func() {
			n, bad := 0, 0
			for ; n < most && (u.Spoiled() < faults/workers || !u.enough()); n++ {
				if err := one(t.Context(), c, u.id, n); err != nil {
					bad++
				}
			}
			mu.Lock()
			defer mu.Unlock()
			total, done, failed = total+u.Spoiled(), done+n, failed+bad
			u.check(t)
		})
	}
	wg.Wait()
	t.Logf("%d faults in %d calls, of which %d failed", total, done, failed)
	if total < faults || failed == 0 || failed == done {
		t.Errorf("%d faults, %d of %d calls failed", total, failed, done)
	}
}

// faultsWanted is how many faults the calls meet: OHGW_TEST_FAULTS, or 1000.
func faultsWanted(t *testing.T) int {
	t.Helper()
	faults, err := strconv.Atoi(cmp.Or(os.Getenv("OHGW_TEST_FAULTS"), "1000"))
	if err != nil || faults < 1 {
		t.Fatalf("OHGW_TEST_FAULTS: a number of faults is needed: %v", err)
	}
	return faults
}

// one makes the call number n.
func one(ctx context.Context, c *account.Client, id string, n int) error {
	switch n % 8 {
	case 0, 1:
		_, err := c.Start(ctx, account.StartRequest{Text: "hello"}, nil)
		return err
	case 2, 3:
		return c.Send(ctx, id, fmt.Sprint("message ", n), nil)
	case 4:
		_, err := c.Wake(ctx, id, nil)
		return err
	case 5:
		_, err := c.List(ctx, account.ListQuery{})
		return err
	case 6:
		_, _, err := c.Changes(ctx, id)
		return err
	}
	file, err := c.File(ctx, id, "a")
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, file)
	return errors.Join(err, file.Close())
}

// sent is how often each message is in the log.
func (f *faulty) sent() map[string]int {
	sent := map[string]int{}
	for _, e := range f.Sandbox(f.id).Log(dashed(f.id)) {
		if m, ok := e.Body.(*event.Message); ok && e.Source == event.SourceUser {
			sent[event.PlainText(m.LLMMessage.Content)]++
		}
	}
	return sent
}

func dashed(id string) string {
	return strings.Join([]string{id[:8], id[8:12], id[12:16], id[16:20], id[20:]}, "-")
}

// enough reports whether there is something to check.
func (f *faulty) enough() bool { return min(len(f.Starts()), len(f.sent())) >= 20 }

func (f *faulty) check(t *testing.T) {
	if !f.enough() {
		t.Error("too few were started or sent")
	}
	for _, list := range []map[string]int{f.Starts(), f.sent()} {
		for what, n := range list {
			if n > 1 {
				t.Errorf("%s was started or sent %d times", what, n)
			}
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.strays) > 0 {
		t.Errorf("requests to a foreign host: %q", f.strays)
	}
}
