package account_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
)

// unruly is a server that does what it is asked, and lies about it: each answer
// may be replaced by a fault, before or after the request was carried out.
type unruly struct {
	*httptest.Server

	foreign, sandbox *httptest.Server

	mu      sync.Mutex
	random  *rand.Rand
	burst   int // so many answers are 502 yet
	faults  int
	started map[string]int // by id
	sent    map[string]int // by message
	tasks   map[string]int // how often each was asked for
	strays  []string       // requests to the foreign host
	leaks   []string       // keys in the wrong place
}

func newUnruly(t *testing.T, seed uint64) *unruly {
	t.Helper()
	u := &unruly{random: rand.New(rand.NewPCG(seed, 1)), started: map[string]int{}, sent: map[string]int{}, tasks: map[string]int{}}
	u.foreign = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.strays = append(u.strays, r.Method+" "+r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{}`)
	}))
	u.sandbox = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.mu.Lock()
		if strings.Contains(fmt.Sprint(r.Header), cloudKey) {
			u.leaks = append(u.leaks, "the key of the server at "+r.URL.Path)
		}
		u.mu.Unlock()
		u.faulty(w, r, u.agent)
	}))
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.mu.Lock()
		if strings.Contains(fmt.Sprint(r.Header), "session-key") {
			u.leaks = append(u.leaks, "a session key at "+r.URL.Path)
		}
		u.mu.Unlock()
		u.faulty(w, r, u.app)
	}))
	for _, s := range []*httptest.Server{u.foreign, u.sandbox, u.Server} {
		t.Cleanup(s.Close)
	}
	return u
}

// faulty answers, or fails to.
func (u *unruly) faulty(w http.ResponseWriter, r *http.Request, answer func(*http.Request) (int, string)) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	u.mu.Lock()
	fault, after := 0, u.random.IntN(2) == 0
	if u.burst > 0 {
		fault, u.burst = 2, u.burst-1
	} else if u.random.IntN(10) < 4 {
		fault = 1 + u.random.IntN(12)
	}
	status, text := 0, ""
	if fault == 0 || after {
		status, text = answer(r)
	}
	if fault != 0 {
		u.faults++
	}
	if fault == 3 {
		u.burst = u.random.IntN(6)
	}
	u.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if fault == 0 {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
		return
	}
	u.fail(w, r, fault)
}

func (u *unruly) fail(w http.ResponseWriter, r *http.Request, fault int) {
	status, text := 502, "<html>bad gateway"
	h := w.Header()
	switch fault {
	case 1, 2, 3:
		h.Set("Content-Type", "text/html")
	case 4:
		status, text = 429, `{"message":"Too many requests"}`
	case 5:
		status, text = 429, `{"error":"Too many requests"}`
		h.Set("Retry-After", "3")
	case 6: // a clock of another century
		status, text = 429, `{}`
		h.Set("Date", "Mon, 01 Jan 1990 00:00:00 GMT")
		h.Set("Retry-After", "Mon, 01 Jan 1990 00:00:05 GMT")
	case 7:
		status, text = 429, `{}`
		h.Set("Retry-After", "Mon, 01 Jan 2199 00:00:00 GMT")
	case 8:
		h.Set("Content-Type", "text/html")
		status, text = 200, "<!doctype html><title>app</title>"
	case 9: // more was announced
		h.Set("Content-Length", "1000")
		status, text = 200, `{"items":[{"id":"`
	case 10:
		status, text = 200, `{"id": "4e5f`
	case 11:
		h.Set("Location", u.foreign.URL+r.URL.Path)
		status = []int{301, 302, 307, 308}[len(r.URL.Path)%4]
	default: // it hangs
		<-r.Context().Done()
		return
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

// app is the app-server, without faults. It holds u.mu.
func (u *unruly) app(r *http.Request) (int, string) {
	id := strings.Repeat("ab", 16)
	conversation := fmt.Sprintf(`{"id":%q,"sandbox_id":"box","title":"t","sandbox_status":"RUNNING","tags":{"archiveworkspacepath":"/w"},
		"conversation_url":%q,"session_api_key":"session-key"}`, id, u.sandbox.URL+"/api/conversations/"+id)
	var in struct {
		ConversationID string          `json:"conversation_id"`
		InitialMessage json.RawMessage `json:"initial_message"`
		Content        json.RawMessage `json:"content"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	task := func(id, status string) string {
		return fmt.Sprintf(`{"id":"task-%[1]s","status":%[2]q,"app_conversation_id":%[1]q,"sandbox_id":"box","request":{"conversation_id":%[1]q}}`, id, status)
	}
	switch route := r.Method + " " + r.URL.Path; route {
	case "GET /api/v1/web-client/config":
		return 200, `{"app_mode":"oss"}`
	case "GET /api/v1/app-conversations/count":
		return 200, `7`
	case "POST /api/v1/app-conversations":
		u.started[in.ConversationID]++
		return 200, task(in.ConversationID, "WORKING")
	case "GET /api/v1/app-conversations/start-tasks":
		hex := strings.TrimPrefix(r.URL.Query().Get("ids"), "task-")
		if u.tasks[hex]++; u.tasks[hex] < 3 {
			return 200, "[" + task(hex, "WORKING") + "]"
		}
		return 200, "[" + task(hex, "READY") + "]"
	case "GET /api/v1/app-conversations/start-tasks/search":
		list := []string{"null"}
		for hex := range u.started {
			list = append(list, task(hex, "WORKING"))
		}
		return 200, `{"items":[` + strings.Join(list, ",") + `]}`
	case "GET /api/v1/app-conversations":
		return 200, `[` + strings.ReplaceAll(conversation, id, r.URL.Query().Get("ids")) + `]`
	case "GET /api/v1/app-conversations/search":
		return 200, `{"items":[` + conversation + `],"next_page_id":null}`
	case "GET /api/v1/sandboxes":
		return 200, fmt.Sprintf(`[{"id":"box","status":"RUNNING","session_api_key":"session-key","exposed_urls":[{"name":"AGENT_SERVER","url":%q}]}]`, u.sandbox.URL)
	default:
		if strings.HasSuffix(route, "/send-message") {
			u.sent[string(in.Content)]++
			return 200, `{"success":true}`
		}
	}
	return 404, `{"detail":"Not Found"}`
}

// agent is the sandbox's agent-server, without faults.
func (u *unruly) agent(r *http.Request) (int, string) {
	switch r.URL.Path {
	case "/health":
		return 200, `"OK"`
	case "/api/git/changes":
		return 200, `[{"status":"ADDED","path":"a"}]`
	case "/api/file/download":
		return 200, "content"
	}
	return 404, `{"detail":"Not Found"}`
}

// TestFaultsStartNothingTwiceAndLeakNoKey makes calls until 5,000 answers were
// faults. It ends, so nothing hung.
func TestFaultsStartNothingTwiceAndLeakNoKey(t *testing.T) {
	t.Parallel()
	// On a busy machine most calls end at their 40 ms: there are more of them until enough
	// have started or sent something.
	const workers, faults, most = 8, 5000, 20_000
	var wg sync.WaitGroup
	var mu sync.Mutex
	total, done, failed := 0, 0, 0
	for seed := range uint64(workers) {
		u := newUnruly(t, seed)
		c := newClient(t, u.URL, func(o *account.Options) { o.Timeout, o.Idle = 40*time.Millisecond, 40*time.Millisecond })
		wg.Go(func() {
			n, bad := 0, 0
			for ; n < most && (u.count() < faults/workers || !u.enough()); n++ {
				if err := one(t.Context(), c, n); err != nil {
					bad++
				}
			}
			mu.Lock()
			defer mu.Unlock()
			total, done, failed = total+u.count(), done+n, failed+bad
			u.check(t)
		})
	}
	wg.Wait()
	t.Logf("%d faults in %d calls, of which %d failed", total, done, failed)
	if total < faults || failed == 0 || failed == done {
		t.Errorf("%d faults, %d of %d calls failed", total, failed, done)
	}
}

// one makes the call number n.
func one(ctx context.Context, c *account.Client, n int) error {
	id := fmt.Sprintf("%032x", n)
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

func (u *unruly) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.faults
}

// enough reports whether there is something to check.
func (u *unruly) enough() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return min(len(u.started), len(u.sent)) >= 20
}

func (u *unruly) check(t *testing.T) {
	if !u.enough() {
		t.Error("too few were started or sent")
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, list := range []map[string]int{u.started, u.sent} {
		for what, n := range list {
			if n > 1 {
				t.Errorf("%s was started or sent %d times", what, n)
			}
		}
	}
	if len(u.strays) > 0 || len(u.leaks) > 0 {
		t.Errorf("requests to a foreign host: %q; leaks: %q", u.strays, u.leaks)
	}
}
