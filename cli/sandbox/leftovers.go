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

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	"github.com/ohgw/ohgw/internal/workdir"
)

func newDiff(a *kit.App) *cobra.Command {
	return &cobra.Command{
		Use:   "diff",
		Short: "List what agents left in the sandbox's home directory",
		Long: kit.Long(`
Lists the files in the home directory of the sandbox for the current directory:
size, time of the last change, and path, the newest first. It lists 200 files at
most, and looks at 200,000. Your own home directory is another one, which agents
do not see.

In a pipe, each file is one line with tabs between the columns; the size is in
bytes. With --json the output has home (the directory), files (path, size,
changed), count, size (of all files) and complete. ohgw sandbox reset removes
the files.`, 0, fault.Failed, fault.Usage),
		Example:           kit.Examples("ohgw sandbox diff", "ohgw sandbox diff --json"),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runDiff(cmd.Context(), &diffOptions{App: a}) },
	}
}

// diffOptions is what the command takes.
type diffOptions struct{ *kit.App }

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

// runDiff runs the command.
func runDiff(ctx context.Context, o *diffOptions) error {
	home, workspace, err := ownHome(o.App)
	if err != nil {
		return err
	}
	left, err := leftovers(ctx, home)
	if err != nil {
		return err
	}
	if o.JSON {
		return o.PrintJSON(left)
	}
	t := kit.Table{Header: []string{"SIZE", "CHANGED", "FILE"}}
	for _, f := range left.Files {
		size := strconv.FormatInt(f.Size, 10)
		if o.Stdout.TTY() {
			size = sizeText(f.Size)
		}
		t.Add(size, o.TimeText(f.Changed), f.Path)
	}
	if err := t.Write(o.Stdout); err != nil {
		return err
	}
	switch {
	case left.Count == 0:
		o.Hint("Agents left no files for %s.", workspace)
	case left.Count > len(left.Files) || !left.Complete:
		o.Note("These are the newest of %s files (%s) in %s", counted(left), sizeText(left.Size), left.Home)
	default:
		o.Hint("%d files (%s) in %s", left.Count, sizeText(left.Size), left.Home)
	}
	return nil
}

func counted(left leftoversJSON) string {
	if left.Complete {
		return strconv.Itoa(left.Count)
	}
	return "more than " + strconv.Itoa(left.Count)
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
