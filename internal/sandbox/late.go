package sandbox

import (
	"errors"
	"io/fs"
	"sync"
)

// Late is access to files that is opened when it is first used, and again when stale
// says so. An error of open is that of each use until it opens. Neither function is
// called while the other, or itself, runs. Of dir it is known that its path without links
// is real; nothing is opened to find that out.
func Late(dir, real string, open func() (Files, error), stale func() bool) Files {
	return &late{dir: dir, real: real, open: open, stale: stale}
}

type late struct {
	dir, real string
	open      func() (Files, error)
	stale     func() bool

	mu     sync.Mutex
	files  Files
	before []Files // others may still use them
}

func (l *late) get() (Files, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.files != nil && !l.stale() {
		return l.files, nil
	}
	files, err := l.open()
	if err != nil {
		return nil, err
	}
	if l.files != nil {
		l.before = append(l.before, l.files)
	}
	l.files = files
	return files, nil
}

func (l *late) Real(path string) (string, error) {
	if path == l.dir || path == l.real {
		return l.real, nil
	}
	f, err := l.get()
	if err != nil {
		return "", err
	}
	return f.Real(path)
}

func (l *late) Stat(real string) (fs.FileInfo, error) {
	f, err := l.get()
	if err != nil {
		return nil, err
	}
	return f.Stat(real)
}

func (l *late) Read(real string, limit int64) ([]byte, fs.FileInfo, error) {
	f, err := l.get()
	if err != nil {
		return nil, nil, err
	}
	return f.Read(real, limit)
}

func (l *late) Create(real string, data []byte) error {
	f, err := l.get()
	if err != nil {
		return err
	}
	return f.Create(real, data)
}

func (l *late) Replace(real string, data []byte, like fs.FileInfo) error {
	f, err := l.get()
	if err != nil {
		return err
	}
	return f.Replace(real, data, like)
}

func (l *late) List(real string) ([]fs.DirEntry, error) {
	f, err := l.get()
	if err != nil {
		return nil, err
	}
	return f.List(real)
}

func (l *late) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for _, files := range l.before {
		errs = append(errs, files.Close())
	}
	if l.files != nil {
		errs = append(errs, l.files.Close())
	}
	return errors.Join(errs...)
}
