// Package session lets pages of a browser see the workspaces of conversations: a client
// with a key gets a cookie for those paths alone, because a frame or an image cannot
// have a header.
//
// The cookie is a random word, not the key. It counts as long as the key does, and in
// the file of the sessions nothing can be read without it.
package session

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/daemon/native/wire"
	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/fernet"
	"github.com/ohgw/ohgw/internal/paths"
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

// Config is what sessions need. Now is required.
type Config struct {
	Now func() time.Time
	// Path is the file that they are kept in, so that browsers need not ask again after
	// a restart. "": they are in memory alone.
	Path   string
	Logger *slog.Logger // gets what keeps the file from being read or written
}

// Sessions are the cookies that were made. Its methods may be called at the same time.
type Sessions struct {
	cfg Config

	mu  sync.Mutex
	all []one // the oldest first
}

// one is a cookie. Its word is known to the browser alone; the key of whoever asked for
// it can be read with that word only.
type one struct {
	Word string    `json:"word"` // its SHA-256
	Key  string    `json:"key"`  // encrypted
	Of   string    `json:"of"`   // the SHA-256 of the key
	End  time.Time `json:"end"`
}

// New makes a set of sessions: those of the file.
func New(cfg Config) *Sessions {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Sessions{cfg: cfg}
	if cfg.Path == "" {
		return s
	}
	data, err := os.ReadFile(cfg.Path)
	if err == nil {
		err = json.Unmarshal(data, &s.all)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.all = nil
		cfg.Logger.Warn("the sessions of workspace pages cannot be read; pages have to be loaded again", "file", cfg.Path, "err", err)
	}
	return s
}

// keep writes the sessions that still count to the file. The lock is held.
func (s *Sessions) keep() {
	now := s.cfg.Now()
	s.all = slices.DeleteFunc(s.all, func(o one) bool { return !now.Before(o.End) })
	s.all = s.all[max(len(s.all)-maxSessions, 0):]
	if s.cfg.Path == "" {
		return
	}
	data, err := json.Marshal(s.all)
	if err == nil {
		err = paths.MakePrivate(filepath.Dir(s.cfg.Path))
	}
	if err == nil {
		err = atomicfile.Write(s.cfg.Path, data, atomicfile.Options{MaxMode: 0o600})
	}
	if err != nil {
		s.cfg.Logger.Warn("the sessions of workspace pages cannot be stored; they count until ohgw ends", "file", s.cfg.Path, "err", err)
	}
}

// hash is what is kept of a word or of a key.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Routes make and end a session.
func (s *Sessions) Routes() []wire.Route {
	return []wire.Route{
		{Method: http.MethodPost, Path: Path, Summary: "Make a cookie for the pages of workspaces", Handle: s.begin},
		{Method: http.MethodDelete, Path: Path, Summary: "End the sessions of this key", Handle: s.end},
	}
}

// CookieKey is the key that stands behind the cookie of a request for a file of a
// workspace; "" for every other request.
func (s *Sessions) CookieKey(r *http.Request) string {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || !ofWorkspace(r.URL.Path) {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.Now()
	for _, cookie := range r.CookiesNamed(Cookie) {
		word := hash(cookie.Value)
		for _, o := range s.all {
			if o.Word != word || !now.Before(o.End) {
				continue
			}
			if key, err := fernet.NewKey(cookie.Value).Decrypt(o.Key); err == nil {
				return string(key)
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
	word, key, now := rand.Text()+rand.Text(), keyOf(r), s.cfg.Now()
	sealed, err := fernet.NewKey(word).Encrypt([]byte(key), now, rand.Reader)
	if err != nil {
		return fmt.Errorf("make a session: %w", err)
	}
	s.mu.Lock()
	s.all = append(s.all, one{Word: hash(word), Key: sealed, Of: hash(key), End: now.Add(lifetime)})
	s.keep()
	s.mu.Unlock()
	setCookie(w, r, word, int(lifetime/time.Second))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// end forgets all sessions of the key: the browser does not send the cookie here.
func (s *Sessions) end(w http.ResponseWriter, r *http.Request) error {
	key := hash(keyOf(r))
	s.mu.Lock()
	s.all = slices.DeleteFunc(s.all, func(o one) bool { return o.Of == key })
	s.keep()
	s.mu.Unlock()
	setCookie(w, r, "", -1)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// setCookie sets the cookie as an agent-server does: frames of other sites have it,
// where the browser takes it for safe.
func setCookie(w http.ResponseWriter, r *http.Request, value string, age int) {
	secure := isSecure(r)
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure is set wherever a browser takes it
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
