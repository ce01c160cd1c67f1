//go:build !linux

package store

import "os"

// handle is an open file.
type handle struct{ file *os.File }

func open(path string, flags int) (handle, error) {
	f, err := openFile(path, flags)
	return handle{f}, err
}

func (h handle) write(data []byte) error {
	_, err := h.file.Write(data)
	return err
}

func (h handle) sync() error  { return h.file.Sync() }
func (h handle) close() error { return h.file.Close() }
