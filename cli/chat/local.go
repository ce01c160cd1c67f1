package chat

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/filelist"
	"github.com/ohgw/ohgw/internal/usershell"
	"github.com/ohgw/ohgw/tui"
)

// Limits of the list of files to choose from.
const (
	maxListed   = 20_000
	maxLookedAt = 100_000
	listTimeout = 3 * time.Second
)

// local is the directory of a conversation on this machine.
type local struct {
	c *session
}

// findLocal finds out whether the agent's files are files of this machine.
func (c *session) findLocal(ctx context.Context, s *config.Settings) {
	if len(c.choices(ctx, s).roots) > 0 {
		c.local = local{c}
	}
}

// Names implements [tui.Local].
func (l local) Names(ctx context.Context, dir string, hidden bool) ([]string, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	list, err := filelist.Below(ctx, dir, filelist.Options{Hidden: hidden, Max: maxListed, Look: maxLookedAt})
	return list.Names, list.Cut, err
}

// Find implements [tui.Local].
func (l local) Find(dir, path string) (tui.File, bool) {
	path, err := l.c.opts.Expand(filepath.FromSlash(path))
	if err != nil || path == "" {
		return tui.File{}, false
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
		return tui.File{}, false
	}
	return tui.File{Path: path, Picture: info.Mode().IsRegular() && isPicture(path)}, true
}

// isPicture reports whether a file has the name of a picture and begins like one.
func isPicture(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp":
	default:
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // It was only read.
	head, err := io.ReadAll(io.LimitReader(f, 512))
	return err == nil && strings.HasPrefix(http.DetectContentType(head), "image/")
}

// maxPicture is how many bytes of a screenshot are read.
const maxPicture = 16 << 20

// readPicture reads a screenshot of the agent's browser. A gateway names the file: one that is
// not a regular file is not opened, and what is not a picture is not shown.
func readPicture(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxPicture {
		return nil, fmt.Errorf("%s is not a picture of at most 16 MB", path)
	}
	return os.ReadFile(path)
}

// Run implements [tui.Local]: in the shell of the person, with the environment of
// the chat.
func (l local) Run(ctx context.Context, dir, line string, out io.Writer) (int, error) {
	return usershell.Run(ctx, usershell.Command{Line: line, Dir: dir, Shell: l.c.opts.Getenv("SHELL"), Env: l.c.opts.Environ()}, out)
}
