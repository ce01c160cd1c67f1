// Package session lets pages of a browser see the workspaces of conversations: a client
// with a key gets a cookie for those paths alone, because a frame or an image cannot
// have a header.
//
// The cookie is a random word, not the key. It counts as long as the key does.
package session

import (
	"crypto/rand"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
)

// Cookie is the name of the cookie, that of an agent-server.
const Cookie = "oh_workspace_session_key"

// Path is where the cookie is made and ended.
const Path = "/api/auth/workspace-session"

const (
	// lifetime is how long a cookie counts.
	lifetime = 30 * 24 * time.Hour
	// maxSessions is how many there are; the oldest goes first.
	maxSessions = 1000
	// prefix begins the paths that the cookie is sent to.
	prefix = "/api/conversations"
)

// Sessions are the cookies that were made. Its methods may be called at the same time.
type Sessions struct {
	now func() time.Time

	mu  sync.Mutex
	all []one // the oldest first
}

// one is a cookie and the key of whoever asked for it.
type one struct {
	word, key string
	end       time.Time
}

// New makes an empty set of sessions, which are in memory alone.
func New(now func() time.Time) *Sessions { return &Sessions{now: now} }

// Routes make and end a session.
func (s *Sessions) Routes() []wire.Route {
	return []wire.Route{
		{Method: http.MethodPost, Path: Path, Summary: "Make a cookie for the pages of workspaces", Handle: s.begin},
		{Method: http.MethodDelete, Path: Path, Summary: "End the sessions of this key", Handle: s.end},
	}
}

// CookieKey returns the key that stands behind the cookie of a request for a file of a
// workspace; "" for every other request.
func (s *Sessions) CookieKey(r *http.Request) string {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || !ofWorkspace(r.URL.Path) {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for _, cookie := range r.CookiesNamed(Cookie) {
		for _, o := range s.all {
			if o.word == cookie.Value && now.Before(o.end) {
				return o.key
			}
		}
	}
	return ""
}

// UsesCookie says that a page may send requests for a path with cookies.
func UsesCookie(path string) bool { return path == Path || ofWorkspace(path) }

// ofWorkspace says that a path is one of /api/conversations/{id}/workspace.
func ofWorkspace(path string) bool {
	parts := strings.Split(path, "/")
	return len(parts) >= 5 && strings.HasPrefix(path, prefix+"/") && parts[4] == "workspace" && !slices.Contains(parts, "..")
}

// keyOf is the key that let a request in.
func keyOf(r *http.Request) string {
	for _, name := range []string{"X-Session-Api-Key", "X-Api-Key", "Api-Key"} {
		if key := r.Header.Get(name); key != "" {
			return key
		}
	}
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(key)
}

func (s *Sessions) begin(w http.ResponseWriter, r *http.Request) error {
	o := one{word: rand.Text() + rand.Text(), key: keyOf(r), end: s.now().Add(lifetime)}
	s.mu.Lock()
	s.all = append(s.all, o)
	s.all = s.all[max(len(s.all)-maxSessions, 0):]
	s.mu.Unlock()
	setCookie(w, r, o.word, int(lifetime/time.Second))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// end forgets all sessions of the key: the browser does not send the cookie here.
func (s *Sessions) end(w http.ResponseWriter, r *http.Request) error {
	key := keyOf(r)
	s.mu.Lock()
	s.all = slices.DeleteFunc(s.all, func(o one) bool { return o.key == key })
	s.mu.Unlock()
	setCookie(w, r, "", -1)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// setCookie sets the cookie as an agent-server does: frames of other sites have it,
// where the browser takes it for safe.
func setCookie(w http.ResponseWriter, r *http.Request, value string, age int) {
	secure := isSecure(r)
	http.SetCookie(w, &http.Cookie{
		Name: Cookie, Value: value, Path: prefix, MaxAge: age, HttpOnly: true, SameSite: http.SameSiteNoneMode, Secure: secure, Partitioned: secure,
	})
}

// isSecure says that a browser takes a secure cookie: it speaks TLS, or to this machine.
func isSecure(r *http.Request) bool {
	forwarded, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Proto"), ",")
	if r.TLS != nil || strings.EqualFold(strings.TrimSpace(forwarded), "https") {
		return true
	}
	host, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Host"), ",")
	if host = strings.TrimSpace(host); host == "" {
		host = r.Host
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}
