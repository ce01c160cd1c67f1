// Package through passes OpenHands' own API on to an agent-server: requests,
// streams and WebSockets.
//
// Who may call is decided before a request gets here. The keys of clients do not
// reach the agent-server, and its own key does not reach clients, neither in a
// header nor in a cookie.
package through

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/daemon/openhandsapi/socket"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/netcause"
)

// keyHeader carries the key of an agent-server.
const keyHeader = "X-Session-API-Key"

// sessionPath makes a cookie of the agent-server's key, which would let its holder
// in without ohgw.
const sessionPath = "/api/auth/workspace-session"

// Config says which agent-server, and how to reach it.
type Config struct {
	// Base is the address of the agent-server, without a slash at the end. A user and
	// a password in it are sent.
	Base *url.URL
	// Key gives the session key at the time of a request; "" where the agent-server
	// wants none.
	Key func() string
	// Transport makes the requests and the sockets.
	Transport http.RoundTripper
	// Logger gets why the agent-server could not be reached. Nil: nothing is logged.
	Logger *slog.Logger
}

// Handler answers OpenHands' own API. Make one with New, end it with Close.
type Handler struct {
	cfg   Config
	log   *slog.Logger
	proxy *httputil.ReverseProxy
	life  context.Context // ends the sockets
	end   context.CancelFunc
}

// New makes a handler.
func New(cfg Config) *Handler {
	h := &Handler{cfg: cfg, log: cfg.Logger}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	h.life, h.end = context.WithCancel(context.Background())
	h.proxy = &httputil.ReverseProxy{
		Rewrite:        h.rewrite,
		ModifyResponse: h.clean,
		ErrorHandler:   h.failed,
		Transport:      untorn{cfg.Transport},
		FlushInterval:  -1, // events must not wait for a buffer
		ErrorLog:       slog.NewLogLogger(h.log.Handler(), slog.LevelDebug),
	}
	return h
}

// Close ends all sockets, with the code 1012 for a restart. Requests end with their
// connections.
func (h *Handler) Close() error {
	h.end()
	return nil
}

// ServeHTTP passes on a request of a client that may use the API.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if refused(w, r) {
		return
	}
	if r.URL.Path == sessionPath {
		WriteError(w, http.StatusNotImplemented, "ohgw has no workspace sessions; send "+keyHeader+" with each request.")
		return
	}
	r = r.Clone(r.Context())
	r.Header.Del("Upgrade") // only sockets are upgraded, elsewhere
	Duplex(h.proxy).ServeHTTP(w, r)
}

// Duplex lets a proxy read the end of a request while it writes the answer. Without it,
// net/http's server closes the request's body with the first byte of the answer. Where the
// proxy has not seen the end of the body by then, its transport takes that for a failed
// request and closes the connection in the middle of the answer: on a busy machine, one
// request in a hundred.
func Duplex(proxy http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 always has it
		proxy.ServeHTTP(w, r)
	})
}

// Public reports whether an agent-server answers a path to clients without a key.
func (h *Handler) Public(path string) bool { return wire.Public(path) }

// refused answers a path with "..": who cleans paths on the way, and who does not, is not
// to decide what is reached.
func refused(w http.ResponseWriter, r *http.Request) bool {
	if !slices.Contains(strings.Split(r.URL.Path, "/"), "..") {
		return false
	}
	WriteError(w, http.StatusBadRequest, "The path must not contain \"..\".")
	return true
}

func (h *Handler) rewrite(p *httputil.ProxyRequest) {
	p.Out.URL.Scheme, p.Out.URL.Host, p.Out.Host = h.cfg.Base.Scheme, h.cfg.Base.Host, ""
	p.Out.URL.Path, p.Out.URL.RawPath = h.cfg.Base.Path+p.In.URL.Path, ""
	if raw := p.In.URL.RawPath; raw != "" {
		p.Out.URL.RawPath = h.cfg.Base.EscapedPath() + raw
	}
	p.Out.URL.RawQuery = withoutKey(p.In.URL.Query())
	for _, name := range [...]string{"Authorization", "X-Api-Key", "Api-Key", keyHeader, "Cookie", "Origin", "Referer"} {
		p.Out.Header.Del(name)
	}
	h.sign(p.Out.Header)
}

// sign adds what lets ohgw in at the agent-server.
func (h *Handler) sign(header http.Header) {
	if key := h.cfg.Key(); key != "" {
		header.Set(keyHeader, key)
	}
	if user := h.cfg.Base.User; user != nil {
		password, _ := user.Password()
		r := http.Request{Header: header}
		r.SetBasicAuth(user.Username(), password)
	}
}

// withoutKey is a query without the key of a client, and otherwise as it was sent.
func withoutKey(query url.Values) string {
	query.Del(socket.KeyParameter)
	return query.Encode()
}

// clean takes out of an answer what is not for a client, and what ohgw says itself.
func (h *Handler) clean(resp *http.Response) error {
	for name := range resp.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			resp.Header.Del(name)
		}
	}
	for _, name := range [...]string{
		"Set-Cookie", "Server", "X-Request-Id", "X-Content-Type-Options", "Cross-Origin-Resource-Policy",
		"Referrer-Policy", "Cache-Control", "Alt-Svc",
	} {
		resp.Header.Del(name)
	}
	if to, err := resp.Location(); err == nil && to.Host == h.cfg.Base.Host {
		// The address of the agent-server is of no use to a client.
		resp.Header.Set("Location", (&url.URL{Path: strings.TrimPrefix(to.Path, h.cfg.Base.Path), RawQuery: to.RawQuery}).String())
	}
	return nil
}

// failed answers where the agent-server does not.
func (h *Handler) failed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the client is gone
	}
	h.log.Warn("the agent-server did not answer", "method", r.Method, "err", netcause.Of(err))
	WriteError(w, http.StatusBadGateway, "The agent-server does not answer; ohgw doctor finds out why.")
}

// WriteError writes a failure in the form of the agent-server: a failure of the
// server has its cause under "exception".
func WriteError(w http.ResponseWriter, status int, text string) {
	answer := map[string]string{"detail": text}
	if status >= http.StatusInternalServerError {
		answer = map[string]string{"detail": "Internal Server Error", "exception": fmt.Sprintf("%d: %s", status, text)}
	}
	body, err := json.Marshal(answer)
	if err != nil {
		panic(err) // a map of texts
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // The client may be gone.
}
