//go:build e2e && linux

package sandbox_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// heard is what listeners outside have got.
type heard struct {
	mu      sync.Mutex
	change  *sync.Cond
	from    []string // "listener: bytes"
	pending int      // connections that are read
}

func newHeard() *heard {
	h := &heard{}
	h.change = sync.NewCond(&h.mu)
	return h
}

func (h *heard) add(listener, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.from = append(h.from, listener+": "+text)
	h.change.Broadcast()
}

// read counts the connections that are being read.
func (h *heard) read(change int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pending += change
	h.change.Broadcast()
}

// wait waits until the text was heard, and everything before it.
func (h *heard) wait(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.pending > 0 || !slices.ContainsFunc(h.from, func(from string) bool { return strings.Contains(from, text) }) {
		h.change.Wait()
	}
}

// has reports whether the token was heard.
func (h *heard) has(token string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, text := range h.from {
		if strings.Contains(text, token) {
			return true
		}
	}
	return false
}

// all is everything that was heard.
func (h *heard) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.from...)
}

// answer is what every listener says.
const answer = "HTTP/1.1 200 canary\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

// accept serves a listener: a connection alone is something that was heard.
func (h *heard) accept(name string, ln net.Listener) {
	for {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		h.read(1)
		go func() {
			defer h.read(-1)
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(time.Second))
			data := make([]byte, 4096)
			n, _ := conn.Read(data)
			h.add(name, "connection "+string(data[:n]))
			_, _ = conn.Write([]byte(answer))
		}()
	}
}

func (h *heard) receive(name string, conn net.PacketConn) {
	data := make([]byte, 64<<10)
	for {
		n, from, err := conn.ReadFrom(data)
		if err != nil {
			return
		}
		h.add(name, "packet "+string(data[:n]))
		if reply := resolve(data[:n]); reply != nil {
			_, _ = conn.WriteTo(reply, from)
		}
	}
}

// resolve answers every question for a name with addresses of this machine; nil if packet
// is not such a question.
func resolve(packet []byte) []byte {
	var m dnsmessage.Message
	if err := m.Unpack(packet); err != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	for _, address := range [][4]byte{{127, 0, 0, 1}, {11, 22, 33, 44}} {
		if q.Type == dnsmessage.TypeA {
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}, Body: &dnsmessage.AResource{A: address},
			})
		}
	}
	reply, err := m.Pack()
	if err != nil {
		return nil
	}
	return reply
}

// settle waits until everything that was sent so far has been heard: one more
// message to each listener comes after it.
func (w *world) settle() {
	w.t.Helper()
	w.flushed++
	for i, at := range w.listeners {
		text := fmt.Sprintf("flush-%d-%d.", w.flushed, i)
		conn, err := net.Dial(at[0], at[1])
		if err != nil {
			w.t.Fatal(err)
		}
		if _, err := conn.Write([]byte(text)); err != nil {
			w.t.Fatal(err)
		}
		w.heard.wait(text)
		conn.Close()
	}
}

// listen opens all canaries of the network.
func (w *world) listen() {
	w.t.Helper()
	w.findPublic()
	// As an owner of the port would: on all addresses of both families.
	ln, err := net.Listen("tcp", ":0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.serve("tcp", ln)
	_, w.port, _ = net.SplitHostPort(ln.Addr().String())
	w.packets("udp", ":"+w.port)
	if inNamespace() {
		for _, port := range []string{"53", "80", "443"} {
			ln, err := net.Listen("tcp4", ":"+port)
			if err != nil {
				w.t.Fatal(err)
			}
			w.serve("tcp "+port, ln)
			w.packets("udp "+port, ":"+port)
		}
	}
	for _, path := range w.sockets() {
		if !strings.HasPrefix(path, "@") {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				w.t.Fatal(err)
			}
		}
		ln, err := net.Listen("unix", path)
		if err != nil {
			w.t.Fatal(err)
		}
		w.serve(path, ln)
	}
}

// sockets are the Unix sockets of the user's services: the message bus, Docker,
// GnuPG's agent, a socket in a directory of documents, an abstract one, one in /tmp,
// and the SSH agent.
func (w *world) sockets() []string {
	return []string{
		w.run + "/bus", w.run + "/docker.sock", w.at(".gnupg/S.gpg-agent"), w.at("Documents/app.sock"), "@" + filepath.Base(w.base),
		"/tmp/" + filepath.Base(w.base) + ".sock", w.run + "/ssh-agent",
	}
}

func (w *world) serve(name string, ln net.Listener) {
	w.listeners = append(w.listeners, [2]string{ln.Addr().Network(), strings.Replace(ln.Addr().String(), "[::]", "127.0.0.1", 1)})
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.heard.accept(name, ln)
	}()
	w.t.Cleanup(func() {
		if err := ln.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			w.t.Error(err)
		}
		<-done
	})
}

func (w *world) packets(name, address string) {
	conn, err := net.ListenPacket("udp", address)
	if err != nil {
		w.t.Fatal(err)
	}
	w.listeners = append(w.listeners, [2]string{"udp", strings.Replace(conn.LocalAddr().String(), "[::]", "127.0.0.1", 1)})
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.heard.receive(name, conn)
	}()
	w.t.Cleanup(func() {
		_ = conn.Close()
		<-done
	})
}
