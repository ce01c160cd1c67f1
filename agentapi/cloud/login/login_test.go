package login_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/login"
)

// answer is a recording, or a text.
type answer struct {
	status int
	file   string
	body   string
}

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
	c.now, c.slept = c.now.Add(d), append(c.slept, d)
	return ctx.Err()
}

// serve answers the questions for a key one after the other, the last again and
// again. It is reached as cloud.acme.example.
func serve(t *testing.T, authorize answer, tokens ...answer) (*login.Client, *clock, *[]string) {
	t.Helper()
	var forms []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := authorize
		if r.URL.Path == "/oauth/device/token" {
			forms = append(forms, r.FormValue("device_code")+" "+r.FormValue("grant_type"))
			a = tokens[0]
			if len(tokens) > 1 {
				tokens = tokens[1:]
			}
		}
		if a.status == 0 { // the network
			if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
				_ = conn.Close()
			}
			return
		}
		data := []byte(a.body)
		if a.file != "" {
			var err error
			if data, err = os.ReadFile(filepath.Join("testdata", a.file)); err != nil {
				panic(err)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(a.status)
		_, _ = w.Write(data)
	}))
	t.Cleanup(server.Close)
	passing := &clock{now: time.Date(2031, 3, 1, 8, 0, 0, 0, time.UTC)}
	c, err := login.New(login.Options{URL: "https://cloud.acme.example/api", HTTP: to(server.URL), Now: passing.Now, Sleep: passing.Sleep})
	if err != nil {
		t.Fatal(err)
	}
	return c, passing, &forms
}

// to sends every request to one server.
type to string

func (url to) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "http", strings.TrimPrefix(string(url), "http://")
	return http.DefaultTransport.RoundTrip(r)
}

var (
	authorized = answer{status: 200, file: "device_authorize.json"}
	pending    = answer{status: 400, file: "device_token_pending.json"}
	ready      = answer{status: 200, file: "device_token_ok.json"}
)

func TestALoginWaitsForThePerson(t *testing.T) {
	t.Parallel()
	c, passing, forms := serve(t, authorized, pending, answer{}, answer{status: 500, body: `{"error":"server_error"}`},
		answer{status: 400, body: `{"error":"slow_down","interval":9}`}, pending, answer{status: 400, body: `{"error":"slow_down"}`}, ready)
	d, err := c.Authorize(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d.UserCode != "TEAPOT42" || d.URL != "https://cloud.acme.example/oauth/device/verify" || d.FullURL != "https://cloud.acme.example/oauth/device/verify?user_code=TEAPOT42" {
		t.Errorf("Authorize() = %+v", d)
	}
	key, err := c.Poll(t.Context(), d)
	if err != nil || key.Key.IsZero() {
		t.Fatalf("Poll() = %+v, %v", key, err)
	}
	if want := "demo-device-code urn:ietf:params:oauth:grant-type:device_code"; (*forms)[0] != want {
		t.Errorf("asked with %q, want %q", (*forms)[0], want)
	}
	var waits []string
	for _, d := range passing.slept {
		waits = append(waits, d.String())
	}
	if got := strings.Join(waits, " "); got != "5s 5s 5s 5s 10s 10s 15s" {
		t.Errorf("waited %s", got)
	}
}

func TestALoginEndsWithoutAKey(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]error{"access_denied": login.ErrDenied, "expired_token": login.ErrExpired, "authorization_pending": login.ErrExpired} {
		c, _, _ := serve(t, authorized, answer{status: 400, body: `{"error":"` + code + `"}`})
		d, err := c.Authorize(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Poll(t.Context(), d); !errors.Is(err, want) {
			t.Errorf("%s: %v", code, err)
		}
	}
	for _, body := range []string{`{"error":"invalid_grant","error_description":"no such code"}`, `{}`} {
		c, _, forms := serve(t, authorized, answer{status: 400, body: body})
		d, err := c.Authorize(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Poll(t.Context(), d); err == nil || len(*forms) != 1 {
			t.Errorf("%s: %v after %d questions", body, err, len(*forms))
		}
	}
}

func TestALoginIsConfirmedOnTheServerItself(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"device_code":"d","verification_uri":"https://evil.example/verify"}`, `{"device_code":"d","verification_uri":""}`,
		`{"device_code":"d","verification_uri":"https://u:p@cloud.acme.example/verify"}`, `{"verification_uri":"/verify"}`,
		`{"device_code":"d","verification_uri":"/verify","verification_uri_complete":"https://evil.example/"}`,
	} {
		c, _, _ := serve(t, answer{status: 200, body: body})
		if d, err := c.Authorize(t.Context()); err == nil {
			t.Errorf("%s gives %+v", body, d)
		}
	}
}
