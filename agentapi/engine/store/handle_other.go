//go:build !linux

package store

import (
	"errors"
	"io"
	"os"
)

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

func (h handle) sync() error     { return h.file.Sync() }
func (h handle) syncData() error { return h.file.Sync() }
func (h handle) close() error    { return h.file.Close() }

func (h handle) seek(to int64) error {
	_, err := h.file.Seek(to, io.SeekStart)
	return err
}

// Journals reports whether the system can put all that was written on the disk at once, which
// a journal takes.
const Journals = false

// SyncAll fails: the system cannot do it.
func (Disk) SyncAll(string) error { return errors.ErrUnsupported }
