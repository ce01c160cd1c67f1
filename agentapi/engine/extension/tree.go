package extension

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/sandbox"
)

// Bounds of what is installed, and of the list of its files, which is OpenHands'.
const (
	maxFiles  = 20_000
	maxBytes  = 256 << 20
	maxListed = 2000
)

// gitDir is left out: it does not belong to what is installed.
const gitDir = ".git"

// limits bound what is copied.
type limits struct {
	files int
	bytes int64
}

func usualLimits() limits { return limits{maxFiles, maxBytes} }

// copyTree copies a directory to one that is not there. The error says in words for people
// what cannot be copied.
func copyTree(from, to string, most limits) error {
	in, err := os.OpenRoot(from)
	if err != nil {
		return errors.New("its source is not a directory that can be read")
	}
	defer in.Close()
	if err := os.Mkdir(to, 0o700); err != nil {
		return errors.New("its place cannot be made; check that the disk has free space")
	}
	out, err := os.OpenRoot(to)
	if err != nil {
		return errors.New("its place cannot be opened")
	}
	defer out.Close()
	c := copier{in: in, out: out, most: most}
	return fs.WalkDir(in.FS(), ".", c.entry)
}

type copier struct {
	in, out *os.Root
	most    limits
	files   int
	size    int64
}

func (c *copier) entry(name string, e fs.DirEntry, err error) error {
	if err != nil {
		return fmt.Errorf("its %s cannot be read", name)
	}
	if name == "." {
		return nil
	}
	if e.Name() == gitDir {
		if e.IsDir() {
			return fs.SkipDir
		}
		return nil
	}
	if c.files++; c.files > c.most.files {
		return fmt.Errorf("it has more than %d files", c.most.files)
	}
	switch e.Type() {
	case fs.ModeDir:
		err = c.out.Mkdir(name, 0o700)
	case fs.ModeSymlink:
		return c.link(name)
	case 0:
		return c.file(name)
	default:
		return fmt.Errorf("its %s is neither a file nor a directory", name)
	}
	return unwritten(name, err)
}

func unwritten(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("its %s cannot be copied; check that the disk has free space", name)
}

// link copies a link that leads to something inside, as a link. A link in a circle leads
// nowhere.
func (c *copier) link(name string) error {
	target, err := c.in.Readlink(name)
	if err != nil {
		return fmt.Errorf("its %s cannot be read", name)
	}
	if filepath.IsAbs(target) || !filepath.IsLocal(filepath.Join(filepath.Dir(filepath.FromSlash(name)), target)) {
		return fmt.Errorf("its %s is a link that leads out of it; replace it by what it leads to", name)
	}
	if _, err := c.in.Stat(name); err != nil {
		return fmt.Errorf("its %s is a link that leads nowhere, in a circle, or out of it; remove it", name)
	}
	return unwritten(name, c.out.Symlink(target, name))
}

func (c *copier) file(name string) (err error) {
	in, info, err := sandbox.OpenRegular(c.in, name)
	if err != nil {
		return fmt.Errorf("its %s cannot be read", name)
	}
	defer in.Close()
	if c.size+info.Size() > c.most.bytes {
		return fmt.Errorf("it is larger than %d MiB", c.most.bytes>>20)
	}
	out, err := c.out.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600|info.Mode().Perm()&0o100)
	if err != nil {
		return unwritten(name, err)
	}
	n, err := io.Copy(out, io.LimitReader(in, c.most.bytes-c.size)) // it may grow meanwhile
	c.size += n
	return unwritten(name, errors.Join(err, out.Close()))
}

// Files lists the files of a directory by their paths below it, sorted; those of a git
// repository itself are left out, and so is what is beyond OpenHands' number.
func Files(dir string) []string {
	list, seen := []string{}, 0
	_ = fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if seen++; err != nil || seen > maxFiles {
			return fs.SkipAll // what was found until then
		}
		switch {
		case e.IsDir() && e.Name() == gitDir:
			return fs.SkipDir
		case !e.IsDir() && !leadsToDirectory(dir, name, e):
			list = append(list, path.Clean(name))
		}
		return nil
	})
	slices.SortFunc(list, strings.Compare)
	return list[:min(len(list), maxListed)]
}

// leadsToDirectory reports whether an entry is a link to a directory: OpenHands takes that
// for a directory, into which it does not go.
func leadsToDirectory(dir, name string, e fs.DirEntry) bool {
	return e.Type() == fs.ModeSymlink && isDir(filepath.Join(dir, filepath.FromSlash(name)))
}
