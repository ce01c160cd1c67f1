package apitest

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// Pipes is a listener in memory.
type Pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// NewPipes returns a listener.
func NewPipes() *Pipes {
	return &Pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Dial connects to the listener.
func (p *Pipes) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept is [net.Listener]'s.
func (p *Pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (p *Pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr is [net.Listener]'s.
func (p *Pipes) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }

// ExchangeOn sends bytes on a new connection and reads the answer.
func ExchangeOn(t *testing.T, ln *Pipes, sent string) (net.Conn, *bufio.Reader, Response) {
	t.Helper()
	conn, err := ln.Dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() { _, _ = io.WriteString(conn, sent) }() // an answer may come before all of it was read
	r := bufio.NewReader(conn)
	method, _, _ := strings.Cut(sent, " ")
	res, err := http.ReadResponse(r, &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	return conn, r, Response{Status: res.StatusCode, Header: res.Header, Body: string(body), Close: res.Close, Err: err}
}
