//go:build e2e && unix

package scale_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"sync"
)

// line is one connection of a wire.
type line struct {
	*wire

	sql map[string]string // by the name of a prepared statement

	mu       sync.Mutex
	explicit bool     // a transaction has begun that ends with COMMIT; else each round trip is one
	last     string   // the first point of the transaction
	pending  []string // the points whose answer is awaited
}

var errGone = errors.New("the gateway died")

// there carries what the client says.
func (l *line) there(client io.Reader, server io.Writer) {
	if l.startup(client, server) != nil {
		return
	}
	for {
		kind, message, err := read(client)
		if err != nil {
			return
		}
		l.pass()
		if l.said(kind, message[5:]) != nil {
			return
		}
		if _, err := server.Write(message); err != nil {
			return
		}
	}
}

// startup carries the first message, which has no kind.
func (l *line) startup(client io.Reader, server io.Writer) error {
	var size [4]byte
	if _, err := io.ReadFull(client, size[:]); err != nil {
		return err
	}
	rest := make([]byte, binary.BigEndian.Uint32(size[:])-4)
	if _, err := io.ReadFull(client, rest); err != nil {
		return err
	}
	_, err := server.Write(append(size[:], rest...))
	return err
}

// said notes a message of the client, and may be the end of the gateway.
func (l *line) said(kind byte, body []byte) error {
	name, rest, _ := bytes.Cut(body, []byte{0})
	var point string
	switch kind {
	case 'P':
		text, _, _ := bytes.Cut(rest, []byte{0})
		l.sql[string(name)] = string(text)
		return nil
	case 'B':
		l.statements.Add(1)
		statement, _, _ := bytes.Cut(rest, []byte{0})
		point = l.pointOf(l.sql[string(statement)])
	case 'Q':
		l.statements.Add(1)
		l.trips.Add(1)
		point = l.pointOf(string(name))
	case 'S':
		l.trips.Add(1)
		point = l.synced()
	}
	if point == "" {
		return nil
	}
	if l.at("before " + point) {
		return errGone
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = append(l.pending, point)
	return nil
}

// synced is the end of a round trip, and of its transaction if that has no other end.
func (l *line) synced() (point string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.explicit || l.last == "" {
		return ""
	}
	point = l.last + " commit"
	l.last = ""
	return point
}

func (l *line) pointOf(sql string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch sql {
	case "BEGIN":
		l.explicit, l.last = true, ""
		return ""
	case "ROLLBACK":
		l.explicit, l.last = false, ""
		return ""
	case "COMMIT":
		l.explicit = false
		if l.last == "" {
			return ""
		}
		point := l.last + " commit"
		l.last = ""
		return point
	}
	for _, p := range statementPoints {
		if strings.Contains(sql, p.has) {
			if l.last == "" { // else it ends with the rest of its transaction
				l.last = p.name
			}
			return p.name
		}
	}
	return ""
}

// back carries what the server says.
func (l *line) back(server io.Reader, client io.Writer) {
	for {
		kind, message, err := read(server)
		if err != nil {
			return
		}
		l.pass()
		if kind == 'Z' {
			l.mu.Lock()
			points := l.pending
			l.pending = nil
			l.mu.Unlock()
			for _, point := range points {
				if l.at("after " + point) {
					return
				}
			}
		}
		if _, err := client.Write(message); err != nil {
			return
		}
	}
}

// read reads one message, with its kind and its size.
func read(r io.Reader) (kind byte, message []byte, err error) {
	head := make([]byte, 5)
	if _, err := io.ReadFull(r, head); err != nil {
		return 0, nil, err
	}
	message = append(head, make([]byte, binary.BigEndian.Uint32(head[1:])-4)...)
	_, err = io.ReadFull(r, message[5:])
	return head[0], message, err
}
