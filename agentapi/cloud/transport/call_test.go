package transport_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	"github.com/ohgw/ohgw/internal/hidden"
)

const cloudKey = "cloud-key-of-the-test"

// clock is a time that passes only while a caller sleeps.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	slept []time.Duration
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.slept = append(c.slept, d)
	return ctx.Err()
}

func newClient(t *testing.T, url string, change ...func(*transport.Options)) (*transport.Client, *clock) {
	t.Helper()
	passing := &clock{now: time.Date(2031, 3, 1, 8, 0, 0, 0, time.UTC)}
	o := transport.Options{
		URL: url, Key: func(context.Context) (hidden.Text, error) { return hidden.NewText(cloudKey), nil }, Version: "1.2.3", Now: passing.Now, Sleep: passing.Sleep,
	}
	for _, f := range change {
		f(&o)
	}
	c, err := transport.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdle)
	return c, passing
}

// answers is a server that gives these answers, the last one again and again.
func answers(t *testing.T, list ...http.HandlerFunc) (url string, calls func() int) {
	t.Helper()
	var mu sync.Mutex
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		i := min(n, len(list)-1)
		n++
		mu.Unlock()
		list[i](w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

func says(status int, kind, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

const isJSON = "application/json"

func TestEveryErrorBodyHasItsKindAndItsWords(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status     int
		kind, body string
		want       error
		words      string
	}{
		"middleware":     {401, isJSON, `{"error":"InvalidKey"}`, transport.ErrUnauthorized, "InvalidKey"},
		"self-hosted":    {401, isJSON, `{"detail":"Unauthorized"}`, transport.ErrUnauthorized, "Unauthorized"},
		"two texts":      {403, isJSON, `{"error":"X","message":"verify your e-mail"}`, transport.ErrForbidden, "verify your e-mail"},
		"not there":      {404, isJSON, `{"detail":"Not Found"}`, transport.ErrNotFound, "Not Found"},
		"paused":         {409, isJSON, `{"detail":"Sandbox is PAUSED"}`, transport.ErrNotRunning, "Sandbox is PAUSED"},
		"archived":       {410, isJSON, `{"detail":"gone"}`, transport.ErrArchived, "gone"},
		"binary":         {415, isJSON, `{"error":"binary"}`, transport.ErrUnreadable, "binary"},
		"binary refused": {415, isJSON, `{"error":"binary"}`, transport.ErrRefused, "binary"},
		"validation":     {422, isJSON, `{"detail":[null,{"loc":["query","ids",0],"msg":"Field required","type":"missing"}]}`, transport.ErrRefused, "query.ids.0: Field required"},
		"start":          {400, isJSON, `{"status":"error","message":"no settings","msg_id":"CONFIGURATION$SETTINGS_NOT_FOUND"}`, transport.ErrRefused, "no settings"},
		"message":        {500, isJSON, `{"success":false,"error":"boom"}`, transport.ErrUpstream, "boom"},
		"uncaught":       {500, "text/plain; charset=utf-8", "Internal Server\nError", transport.ErrUpstream, "Internal Server Error"},
		"missing file":   {500, isJSON, `{"error":"Error opening file: File not found: x"}`, transport.ErrNotFound, "File not found"},
		"proxy":          {502, "text/html", "<html>", transport.ErrUpstream, "502"},
		"odd types":      {400, isJSON, `{"detail":{"a":1},"error":7,"interval":"x","message":"words"}`, transport.ErrRefused, "words"},
		"not JSON":       {418, isJSON, `{`, transport.ErrRefused, "418"},
		"web page":       {200, "text/html", "<html>", transport.ErrWrongEndpoint, "text/html"},
		"wrong shape":    {200, isJSON, `[]`, transport.ErrWrongEndpoint, "shape"},
		"key repeated":   {400, isJSON, `{"detail":"bad key cloud-key-of-the-test"}`, transport.ErrRefused, "bad key [redacted]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _ := answers(t, says(tt.status, tt.kind, tt.body))
			c, _ := newClient(t, url)
			var out struct{ A int }
			err := c.Call(t.Context(), transport.Request{Method: "POST", Path: "/x", Out: &out})
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.words) || strings.Contains(err.Error(), cloudKey) {
				t.Errorf("Call() = %v, want %v with %q", err, tt.want, tt.words)
			}
		})
	}
}

