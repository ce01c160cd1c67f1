package boxfiles

import (
	"errors"
	"io"
	"io/fs"

	"github.com/ohgw/ohgw/internal/sandbox"
)

// handle is a file that is open in the program inside.
type handle struct {
	c    *client
	conn *conn // the program; another one does not know the file
	file uint64
	done bool
}

// errGone says that the program inside has ended, and with it the file.
var errGone = errors.New("use files in the sandbox: the program inside ended")

// hold opens a file, which keeps the program inside until it is closed.
func (c *client) hold(op, real string) (*handle, answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	said, _, err := c.askLocked(request{Op: op, Path: []byte(real), File: c.last}, nil, 0)
	if err != nil {
		return nil, said, err
	}
	c.held++
	return &handle{c: c, conn: c.conn, file: c.last}, said, nil
}

// ask asks about the file. With done, it is closed then.
func (h *handle) ask(asked request, data []byte, limit int64, done bool) ([]byte, error) {
	h.c.mu.Lock()
	defer h.c.mu.Unlock()
	switch {
	case h.done:
		return nil, fs.ErrClosed
	case h.c.conn != h.conn:
		h.done = true
		return nil, errGone
	}
	asked.File = h.file
	if done {
		h.done = true
		h.c.held--
	}
	_, content, err := h.c.askLocked(asked, data, limit)
	return content, err
}

// Open opens a file to read it.
func (c *client) Open(real string) (sandbox.Opened, fs.FileInfo, error) {
	h, said, err := c.hold(opOpenFile, real)
	if err != nil {
		return nil, nil, err
	}
	info, err := infoOf(said)
	if err != nil {
		return nil, nil, errors.Join(err, (&opened{h}).Close())
	}
	return &opened{h}, info, nil
}

// Put begins a file.
func (c *client) Put(real string) (sandbox.Writing, error) {
	h, _, err := c.hold(opPut, real)
	if err != nil {
		return nil, err
	}
	return &writing{h}, nil
}

// MakeDir asks to make a directory.
func (c *client) MakeDir(path string) error {
	_, _, err := c.ask(request{Op: opMakeDir, Path: []byte(path)}, nil, 0)
	return err
}

// Remove asks to remove a file.
func (c *client) Remove(real string) error {
	_, _, err := c.ask(request{Op: opRemove, Path: []byte(real)}, nil, 0)
	return err
}

type opened struct{ *handle }

// ReadAt asks for one piece after the other.
func (o *opened) ReadAt(p []byte, offset int64) (n int, err error) {
	for n < len(p) {
		want := min(len(p)-n, maxPiece)
		data, err := o.ask(request{Op: opPiece, Offset: offset + int64(n), Limit: int64(want)}, nil, int64(want), false)
		n += copy(p[n:], data)
		if err != nil {
			return n, err
		}
		if len(data) < want {
			return n, io.EOF
		}
	}
	return n, nil
}

// Close closes the file.
func (o *opened) Close() error {
	_, err := o.ask(request{Op: opClose}, nil, 0, true)
	return err
}

type writing struct{ *handle }

// Write hands over one piece after the other.
func (w *writing) Write(p []byte) (n int, err error) {
	for n < len(p) {
		piece := p[n:min(len(p), n+maxPiece)]
		if _, err := w.ask(request{Op: opWrite}, piece, 0, false); err != nil {
			return n, err
		}
		n += len(piece)
	}
	return n, nil
}

// Commit puts the file into its place.
func (w *writing) Commit() error {
	_, err := w.ask(request{Op: opCommit}, nil, 0, true)
	return err
}

// Abort removes what was written.
func (w *writing) Abort() error {
	_, err := w.ask(request{Op: opClose}, nil, 0, true)
	if errors.Is(err, fs.ErrClosed) || errors.Is(err, errGone) { // the program has removed it
		return nil
	}
	return err
}
