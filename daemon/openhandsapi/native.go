// Package openhandsapi serves OpenHands' own API, that of an agent-server, over the engine
// in this process: the routes of its packages, the probes, the documents about them,
// and an answer for what is not served.
//
// It knows the engine as a control.Engine. Who may call is decided before a request
// gets here.
package openhandsapi

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
)

// Config is what is served. Routes are those of the packages below this one.
type Config struct {
	Routes []wire.Route
	// Open are routes for browsers that have no key and come from elsewhere.
	Open []wire.Route
	// Ends are closed with the handler.
	Ends []io.Closer
	// Sockets answers a WebSocket by the first part of its path behind /sockets/.
	Sockets map[string]Sockets
	// Cookies finds the key behind the cookie of a request. Nil: no cookie counts.
	Cookies func(r *http.Request) string
	// Logger gets failures of the server. Nil: nothing is logged.
	Logger *slog.Logger
}

// Sockets answers WebSockets.
type Sockets interface {
	// Socket answers one; see daemon.Native.
	Socket(w http.ResponseWriter, r *http.Request, admitted bool, let func(key string) bool)
	// Close ends them, with the code 1012 for a restart.
	Close() error
}

// Handler answers OpenHands' own API. Make one with New, end it with Close.
type Handler struct {
	cfg    Config
	routes *http.ServeMux
}

// New makes a handler.
func New(cfg Config) *Handler {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	h := &Handler{cfg: cfg, routes: http.NewServeMux()}
	served := slices.Concat(cfg.Routes, missing())
	for _, route := range slices.Concat(served, documents(served)) {
		h.routes.Handle(route.Method+" "+route.Path, wire.Answer(cfg.Logger, route.Handle))
	}
	for _, route := range cfg.Open {
		h.routes.Handle(route.Method+" "+route.Path, wire.Answer(cfg.Logger, route.Handle))
	}
	h.routes.Handle(anyPath, wire.Answer(cfg.Logger, h.notServed))
	return h
}

// ServeHTTP answers a request of a client that may use the API.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.routes.ServeHTTP(w, literal(r))
}

// literal is a request whose path is taken as it is, as an agent-server does: ".." is a
// name like others, which the routes refuse, and "%2F" separates.
func literal(r *http.Request) *http.Request {
	parts := strings.Split(r.URL.Path, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
		if part == "." || part == ".." {
			parts[i] = strings.Repeat("%2E", len(part)) // the mux cleans what is not escaped
		}
	}
	at, as := *r.URL, *r
	at.RawPath, as.URL = strings.Join(parts, "/"), &at
	return &as
}

// Options answers OPTIONS of a client without a key: which methods a path has. What a
// browser asks before a request does not get here.
func (h *Handler) Options(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(w, r) }

// Public reports whether a path is one for clients without a key.
func (h *Handler) Public(path string) bool { return wire.Public(path) }

// Open reports whether a path is one for browsers that have no key.
func (h *Handler) Open(path string) bool {
	return slices.ContainsFunc(h.cfg.Open, func(r wire.Route) bool { return r.Path == path })
}

// CookieKey is the key that stands behind the cookie of a request; "" if there is none.
func (h *Handler) CookieKey(r *http.Request) string {
	if h.cfg.Cookies == nil {
		return ""
	}
	return h.cfg.Cookies(r)
}

// Socket answers a request for a WebSocket.
func (h *Handler) Socket(w http.ResponseWriter, r *http.Request, admitted bool, let func(key string) bool) {
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/sockets/"), "/")
	s := h.cfg.Sockets[name]
	if s == nil {
		wire.Fail(h.cfg.Logger, w, r, &wire.Error{Status: http.StatusNotFound})
		return
	}
	s.Socket(w, r, admitted, let)
}

// Close ends the sockets, and what goes on behind the routes.
func (h *Handler) Close() error {
	errs := make([]error, 0, len(h.cfg.Sockets)+len(h.cfg.Ends))
	for _, e := range h.cfg.Ends {
		errs = append(errs, e.Close())
	}
	for _, s := range h.cfg.Sockets {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// anyPath is the pattern of what no route answers.
const anyPath = "/"

// notServed answers what no route does: with 405 where another method does, with a
// redirect where the path does with a slash at its end, or without, else with 404.
func (h *Handler) notServed(w http.ResponseWriter, r *http.Request) error {
	other := r.URL.Path + "/"
	if trimmed, slash := strings.CutSuffix(r.URL.Path, "/"); slash {
		other = trimmed
	}
	if h.serves(r.Method, other) {
		w.Header().Set("Location", (&url.URL{Path: other, RawQuery: r.URL.RawQuery}).String())
		w.WriteHeader(http.StatusTemporaryRedirect)
		return nil
	}
	var allowed []string
	for _, method := range []string{http.MethodDelete, http.MethodGet, http.MethodPatch, http.MethodPost, http.MethodPut} {
		if h.serves(method, r.URL.Path) {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		return &wire.Error{Status: http.StatusNotFound}
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	return &wire.Error{Status: http.StatusMethodNotAllowed}
}

// serves reports whether there is a route.
func (h *Handler) serves(method, path string) bool {
	_, pattern := h.routes.Handler(literal(&http.Request{Method: method, URL: &url.URL{Path: path}}))
	return pattern != anyPath
}
