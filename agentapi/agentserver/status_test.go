package agentserver_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/internal/uuid"
)

func TestStatusNamesWhatAReleaseLacks(t *testing.T) {
	t.Parallel()
	own := &agentserver.LLM{Profile: "fast", Model: "openai/own"}
	tests := []struct {
		opts fakeserver.Options
		llm  *agentserver.LLM
		want []string // beginnings
		err  error
	}{
		{fakeserver.Options{Version: "1.43.1"}, nil, nil, nil},
		{fakeserver.Options{Version: "1.43.1", NoSecretKey: true}, nil, []string{"No OH_SECRET_KEY"}, nil},
		{fakeserver.Options{Version: "1.42.0"}, nil, []string{"Before 1.43"}, nil},
		{fakeserver.Options{Version: "1.22.0"}, nil, []string{"Before 1.23", "Before 1.33", "Before 1.34", "Before 1.43"}, nil},
		{fakeserver.Options{Version: "1.21.0"}, nil, []string{"Before 1.22", "Before 1.23", "Before 1.33", "Before 1.34", "Before 1.43"}, agentapi.ErrUnsupported},
		{fakeserver.Options{Version: "1.21.0"}, own, []string{"Before 1.22", "Before 1.23", "Before 1.33", "Before 1.34", "Before 1.43"}, nil},
		{fakeserver.Options{Version: "1.12.0"}, own, []string{"Before 1.16", "Before 1.18", "Before 1.22", "Before 1.23", "Before 1.33", "Before 1.34", "Before 1.43"}, nil},
		{fakeserver.Options{Version: "1.11.0"}, own, nil, agentapi.ErrUnsupported},
	}
	for _, tt := range tests {
		t.Run(tt.opts.Version, func(t *testing.T) {
			t.Parallel()
			inBubble(t, tt.opts, func(t *testing.T, w *world) {
				w.useLLM(t, tt.llm)
				st := w.backend.Status(t.Context())
				if !errors.Is(st.Err, tt.err) {
					t.Errorf("Err = %v, want %v", st.Err, tt.err)
				}
				if st.Version != tt.opts.Version || st.Address != w.URL || st.Name != "agent-server" {
					t.Errorf("Status() = %+v", st)
				}
				if tt.want == nil && tt.err != nil {
					return
				}
				var got []string
				for i, what := range st.Missing {
					if i < len(tt.want) && strings.HasPrefix(what, tt.want[i]) {
						what = tt.want[i]
					}
					got = append(got, what)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("Missing (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestOldServersHaveTheProfileOfTheConfig(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{Version: "1.21.0"}, func(t *testing.T, w *world) {
		if _, err := w.backend.Profiles(t.Context()); !errors.Is(err, agentapi.ErrUnsupported) {
			t.Errorf("Profiles: %v", err)
		}
		req := agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: "mine", Workspace: "/w"}
		if _, err := w.backend.Open(t.Context(), req); !errors.Is(err, agentapi.ErrUnsupported) {
			t.Errorf("Open: %v", err)
		}
		w.useLLM(t, &agentserver.LLM{Profile: "mine", Model: "openai/own"})
		list, err := w.backend.Profiles(t.Context())
		if err != nil || len(list) != 1 || list[0].Name != "mine" || !list[0].Active || list[0].Revision == "" {
			t.Errorf("Profiles() = %+v, %v", list, err)
		}
		c, err := w.backend.Open(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		run(t, c).wantAnswer(t, "ok", "ok")
		if err := c.Switch(t.Context(), "mine"); !errors.Is(err, agentapi.ErrUnsupported) {
			t.Errorf("Switch: %v", err)
		}
		req.ID, req.Profile = uuid.New(), "yours"
		if _, err := w.backend.Open(t.Context(), req); !errors.Is(err, agentapi.ErrProfileNotFound) {
			t.Errorf("Open with another profile: %v", err)
		}
		req.ID, req.New = w.foreign(t, "openai/own"), false
		if c, err = w.backend.Open(t.Context(), req); err != nil || c.Info().Profile != "" {
			t.Errorf("Open of a conversation with another base URL: %+v, %v", c.Info(), err)
		}
	})
}

func TestRevisionFollowsWhatCanBeSeen(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		stamp := "one"
		client := w.Client()
		defer client.CloseIdleConnections()
		b, err := agentserver.New(agentserver.Config{URL: w.URL, HTTP: client, FileStamp: func() string { return stamp }})
		if err != nil {
			t.Fatal(err)
		}
		revision := func() string {
			t.Helper()
			time.Sleep(time.Second) // the settings hold the time of the look
			list, err := b.Profiles(t.Context())
			if err != nil || len(list) != 1 {
				t.Fatalf("Profiles() = %v, %v", list, err)
			}
			return list[0].Revision
		}
		last := revision()
		if again := revision(); again != last {
			t.Error("the revision changed by itself")
		}
		for name, change := range map[string]func(){
			"a file":   func() { stamp = "two" },
			"settings": func() { w.Configure(func(agent, _ map[string]any) { agent["tools"] = []any{} }) },
			"profile":  func() { w.SaveProfile("fast", fakeserver.Profile{Model: "openai/new"}) },
		} {
			change()
			if now := revision(); now == last {
				t.Errorf("another %s does not change the revision", name)
			} else {
				last = now
			}
		}
	})
}

func TestStatusOfAServerThatIsNotWell(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		do   func(*world)
		want error
	}{
		{"dead", func(w *world) { w.Kill() }, agentapi.ErrUnavailable},
		{"frozen", func(w *world) { w.Freeze() }, agentapi.ErrUnavailable},
		{"slow", func(w *world) { w.SetLatency(time.Minute) }, agentapi.ErrUnavailable},
		{"another key", func(w *world) { w.Fail("GET", "/count", 1, 401, `{"detail":"Unauthorized"}`) }, agentapi.ErrUnauthorized},
		{"dormant", func(w *world) {
			w.Fail("GET", "/count", 1, 503, `{"detail":"Internal Server Error","exception":"503: server is in deferred-init state"}`)
		}, agentapi.ErrUnavailable},
		{"something else", func(w *world) { w.Fail("GET", "/server_info", 1, 404, "<h1>nginx</h1>") }, agentapi.ErrRefused},
		{"no JSON", func(w *world) { w.Fail("GET", "/server_info", 1, 200, "<h1>hello</h1>") }, agentapi.ErrRefused},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
				tt.do(w)
				start := time.Now()
				st := w.backend.Status(t.Context())
				if !errors.Is(st.Err, tt.want) {
					t.Errorf("Err = %v, want %v", st.Err, tt.want)
				}
				if took := time.Since(start); took > 10*time.Second {
					t.Errorf("it took %v", took)
				}
				if agentapi.PublicMessage(st.Err, "") == "" {
					t.Error("no sentence for people")
				}
				w.Thaw()
			})
		})
	}
}

