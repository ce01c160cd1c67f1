package daemon

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/openhandsapi/session"
	"github.com/ohgw/ohgw/daemon/openhandsapi/socket"
	"github.com/ohgw/ohgw/daemon/openhandsapi/through"
)

// Native answers OpenHands' own API: /api, /sockets and the probes of an agent-server.
type Native interface {
	// ServeHTTP answers a client that may use the API.
	http.Handler
	// Socket answers a request for a WebSocket. let reports whether a key lets its
	// client in; admitted says that the request had such a key already. Without it the
	// first frame must have one.
	Socket(w http.ResponseWriter, r *http.Request, admitted bool, let func(key string) bool)
	// Public reports whether clients without a key may call a path.
	Public(path string) bool
	// Close ends the sockets.
	Close() error
}

// pagesOf are the pages of a Native that browsers may see without a key of their own.
func pagesOf(n Native) (pages gate.Pages) {
	if of, ok := n.(interface {
		CookieKey(r *http.Request) string
	}); ok {
		pages.CookieKey, pages.UsesCookie = of.CookieKey, session.UsesCookie
	}
	if of, ok := n.(interface{ Open(path string) bool }); ok {
		pages.Open = of.Open
	}
	return pages
}

// routeNative is the route of all those requests in metrics.
const routeNative = "native"

// withNative answers the paths of OpenHands' own API, and leaves the others to next.
func (d *Daemon) withNative(next http.Handler) http.Handler {
	if d.cfg.Native == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := w.(*gate.Exchange)
		p := r.URL.Path
		switch {
		case d.cfg.Native.Public(p), d.pages.Open != nil && d.pages.Open(p):
			x.Seen.Route = routeNative
			d.cfg.Native.ServeHTTP(x, r)
		case strings.HasPrefix(p, "/api/"), strings.HasPrefix(p, "/sockets/"):
			x.Seen.Route = routeNative
			x.Note(slog.String("api", routeNative))
			d.native(x, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// native answers a request that needs a key. Failures have the agent-server's form.
func (d *Daemon) native(x *gate.Exchange, r *http.Request) {
	if d.core.IsDraining() {
		through.WriteError(x, http.StatusServiceUnavailable, "ohgw is shutting down; try again in a moment.")
		return
	}
	isSocket := strings.HasPrefix(r.URL.Path, "/sockets/")
	if asked, ok := d.cfg.Native.(interface {
		Options(w http.ResponseWriter, r *http.Request)
	}); ok && r.Method == http.MethodOptions && !isSocket {
		asked.Options(x, r) // the document of the API, which needs no key, says as much
		return
	}
	keys := d.nativeKeys(r, isSocket)
	if isSocket && len(keys) == 0 && !d.cfg.NoAuth {
		d.socket(x, r, false)
		return
	}
	client, status, text := d.identifyNative(keys)
	if status != 0 {
		if isSocket { // as an agent-server answers
			status = http.StatusForbidden
		}
		x.Failure = errors.New(text)
		through.WriteError(x, status, text)
		return
	}
	x.Client = client
	if isSocket {
		d.socket(x, r, true)
		return
	}
	r2 := *r
	r2.Body = &arriving{body: r.Body, x: x}
	d.cfg.Native.ServeHTTP(x, &r2)
}

// nativeKeys returns the keys of a request, or the one that stands behind its cookie.
func (d *Daemon) nativeKeys(r *http.Request, isSocket bool) []string {
	keys := gate.PresentedKeys(r)
	if isSocket {
		if key := socket.KeyOf(r); key != "" {
			return []string{key} // the query wins, as with an agent-server
		}
		return keys
	}
	if d.pages.CookieKey != nil && len(keys) == 0 {
		if key := d.pages.CookieKey(r); key != "" {
			return []string{key}
		}
	}
	return keys
}

// socket lets a WebSocket begin. The handler has the connection from then on.
func (d *Daemon) socket(x *gate.Exchange, r *http.Request, admitted bool) {
	d.cfg.Native.Socket(x, r, admitted, func(key string) bool {
		client, status, _ := d.identifyNative([]string{key})
		if status == 0 {
			x.Client = client
		}
		return status == 0
	})
	if !x.Started() {
		x.Status = http.StatusSwitchingProtocols
	}
}

// identifyNative finds the client of one of the keys, if it may use the API; else the
// status and the text of the refusal.
func (d *Daemon) identifyNative(keys []string) (client gate.Client, status int, text string) {
	client, err := d.core.IdentifyKeys(keys)
	if err == nil && client.Native {
		return client, 0, ""
	}
	if err == nil {
		return client, http.StatusForbidden, "This API key may not use OpenHands' own API; create one that may: ohgw tokens create NAME --native"
	}
	p := gate.Explain(err)
	if p.Row.Status == http.StatusUnauthorized {
		return client, p.Row.Status, "Unauthorized"
	}
	d.core.Logger.Error("the API key cannot be checked", "err", p.Cause)
	return client, http.StatusInternalServerError, p.Wire.Message
}

// arriving is a body of any size that must keep arriving: each piece has the time that
// a whole body has elsewhere.
type arriving struct {
	body io.ReadCloser
	x    *gate.Exchange
}

// Read reads a piece.
func (s *arriving) Read(p []byte) (int, error) {
	_ = s.x.Control.SetReadDeadline(gate.Deadline(s.x.Core.BodyTimeout)) // no connection: a test
	n, err := s.body.Read(p)
	if err != nil {
		_ = s.x.Control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// Close lets go of the body.
func (s *arriving) Close() error { return s.body.Close() }