func TestOnlyWhatCanBeRepeatedIsRepeated(t *testing.T) {
	t.Parallel()
	fine := says(200, isJSON, `{}`)
	for name, tt := range map[string]struct {
		method string
		repeat bool
		first  http.HandlerFunc
		calls  int
		pause  time.Duration // before the last call
	}{
		"502 read":            {"GET", false, says(502, "text/html", "x"), 2, time.Second},
		"502 change":          {"POST", false, says(502, "text/html", "x"), 1, 0},
		"502 repeatable":      {"POST", true, says(502, "text/html", "x"), 2, time.Second},
		"404":                 {"GET", false, says(404, isJSON, `{}`), 1, 0},
		"429":                 {"GET", false, says(429, isJSON, `{"message":"Too many requests"}`), 2, time.Second},
		"429 change":          {"POST", false, says(429, isJSON, `{}`, "Retry-After", "1"), 1, 0},
		"429 for 7 s":         {"GET", false, says(429, isJSON, `{}`, "Retry-After", "7"), 2, 7 * time.Second},
		"429 for an hour":     {"GET", false, says(429, isJSON, `{}`, "Retry-After", "3600"), 1, 0},
		"429 until a date":    {"GET", false, says(429, isJSON, `{}`, "Date", "Mon, 01 Jan 2001 00:00:00 GMT", "Retry-After", "Mon, 01 Jan 2001 00:00:09 GMT"), 2, 9 * time.Second},
		"429 until the past":  {"GET", false, says(429, isJSON, `{}`, "Retry-After", "Mon, 01 Jan 2001 00:00:09 GMT"), 2, time.Second},
		"429 with nonsense":   {"GET", false, says(429, isJSON, `{}`, "Retry-After", "-5e300"), 2, time.Second},
		"cut":                 {"GET", false, says(200, isJSON, `{"a":`), 2, time.Second},
		"cut change":          {"POST", false, says(200, isJSON, `{"a":`), 1, 0},
		"html with 200":       {"GET", false, says(200, "text/html", `<p>`), 1, 0},
		"redirect":            {"GET", false, says(302, "text/html", ``, "Location", "https://elsewhere.example/"), 1, 0},
		"redirect of changes": {"POST", false, says(307, "text/html", ``, "Location", "/y"), 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, calls := answers(t, tt.first, fine)
			c, passing := newClient(t, url)
			err := c.Call(t.Context(), transport.Request{Method: tt.method, Path: "/x", Repeat: tt.repeat})
			if calls() != tt.calls || (err == nil) != (tt.calls == 2) {
				t.Errorf("%d calls, %v, want %d", calls(), err, tt.calls)
			}
			if tt.pause > 0 && (len(passing.slept) == 0 || passing.slept[len(passing.slept)-1] != tt.pause) {
				t.Errorf("slept %v, want %v", passing.slept, tt.pause)
			}
		})
	}
}

func TestAServerThatStaysDownIsAskedFourTimes(t *testing.T) {
	t.Parallel()
	url, calls := answers(t, says(503, "text/html", "x"))
	c, _ := newClient(t, url)
	if err := c.Call(t.Context(), transport.Request{Path: "/x"}); !errors.Is(err, transport.ErrUpstream) || calls() != 4 {
		t.Errorf("%d calls, %v", calls(), err)
	}
}

func TestAKeyStaysWithItsHost(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var foreign []http.Header
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		foreign = append(foreign, r.Header.Clone())
		w.Header().Set("Content-Type", isJSON)
		_, _ = io.WriteString(w, `{}`)
	}))
	t.Cleanup(other.Close)
	var own []http.Header
	url, _ := answers(t, func(w http.ResponseWriter, r *http.Request) {
		own = append(own, r.Header.Clone())
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL+"/x", http.StatusTemporaryRedirect)
		case "/slash":
			http.Redirect(w, r, "/slash/", http.StatusTemporaryRedirect)
		default:
			says(200, isJSON, `{}`)(w, r)
		}
	})
	c, _ := newClient(t, url)
	if err := c.Call(t.Context(), transport.Request{Path: "/away"}); !errors.Is(err, transport.ErrWrongEndpoint) || len(foreign) != 0 {
		t.Errorf("a redirect to another host: %v, it was asked %d times", err, len(foreign))
	}
	if err := c.Call(t.Context(), transport.Request{Path: "/slash"}); err != nil || own[len(own)-1].Get("Authorization") != "Bearer "+cloudKey {
		t.Errorf("a redirect within the host: %v", err)
	}
	base := transport.RuntimeBase(c.Root(), other.URL)
	for _, key := range []hidden.Text{{}, hidden.NewText("session-key")} {
		err := c.Call(t.Context(), transport.Request{Path: "/r", Target: &transport.Target{Base: base, Key: key}})
		h := foreign[len(foreign)-1]
		if err != nil || h.Get("X-Session-API-Key") != key.Reveal() || h.Get("Authorization") != "" || h.Get("X-OpenHands-Client") != "" {
			t.Errorf("a runtime got %v, %v", h, err)
		}
	}
	c.SetHeader(transport.HeaderSession)
	if err := c.Call(t.Context(), transport.Request{Path: "/x"}); err != nil {
		t.Fatal(err)
	}
	if h := own[len(own)-1]; h.Get("X-Session-API-Key") != cloudKey || h.Get("Authorization") != "" || h.Get("X-OpenHands-Client") != "ohgw" || h.Get("X-OpenHands-Client-Version") != "1.2.3" {
		t.Errorf("the server got %v", h)
	}
}

