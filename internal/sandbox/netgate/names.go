package netgate

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
)

// maxMessage is the largest question that is read. A question needs 271 bytes and
// its options.
const maxMessage = 4096

// answerTTL is short: an address is free for another name when its name was not
// used for a long time.
const answerTTL = 1

// serveUDP answers questions until the socket is closed. It answers by itself, so
// one goroutine is enough.
func (g *Gate) serveUDP(conn net.PacketConn) {
	buffer := make([]byte, maxMessage)
	for {
		n, from, err := conn.ReadFrom(buffer)
		if err != nil {
			if g.ctx.Err() == nil {
				g.cfg.Logger.Warn("the sandbox's resolver has ended", "err", err)
			}
			return
		}
		if reply := answer(buffer[:n], g.names); reply != nil {
			if _, err := conn.WriteTo(reply, from); err != nil && g.ctx.Err() == nil {
				g.cfg.Logger.Debug("the sandbox's resolver cannot answer", "err", err)
			}
		}
	}
}

// serveTCP answers the questions of one connection, each with its length in front.
func (g *Gate) serveTCP(conn net.Conn) {
	var size [2]byte
	for {
		if conn.SetDeadline(after(helloLimit)) != nil {
			return
		}
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		message := make([]byte, min(int(binary.BigEndian.Uint16(size[:])), maxMessage+1))
		if len(message) > maxMessage {
			return
		}
		if _, err := io.ReadFull(conn, message); err != nil {
			return
		}
		reply := answer(message, g.names)
		if reply == nil {
			return
		}
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)); err != nil {
			return
		}
	}
}

// answer writes the reply to one message, or nil if it deserves none. It never asks
// another resolver.
func answer(message []byte, known *names) []byte {
	var parser dnsmessage.Parser
	asked, err := parser.Start(message)
	if err != nil || asked.Response {
		return nil
	}
	header := dnsmessage.Header{
		ID: asked.ID, Response: true, OpCode: asked.OpCode,
		RecursionDesired: asked.RecursionDesired, RecursionAvailable: true,
	}
	if asked.OpCode != 0 {
		header.RCode = dnsmessage.RCodeNotImplemented
		return pack(dnsmessage.Message{Header: header})
	}
	question, err := parser.Question()
	if err != nil {
		header.RCode = dnsmessage.RCodeFormatError
		return pack(dnsmessage.Message{Header: header})
	}
	if _, err := parser.Question(); err == nil {
		header.RCode = dnsmessage.RCodeFormatError // two questions have no one answer
		return pack(dnsmessage.Message{Header: header})
	}
	reply := dnsmessage.Message{Header: header, Questions: []dnsmessage.Question{question}}
	reply.RCode, reply.Answers = resolve(question, known)
	return pack(reply)
}

func pack(m dnsmessage.Message) []byte {
	packed, err := m.Pack()
	if err != nil {
		return nil
	}
	return packed
}

// resolve answers one question. Names have IPv4 addresses only, so that a
// connection says by its address which name it is for.
func resolve(q dnsmessage.Question, known *names) (dnsmessage.RCode, []dnsmessage.Resource) {
	if q.Class != dnsmessage.ClassINET {
		return dnsmessage.RCodeRefused, nil
	}
	const svcb, https = dnsmessage.Type(64), dnsmessage.Type(65) // RFC 9460
	switch q.Type {
	case dnsmessage.TypeA, dnsmessage.TypeAAAA, svcb, https:
	default:
		return dnsmessage.RCodeRefused, nil
	}
	name := strings.TrimSuffix(strings.ToLower(q.Name.String()), ".")
	addr := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	if name != "localhost" && !strings.HasSuffix(name, ".localhost") {
		host, err := netpolicy.ParseHost(name)
		if err != nil || host.Name == "" {
			return dnsmessage.RCodeNameError, nil
		}
		if q.Type == dnsmessage.TypeA {
			addr = known.address(host.Name)
		}
	}
	if q.Type != dnsmessage.TypeA {
		return dnsmessage.RCodeSuccess, nil
	}
	return dnsmessage.RCodeSuccess, []dnsmessage.Resource{{
		Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: answerTTL},
		Body:   &dnsmessage.AResource{A: addr.As4()},
	}}
}

// names gives each name an address of 127.1.0.0/16. When it is full, the name that
// was not used for the longest time loses its address. An address goes to another
// name only after all the others were given out.
type names struct {
	mu     sync.Mutex
	limit  int
	next   uint16
	byName map[string]*used
	byAddr map[uint16]*used
	oldest used // the ring of all, the least recently used behind it
}

// used is one name. It is in a ring: removing and moving takes the same time for
// every number of names.
type used struct {
	name          string
	host          uint16
	before, after *used
}

func newNames(limit int) *names {
	n := &names{limit: limit, byName: map[string]*used{}, byAddr: map[uint16]*used{}}
	n.oldest.before, n.oldest.after = &n.oldest, &n.oldest
	return n
}

// address returns the address of a name, which gets one if it has none. Over the
// limit the name that was used longest ago loses its address.
func (n *names) address(name string) netip.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	u := n.byName[name]
	if u == nil {
		if len(n.byName) >= n.limit {
			last := n.oldest.after
			last.unlink()
			delete(n.byName, last.name)
			delete(n.byAddr, last.host)
		}
		u = &used{name: name, host: n.free()}
		n.byName[name], n.byAddr[u.host] = u, u
	} else {
		u.unlink()
	}
	u.link(&n.oldest)
	return netip.AddrFrom4([4]byte{127, 1, byte(u.host >> 8), byte(u.host)})
}

// free finds the next address without a name. 127.1.0.0 and 127.1.255.255 are never
// given out.
func (n *names) free() uint16 {
	for {
		n.next++
		if n.next != 0 && n.next != 0xffff && n.byAddr[n.next] == nil {
			return n.next
		}
	}
}

// name finds the name of an address, and counts it as used.
func (n *names) name(addr netip.Addr) (string, bool) {
	if !addr.Is4() {
		return "", false
	}
	b := addr.As4()
	n.mu.Lock()
	defer n.mu.Unlock()
	u := n.byAddr[uint16(b[2])<<8|uint16(b[3])]
	if u == nil || b[0] != 127 || b[1] != 1 {
		return "", false
	}
	u.unlink()
	u.link(&n.oldest)
	return u.name, true
}

// link makes a name the most recently used one of a ring.
func (u *used) link(ring *used) {
	u.before, u.after = ring.before, ring
	ring.before.after, ring.before = u, u
}

func (u *used) unlink() {
	u.before.after, u.after.before = u.after, u.before
}
