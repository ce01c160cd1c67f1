package mcp

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ohgw/ohgw/internal/bounded"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// program is a server that runs in a box and is spoken to over its stdin and
// stdout: a [sdk.Transport].
type program struct {
	box   sandbox.Box
	start sandbox.Program
	words *bounded.Tail
	noise *noise // what it prints to stdout between messages

	process sandbox.Process
	stdout  *os.File
	stderr  *os.File
	ended   chan struct{} // closed when the process has ended
	copied  chan struct{} // closed when its errors are
	end     sync.Once
}

// Connect starts the server.
func (p *program) Connect(ctx context.Context) (sdk.Connection, error) {
	var files []*os.File
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	in, stdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	files = append(files, in, stdin)
	stdout, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	files = append(files, stdout, out)
	stderr, errs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	files = append(files, stderr, errs)
	p.start.Files = []*os.File{in, out, errs}
	if p.process, err = p.box.Start(ctx, p.start); err != nil {
		return nil, err
	}
	files = []*os.File{in, out, errs}
	p.stdout, p.stderr = stdout, stderr
	p.ended, p.copied = make(chan struct{}), make(chan struct{})
	go func() {
		_, _ = p.process.Wait()
		close(p.ended)
	}()
	go func() {
		_, _ = io.Copy(p.words, stderr)
		close(p.copied)
	}()
	// The program's stdout is closed only after the program has ended.
	return (&sdk.IOTransport{Reader: io.NopCloser(newMessages(stdout, p.noise.add)), Writer: &input{File: stdin, program: p}}).Connect(ctx)
}

// input is the server's stdin. Closing it asks the server to end.
type input struct {
	*os.File

	program *program
}

// Close waits until the server has ended; it is told to, and then killed.
func (i *input) Close() error {
	err := i.File.Close()
	if !i.program.gone() && tell(i.program.process) == nil {
		i.program.gone()
	}
	return errors.Join(err, i.program.kill())
}

// gone waits for a time for the end of the server, and reports whether it came.
func (p *program) gone() bool {
	late := time.NewTimer(endWait)
	defer late.Stop()
	select {
	case <-p.ended:
		return true
	case <-late.C:
		return false
	}
}

// kill ends what is left of the server and its process group.
func (p *program) kill() (err error) {
	if p.process == nil {
		return nil
	}
	p.end.Do(func() {
		err = p.process.Kill()
		<-p.ended
		late := time.AfterFunc(endWait, func() {
			if p.stderr.SetReadDeadline(time.Unix(1, 0)) != nil { // not every system has that for pipes
				_ = p.stderr.Close()
			}
		})
		<-p.copied
		late.Stop()
		_, _ = p.stdout.Close(), p.stderr.Close()
	})
	return err
}
