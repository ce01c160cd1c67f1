package daemon

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ohgw/ohgw/daemon/native/socket"
	"github.com/ohgw/ohgw/daemon/native/through"
)

// Native answers OpenHands' own API: /api, /sockets and the probes of an agent-server.
type Native interface {
	// ServeHTTP answers a client that may use the API.
	http.Handler
	// Socket answers a request for a WebSocket. let reports whether a key lets its
	// client in; admitted says that the request had such a key already. Without it the
	// first frame must have one.
	Socket(w http.ResponseWriter, r *http.Request, admitted bool, let func(key string) bool)
	// Close ends the sockets.
	Close() error
}

// cookies is a Native whose clients may see some pages by a cookie.
type cookies interface {
	// CookieKey is the key that stands behind the cookie of a request; "" if there is none,
	// and for what no cookie opens.
	CookieKey(r *http.Request) string
}

// open is a Native with pages for browsers that have no key, to which other sites send
// them.
type open interface {
	// Open reports whether a path is one of these.
	Open(path string) bool
}

// isOpen reports whether a path is one for browsers that have no key.
func isOpen(n Native, path string) bool {
	pages, ok := n.(open)
	return ok && pages.Open(path)
}

// routeNative is the route of all those requests in metrics.
const routeNative = "native"

// nativeProbes are the paths of an agent-server that need no key.
func nativeProbes() []string {
	return []string{"/alive", "/health", "/ready", "/server_info", "/docs", "/redoc", "/openapi.json"}
}

// withNative answers the paths of OpenHands' own API, and leaves the others to next.
func (d *Daemon) withNative(next http.Handler) http.Handler {
	if d.cfg.Native == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := w.(*exchange)
		p := r.URL.Path
		switch {
		case slices.Contains(nativeProbes(), p), isOpen(d.cfg.Native, p):
			x.seen.route = routeNative
			d.cfg.Native.ServeHTTP(x, r)
		case strings.HasPrefix(p, "/api/"), strings.HasPrefix(p, "/sockets/"):
			x.seen.route = routeNative
			x.note(slog.String("api", routeNative))
			d.native(x, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// native answers a request that needs a key. Failures have the agent-server's form.
func (d *Daemon) native(x *exchange, r *http.Request) {
	switch {
	case slices.Contains(strings.Split(r.URL.Path, "/"), ".."):
		// Who cleans paths, and who does not, is not to decide what is reached.
		through.WriteError(x, http.StatusBadRequest, "The path must not contain \"..\".")
		return
	case d.draining.Load():
		through.WriteError(x, http.StatusServiceUnavailable, "ohgw is shutting down; try again in a moment.")
		return
	}
	isSocket := strings.HasPrefix(r.URL.Path, "/sockets/")
	keys := presented(r)
	if key := socket.KeyOf(r); isSocket && key != "" {
		keys = []string{key} // the query wins, as with an agent-server
	}
	if isSocket && len(keys) == 0 && !d.cfg.NoAuth {
		d.socket(x, r, false)
		return
	}
	if pages, ok := d.cfg.Native.(cookies); ok && len(keys) == 0 && !isSocket {
		if key := pages.CookieKey(r); key != "" {
			keys = []string{key}
		}
	}
	client, status, text := d.identifyNative(keys)
	if status != 0 {
		if isSocket { // as an agent-server answers
			status = http.StatusForbidden
		}
		x.failure = errors.New(text)
		through.WriteError(x, status, text)
		return
	}
	x.client = client
	if isSocket {
		d.socket(x, r, true)
		return
	}
	r2 := *r
	r2.Body = &arriving{body: r.Body, x: x}
	d.cfg.Native.ServeHTTP(x, &r2)
}

// socket lets a WebSocket begin. The handler has the connection from then on.
func (d *Daemon) socket(x *exchange, r *http.Request, admitted bool) {
	d.cfg.Native.Socket(x, r, admitted, func(key string) bool {
		client, status, _ := d.identifyNative([]string{key})
		if status == 0 {
			x.client = client
		}
		return status == 0
	})
	if !x.started() {
		x.status = http.StatusSwitchingProtocols
	}
}

// identifyNative finds the client of one of the keys, if it may use the API; else the
// status and the text of the refusal.
func (d *Daemon) identifyNative(keys []string) (client Client, status int, text string) {
	client, err := d.identifyKeys(keys)
	if err == nil && client.Native {
		return client, 0, ""
	}
	if err == nil {
		return client, http.StatusForbidden, "This API key may not use OpenHands' own API; create one that may: ohgw tokens create NAME --native"
	}
	p := explain(err)
	if p.row.status == http.StatusUnauthorized {
		return client, p.row.status, "Unauthorized"
	}
	d.cfg.Logger.Error("the API key cannot be checked", "err", p.cause)
	return client, http.StatusInternalServerError, p.wire.Message
}

// arriving is a body of any size that must keep arriving: each piece has the time that
// a whole body has elsewhere.
type arriving struct {
	body io.ReadCloser
	x    *exchange
}

// Read reads a piece.
func (s *arriving) Read(p []byte) (int, error) {
	_ = s.x.control.SetReadDeadline(in(s.x.d.cfg.BodyTimeout)) // no connection: a test
	n, err := s.body.Read(p)
	if err != nil {
		_ = s.x.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// Close lets go of the body.
func (s *arriving) Close() error { return s.body.Close() }
