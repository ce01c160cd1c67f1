package conns

import (
	"context"
	"net"
	"net/http"
	"syscall"
)

// connKey finds the connection in the context of its requests.
type connKey struct{}

// With puts the connection of a client into the context of its requests.
func With(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// Gone returns a function that reports whether the client of a request has
// disconnected. net/http notices that
// too, but in a goroutine of its own: on a busy machine the repeat of the client
// is read before. The system knows at once.
func Gone(r *http.Request) func() bool {
	ctx := r.Context()
	c, _ := ctx.Value(connKey{}).(*conn)
	return func() bool { return ctx.Err() != nil || c != nil && c.hungUp() }
}

// hungUp reports whether the client has closed the connection, as far as the
// system can be asked.
func (c *conn) hungUp() bool {
	sys, ok := c.Conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sys.SyscallConn()
	if err != nil {
		return true
	}
	var ended bool
	err = raw.Control(func(fd uintptr) { ended = atEnd(fd) })
	return ended || err != nil // an error: we have closed it
}