func TestNoCallHangsOnAFrozenServer(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		c := w.open(t)
		w.Freeze()
		defer w.Thaw()
		ctx := t.Context()
		for name, call := range map[string]func() error{
			"Profiles": func() error { _, err := w.backend.Profiles(ctx); return err },
			"Open": func() error {
				_, err := w.backend.Open(ctx, agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: "fast"})
				return err
			},
			"Remove":    func() error { return w.backend.Remove(ctx, c.Info().ID) },
			"State":     func() error { _, err := c.State(ctx); return err },
			"Watch":     func() error { _, err := c.Watch(ctx, ""); return err },
			"Interrupt": func() error { return c.Interrupt(ctx) },
			"Switch":    func() error { return c.Switch(ctx, "fast") },
		} {
			start := time.Now()
			if err := call(); !errors.Is(err, agentapi.ErrUnavailable) {
				t.Errorf("%s: %v, want %v", name, err, agentapi.ErrUnavailable)
			}
			if took := time.Since(start); took > 90*time.Second {
				t.Errorf("%s took %v", name, took)
			}
		}
	})
}

func TestCallsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		c := w.open(t)
		w.Freeze()
		defer w.Thaw()
		for name, call := range map[string]func(context.Context) error{
			"Profiles": func(ctx context.Context) error { _, err := w.backend.Profiles(ctx); return err },
			"Open": func(ctx context.Context) error {
				_, err := w.backend.Open(ctx, agentapi.OpenRequest{ID: uuid.New()})
				return err
			},
			"State":     func(ctx context.Context) error { _, err := c.State(ctx); return err },
			"Watch":     func(ctx context.Context) error { _, err := c.Watch(ctx, ""); return err },
			"Interrupt": c.Interrupt,
			"Send":      func(ctx context.Context) error { return c.Send(ctx, agentapi.Message{Text: "go"}) },
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			start := time.Now()
			err := call(ctx)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 2*time.Second {
				t.Errorf("%s: %v after %v", name, err, time.Since(start))
			}
		}
	})
}

