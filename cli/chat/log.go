package chat

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/paths"
)

// openLog opens the log of a gateway of our own. There is none without --debug: a
// terminal shows the chat. With it, it is a file there, else stderr.
func openLog(a *kit.App, once bool) (*slog.Logger, func() error, error) {
	nothing := func() error { return nil }
	if !a.Debug {
		return slog.New(slog.DiscardHandler), nothing, nil
	}
	if once {
		return a.Logger("text"), nothing, nil
	}
	dirs, err := a.Setup().Dirs()
	if err != nil {
		return nil, nothing, err
	}
	dir := filepath.Join(dirs.State, "chat")
	if err := paths.MakePrivate(dir); err != nil {
		return nil, nothing, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "debug.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nothing, fmt.Errorf("open log: %w", err)
	}
	return slog.New(slog.NewTextHandler(f, &slog.HandlerOptions{Level: slog.LevelDebug})), f.Close, nil
}
