package boxfiles

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/inside"
)

// Times of the program inside.
const (
	// idle is how long it waits for the next request before it ends.
	idle = 10 * time.Second
	// patience is how long one request may take. A program in the box can stop it.
	patience = time.Minute
	// tidying is how long it may take to close the files that are open at its end.
	tidying = time.Second
)

// client is the outer side of the files of a box.
type client struct {
	box   sandbox.Box
	open  request
	known string // a path that has no link in it
	idle  time.Duration

	mu     sync.Mutex
	conn   *conn       // nil if no program runs
	end    *time.Timer // ends it
	closed bool
	last   uint64 // the number of the newest file of any size
	held   int    // how many of them conn has open
}

// conn is one program inside.
type conn struct {
	process  sandbox.Process
	in, out  *os.File
	messages *bufio.Reader
	ended    chan struct{}
}

// New is access to the files of a box, as its programs see them. Confined keeps it
// inside of dir, which has no link in its path. The program inside starts with the
// first request.
func New(box sandbox.Box, dir string, confined bool) (sandbox.Files, error) {
	if err := checkPath(dir); err != nil {
		return nil, err
	}
	return &client{box: box, open: request{Op: opOpen, Path: []byte(dir), Confined: confined}, known: dir, idle: idle}, nil
}

// Real asks for a path without links.
func (c *client) Real(path string) (string, error) {
	if path == c.known {
		return path, nil
	}
	said, _, err := c.ask(request{Op: opReal, Path: []byte(path)}, nil, 0)
	if err != nil {
		return "", err
	}
	return string(said.Real), doubt(checkPath(string(said.Real)))
}

// Stat asks what is at a path.
func (c *client) Stat(real string) (fs.FileInfo, error) {
	said, _, err := c.ask(request{Op: opStat, Path: []byte(real)}, nil, 0)
	if err != nil {
		return nil, err
	}
	return infoOf(said)
}

// Read asks for the content of a regular file.
func (c *client) Read(real string, limit int64) ([]byte, fs.FileInfo, error) {
	said, data, err := c.ask(request{Op: opRead, Path: []byte(real), Limit: limit}, nil, limit)
	if err != nil {
		return nil, nil, err
	}
	info, err := infoOf(said)
	return data, info, err
}

// Create asks to make a file.
func (c *client) Create(real string, data []byte) error {
	_, _, err := c.ask(request{Op: opCreate, Path: []byte(real)}, data, 0)
	return err
}

// Replace asks to give a file new content.
func (c *client) Replace(real string, data []byte, like fs.FileInfo) error {
	_, _, err := c.ask(request{Op: opReplace, Path: []byte(real), Like: attributesOf(like)}, data, 0)
	return err
}

// List asks what is in a directory.
func (c *client) List(real string) ([]fs.DirEntry, error) {
	_, data, err := c.ask(request{Op: opList, Path: []byte(real)}, nil, maxList)
	if err != nil {
		return nil, err
	}
	entries, err := entriesOf(data)
	return entries, doubt(err)
}

// entriesOf reads a directory, whose entries have names without a path.
func entriesOf(data []byte) ([]fs.DirEntry, error) {
	var all []*attributes
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	entries := make([]fs.DirEntry, len(all))
	for i, a := range all {
		if a == nil || !a.valid() || a.Name() == "." || a.Name() == ".." {
			return nil, errors.New("a directory with a name that cannot be")
		}
		entries[i] = fs.FileInfoToDirEntry(a)
	}
	return entries, nil
}

// infoOf is the answer's, which must have one.
func infoOf(said answer) (fs.FileInfo, error) {
	if said.Info == nil || !said.Info.valid() {
		return nil, doubt(errors.New("a file without attributes"))
	}
	return said.Info, nil
}

// doubt returns the error for an answer that the program does not give by itself.
func doubt(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("use files in the sandbox: the answer is not valid: %s", printable(err.Error()))
}

// Close ends the program inside.
func (c *client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.stop()
	return nil
}

