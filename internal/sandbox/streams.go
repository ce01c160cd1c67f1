package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ohgw/ohgw/internal/atomicfile"
)

// Streams is access to files that need not fit into memory.
type Streams interface {
	Files
	// Open opens a file to read it.
	Open(real string) (Opened, fs.FileInfo, error)
	// Put begins a file, or new content for one that there is: that keeps its mode,
	// and its owner where that is allowed.
	Put(real string) (Writing, error)
	// MakeDir makes a directory, and those above it. It returns nil if the
	// directory exists.
	MakeDir(path string) error
	// Remove removes a regular file. Anything else is [ErrNotRegular].
	Remove(real string) error
}

// Opened is a file that is read.
type Opened interface {
	io.ReaderAt
	io.Closer
}

// Writing is a file that is written. No process sees it in its place before Commit.
type Writing interface {
	io.Writer
	// Commit puts the file into its place.
	Commit() error
	// Abort removes what was written. After Commit it does nothing.
	Abort() error
}

// StreamsOf is [FilesOf] for files of any size.
func StreamsOf(box Box, dir string, confined bool) (Streams, error) {
	files, err := FilesOf(box, dir, confined)
	if err != nil {
		return nil, err
	}
	return streamsOf(files)
}

func streamsOf(files Files) (Streams, error) {
	streams, ok := files.(Streams)
	if !ok {
		return nil, fmt.Errorf("files of any size: %w", errors.ErrUnsupported)
	}
	return streams, nil
}

// Open opens a regular file.
func (f *files) Open(real string) (Opened, fs.FileInfo, error) {
	p, err := f.at(real)
	if err != nil {
		return nil, nil, err
	}
	defer p.release()
	file, info, err := OpenRegular(p.root, p.name)
	if err != nil {
		return nil, nil, err
	}
	return file, info, nil
}

// MakeDir makes a directory.
func (f *files) MakeDir(path string) error {
	if f.root == nil {
		return os.MkdirAll(path, 0o777) //nolint:gosec // the umask decides, as for mkdir
	}
	p, err := f.at(path)
	if err != nil {
		return err
	}
	return p.root.MkdirAll(p.name, 0o777)
}

// Remove removes a regular file.
func (f *files) Remove(real string) error {
	p, err := f.at(real)
	if err != nil {
		return err
	}
	defer p.release()
	info, err := p.root.Lstat(p.name)
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err == nil {
		err = p.root.Remove(p.name)
	}
	if err == nil {
		p.syncDir()
	}
	return err
}

// Put begins a file beside its place.
func (f *files) Put(real string) (Writing, error) {
	p, err := f.at(real)
	if err != nil {
		return nil, err
	}
	w := &writing{place: p}
	mode := fs.FileMode(0o666)
	switch w.like, err = p.root.Stat(p.name); {
	case errors.Is(err, fs.ErrNotExist):
		w.like, err = nil, nil
	case err == nil && !w.like.Mode().IsRegular():
		err = ErrNotRegular
	case err == nil:
		mode = 0o600
	}
	if err == nil {
		w.temp = tempName(p.name)
		w.file, err = p.root.OpenFile(w.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	}
	if err != nil {
		p.release()
		return nil, err
	}
	return w, nil
}

// writing is a temporary file.
type writing struct {
	place place
	temp  string
	file  *os.File
	like  fs.FileInfo // of the file that there was; nil if there was none
	done  bool
}

func (w *writing) Write(data []byte) (int, error) { return w.file.Write(data) }

// Commit renames the temporary file.
func (w *writing) Commit() error {
	if w.done {
		return fs.ErrClosed
	}
	var err error
	if w.like != nil {
		err = takeAttributes(w.file, w.like)
	}
	err = errors.Join(err, w.file.Sync(), w.file.Close())
	if err == nil {
		err = atomicfile.Over(w.place.root, w.temp, w.place.name)
	}
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	w.done = true
	w.place.syncDir()
	w.place.release()
	return nil
}

// Abort removes the temporary file.
func (w *writing) Abort() error {
	if w.done {
		return nil
	}
	w.done = true
	defer w.place.release()
	_ = w.file.Close() // Commit may have done that
	return w.place.root.Remove(w.temp)
}

// takeAttributes gives a new file the mode and the owner of the one that it replaces.
func takeAttributes(f *os.File, like fs.FileInfo) error {
	chownLike(f, like)
	return f.Chmod(like.Mode().Perm() | like.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky))
}

// tempName is a name beside another one.
func tempName(name string) string {
	dir, base := filepath.Split(name)
	return dir + fmt.Sprintf(".%.100s.%s.tmp", base, rand.Text())
}

func (l *late) streams() (Streams, error) {
	files, err := l.get()
	if err != nil {
		return nil, err
	}
	return streamsOf(files)
}

func (l *late) Open(real string) (Opened, fs.FileInfo, error) {
	s, err := l.streams()
	if err != nil {
		return nil, nil, err
	}
	return s.Open(real)
}

func (l *late) Put(real string) (Writing, error) {
	s, err := l.streams()
	if err != nil {
		return nil, err
	}
	return s.Put(real)
}

func (l *late) MakeDir(path string) error {
	s, err := l.streams()
	if err != nil {
		return err
	}
	return s.MakeDir(path)
}

func (l *late) Remove(real string) error {
	s, err := l.streams()
	if err != nil {
		return err
	}
	return s.Remove(real)
}

var _ Streams = (*late)(nil)
