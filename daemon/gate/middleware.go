package gate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"runtime/debug"
	"strings"

	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/truncate"
)

// statusClientGone is logged, never written: the client left.
const statusClientGone = 499

// Handler answers a request or returns the error to answer with.
type Handler func(x *Exchange, r *http.Request) error

// Adapt makes a handler that ServeMux knows. It is the one place where the
// failure of a handler becomes an answer.
func Adapt(h Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := w.(*Exchange)
		if err := h(x, r); err != nil {
			x.fail(r, err)
		}
	})
}

// fail writes the answer to a request that failed. A stream that has begun has
// ended already; what is left is the log.
func (x *Exchange) fail(r *http.Request, err error) {
	x.Failure = err
	switch {
	case x.Started():
	case errors.Is(err, run.ErrGone), r.Context().Err() != nil && errors.Is(err, context.Canceled):
		x.Status = statusClientGone
	default:
		p := Explain(err)
		x.Failure = p.Cause
		if p.Hides {
			x.steady(r.Context())
		}
		_ = x.WriteProblem(p) // the client is gone; the log has the status
	}
}

// Outermost makes the exchange, logs it, and turns a panic into an answer.
func (core *Core) Outermost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := core.newExchange(w, r)
		r2 := *r
		r2.Body = x.body
		defer func() {
			v := recover()
			abort := v != nil && x.panicked(v)
			x.count(r)
			x.log(r)
			if abort {
				panic(http.ErrAbortHandler) // net/http closes the connection without a word
			}
			x.part()
		}()
		next.ServeHTTP(x, &r2)
	})
}

// panicked answers as far as it can, and reports whether the connection must be
// cut because the answer cannot be completed.
func (x *Exchange) panicked(v any) (abort bool) {
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		if x.Failure == nil {
			x.Failure = errors.New("answer aborted")
		}
		return true
	}
	x.Core.Logger.Error("panic", "request_id", x.id, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	p := NewProblem(CodeInternal, "Internal error in ohgw; its log has the cause, under request "+x.id+".", nil)
	x.Seen.Code = CodeInternal
	if !x.Started() {
		x.Header().Set("Connection", "close")
		_ = x.WriteProblem(p) // the client may be gone
		return false
	}
	if strings.HasPrefix(x.Header().Get("Content-Type"), "text/event-stream") {
		_, _ = x.Write(append(p.Wire.AppendEnvelope([]byte("data: ")), "\n\n"...))
		_ = x.FlushNow()
	}
	return true
}

// log writes the one line that each request leaves.
func (x *Exchange) log(r *http.Request) {
	level := slog.LevelInfo
	switch {
	case x.Status >= http.StatusInternalServerError:
		level = slog.LevelWarn
	case x.Status < http.StatusBadRequest && len(x.attrs) == 0:
		level = slog.LevelDebug // probes and lists of models
	}
	attrs := []slog.Attr{
		slog.String("request_id", x.id), slog.String("method", r.Method), slog.String("path", LogPath(r.URL.Path)),
		slog.Int("status", x.Status), slog.Int64("bytes", x.Written), slog.Duration("duration", x.Core.Now().Sub(x.began)),
	}
	if x.Client.Name != "" {
		attrs = append(attrs, slog.String("token", x.Client.Name))
	}
	attrs = append(attrs, x.attrs...)
	if x.Failure != nil {
		attrs = append(attrs, slog.Any("err", x.Failure))
	}
	x.Core.Logger.LogAttrs(context.WithoutCancel(r.Context()), level, "request", attrs...)
}

// LogPath shortens a path, or an id, for logs and messages: a client may send
// one of any length.
func LogPath(p string) string {
	return truncate.Bytes(p, 100, "…")
}

// Normalize forgives what people write for a base URL: with and without /v1,
// with slashes too many, with one at the end.
func Normalize(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		clean := path.Clean("/" + r.URL.Path)
		if rest, ok := strings.CutPrefix(clean, "/v1"); ok && (rest == "" || rest[0] == '/') {
			clean = path.Clean("/" + rest)
			w.(*Exchange).versioned = true
		}
		r2 := *r
		r2.URL = &url.URL{Path: clean, RawQuery: r.URL.RawQuery}
		next.ServeHTTP(w, &r2)
	})
}
