package netgate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The limits of a ClientHello. With key shares of new kinds it has a few kilobytes;
// a record has a header of five bytes, and may have a single byte of content.
const (
	maxHello    = 64 << 10
	maxHelloRaw = 128 << 10
)

// hello is what the gate reads of a ClientHello.
type hello struct {
	raw        []byte // everything that was read, for the server
	serverName string // as it was sent; empty if there is none
	encrypted  bool   // an Encrypted ClientHello, or what looks like one
}

var (
	errNotTLS = errors.New("the connection is not TLS")
	errHello  = errors.New("the TLS ClientHello is malformed")
)

// readHello reads a ClientHello, in any number of records, and not a byte more than
// the record in which it ends.
func readHello(r io.Reader) (hello, error) {
	var h hello
	var message []byte
	for {
		content, err := h.record(r)
		if err != nil {
			return h, err
		}
		message = append(message, content...)
		if len(message) > 0 && message[0] != 1 {
			return h, errNotTLS
		}
		if len(message) < 4 {
			continue
		}
		size := int(message[1])<<16 | int(message[2])<<8 | int(message[3])
		if size > maxHello {
			return h, fmt.Errorf("the TLS ClientHello has %d bytes, and the limit is %d", size, maxHello)
		}
		if len(message) < 4+size {
			continue
		}
		return h, h.parse(message[4 : 4+size])
	}
}

// record reads one record of the handshake and returns its content.
func (h *hello) record(r io.Reader) ([]byte, error) {
	var head [5]byte
	// The first byte is enough to recognise another protocol, whose client may send
	// fewer than five and then wait.
	if _, err := io.ReadFull(r, head[:1]); err != nil {
		return nil, fmt.Errorf("read the TLS ClientHello: %w", err)
	}
	if head[0] != 22 {
		return nil, errNotTLS
	}
	if _, err := io.ReadFull(r, head[1:]); err != nil {
		return nil, fmt.Errorf("read the TLS ClientHello: %w", err)
	}
	size := int(binary.BigEndian.Uint16(head[3:]))
	if head[1] != 3 || size == 0 || size > 16<<10 {
		return nil, errNotTLS
	}
	if len(h.raw)+len(head)+size > maxHelloRaw {
		return nil, fmt.Errorf("the records of the TLS ClientHello have more than %d bytes", maxHelloRaw)
	}
	at := len(h.raw) + len(head)
	h.raw = append(append(h.raw, head[:]...), make([]byte, size)...)
	if _, err := io.ReadFull(r, h.raw[at:]); err != nil {
		return nil, fmt.Errorf("read the TLS ClientHello: %w", err)
	}
	return h.raw[at:], nil
}

// field is a part of a message. Reading too much of it sets wrong.
type field struct {
	rest  []byte
	wrong bool
}

func (f *field) take(n int) []byte {
	if n > len(f.rest) {
		f.rest, f.wrong = nil, true
		return nil
	}
	taken := f.rest[:n]
	f.rest = f.rest[n:]
	return taken
}

func (f *field) number(bytes int) int {
	n := 0
	for _, b := range f.take(bytes) {
		n = n<<8 | int(b)
	}
	return n
}

// vector is a part with its length in front, of 1 or 2 bytes.
func (f *field) vector(bytes int) *field {
	v := &field{rest: f.take(f.number(bytes))}
	v.wrong = f.wrong
	return v
}

// parse reads the server name and looks for an Encrypted ClientHello (RFC 8446,
// 4.1.2; RFC 6066, 3; RFC 9849).
func (h *hello) parse(message []byte) error {
	f := &field{rest: message}
	f.take(2 + 32) // version and random
	f.vector(1)    // session
	f.vector(2)    // cipher suites
	f.vector(1)    // compression
	if f.wrong {
		return errHello
	}
	if len(f.rest) == 0 {
		return nil // a hello without extensions
	}
	extensions := f.vector(2)
	if f.wrong || len(f.rest) > 0 {
		return errHello
	}
	seen := map[int]bool{}
	for len(extensions.rest) > 0 {
		kind := extensions.number(2)
		content := extensions.vector(2)
		if extensions.wrong || seen[kind] {
			return errHello
		}
		seen[kind] = true
		switch kind {
		case 0:
			if err := h.readName(content); err != nil {
				return err
			}
		case 0xfe0d:
			h.encrypted = true
		}
	}
	return nil
}

// readName reads the extension with the server name, which has exactly one.
func (h *hello) readName(content *field) error {
	list := content.vector(2)
	kind := list.number(1)
	name := list.vector(2)
	if list.wrong || kind != 0 || len(name.rest) == 0 || len(list.rest) > 0 || len(content.rest) > 0 {
		return errHello
	}
	h.serverName = string(name.rest)
	return nil
}
