package socket

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

// endTime is how long a client may take to notice that its socket ends because ohgw
// does: to read what it was sent, and to answer the close frame.
const endTime = 300 * time.Millisecond

// limited takes over a connection that ends soon after life does.
type limited struct {
	http.ResponseWriter

	life context.Context
}

// Hijack implements [http.Hijacker].
func (l limited) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, both, err := http.NewResponseController(l.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, fmt.Errorf("take over the connection: %w", err)
	}
	stop := context.AfterFunc(l.life, func() {
		_ = conn.SetDeadline(time.Now().Add(endTime)) //nolint:forbidigo // a deadline of the system; it has none: then it ended
	})
	return &ending{conn, stop}, both, nil
}

// ending is a connection that leaves its limit behind when it is closed.
type ending struct {
	net.Conn

	stop func() bool
}

// Close implements [net.Conn].
func (e *ending) Close() error {
	e.stop()
	return e.Conn.Close()
}
