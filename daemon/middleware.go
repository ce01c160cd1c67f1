package daemon

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
)

// statusClientGone is logged, never written: the client left.
const statusClientGone = 499

// handler answers a request or returns the error to answer with.
type handler func(x *exchange, r *http.Request) error

// adapt makes a handler that ServeMux knows. It is the one place where the
// failure of a handler becomes an answer.
func adapt(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := w.(*exchange)
		if err := h(x, r); err != nil {
			x.fail(r, err)
		}
	})
}

// fail writes the answer to a request that failed. A stream that has begun has
// ended already; what is left is the log.
func (x *exchange) fail(r *http.Request, err error) {
	x.failure = err
	switch {
	case x.started():
	case errors.Is(err, run.ErrGone), r.Context().Err() != nil && errors.Is(err, context.Canceled):
		x.status = statusClientGone
	default:
		p := explain(err)
		x.failure = p.cause
		if p.hides {
			x.steady(r.Context())
		}
		_ = x.writeProblem(p) // the client is gone; the log has the status
	}
}

// outermost makes the exchange, logs it, and turns a panic into an answer.
func (d *Daemon) outermost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := d.newExchange(w, r)
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
func (x *exchange) panicked(v any) (abort bool) {
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		if x.failure == nil {
			x.failure = errors.New("answer aborted")
		}
		return true
	}
	x.d.cfg.Logger.Error("panic", "request_id", x.id, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	p := newProblem(codeInternal, "Internal error in ohgw; its log has the cause, under request "+x.id+".", nil)
	x.seen.code = codeInternal
	if !x.started() {
		x.Header().Set("Connection", "close")
		_ = x.writeProblem(p) // the client may be gone
		return false
	}
	if strings.HasPrefix(x.Header().Get("Content-Type"), "text/event-stream") {
		_, _ = x.Write(append(p.wire.AppendEnvelope([]byte("data: ")), "\n\n"...))
		_ = x.flush()
	}
	return true
}

// log writes the one line that each request leaves.
func (x *exchange) log(r *http.Request) {
	level := slog.LevelInfo
	switch {
	case x.status >= http.StatusInternalServerError:
		level = slog.LevelWarn
	case x.status < http.StatusBadRequest && len(x.attrs) == 0:
		level = slog.LevelDebug // probes and lists of models
	}
	attrs := []slog.Attr{
		slog.String("request_id", x.id), slog.String("method", r.Method), slog.String("path", logPath(r.URL.Path)),
		slog.Int("status", x.status), slog.Int64("bytes", x.written), slog.Duration("duration", x.d.cfg.Now().Sub(x.began)),
	}
	if x.client.Name != "" {
		attrs = append(attrs, slog.String("token", x.client.Name))
	}
	attrs = append(attrs, x.attrs...)
	if x.failure != nil {
		attrs = append(attrs, slog.Any("err", x.failure))
	}
	x.d.cfg.Logger.LogAttrs(context.WithoutCancel(r.Context()), level, "request", attrs...)
}

// logPath is a path, or an id, as logs and messages show it: not all of what
// somebody may send.
func logPath(p string) string {
	const limit = 100
	if len(p) > limit {
		return strings.ToValidUTF8(p[:limit], "") + "…"
	}
	return p
}

// normalize forgives what people write for a base URL: with and without /v1,
// with slashes too many, with one at the end.
func normalize(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		clean := path.Clean("/" + r.URL.Path)
		if rest, ok := strings.CutPrefix(clean, "/v1"); ok && (rest == "" || rest[0] == '/') {
			clean = path.Clean("/" + rest)
			w.(*exchange).versioned = true
		}
		r2 := *r
		r2.URL = &url.URL{Path: clean, RawQuery: r.URL.RawQuery}
		next.ServeHTTP(w, &r2)
	})
}
