package file

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// maxSize is the biggest file that is viewed or edited.
const maxSize = 10 << 20

// read returns the content of a regular file.
func (p *place) read() ([]byte, fs.FileInfo, error) {
	f, err := p.root.OpenFile(p.name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, readable(p.path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, readable(p.path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil, refusef("%s is not a regular file.", p.path)
	}
	if info.Size() > maxSize {
		return nil, nil, tooBig(p.path, info.Size())
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, nil, readable(p.path, err)
	}
	if len(data) > maxSize {
		return nil, nil, tooBig(p.path, int64(len(data)))
	}
	return data, info, nil
}

func tooBig(path string, size int64) error {
	return refusef("%s is too big for this tool: %.1f MB, the limit is %d MB. Use the terminal to look at parts of it.",
		path, float64(size)/(1<<20), maxSize>>20)
}

// replace gives a file new content in one step and keeps its mode, and its
// owner where we may.
func (p *place) replace(data []byte, old fs.FileInfo) error {
	temp, err := p.fill(data, 0o600, func(f *os.File) error {
		chownLike(f, old)
		return f.Chmod(old.Mode().Perm() | old.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky))
	})
	if err != nil {
		return readable(p.path, err)
	}
	if err := p.root.Rename(temp, p.name); err != nil {
		return readable(p.path, errors.Join(err, p.root.Remove(temp)))
	}
	p.syncDir()
	return nil
}

// create makes a file that does not exist, with the mode that any program
// would give it. Nobody sees it half written, and nobody's file is replaced.
func (p *place) create(data []byte) error {
	temp, err := p.fill(data, 0o666, func(*os.File) error { return nil })
	if err != nil {
		return readable(p.path, err)
	}
	err = p.root.Link(temp, p.name)
	switch {
	case err == nil:
		err = p.root.Remove(temp)
	case errors.Is(err, fs.ErrExist):
		_ = p.root.Remove(temp)
		return exists(p.path)
	default:
		err = p.move(temp) // not every file system has links
	}
	if err != nil {
		return readable(p.path, err)
	}
	p.syncDir()
	return nil
}

func (p *place) move(temp string) error {
	if _, err := p.root.Lstat(p.name); err == nil {
		_ = p.root.Remove(temp)
		return exists(p.path)
	}
	if err := p.root.Rename(temp, p.name); err != nil {
		return errors.Join(err, p.root.Remove(temp))
	}
	return nil
}

func exists(path string) error {
	return refusef("%s exists already. To change it use str_replace or insert; to replace all of it, remove it first in the terminal.", path)
}

// fill writes a temporary file beside the place and gives its name.
func (p *place) fill(data []byte, mode fs.FileMode, prepare func(*os.File) error) (name string, err error) {
	dir, base := path.Split(filepath.ToSlash(p.name))
	name = filepath.FromSlash(dir + fmt.Sprintf(".%.100s.%s.tmp", base, rand.Text()))
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
// is not a reason to tell the model that it is not.
func (p *place) syncDir() {
	dir, err := p.root.Open(filepath.Dir(p.name))
	if err != nil {
		return
	}
	_ = dir.Sync()
	_ = dir.Close()
}
