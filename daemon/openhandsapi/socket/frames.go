package socket

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Conn is the socket of a client to which frames go that were made once for many. They
// are written with [Conn.Send], and nothing is with Write.
type Conn struct {
	*websocket.Conn

	raw *shared
}

// shared is the connection below a socket. The library writes its control frames whole,
// so they come between the frames of Send and never into one.
type shared struct {
	net.Conn

	mu sync.Mutex // held during a write
}

// Write writes a control frame.
func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Conn.Write(p)
}

// hijacked gives the library a shared connection.
type hijacked struct {
	http.ResponseWriter

	raw *shared
}

// maxControl is the room for a control frame, in bytes.
const maxControl = 512

// Hijack implements [http.Hijacker].
func (h *hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, both, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, fmt.Errorf("take over the connection: %w", err)
	}
	h.raw = &shared{Conn: conn}
	return h.raw, bufio.NewReadWriter(both.Reader, bufio.NewWriterSize(h.raw, maxControl)), nil
}

// AcceptShared takes the socket of a client like [Accept], for frames that go to many.
func AcceptShared(life context.Context, w http.ResponseWriter, r *http.Request) (*Conn, error) {
	h := &hijacked{ResponseWriter: limited{w, life}}
	conn, err := accept(h, r)
	if err != nil {
		return nil, err
	}
	return &Conn{Conn: conn, raw: h.raw}, nil
}

// Frame is a text message as it goes over the wire from a server.
func Frame(text []byte) []byte {
	const finalText, in16, in64 = 0x81, 126, 127
	frame := make([]byte, 0, len(text)+10)
	switch n := len(text); {
	case n < in16:
		frame = append(frame, finalText, byte(n))
	case n < 1<<16:
		frame = binary.BigEndian.AppendUint16(append(frame, finalText, in16), uint16(n))
	default:
		frame = binary.BigEndian.AppendUint64(append(frame, finalText, in64), uint64(n))
	}
	return append(frame, text...)
}

// maxTogether bounds how many bytes of small frames are written at once.
const maxTogether = 64 << 10

// scratch has the buffers in which small frames are put together: a call of the system
// for each of them would cost more than the copy.
var scratch = sync.Pool{New: func() any { return new(make([]byte, 0, maxTogether)) }}

// Send writes frames, which it does not change. A reader that takes none of them for
// [WriteTimeout] loses its connection.
func (c *Conn) Send(frames ...[]byte) error {
	c.raw.mu.Lock()
	defer c.raw.mu.Unlock()
	stalled := time.AfterFunc(WriteTimeout, func() { _ = c.raw.Close() })
	defer stalled.Stop()
	if len(frames) == 1 {
		return c.put(frames[0])
	}
	buffer := scratch.Get().(*[]byte)
	defer scratch.Put(buffer)
	together := (*buffer)[:0]
	for _, f := range frames {
		if len(together)+len(f) > maxTogether {
			if err := c.put(together); err != nil {
				return err
			}
			together = together[:0]
		}
		if len(f) > maxTogether {
			if err := c.put(f); err != nil {
				return err
			}
			continue
		}
		together = append(together, f...)
	}
	return c.put(together)
}

func (c *Conn) put(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if _, err := c.raw.Conn.Write(p); err != nil {
		return fmt.Errorf("write to a socket: %w", err)
	}
	return nil
}
