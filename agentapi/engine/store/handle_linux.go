package store

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// handle is an open file. Most are opened for one write or one sync, for which
// an [os.File] takes more memory and calls of the system than the work itself.
type handle struct {
	fd   int
	path string
}

func open(path string, flags int) (handle, error) {
	h := handle{path: path}
	err := again(func() (err error) {
		h.fd, err = syscall.Open(path, flags|syscall.O_CLOEXEC, fileMode)
		return err
	})
	return h, h.named("open", err)
}

func (h handle) write(data []byte) error {
	for len(data) > 0 {
		var n int
		err := again(func() (err error) {
			n, err = syscall.Write(h.fd, data)
			return err
		})
		if err == nil && n <= 0 {
			err = io.ErrShortWrite
		}
		if err != nil {
			return h.named("write", err)
		}
		data = data[n:]
	}
	return nil
}

func (h handle) sync() error {
	return h.named("sync", again(func() error { return syscall.Fsync(h.fd) }))
}

// syncData waits as sync does, but not for what reading the data does not take, such as times.
func (h handle) syncData() error {
	return h.named("sync", again(func() error { return syscall.Fdatasync(h.fd) }))
}

func (h handle) seek(to int64) error {
	_, err := syscall.Seek(h.fd, to, io.SeekStart)
	return h.named("seek", err)
}

// Journals reports whether the system can put all that was written on the disk at once, which
// a journal takes.
const Journals = true

// SyncAll waits until everything is on the disk that was written to the file system of dir.
func (Disk) SyncAll(dir string) error {
	h, err := open(dir, os.O_RDONLY)
	if err != nil {
		return err
	}
	err = h.named("sync the file system of", again(func() error { return unix.Syncfs(h.fd) }))
	return errors.Join(err, h.close())
}

// close closes the file once. It does not try again after an interrupt: the number
// may be another file's by then.
func (h handle) close() error {
	err := syscall.Close(h.fd)
	if errors.Is(err, syscall.EINTR) {
		return nil
	}
	return h.named("close", err)
}

func (h handle) named(op string, err error) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: op, Path: h.path, Err: err}
}

// again calls f until it is not interrupted by a signal.
func again(f func() error) error {
	for {
		if err := f(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