// TestNoSecretIsTold lets the server echo every secret in every failure.
func TestNoSecretIsTold(t *testing.T) {
	t.Parallel()
	const session, llm = "sess-key-of-no-known-shape", "sk-proj-abcdefghijklmnop1234"
	for _, status := range []int{400, 401, 403, 404, 409, 422, 429, 500, 502, 503} {
		for _, body := range []string{
			`{"detail":"key ` + session + ` and ` + llm + `"}`,
			`{"detail":"Internal Server Error","exception":"key ` + session + ` and ` + llm + `"}`,
			`{"detail":[{"input":{"api_key":"` + llm + `","x":"` + session + `"}}]}`,
			`<h1>` + session + llm + `</h1>`,
		} {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/server_info" {
					_, _ = io.WriteString(w, `{"version":"1.43.1","uptime":9}`)
					return
				}
				w.WriteHeader(status)
				_, _ = io.WriteString(w, body)
			}))
			b, err := agentserver.New(agentserver.Config{URL: server.URL, Key: func() string { return session }})
			if err != nil {
				t.Fatal(err)
			}
			_, err = b.Open(t.Context(), agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: "fast", Workspace: "/w"})
			msg := agentapi.PublicMessage(err, "")
			if msg == "" || strings.Contains(msg, session) || strings.Contains(msg, llm) {
				t.Errorf("status %d, body %s: the sentence is %q", status, body, msg)
			}
			if strings.Contains(err.Error(), session) || strings.Contains(err.Error(), llm) {
				t.Errorf("status %d, body %s: the error holds a secret: %v", status, body, err)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
			server.Close()
		}
	}
}

func TestKeyDoesNotFollowARedirectToAnotherHost(t *testing.T) {
	t.Parallel()
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s came to another host", r.Method, r.URL)
	}))
	defer thief.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/base/moved") {
			_, _ = io.WriteString(w, `{"version":"1.43.1"}`)
			return
		}
		if r.URL.Path == "/base/server_info" {
			http.Redirect(w, r, "/base/moved", http.StatusTemporaryRedirect)
			return
		}
		http.Redirect(w, r, thief.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	b, err := agentserver.New(agentserver.Config{URL: server.URL + "/base/", Key: func() string { return "sk-session" }})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	st := b.Status(t.Context())
	if st.Version != "1.43.1" || st.Err == nil {
		t.Errorf("Status() = %+v", st)
	}
}

func TestAddressIsChecked(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "localhost:8000", "ftp://h", "http://", "http://h?x=1", "http://h#x", "http://h:port", "://"} {
		if _, err := agentserver.New(agentserver.Config{URL: bad}); err == nil {
			t.Errorf("New took the address %q", bad)
		}
	}
	b, err := agentserver.New(agentserver.Config{URL: "http://joe:pass-word@127.0.0.1:1/agent/"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	st := b.Status(t.Context())
	if st.Address != "http://127.0.0.1:1/agent" {
		t.Errorf("Address = %q", st.Address)
	}
	if strings.Contains(st.Err.Error(), "pass-word") {
		t.Errorf("the error holds the password: %v", st.Err)
	}
	_, err = agentserver.New(agentserver.Config{URL: "http://joe:pass-word@%zz"})
	if err == nil || strings.Contains(err.Error(), "pass-word") {
		t.Errorf("New: %v", err)
	}
}
