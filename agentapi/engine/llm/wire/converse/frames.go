package converse

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// The framing of application/vnd.amazon.eventstream: a prelude of two lengths
// and a checksum, headers, a payload, a checksum of all. Numbers are big
// endian.
const (
	preludeLen = 12
	trailerLen = 4
	maxFrame   = 16 << 20
)

var errFrame = errors.New("malformed frame")

// frame is one message of the stream.
type frame struct {
	headers map[string]string // those that are texts
	payload []byte
}

// readFrame reads one frame. At the end of the stream it returns io.EOF.
func readFrame(r io.Reader) (frame, error) {
	var prelude [preludeLen]byte
	if _, err := io.ReadFull(r, prelude[:]); err != nil {
		return frame{}, err
	}
	total := binary.BigEndian.Uint32(prelude[0:4])
	headersLen := binary.BigEndian.Uint32(prelude[4:8])
	if crc32.ChecksumIEEE(prelude[:8]) != binary.BigEndian.Uint32(prelude[8:]) {
		return frame{}, fmt.Errorf("%w: checksum of its prelude", errFrame)
	}
	if total < preludeLen+trailerLen || total > maxFrame || headersLen > total-preludeLen-trailerLen {
		return frame{}, fmt.Errorf("%w: length %d", errFrame, total)
	}
	rest := make([]byte, total-preludeLen)
	if _, err := io.ReadFull(r, rest); err != nil {
		return frame{}, err
	}
	body := rest[:len(rest)-trailerLen]
	sum := crc32.Update(crc32.ChecksumIEEE(prelude[:]), crc32.IEEETable, body)
	if sum != binary.BigEndian.Uint32(rest[len(body):]) {
		return frame{}, fmt.Errorf("%w: checksum", errFrame)
	}
	headers, err := readHeaders(body[:headersLen])
	if err != nil {
		return frame{}, err
	}
	return frame{headers: headers, payload: body[headersLen:]}, nil
}

// The types of a header's value that have a length of their own.
const (
	typeBytes  = 6
	typeString = 7
)

// fixedLen returns the length of a value of another type.
func fixedLen(kind byte) (n int, known bool) {
	switch kind {
	case 0, 1: // true, false
		return 0, true
	case 2:
		return 1, true
	case 3:
		return 2, true
	case 4:
		return 4, true
	case 5, 8: // a number, a time
		return 8, true
	case 9: // a UUID
		return 16, true
	}
	return 0, false
}

func readHeaders(b []byte) (map[string]string, error) {
	headers := make(map[string]string)
	for len(b) > 0 {
		nameLen := int(b[0])
		if len(b) < 1+nameLen+1 {
			return nil, fmt.Errorf("%w: header", errFrame)
		}
		name, kind := string(b[1:1+nameLen]), b[1+nameLen]
		b = b[nameLen+2:]
		n, fixed := fixedLen(kind)
		if !fixed {
			if kind != typeBytes && kind != typeString || len(b) < 2 {
				return nil, fmt.Errorf("%w: header %q", errFrame, name)
			}
			n = int(binary.BigEndian.Uint16(b))
			b = b[2:]
		}
		if len(b) < n {
			return nil, fmt.Errorf("%w: header %q", errFrame, name)
		}
		if kind == typeString {
			headers[name] = string(b[:n])
		}
		b = b[n:]
	}
	return headers, nil
}
