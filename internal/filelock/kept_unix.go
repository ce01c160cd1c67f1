//go:build unix

package filelock

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// kept is a lock file that stays open.
type kept struct {
	file *os.File
	info fs.FileInfo
}

// try takes the lock if it is free.
func (k *kept) try(path string, mode fs.FileMode) (bool, error) {
	if err := k.open(path, mode); err != nil {
		return false, err
	}
	err := k.flock(syscall.LOCK_EX | syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return false, nil
	case err != nil:
		return false, err
	}
	now, err := os.Lstat(path)
	if err == nil && os.SameFile(k.info, now) {
		return true, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return false, errors.Join(err, k.close()) // the next try opens the one that is there now
}

func (k *kept) open(path string, mode fs.FileMode) error {
	if k.file != nil {
		return nil
	}
	if mode == 0 {
		mode = 0o644
	}
	file, err := os.OpenFile(path, openFlags, mode)
	if err != nil {
		return explain(path, err)
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	k.file, k.info = file, info
	return nil
}

func (k *kept) flock(how int) error {
	for {
		if err := syscall.Flock(int(k.file.Fd()), how); err != syscall.EINTR {
			return err
		}
	}
}

func (k *kept) unlock() error { return k.flock(syscall.LOCK_UN) }

func (k *kept) close() error {
	if k.file == nil {
		return nil
	}
	file := k.file
	k.file, k.info = nil, nil
	return file.Close()
}