// ask sends a request and waits for its answer; one at a time.
func (c *client) ask(asked request, data []byte, limit int64) (answer, []byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.askLocked(asked, data, limit)
}

func (c *client) askLocked(asked request, data []byte, limit int64) (answer, []byte, error) {
	if c.closed {
		return answer{}, nil, fs.ErrClosed
	}
	if c.end != nil {
		c.end.Stop()
	}
	if err := c.start(); err != nil {
		c.stop()
		return answer{}, nil, err
	}
	said, content, err := c.conn.exchange(asked, data, limit)
	if err != nil {
		c.stop()
		return answer{}, nil, fmt.Errorf("use files in the sandbox: %w", err)
	}
	mine := c.conn
	c.end = time.AfterFunc(c.idle, func() { c.expire(mine) })
	if said.Failure != nil {
		return answer{}, nil, said.Failure.err(asked.Op, string(asked.Path))
	}
	return said, content, nil
}

// expire ends a program that was not asked for a while.
func (c *client) expire(old *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == old && c.held == 0 {
		c.stop()
	}
}

// start starts the program inside if there is none.
func (c *client) start() error {
	if c.conn != nil {
		select {
		case <-c.conn.ended:
			c.stop()
		default:
			return nil
		}
	}
	var err error
	if c.conn, err = launch(c.box); err != nil {
		return fmt.Errorf("use files in the sandbox: %w", err)
	}
	said, _, err := c.conn.exchange(c.open, nil, 0)
	switch {
	case err != nil:
		return fmt.Errorf("use files in the sandbox: %w", err)
	case said.Failure != nil:
		return said.Failure.err(opOpen, string(c.open.Path))
	}
	return nil
}

// stop ends the program inside, if there is one.
func (c *client) stop() {
	if c.conn == nil {
		return
	}
	_ = c.conn.in.Close()
	if c.held > 0 { // It removes what was not committed.
		late := time.NewTimer(tidying)
		select {
		case <-c.conn.ended:
		case <-late.C:
		}
		late.Stop()
	}
	_ = c.conn.process.Kill() // It may have ended.
	_ = c.conn.out.Close()
	c.conn, c.held = nil, 0
}

// launch starts ohgw in the box.
func launch(box sandbox.Box) (*conn, error) {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return nil, err
	}
	defer func() { _ = self.Close() }()
	stdin, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = stdin.Close() }()
	out, stdout, err := os.Pipe()
	if err != nil {
		_ = in.Close()
		return nil, err
	}
	defer func() { _ = stdout.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	process, err := box.Start(ctx, sandbox.Program{
		Args: []string{ownProgram, Name}, Env: inside.Environ(), Dir: "/", Files: []*os.File{stdin, stdout, nil, self},
	})
	if err != nil {
		_ = in.Close()
		_ = out.Close()
		return nil, err
	}
	c := &conn{process: process, in: in, out: out, messages: bufio.NewReader(out), ended: make(chan struct{})}
	go func() {
		_, _ = process.Wait() // The end of its output says that it ended.
		close(c.ended)
	}()
	return c, nil
}

// exchange sends a request and reads its answer.
func (c *conn) exchange(asked request, data []byte, limit int64) (said answer, content []byte, err error) {
	if asked.Size = int64(len(data)); asked.Size > maxData {
		return said, nil, &sandbox.SizeError{Size: asked.Size, Limit: maxData}
	}
	end := time.Now().Add(patience) //nolint:forbidigo // deadlines of connections are in the machine's time
	if err := errors.Join(c.in.SetDeadline(end), c.out.SetDeadline(end)); err != nil {
		return said, nil, err
	}
	if err := send(c.in, asked, data); err != nil {
		return said, nil, whatEnded(err)
	}
	if err := receive(c.messages, &said); err != nil {
		return said, nil, whatEnded(err)
	}
	content, err = receiveData(c.messages, said.Size, limit)
	return said, content, whatEnded(err)
}

// whatEnded says in words that there is no other end any more.
func whatEnded(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE) {
		return errors.New("the program inside ended")
	}
	return err
}
