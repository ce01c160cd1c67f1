package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/filelock"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/workdir"
)

// agreed are the directories in which a person has let agents work: a file of
// JSON lines, for the user only, that several chats may use at the same time. A
// line that cannot be read does not count.
type agreed struct{ path string }

// agreedJSON is a line.
type agreedJSON struct {
	Directory string    `json:"directory"`
	Since     time.Time `json:"since"`
}

func agreedDirectories(a *kit.App) (*agreed, error) {
	dirs, err := a.Setup().Dirs()
	if err != nil {
		return nil, err
	}
	return &agreed{path: filepath.Join(dirs.State, "chat", "directories.jsonl")}, nil
}

// has reports whether dir, or a directory above it, was agreed to.
func (d *agreed) has(dir string) bool {
	data, err := os.ReadFile(d.path)
	if err != nil {
		return false
	}
	for line := range bytes.Lines(data) {
		var l agreedJSON
		if json.Unmarshal(line, &l) == nil && filepath.IsAbs(l.Directory) && workdir.Within(l.Directory, dir) {
			return true
		}
	}
	return false
}

// add stores dir.
func (d *agreed) add(ctx context.Context, dir string, now time.Time) (err error) {
	if err := paths.MakePrivate(filepath.Dir(d.path)); err != nil {
		return fmt.Errorf("remember directory: %w", err)
	}
	lock, err := filelock.Acquire(ctx, d.path+".lock", filelock.Options{Timeout: recentTimeout, Mode: 0o600})
	if err != nil {
		return fmt.Errorf("remember directory: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	data, err := os.ReadFile(d.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remember directory: %w", err)
	}
	b := bytes.NewBuffer(data)
	if len(data) > 0 && data[len(data)-1] != '\n' {
		b.WriteByte('\n')
	}
	kit.WriteJSONLine(b, agreedJSON{Directory: dir, Since: now.UTC().Truncate(time.Second)})
	return atomicfile.Write(d.path, b.Bytes(), atomicfile.Options{MaxMode: 0o600})
}
