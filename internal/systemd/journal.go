package systemd

import (
	"context"
	"io"
	"log/slog"
	"sync"
)

// NewJournalHandler makes a handler that writes lines for the journal: with
// their priority before them (sd-daemon(3)), without a time, which the journal
// has itself. Inner makes the handler that forms the lines; it has to write
// each of them at once, as those of log/slog do.
func NewJournalHandler(w io.Writer, opts slog.HandlerOptions, inner func(io.Writer, *slog.HandlerOptions) slog.Handler) slog.Handler {
	replace := opts.ReplaceAttr
	opts.ReplaceAttr = func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
			return slog.Attr{}
		}
		if replace != nil {
			return replace(groups, a)
		}
		return a
	}
	out := &prefixWriter{w: w}
	return &journalHandler{Handler: inner(out, &opts), out: out}
}

// prefixWriter puts a prefix before each write.
type prefixWriter struct {
	w io.Writer

	mu     sync.Mutex // for the time of one record
	prefix string
}

func (p *prefixWriter) Write(line []byte) (int, error) {
	if _, err := p.w.Write(append([]byte(p.prefix), line...)); err != nil {
		return 0, err
	}
	return len(line), nil
}

type journalHandler struct {
	slog.Handler

	out *prefixWriter
}

// Handle writes a record with its priority.
func (h *journalHandler) Handle(ctx context.Context, r slog.Record) error {
	h.out.mu.Lock()
	defer h.out.mu.Unlock()
	h.out.prefix = priority(r.Level)
	return h.Handler.Handle(ctx, r)
}

// WithAttrs is for slog.
func (h *journalHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &journalHandler{h.Handler.WithAttrs(attrs), h.out}
}

// WithGroup is for slog.
func (h *journalHandler) WithGroup(name string) slog.Handler {
	return &journalHandler{h.Handler.WithGroup(name), h.out}
}

// priority is a level as syslog(3) counts.
func priority(l slog.Level) string {
	switch {
	case l >= slog.LevelError:
		return "<3>"
	case l >= slog.LevelWarn:
		return "<4>"
	case l >= slog.LevelInfo:
		return "<6>"
	}
	return "<7>"
}
