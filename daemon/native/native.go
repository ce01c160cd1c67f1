// Package native serves OpenHands' own API, that of an agent-server, over the engine
// in this process: the routes of its packages, the probes, the documents about them,
// and an answer for what is not served.
//
// It knows the engine as a control.Engine. Who may call is decided before a request
// gets here.
package native

import (
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/daemon/native/wire"
)

// Config is what is served. Routes are those of the packages below this one.
type Config struct {
	Routes []wire.Route
	// Sockets answers a WebSocket by the first part of its path behind /sockets/.
	Sockets map[string]Sockets
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
	methods := make(map[string][]string)
	served := slices.Concat(cfg.Routes, missing())
	for _, route := range slices.Concat(served, documents(served)) {
		methods[route.Path] = append(methods[route.Path], route.Method)
		h.routes.Handle(route.Method+" "+route.Path, wire.Answer(cfg.Logger, route.Handle))
	}
	for path, allowed := range methods {
		slices.Sort(allowed)
		h.routes.Handle(path, wire.Answer(cfg.Logger, wrongMethod(strings.Join(allowed, ", "))))
	}
	h.routes.Handle("/", wire.Answer(cfg.Logger, notServed))
	return h
}

// ServeHTTP answers a request of a client that may use the API.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.routes.ServeHTTP(w, r) }

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

// Close ends the sockets.
func (h *Handler) Close() error {
	errs := make([]error, 0, len(h.cfg.Sockets))
	for _, s := range h.cfg.Sockets {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

func wrongMethod(allowed string) wire.Handler {
	return func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Allow", allowed)
		return &wire.Error{Status: http.StatusMethodNotAllowed}
	}
}

// notServed answers what no route does.
func notServed(http.ResponseWriter, *http.Request) error {
	return &wire.Error{Status: http.StatusNotFound}
}
