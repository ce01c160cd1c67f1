package account_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	"github.com/ohgw/ohgw/internal/hidden"
)

const cloudKey = "cloud-key-of-the-test"

// recording is an answer in testdata, or a text.
type recording struct {
	status int
	file   string
	body   string
	kind   string // "" is JSON
}

// replay is a server that answers from recordings, those of one route one after
// the other and the last again and again. "{root}" in a recording is its own URL.
// It has no behaviour: what a server does, and what goes wrong on the way, is in package
// fakecloud, which does not know the API before V1.
type replay struct {
	*httptest.Server

	mu     sync.Mutex
	routes map[string][]recording
	seen   []*http.Request
}

func newReplay(t *testing.T, routes map[string][]recording) *replay {
	t.Helper()
	r := &replay{routes: routes}
	r.Server = httptest.NewServer(http.HandlerFunc(r.answer))
	t.Cleanup(r.Close)
	return r
}

func (r *replay) answer(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	r.seen = append(r.seen, req)
	route := req.Method + " " + req.URL.Path
	list := r.routes[route]
	if len(list) > 1 {
		r.routes[route] = list[1:]
	}
	r.mu.Unlock()
	if len(list) == 0 {
		list = []recording{{status: 404, body: `{"detail":"Not Found"}`}}
	}
	rec := list[0]
	body := []byte(rec.body)
	if rec.file != "" {
		data, err := os.ReadFile(filepath.Join("testdata", rec.file))
		if err != nil {
			panic(err)
		}
		body = data
	}
	kind := rec.kind
	if kind == "" {
		kind = "application/json"
		body = []byte(strings.ReplaceAll(string(body), "{root}", r.URL))
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(max(rec.status, 200))
	_, _ = w.Write(body)
}

// requests lists what was asked, as "METHOD /path?query".
func (r *replay) requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []string
	for _, req := range r.seen {
		list = append(list, req.Method+" "+req.URL.RequestURI())
	}
	return list
}

// clock is a time that passes only while a caller sleeps.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2031, 3, 1, 8, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return ctx.Err()
}

func newClient(t *testing.T, url string, change ...func(*account.Options)) *account.Client {
	t.Helper()
	time := newClock()
	o := account.Options{
		URL: url, Key: func(context.Context) (hidden.Text, error) { return hidden.NewText(cloudKey), nil }, Version: "1.2.3", Now: time.Now, Sleep: time.Sleep,
	}
	for _, f := range change {
		f(&o)
	}
	c, err := account.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// knownV1 is a server that was probed before.
func knownV1(o *account.Options) {
	o.Known = &account.Server{Kind: account.KindCloud, V1: true, Header: transport.HeaderBearer}
}

func knownV0(o *account.Options) {
	o.Known = &account.Server{Kind: account.KindCloud, V0: true, Header: transport.HeaderSession}
}
