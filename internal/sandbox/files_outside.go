package sandbox

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/subpath"
)

// Unconfined is access to all files of the user.
func Unconfined() Files { return &files{} }

// Confined is access to what is in a directory, which must exist. No name and no
// link leads out of it, whatever is changed meanwhile.
func Confined(dir string) (Files, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, err
	}
	return &files{dir: real, root: root}, nil
}

// files is ohgw's own access.
type files struct {
	dir  string   // without links
	root *os.Root // nil: not confined
}

// Close lets go of the directory.
func (f *files) Close() error {
	if f.root == nil {
		return nil
	}
	return f.root.Close()
}

// Real follows all links in a path whose last element may be missing.
func (f *files) Real(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	if info, lerr := os.Lstat(path); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
		return "", ErrDangling
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}

// place is a name below a root, which it does not leave.
type place struct {
	root  *os.Root
	name  string
	close func() error
}

// release lets go of the root, if it is the place's own.
func (p place) release() { _ = p.close() }

// at opens the place of a path. Unconfined, its root is the directory of the path.
func (f *files) at(real string) (place, error) {
	if f.root != nil {
		name, ok := subpath.Rel(f.dir, real)
		if !ok {
			return place{}, ErrOutside
		}
		return place{f.root, name, func() error { return nil }}, nil
	}
	dir, name := filepath.Split(real)
	if name == "" {
		name = "."
	}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrPermission) {
		// A directory can be open to us while the one above it is not.
		if own, ownErr := os.OpenRoot(real); ownErr == nil {
			root, name, err = own, ".", nil
		}
	}
	if err != nil {
		return place{}, err
	}
	return place{root, name, root.Close}, nil
}

// Stat says what is at a path.
func (f *files) Stat(real string) (fs.FileInfo, error) {
	p, err := f.at(real)
	if err != nil {
		return nil, err
	}
	defer p.release()
	return p.root.Stat(p.name)
}

// OpenRegular opens a regular file to read it. Others are not even opened, as that
// can do something; one that becomes such meanwhile is opened without waiting.
func OpenRegular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, ErrNotRegular
	}
	file, err := root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	if info, err = file.Stat(); err == nil && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		_ = file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// Read reads the content of a regular file, and refuses one over the limit with a
// [*SizeError].
func (f *files) Read(real string, limit int64) ([]byte, fs.FileInfo, error) {
	p, err := f.at(real)
	if err != nil {
		return nil, nil, err
	}
	defer p.release()
	file, info, err := OpenRegular(p.root, p.name)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if info.Size() > limit {
		return nil, nil, &SizeError{info.Size(), limit}
	}
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = &SizeError{int64(len(data)), limit}
	}
	return data, info, err
}

// List is what is in a directory.
func (f *files) List(real string) ([]fs.DirEntry, error) {
	p, err := f.at(real)
	if err != nil {
		return nil, err
	}
	defer p.release()
	return fs.ReadDir(p.root.FS(), filepath.ToSlash(filepath.Clean(p.name)))
}

// Replace gives a file new content in one step.
func (f *files) Replace(real string, data []byte, like fs.FileInfo) error {
	p, err := f.at(real)
	if err != nil {
		return err
	}
	defer p.release()
	temp, err := p.fill(data, 0o600, func(f *os.File) error { return takeAttributes(f, like) })
	if err != nil {
		return err
	}
	if err := atomicfile.Over(p.root, temp, p.name); err != nil {
		return errors.Join(err, p.root.Remove(temp))
	}
	p.syncDir()
	return nil
}

// Create makes a file that does not exist.
func (f *files) Create(real string, data []byte) error {
	p, err := f.at(real)
	if err != nil {
		return err
	}
	defer p.release()
	temp, err := p.fill(data, 0o666, func(*os.File) error { return nil })
	if err != nil {
		return err
	}
	err = p.root.Link(temp, p.name)
	switch {
	case err == nil:
		err = p.root.Remove(temp)
	case errors.Is(err, fs.ErrExist):
		return errors.Join(fs.ErrExist, p.root.Remove(temp))
	default:
		err = p.move(temp) // not every file system has links
	}
	if err != nil {
		return err
	}
	p.syncDir()
	return nil
}

func (p place) move(temp string) error {
	if _, err := p.root.Lstat(p.name); err == nil {
		return errors.Join(fs.ErrExist, p.root.Remove(temp))
	}
	if err := p.root.Rename(temp, p.name); err != nil {
		return errors.Join(err, p.root.Remove(temp))
	}
	return nil
}

// fill writes a temporary file beside the place and gives its name.
func (p place) fill(data []byte, mode fs.FileMode, prepare func(*os.File) error) (name string, err error) {
	name = tempName(p.name)
	f, err := p.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			err = errors.Join(err, p.root.Remove(name))
		}
	}()
	if _, err := f.Write(data); err != nil {
		return "", err
	}
	if err := prepare(f); err != nil {
		return "", err
	}
	if err := f.Sync(); err != nil {
		return "", err
	}
	return name, f.Close()
}

// syncDir makes the new name last. The file is written either way, so an error
// is not a reason to say that it is not.
func (p place) syncDir() {
	dir, err := p.root.Open(filepath.Dir(p.name))
	if err != nil {
		return
	}
	_ = dir.Sync()
	_ = dir.Close()
}
