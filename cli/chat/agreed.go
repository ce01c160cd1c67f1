package chat

import (
	"context"
	"path/filepath"
	"time"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/answers"
	"github.com/ohgw/ohgw/internal/subpath"
)

// agreed are the directories in which a person has let agents work.
type agreed struct{ answers.Store[agreedJSON] }

// agreedJSON is an answer.
type agreedJSON struct {
	Directory string    `json:"directory"`
	Since     time.Time `json:"since"`
}

func agreedDirectories(a *kit.App) (*agreed, error) {
	dirs, err := a.Setup().Dirs()
	if err != nil {
		return nil, err
	}
	return &agreed{answers.In[agreedJSON](dirs, "directories.jsonl")}, nil
}

// has reports whether dir, or a directory above it, was agreed to.
func (d *agreed) has(dir string) bool {
	return d.Any(func(a agreedJSON) bool { return filepath.IsAbs(a.Directory) && subpath.Within(a.Directory, dir) })
}

// add stores dir.
func (d *agreed) add(ctx context.Context, dir string, now time.Time) error {
	return d.Add(ctx, agreedJSON{Directory: dir, Since: now.UTC().Truncate(time.Second)})
}
