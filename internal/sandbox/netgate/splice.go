package netgate

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// forward sends first and then what comes from in to the server, and the server's
// bytes to the client, until both directions have ended or nothing was sent in
// either for the idle limit. The end of one direction is passed on alone, as
// programs that read until the end expect it.
func (g *Gate) forward(client net.Conn, in io.Reader, server net.Conn, first []byte) error {
	if len(first) > 0 {
		if _, err := server.Write(first); err != nil {
			return fmt.Errorf("write to the server: %w", err)
		}
	}
	p := &pipe{idle: idleLimit}
	p.touch()
	var wait sync.WaitGroup
	wait.Go(func() { p.copy(server, in, client, server) })
	p.copy(client, server, server, client)
	wait.Wait()
	return nil
}

// pipe is the two directions of a connection.
type pipe struct {
	idle time.Duration
	last atomic.Int64 // when a byte was last sent, in nanoseconds
}

func (p *pipe) touch() { p.last.Store(after(0).UnixNano()) }

// rest is how long the connection may still be silent.
func (p *pipe) rest() time.Duration {
	return p.idle - time.Since(time.Unix(0, p.last.Load()))
}

// copy copies one direction. from is the connection that in reads of. An error
// closes both connections, since the other direction may wait for ever.
func (p *pipe) copy(to io.Writer, in io.Reader, from, other net.Conn) {
	buffer := make([]byte, bufferSize)
	for {
		n, err := p.read(in, from, buffer)
		if n > 0 {
			p.touch()
			if other.SetWriteDeadline(after(p.idle)) != nil {
				break
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				break
			}
		}
		if errors.Is(err, io.EOF) {
			if half, ok := other.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
				return
			}
			break
		}
		if err != nil {
			break
		}
	}
	from.Close()
	other.Close()
}

// read reads once, and waits as long as either direction is used.
func (p *pipe) read(in io.Reader, from net.Conn, buffer []byte) (int, error) {
	for {
		if err := from.SetReadDeadline(after(max(p.rest(), time.Millisecond))); err != nil {
			return 0, err
		}
		n, err := in.Read(buffer)
		if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) && p.rest() > 0 {
			continue
		}
		return n, err
	}
}
