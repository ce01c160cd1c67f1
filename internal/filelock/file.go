package filelock

import (
	"errors"
	"io/fs"
	"os"
)

// handle is a lock file that is open, and locked or not. The zero value is not
// open. It is not safe for concurrent use.
type handle struct {
	file *os.File
	info fs.FileInfo
}

// try takes the lock if it is free. When it is not, the file stays open
// for the next try, if the system lets others remove an open file.
func (h *handle) try(path string, mode fs.FileMode, exclusive bool) (bool, error) {
	if err := h.open(path, mode); err != nil {
		return false, err
	}
	got, err := lockFile(h.file, exclusive)
	if err != nil {
		return false, errors.Join(err, h.close())
	}
	if !got {
		return false, h.pause()
	}
	same, err := h.stillThere(path)
	if err != nil || !same {
		return false, errors.Join(err, h.close()) // the next try opens the one that is there now
	}
	return true, nil
}

func (h *handle) open(path string, mode fs.FileMode) error {
	if h.file != nil {
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
	h.file, h.info = file, info
	return nil
}

// stillThere reports whether the file that is locked is the one that the next
// process will open. It is not when the holder before us removed it.
func (h *handle) stillThere(path string) (bool, error) {
	now, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return os.SameFile(h.info, now), nil
}

func explain(path string, err error) error {
	if info, e := os.Lstat(path); e == nil && info.Mode()&fs.ModeSymlink != 0 {
		return ErrSymlink
	}
	return err
}

// unlock lets the lock go, and keeps the file if others may remove it.
func (h *handle) unlock() error {
	if h.file == nil {
		return nil
	}
	return errors.Join(unlockFile(h.file), h.pause())
}

func (h *handle) pause() error {
	if keepsOpen {
		return nil
	}
	return h.close()
}

// close lets the lock and the file go.
func (h *handle) close() error {
	if h.file == nil {
		return nil
	}
	file := h.file
	*h = handle{}
	return file.Close()
}

// HolderOf is who holds the exclusive lock on the file at path, as far as the
// system tells.
func HolderOf(path string) Holder { return holderOf(path) }

// Held reports whether a process holds the exclusive lock on the file at path. A
// file that is not there is not locked. It takes a shared lock for a moment, so
// that two who ask at the same time do not take each other for a holder.
func Held(path string) (bool, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	free, err := lockFile(file, false)
	return err == nil && !free, errors.Join(err, file.Close())
}
