package sandbox

import (
	"io/fs"
	"sync"
)

// Late is access to files that is opened when it is first used. An error of open is
// that of each use until it opens.
func Late(open func() (Files, error)) Files { return &late{open: open} }

type late struct {
	open func() (Files, error)

	mu    sync.Mutex
	files Files
}

func (l *late) get() (Files, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.files != nil {
		return l.files, nil
	}
	files, err := l.open()
	if err == nil {
		l.files = files
	}
	return files, err
}

func (l *late) Real(path string) (string, error) {
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
	if l.files == nil {
		return nil
	}
	return l.files.Close()
}
