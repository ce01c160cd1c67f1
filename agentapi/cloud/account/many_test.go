package account_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/backendtest/fakecloud"
	"github.com/ohgw/ohgw/agentapi/cloud/account"
)

// many serves so many conversations in pages of 100.
func many(t *testing.T, n int) string {
	t.Helper()
	server := fakecloud.New(t, fakecloud.Options{Key: cloudKey, Hosted: true, Newer: true})
	server.Fill(n, strings.Repeat("long title ", 20)) // ten thousand of them are twice what the heap may grow by
	return server.URL
}

// TestTenThousandConversationsAreListedInFlatMemory does not run beside other
// tests: it measures the heap.
func TestTenThousandConversationsAreListedInFlatMemory(t *testing.T) {
	const n = 10_000
	c := newClient(t, many(t, n), knownV1)
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	seen, early := 0, int64(0)
	for conv, err := range c.All(t.Context(), account.ListQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("%032x", seen); conv.ID != want {
			t.Fatalf("conversation %d is %s", seen, conv.ID)
		}
		if seen++; seen == 1000 {
			early = heap()
		}
	}
	if grown := heap() - early; seen != n || grown > 1<<20 {
		t.Errorf("%d conversations; the heap grew by %d bytes from the first 1,000 to the last", seen, grown)
	}
}

func TestFindKnowsPrefixes(t *testing.T) {
	t.Parallel()
	c := newClient(t, many(t, 0x121), knownV1)
	// The ids of conversations 0x10 to 0x1f are the only ones that begin so.
	prefix := strings.Repeat("0", 30) + "1"
	_, err := c.Find(t.Context(), prefix)
	ambiguous, ok := err.(*account.AmbiguousError) //nolint:errorlint // it is not wrapped
	if !ok || len(ambiguous.Candidates) != 10 || ambiguous.Candidates[0].ID != prefix+"0" {
		t.Errorf("Find(%s) = %v", prefix, err)
	}
	only := strings.Repeat("0", 29) + "12"
	if conv, err := c.Find(t.Context(), only[:8]+"-"+only[8:]); err != nil || conv.ID != only+"0" {
		t.Errorf("Find(%s) = %s, %v", only, conv.ID, err)
	}
	if _, err := c.Find(t.Context(), "77"); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("an unknown prefix: %v", err)
	}
}

func TestPagesThatGoRoundInACircleEnd(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		page, _ := strconv.Atoi(r.URL.Query().Get("page_id"))
		_, _ = fmt.Fprintf(w, `{"items":[],"next_page_id":"%d"}`, page%7+3)
	}))
	t.Cleanup(server.Close)
	c := newClient(t, server.URL, knownV1)
	n := 0
	for _, err := range c.All(t.Context(), account.ListQuery{}) {
		if n++; err == nil {
			t.Fatal("a circle of empty pages has a conversation")
		}
	}
	if n != 1 {
		t.Errorf("%d errors", n)
	}
}
