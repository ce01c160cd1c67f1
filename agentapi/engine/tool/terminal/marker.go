package terminal

import (
	"bytes"
	"strconv"
)

// The shell writes a marker to the terminal each time it is ready for a command. All that
// was written before it belongs to what ran before. The marker does not prove that a
// command is over (that comes by another way, which no output reaches); it only marks where
// the output ends. It has a number that no other program knows.
const markerEdge = 0x1e

// maxMarker is longer than any marker.
const maxMarker = 96

// markers finds the markers in a stream and takes them out.
type markers struct {
	prefix []byte // edge, nonce, colon
	held   []byte // what may be the beginning of one
	last   uint64 // the number of the last one
}

func newMarkers(nonce string) *markers {
	return &markers{prefix: append(append([]byte{markerEdge}, nonce...), ':')}
}

// scan returns the output in a piece, without markers. At a marker it calls
// found, after the output before it was given to out.
func (m *markers) scan(piece []byte, out func([]byte), found func()) {
	if len(m.held) > 0 {
		piece = append(m.held, piece...)
		m.held = nil
	}
	for len(piece) > 0 {
		i := bytes.IndexByte(piece, markerEdge)
		if i < 0 {
			out(piece)
			return
		}
		if i > 0 {
			out(piece[:i])
			piece = piece[i:]
		}
		n, seq, more := m.parse(piece)
		switch {
		case more:
			m.held = bytes.Clone(piece)
			return
		case n == 0:
			out(piece[:1])
			piece = piece[1:]
		default:
			m.last = seq
			found()
			piece = piece[n:]
		}
	}
}

// parse reads a marker at the start of p: its length, or that more is needed
// to know.
func (m *markers) parse(p []byte) (length int, seq uint64, more bool) {
	if len(p) < len(m.prefix) {
		return 0, 0, bytes.HasPrefix(m.prefix, p)
	}
	rest, ok := bytes.CutPrefix(p, m.prefix)
	if !ok {
		return 0, 0, false
	}
	end := bytes.IndexByte(rest, markerEdge)
	if end < 0 {
		return 0, 0, len(rest) < maxMarker
	}
	seq, err := strconv.ParseUint(string(rest[:end]), 10, 64)
	if err != nil {
		return 0, 0, false
	}
	return len(m.prefix) + end + 1, seq, false
}
