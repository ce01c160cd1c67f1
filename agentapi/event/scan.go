package event

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Head is what an event says of itself, whatever its kind.
type Head struct{ ID, Kind, Source, Timestamp string }

// Glance reads the head of an event without decoding the rest. It returns false if data
// is not an event.
func Glance(data []byte) (Head, bool) {
	h, kind, ok := scan(data)
	if ok {
		return Head{h.ID, kind, h.Source, h.Timestamp}, true
	}
	var e Event // in a form that the scanner leaves to the decoder
	if e.UnmarshalJSON(data) != nil {
		return Head{}, false
	}
	return Head{e.ID, e.Kind(), e.Source, e.Timestamp}, true
}

// scan finds the header and the kind in the text of an event without decoding
// the rest, which the body does. It is false for what it cannot make sense of,
// JSON or not; it does not check the parts that it skips.
func scan(data []byte) (h header, kind string, ok bool) {
	s := scanner{data: data}
	if !s.takeByte('{') {
		return h, "", false
	}
	for !s.takeByte('}') {
		name, isText := s.text()
		if !isText || !s.takeByte(':') {
			return h, "", false
		}
		var into *string
		switch string(name) {
		case "id":
			into = &h.ID
		case "timestamp":
			into = &h.Timestamp
		case "source":
			into = &h.Source
		case "parent_id":
			into = &h.ParentID
		case "kind":
			into = &kind
		default:
			s.skip()
		}
		if into != nil && !s.textOrNull(into) {
			return h, "", false
		}
		if !s.takeByte(',') && !s.at('}') {
			return h, "", false
		}
	}
	return h, kind, s.rest()
}

// scanner walks through a JSON object.
type scanner struct {
	data []byte
	pos  int
}

func (s *scanner) blanks() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

func (s *scanner) at(c byte) bool {
	s.blanks()
	return s.pos < len(s.data) && s.data[s.pos] == c
}

func (s *scanner) takeByte(c byte) bool {
	if !s.at(c) {
		return false
	}
	s.pos++
	return true
}

// rest reports whether there is nothing more.
func (s *scanner) rest() bool {
	s.blanks()
	return s.pos == len(s.data)
}

// text reads the string that comes next.
func (s *scanner) text() ([]byte, bool) {
	if !s.at('"') {
		return nil, false
	}
	start := s.pos
	if !s.string() {
		return nil, false
	}
	raw := s.data[start:s.pos]
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return raw[1 : len(raw)-1], true
	}
	var plain string
	err := json.Unmarshal(raw, &plain)
	return []byte(plain), err == nil
}

// string skips a string, at whose first quotation mark it is.
func (s *scanner) string() bool {
	for s.pos++; s.pos < len(s.data); s.pos++ {
		switch s.data[s.pos] {
		case '\\':
			s.pos++
		case '"':
			s.pos++
			return true
		}
	}
	return false
}

// textOrNull reads a string into a variable, and leaves it alone for null.
func (s *scanner) textOrNull(into *string) bool {
	if value, ok := s.text(); ok {
		*into = string(value)
		return true
	}
	s.blanks()
	rest, ok := bytes.CutPrefix(s.data[s.pos:], []byte("null"))
	s.pos = len(s.data) - len(rest)
	return ok
}

// skip passes over a value, as far as it is one.
func (s *scanner) skip() {
	s.blanks()
	for depth := 0; s.pos < len(s.data); s.pos++ {
		switch s.data[s.pos] {
		case '"':
			if !s.string() {
				return
			}
			s.pos-- // the loop passes the mark
		case '{', '[':
			depth++
		case '}', ']', ',':
			if depth == 0 {
				return
			}
			if s.data[s.pos] != ',' {
				depth--
			}
		}
	}
}
