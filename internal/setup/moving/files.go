package moving

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/filelist"
)

// The limits of a workspace that is sent.
const (
	MaxFiles = 100_000
	MaxFile  = 100 << 20 // bytes of a file that is sent without being asked for
)

// FileOptions say which files of a workspace are sent.
type FileOptions struct {
	All   bool // also what git ignores, and large files
	NoGit bool // without the repository itself
}

// Files are the files of a workspace that are sent.
type Files struct {
	Count int   // without directories
	Bytes int64 // of all of them

	// What is not sent: names that git ignores, files larger than MaxFile, symbolic
	// links that lead out of the workspace, and everything else that is no file or
	// cannot be read.
	Ignored, Large, Links, Others []string

	dir     string
	entries []entry
}

// entry is a file, a directory or a symbolic link that is sent.
type entry struct {
	name string // with slashes
	link string // where a symbolic link leads
}

// Scan looks at the files of a workspace. It changes nothing.
func Scan(ctx context.Context, dir string, o FileOptions) (*Files, error) {
	list, err := filelist.Below(ctx, dir, filelist.Options{Hidden: true, All: o.All, Max: MaxFiles, Look: 10 * MaxFiles})
	if err != nil {
		return nil, unreadable(dir, err)
	}
	f := &Files{dir: dir, Ignored: list.Ignored, Others: list.Others}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, unreadable(dir, err)
	}
	defer func() { _ = root.Close() }() // It was only read.
	for _, name := range list.Names {
		f.add(root, strings.TrimSuffix(name, "/"), o.All)
	}
	if !o.NoGit && !list.Cut {
		err = f.addRepository(ctx, root)
	}
	switch {
	case err != nil:
		return nil, unreadable(dir, err)
	case list.Cut || len(f.entries) > MaxFiles:
		return nil, fault.New(fmt.Sprintf("%s has more than %d files", dir, MaxFiles), "leave the files out: --no-files", nil)
	}
	return f, nil
}

func unreadable(dir string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fault.New("the workspace cannot be read: "+dir, "check that it is there and that you may read it, or leave the files out: --no-files", err)
}

// add takes a name into the list, or into that of what is left out.
func (f *Files) add(root *os.Root, name string, all bool) {
	local := filepath.FromSlash(name)
	info, err := root.Lstat(local)
	switch {
	case err != nil:
		f.Others = append(f.Others, name)
	case info.IsDir():
		f.entries = append(f.entries, entry{name: name})
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := root.Readlink(local)
		if to = filepath.ToSlash(to); err != nil || path.IsAbs(to) || filepath.VolumeName(to) != "" || !filepath.IsLocal(filepath.FromSlash(path.Join(path.Dir(name), to))) {
			f.Links = append(f.Links, name)
			return
		}
		f.entries = append(f.entries, entry{name: name, link: to})
		f.Count++
	case !info.Mode().IsRegular():
		f.Others = append(f.Others, name)
	case info.Size() > MaxFile && !all:
		f.Large = append(f.Large, name)
	default:
		if in, err := root.Open(local); err != nil || in.Close() != nil {
			f.Others = append(f.Others, name)
			return
		}
		f.entries = append(f.entries, entry{name: name})
		f.Count, f.Bytes = f.Count+1, f.Bytes+info.Size()
	}
}

// addRepository takes the .git of a workspace into the list, if it is a directory. Its
// files are taken whatever their size: without one it is damaged.
func (f *Files) addRepository(ctx context.Context, root *os.Root) error {
	info, err := root.Lstat(".git")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || !info.IsDir() {
		f.Others = append(f.Others, ".git")
		return err
	}
	return fs.WalkDir(root.FS(), ".git", func(name string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && len(f.entries) <= MaxFiles {
			f.add(root, name, true)
		}
		return err
	})
}

// extra is a file that is sent beside those of the workspace.
type extra struct{ name, text string }

// size is about how many bytes pack writes.
func (f *Files) size() int64 {
	const block = 512
	return f.Bytes + int64(len(f.entries))*(block+block/2)
}

// pack writes the files as a tar archive. A file that changes meanwhile is an error.
func (f *Files) pack(ctx context.Context, w io.Writer, more []extra) error {
	out := tar.NewWriter(w)
	for _, e := range more {
		if err := out.WriteHeader(&tar.Header{Name: e.name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(e.text))}); err != nil {
			return err
		}
		if _, err := io.WriteString(out, e.text); err != nil {
			return err
		}
	}
	if len(f.entries) == 0 {
		return out.Close()
	}
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return unreadable(f.dir, err)
	}
	defer func() { _ = root.Close() }() // It was only read.
	for _, e := range f.entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := packOne(out, root, e); err != nil {
			return err
		}
	}
	return out.Close()
}

func packOne(out *tar.Writer, root *os.Root, e entry) error {
	local := filepath.FromSlash(e.name)
	if e.link != "" {
		return out.WriteHeader(&tar.Header{Name: e.name, Typeflag: tar.TypeSymlink, Linkname: e.link, Mode: 0o777})
	}
	changed := func(err error) error {
		return fault.New("a file of the workspace changed while it was sent: "+e.name, "wait until nothing writes there, and go on", err)
	}
	in, err := root.Open(local)
	if err != nil {
		return changed(err)
	}
	defer func() { _ = in.Close() }() // It was only read.
	info, err := in.Stat()
	if err != nil {
		return changed(err)
	}
	head := &tar.Header{Name: e.name, Mode: int64(info.Mode().Perm() | 0o600), ModTime: info.ModTime(), Typeflag: tar.TypeReg, Size: info.Size()}
	var content io.Reader = in
	switch {
	case info.IsDir():
		head.Name, head.Mode, head.Typeflag, head.Size = e.name+"/", head.Mode|0o700, tar.TypeDir, 0
		return out.WriteHeader(head)
	case !info.Mode().IsRegular():
		return changed(nil)
	case e.name == ".git/config":
		text, err := io.ReadAll(io.LimitReader(in, maxConfig))
		if err != nil {
			return changed(err)
		}
		clean := credentials.ReplaceAllString(string(text), "$1")
		content, head.Size = strings.NewReader(clean), int64(len(clean))
	}
	if err := out.WriteHeader(head); err != nil {
		return err
	}
	if _, err := io.CopyN(out, content, head.Size); errors.Is(err, io.EOF) {
		return changed(err)
	} else if err != nil {
		return err
	}
	return nil
}

// maxConfig bounds a git config.
const maxConfig = 1 << 20

// credentials are the user and the password in a URL, and headers of requests, of a
// git config: they stay here.
var credentials = regexp.MustCompile(`(?mi)(://)[^/@\s"]+@|^[ \t]*extraheader[ \t]*=.*\n?`)
