package recordfile

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"time"
)

// memory is a directory that ends with the process.
type memory struct {
	mu    sync.Mutex
	files map[string][]byte
}

func (m *memory) read(name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.files[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return bytes.Clone(data), nil
}

func (m *memory) write(name string, data []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[name] = bytes.Clone(data)
}

func (m *memory) append(name string, line []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.files[name]
	if !ok {
		return fs.ErrNotExist
	}
	m.files[name] = append(data, line...)
	return nil
}

func (m *memory) remove(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, name)
}

// each calls f without the lock: it may remove records.
func (m *memory) each(ctx context.Context, f func(string, time.Time) error) error {
	m.mu.Lock()
	names := slices.Sorted(maps.Keys(m.files))
	m.mu.Unlock()
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f(name, time.Time{}); err != nil {
			return err
		}
	}
	return nil
}
