package store

import (
	"errors"
	"io"
	"os"
	"syscall"
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