func TestRequestsStayBelowTheServersLimit(t *testing.T) {
	t.Parallel()
	var times []time.Time
	var passing *clock
	url, _ := answers(t, func(w http.ResponseWriter, r *http.Request) {
		times = append(times, passing.Now())
		says(200, isJSON, `{}`)(w, r)
	})
	c, passing2 := newClient(t, url)
	passing = passing2
	for i := range 300 {
		if i == 150 {
			passing.now = passing.now.Add(-1000 * time.Hour) // the user sets the clock back
			times = times[:0]
		}
		if err := c.Call(t.Context(), transport.Request{Path: "/x"}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range times {
		if i >= 8 && times[i].Sub(times[i-8]) < time.Second {
			t.Errorf("more than 8 requests within %v", times[i].Sub(times[i-8]))
		}
		if i >= 90 && times[i].Sub(times[i-90]) < time.Minute {
			t.Errorf("more than 90 requests within %v", times[i].Sub(times[i-90]))
		}
	}
	if took := times[len(times)-1].Sub(times[0]); took > 3*time.Minute {
		t.Errorf("150 requests took %v", took)
	}
}

func TestADownloadThatStopsArrivingEnds(t *testing.T) {
	t.Parallel()
	url, _ := answers(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/zip")
		w.Header().Set("Content-Disposition", `attachment; filename="../../etc/x.zip"`)
		_, _ = io.WriteString(w, "PK")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	c, _ := newClient(t, url, func(o *transport.Options) { o.Idle = 20 * time.Millisecond })
	body, err := c.Open(t.Context(), transport.Request{Path: "/x"})
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(body)
	if string(data) != "PK" || !errors.Is(err, transport.ErrUpstream) || body.Name != "x.zip" || body.Size != -1 {
		t.Errorf("read %q, %v of %q with %d bytes", data, err, body.Name, body.Size)
	}
	if err := body.Close(); err != nil {
		t.Error(err)
	}
}

func TestAHangingCallEnds(t *testing.T) {
	t.Parallel()
	url, _ := answers(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	c, _ := newClient(t, url, func(o *transport.Options) { o.Timeout = 10 * time.Millisecond })
	for _, method := range []string{"GET", "POST"} {
		// Counted where the client begins them: the limit can end before the server knows.
		var attempts atomic.Int64
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GetConn: func(string) { attempts.Add(1) }})
		err := c.Call(ctx, transport.Request{Method: method, Path: "/x"})
		if !errors.Is(err, transport.ErrUpstream) || !errors.Is(err, context.DeadlineExceeded) || transport.Declined(err) {
			t.Errorf("%s: %v", method, err)
		}
		if attempts.Load() != 1 { // another one would be as silent
			t.Errorf("%s: %d attempts, want one", method, attempts.Load())
		}
	}
}

// A server may be silent in many ways: it never answers, hangs up late, or stops in the
// middle of an answer. All attempts together take twice the limit of one.
func TestASilentServerTakesAMinuteInAll(t *testing.T) {
	t.Parallel()
	const limit = time.Minute
	for name, tt := range map[string]struct {
		silent time.Duration
		answer http.HandlerFunc
		calls  int
	}{
		"it hangs up at once":      {0, hangUp, 4},
		"it hangs up after 20 s":   {20 * time.Second, hangUp, 2},
		"it hangs up after 29 s":   {29 * time.Second, hangUp, 2},
		"it stops in the answer":   {25 * time.Second, func(w http.ResponseWriter, _ *http.Request) { cut(w) }, 2},
		"its proxy gives up":       {30 * time.Second, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGatewayTimeout) }, 1},
		"its proxy gives up early": {5 * time.Second, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, 4},
	} {
		var passing *clock
		url, calls := answers(t, func(w http.ResponseWriter, r *http.Request) {
			_ = passing.Sleep(r.Context(), tt.silent)
			tt.answer(w, r)
		})
		var c *transport.Client
		c, passing = newClient(t, url)
		began := passing.Now()
		if err := c.Call(t.Context(), transport.Request{Path: "/x"}); !errors.Is(err, transport.ErrUpstream) {
			t.Errorf("%s: %v", name, err)
		}
		if took := passing.Now().Sub(began); took > limit || calls() != tt.calls {
			t.Errorf("%s: %d calls in %s, want %d in %s at most", name, calls(), took, tt.calls, limit)
		}
	}
}

// hangUp closes the connection without an answer.
func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// cut begins an answer and closes the connection.
func cut(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", "100")
	_, _ = w.Write([]byte("{"))
	panic(http.ErrAbortHandler)
}
