package sandbox

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	"github.com/ohgw/ohgw/internal/workdir"
)

// Bounds of the list.
const (
	mostListed = 200
	mostLooked = 200_000
)

// leftoversJSON is what is in a home directory.
type leftoversJSON struct {
	Home     string         `json:"home"`
	Files    []leftoverJSON `json:"files"`
	Count    int            `json:"count"`
	Size     int64          `json:"size"`
	Complete bool           `json:"complete"` // all were looked at
}

// leftoverJSON is a file. Path begins with "~/", the home directory in the sandbox.
type leftoverJSON struct {
	Path    string    `json:"path"`
	Size    int64     `json:"size"`
	Changed time.Time `json:"changed"`
}

// ownHome is the home directory of the sandbox for the current directory.
func ownHome(a *kit.App) (home, workspace string, err error) {
	dirs, err := a.Setup().Dirs()
	if err != nil {
		return "", "", err
	}
	cwd, err := a.Getwd()
	if err == nil {
		cwd, err = workdir.Resolve(cwd)
	}
	if err != nil {
		return "", "", fault.New("the current directory is unknown", "go to the directory of one project: cd DIRECTORY", err)
	}
	return boxes.HomeOf(dirs.State, cwd), cwd, nil
}

// errEnough ends the look at a home directory.
var errEnough = errors.New("enough")

// leftovers looks at a home directory of the sandbox. Links are not followed. The
// file that ohgw writes itself is left out.
func leftovers(ctx context.Context, home string) (leftoversJSON, error) {
	left := leftoversJSON{Home: home, Files: []leftoverJSON{}, Complete: true}
	looked := 0
	err := filepath.WalkDir(home, func(at string, d fs.DirEntry, err error) error {
		if looked++; looked > mostLooked {
			left.Complete = false
			return errEnough
		}
		if err != nil || d.IsDir() {
			return ctx.Err() // A directory that cannot be read is left out.
		}
		rel, _ := filepath.Rel(home, at)
		info, err := d.Info()
		if err != nil || rel == ".gitconfig" {
			return nil //nolint:nilerr // it is gone
		}
		left.Count++
		left.Size += info.Size()
		left.Files = append(left.Files, leftoverJSON{Path: "~/" + filepath.ToSlash(rel), Size: info.Size(), Changed: info.ModTime().UTC().Truncate(time.Second)})
		if len(left.Files) >= 4*mostListed {
			left.Files = newest(left.Files)
		}
		return nil
	})
	left.Files = newest(left.Files)
	if errors.Is(err, errEnough) {
		err = nil
	}
	return left, err
}

// newest are the files that are listed.
func newest(files []leftoverJSON) []leftoverJSON {
	slices.SortStableFunc(files, func(a, b leftoverJSON) int { return cmp.Or(b.Changed.Compare(a.Changed), cmp.Compare(a.Path, b.Path)) })
	return files[:min(len(files), mostListed)]
}

// sizeText is a number of bytes for people.
func sizeText(n int64) string {
	const unit = 1000
	if n < unit {
		return strconv.FormatInt(n, 10) + " B"
	}
	value, names := float64(n)/unit, []string{"kB", "MB", "GB"}
	for value >= unit && len(names) > 1 {
		value, names = value/unit, names[1:]
	}
	return strconv.FormatFloat(value, 'f', 1, 64) + " " + names[0]
}
