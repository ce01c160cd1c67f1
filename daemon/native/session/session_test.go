package session_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/daemon/native"
	"github.com/ohgw/ohgw/daemon/native/session"
)

func TestACookieForThePagesOfWorkspaces(t *testing.T) {
	t.Parallel()
	at := time.Now()
	s := session.New(session.Config{Now: func() time.Time { return at }})
	api := native.New(native.Config{Routes: s.Routes()})
	ask := func(method, host string) *http.Cookie {
		r := httptest.NewRequestWithContext(t.Context(), method, "http://"+host+"/api/auth/workspace-session", nil)
		r.Header.Set("X-Session-API-Key", "the key")
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		cookies := w.Result().Cookies()
		if w.Code != http.StatusNoContent || len(cookies) != 1 {
			t.Fatalf("%s: %d %v", method, w.Code, cookies)
		}
		return cookies[0]
	}
	key := func(cookie *http.Cookie, method, path string) string {
		r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
		r.AddCookie(cookie)
		return s.CookieKey(r)
	}
	c := ask(http.MethodPost, "localhost:6449")
	if c.Name != session.Cookie || !c.HttpOnly || !c.Secure || !c.Partitioned || c.SameSite != http.SameSiteNoneMode || c.Path != "/api/conversations" || strings.Contains(c.Value, "key") {
		t.Errorf("the cookie: %+v", c)
	}
	if c := ask(http.MethodPost, "box.example"); c.Secure || c.Partitioned {
		t.Errorf("without TLS: %+v", c)
	}
	const page = "/api/conversations/7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11/workspace"
	for request, want := range map[string]string{
		"GET " + page: "the key", "HEAD " + page + "/a/b.html": "the key",
		"POST " + page: "", "GET " + page + "s": "", "GET /api/conversations/x": "", "GET /api/settings": "", "GET /api/file/x/workspace": "",
		"GET /api/conversations/x/events/workspace": "",
	} {
		method, path, _ := strings.Cut(request, " ")
		if got := key(c, method, path); got != want {
			t.Errorf("%s: %q, want %q", request, got, want)
		}
	}
	if got := key(&http.Cookie{Name: session.Cookie, Value: "the key"}, http.MethodGet, page); got != "" { //nolint:gosec // a browser sends no more of it
		t.Error("the key itself is taken for a cookie")
	}
	at = at.Add(31 * 24 * time.Hour)
	if key(c, http.MethodGet, page) != "" {
		t.Error("it does not end")
	}
	c = ask(http.MethodPost, "localhost")
	if ended := ask(http.MethodDelete, "localhost"); ended.MaxAge >= 0 || key(c, http.MethodGet, page) != "" {
		t.Errorf("the session was not ended: %+v", ended)
	}
}

// A browser need not ask again after a restart; the file alone opens nothing.
func TestSessionsSurviveARestart(t *testing.T) {
	t.Parallel()
	at := time.Now()
	cfg := session.Config{Now: func() time.Time { return at }, Path: filepath.Join(t.TempDir(), "native", "sessions.json")}
	s := session.New(cfg)
	ask := func(method, key string) string {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+session.Path, nil)
		r.Header.Set("X-Session-API-Key", key)
		w := httptest.NewRecorder()
		native.New(native.Config{Routes: s.Routes()}).ServeHTTP(w, r)
		return w.Result().Cookies()[0].Value
	}
	key := func(word string) string {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/conversations/x/workspace/a.html", nil)
		r.Header.Set("Cookie", session.Cookie+"="+word)
		return s.CookieKey(r)
	}
	first, second := ask(http.MethodPost, "first key"), ask(http.MethodPost, "second key")
	data, err := os.ReadFile(cfg.Path)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{first, second, "first key", "second key"} {
		if strings.Contains(string(data), secret) {
			t.Errorf("the file has %q: %s", secret, data)
		}
	}
	if info, err := os.Stat(cfg.Path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	s = session.New(cfg)
	if key(first) != "first key" || key(second) != "second key" {
		t.Error("the sessions have not survived a restart")
	}
	ask(http.MethodDelete, "first key")
	s = session.New(cfg)
	if key(first) != "" || key(second) != "second key" {
		t.Error("the end of a session has not survived a restart")
	}
	at = at.Add(31 * 24 * time.Hour)
	if s = session.New(cfg); key(second) != "" {
		t.Error("a session does not end")
	}
	if err := os.WriteFile(cfg.Path, []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = session.New(cfg)
	if third := ask(http.MethodPost, "third key"); key(third) != "third key" {
		t.Error("a torn file keeps sessions from being made")
	}
}
