package openai

import (
	"bytes"
	"crypto/sha256"
	"hash"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// digest is the SHA-256 of the fields in canonical form: keys sorted, no white
// space, strings decoded. Left out is what says how the answer is sent
// (stream, stream_options) and what clients stamp on every attempt (metadata).
func digest(fields map[string][]byte) (sum [sha256.Size]byte) {
	c := canonical{h: sha256.New()}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		switch name {
		case "stream", "stream_options", "metadata":
			continue
		}
		c.text([]byte(name))
		c.value(fields[name])
	}
	c.h.Sum(sum[:0])
	return sum
}

// canonical writes values. Every value begins with its kind, strings and
// words with their length too, so that no two values have the same form.
type canonical struct {
	h   hash.Hash
	buf []byte
}

func (c *canonical) value(v []byte) {
	switch v[0] {
	case '{':
		c.object(v)
	case '[':
		c.h.Write(v[:1])
		_ = elements(v, func(_ int, e []byte) error {
			c.value(e)
			return nil
		})
		c.h.Write([]byte{']'})
	case '"':
		inner := v[1 : len(v)-1]
		if bytes.IndexByte(inner, '\\') >= 0 {
			c.buf, _ = appendDecoded(c.buf[:0], inner)
			inner = c.buf
		}
		c.text(inner)
	default:
		c.sized(v[0], v)
	}
}

func (c *canonical) object(v []byte) {
	type member struct {
		key   string
		value []byte
	}
	var all []member
	_ = members(v, func(key string, value []byte) error {
		all = append(all, member{key, value})
		return nil
	})
	slices.SortStableFunc(all, func(a, b member) int { return strings.Compare(a.key, b.key) })
	c.h.Write([]byte{'{'})
	for i, m := range all {
		if i+1 < len(all) && all[i+1].key == m.key {
			continue // of equal keys the last one wins
		}
		c.text([]byte(m.key))
		c.value(m.value)
	}
	c.h.Write([]byte{'}'})
}

func (c *canonical) text(s []byte) { c.sized('"', s) }

func (c *canonical) sized(kind byte, s []byte) {
	var head [24]byte
	c.h.Write(append(strconv.AppendInt(append(head[:0], kind), int64(len(s)), 10), ':'))
	c.h.Write(s)
}
