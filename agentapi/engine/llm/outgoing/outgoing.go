// Package outgoing makes connections that copy what is sent through the buffers of a pool.
// Those of package net make a buffer as large as the body for each request. The package does
// not know what is sent.
package outgoing

import (
	"context"
	"io"
	"net"
	"sync"
)

// conn is a connection that sends through the buffers of the pool.
type conn struct{ net.Conn }

// Dialing returns dial for connections of this package.
func Dialing(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return conn{c}, nil
	}
}

// copies are buffers of connections that send nothing at the moment.
var copies = sync.Pool{New: func() any { return new([16 << 10]byte) }}

// ReadFrom implements io.ReaderFrom.
func (c conn) ReadFrom(r io.Reader) (int64, error) {
	buf := copies.Get().(*[16 << 10]byte)
	defer copies.Put(buf)
	return io.CopyBuffer(struct{ io.Writer }{c.Conn}, r, buf[:])
}
