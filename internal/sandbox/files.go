package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
)

// Files is access to files with the rights of a box. Paths are absolute, as they
// are inside. What is opened is a regular file: pipes, sockets and devices are
// refused without waiting for their other end. Its methods may be called at the
// same time.
type Files interface {
	// Real is a path without links. Its last element may be missing. Of a link to
	// nothing the error is [ErrDangling].
	Real(path string) (string, error)
	// Stat says what is at a path that Real gave.
	Stat(real string) (fs.FileInfo, error)
	// Read is the whole content of a file. More than limit bytes are a [SizeError].
	Read(real string, limit int64) ([]byte, fs.FileInfo, error)
	// Create makes a file with the mode that any program gives it. No process
	// sees it half written. If there is something at the path, the error is [fs.ErrExist].
	Create(real string, data []byte) error
	// Replace gives a file new content in one step. It has the mode of like then,
	// and its owner where that is allowed. Of a file with several names, the others
	// keep the old content.
	Replace(real string, data []byte, like fs.FileInfo) error
	// List is what is in a directory, by name.
	List(real string) ([]fs.DirEntry, error)
	// Close lets go of what the others need.
	Close() error
}

// Errors of [Files].
var (
	ErrDangling   = errors.New("it is a symbolic link to something that does not exist")
	ErrNotRegular = errors.New("it is not a regular file")
	// ErrOutside is the error for a path that leads out of the directory to which
	// Files is confined.
	ErrOutside = errors.New("it is outside of the workspace")
)

// SizeError is a file that is too big to be read.
type SizeError struct{ Size, Limit int64 }

// Error says how big it is.
func (e *SizeError) Error() string {
	return fmt.Sprintf("it has %d bytes, the limit is %d", e.Size, e.Limit)
}

// FilesOf is access to files for the tools of a box, which work in dir: the box's
// own, if it has a method Files like this one, or ohgw's. Confined keeps it inside
// of dir; so does a box that takes rights away and has no access of its own.
func FilesOf(box Box, dir string, confined bool) (Files, error) {
	if own, ok := box.(interface {
		Files(dir string, confined bool) (Files, error)
	}); ok {
		return own.Files(dir, confined)
	}
	if level := box.Level(); level != Off && level != External {
		confined = true
	}
	if confined {
		return Confined(dir)
	}
	return Unconfined(), nil
}
