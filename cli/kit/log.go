package kit

import (
	"io"
	"log/slog"

	"github.com/ohgw/ohgw/internal/systemd"
)

// Logger makes the log of the daemon, on stderr.
func (a *App) Logger(format string) *slog.Logger {
	options := &slog.HandlerOptions{Level: slog.LevelInfo}
	switch {
	case a.Quiet:
		options.Level = slog.LevelError
	case a.Debug:
		options.Level = slog.LevelDebug
	}
	if format == "auto" && a.Journal {
		return slog.New(systemd.NewJournalHandler(a.Stderr, *options, func(w io.Writer, o *slog.HandlerOptions) slog.Handler { return slog.NewTextHandler(w, o) }))
	}
	if format == "text" || format == "auto" && a.Stderr.TTY() {
		return slog.New(slog.NewTextHandler(a.Stderr, options))
	}
	return slog.New(slog.NewJSONHandler(a.Stderr, options))
}
