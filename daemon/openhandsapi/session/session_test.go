package session_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/daemon/openhandsapi"
	"github.com/ohgw/ohgw/daemon/openhandsapi/session"
)

func TestACookieForThePagesOfWorkspaces(t *testing.T) {
	t.Parallel()
	at := time.Now()
	s := session.New(func() time.Time { return at })
	api := openhandsapi.New(openhandsapi.Config{Routes: s.Routes()})
	ask := func(method, host string) *http.Cookie {
		r := httptest.NewRequestWithContext(t.Context(), method, "http://"+host+"/api/auth/workspace-session", nil)
		r.Header.Set("X-Session-API-Key", "the key")
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		cookies := w.Result().Cookies()
		if w.Code != http.StatusNoContent || len(cookies) != 1 {
			t.Fatalf("%s: status = %d, want 204, cookies = %v", method, w.Code, cookies)
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
			t.Errorf("%s: key = %q, want %q", request, got, want)
		}
	}
	if got := key(&http.Cookie{Name: session.Cookie, Value: "the key"}, http.MethodGet, page); got != "" {
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
