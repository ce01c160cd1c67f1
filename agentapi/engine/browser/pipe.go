package browser

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
)

// maxMessage bounds a message of Chromium. One that is longer ends it.
const maxMessage = 96 << 20

// Chromium is spoken to over two pipes and no port of this machine, so that no other
// program can control it, and so that it ends with ohgw, whatever ends that. chromedp
// speaks WebSocket, and has no other way to connect than the one dialer of gobwas/ws:
// hosts below wired are pipes in memory, and all others are dialled as ever.
const wired = ".pipe.invalid"

// wires are the connections that chromedp has not taken yet. They are in the dialer
// before main begins, so nobody who dials meanwhile sees it change.
var wires = newRegistry(&ws.DefaultDialer) //nolint:gochecknoglobals // chromedp dials by one dialer for all

type registry struct {
	others func(ctx context.Context, network, address string) (net.Conn, error)
	mu     sync.Mutex
	next   int
	open   map[string]net.Conn
}

func newRegistry(dialer *ws.Dialer) *registry {
	r := &registry{open: map[string]net.Conn{}, others: dialer.NetDial}
	if r.others == nil {
		r.others = new(net.Dialer).DialContext
	}
	dialer.NetDial = r.dial
	return r
}

// wire makes a connection for chromedp: it gets there by the address.
func (r *registry) wire() (address string, ours net.Conn) {
	ours, theirs := net.Pipe()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next++
	host := fmt.Sprintf("chromium-%d%s", r.next, wired)
	r.open[host] = theirs
	return "ws://" + host + "/", ours
}

// dial gives away the end of a connection that wire has made.
func (r *registry) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(host, wired) {
		return r.others(ctx, network, address)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	conn, ok := r.open[host]
	if !ok {
		return nil, errors.New("this pipe of Chromium is taken, or was never made")
	}
	delete(r.open, host)
	return conn, nil
}

// join passes messages on between chromedp and the pipes until one of them ends, and
// closes all.
func join(conn net.Conn, in io.WriteCloser, out io.ReadCloser) {
	end := sync.OnceFunc(func() {
		_ = conn.Close()
		_ = in.Close()
		_ = out.Close()
	})
	defer end()
	if _, err := (ws.Upgrader{}).Upgrade(conn); err != nil {
		return
	}
	go func() {
		defer end()
		for {
			message, _, err := wsutil.ReadClientData(conn)
			if err != nil {
				return
			}
			if _, err := in.Write(append(message, 0)); err != nil {
				return
			}
		}
	}()
	messages := bufio.NewScanner(out)
	messages.Buffer(make([]byte, 0, 64<<10), maxMessage)
	messages.Split(splitMessages)
	for messages.Scan() {
		if wsutil.WriteServerText(conn, messages.Bytes()) != nil {
			return
		}
	}
}

// splitMessages finds the ends of messages, which are NUL.
func splitMessages(data []byte, _ bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return i + 1, data[:i], nil
	}
	return 0, nil, nil
}

// pipes are the descriptors 3 and 4 of Chromium, and our ends of them.
func pipes() (theirs []*os.File, in io.WriteCloser, out io.ReadCloser, err error) {
	readIn, writeIn, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	readOut, writeOut, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, errors.Join(err, readIn.Close(), writeIn.Close())
	}
	return []*os.File{readIn, writeOut}, writeIn, readOut, nil
}
