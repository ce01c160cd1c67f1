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

// digest computes the SHA-256 of the fields in canonical form: keys sorted, no white
// space, strings decoded. Left out is what says how the answer is sent (stream,
// stream_options) and what clients stamp on every attempt (metadata,
// client_metadata).
func digest(fields map[string][]byte) (sum [sha256.Size]byte) {
	var c canonical
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		switch name {
		case "stream", "stream_options", "metadata", "client_metadata":
			continue
		}
		c.sized(h, '"', []byte(name))
		value, _ := c.sum(fields[name], 0)
		h.Write(value[:])
	}
	h.Sum(sum[:0])
	return sum
}

// canonical sums values, each in one pass: the sum of an object or an array is
// one of its members' sums. What is summed begins with its kind, strings and
// words with their length too, so that no two values have the same sum.
type canonical struct {
	buf    []byte
	depth  int
	hashes []hash.Hash // one for each level that is open
}

type memberSum struct {
	key string
	sum [sha256.Size]byte
}

// sum sums the value that begins at b[i], and gives the index after it.
func (c *canonical) sum(b []byte, i int) (sum [sha256.Size]byte, end int) {
	h := c.open()
	defer func() { c.depth-- }()
	switch b[i] {
	case '{':
		end = c.object(h, b, i)
	case '[':
		end = c.array(h, b, i)
	case '"':
		end = skipString(b, i)
		inner := b[i+1 : end-1]
		if bytes.IndexByte(inner, '\\') >= 0 {
			c.buf, _ = appendDecoded(c.buf[:0], inner)
			inner = c.buf
		}
		c.sized(h, '"', inner)
	default:
		end = skipValue(b, i)
		c.sized(h, b[i], b[i:end])
	}
	h.Sum(sum[:0])
	return sum, end
}

// open returns an empty hash for the next level.
func (c *canonical) open() hash.Hash {
	if c.depth == len(c.hashes) {
		c.hashes = append(c.hashes, sha256.New())
	}
	h := c.hashes[c.depth]
	c.depth++
	h.Reset()
	return h
}

func (c *canonical) array(h hash.Hash, b []byte, i int) (end int) {
	h.Write(b[i : i+1])
	for i = skipSpace(b, i+1); b[i] != ']'; {
		element, end := c.sum(b, i)
		h.Write(element[:])
		i = skipComma(b, end)
	}
	return i + 1
}

func (c *canonical) object(h hash.Hash, b []byte, i int) (end int) {
	h.Write(b[i : i+1])
	var all []memberSum
	for i = skipSpace(b, i+1); b[i] != '}'; {
		end := skipString(b, i)
		m := memberSum{key: decodeString(b[i:end])}
		m.sum, end = c.sum(b, skipSpace(b, skipSpace(b, end)+1)) // over the colon
		all = append(all, m)
		i = skipComma(b, end)
	}
	slices.SortStableFunc(all, func(a, b memberSum) int { return strings.Compare(a.key, b.key) })
	for k := range all {
		if k+1 < len(all) && all[k+1].key == all[k].key {
			continue // of equal keys the last one wins
		}
		c.sized(h, '"', []byte(all[k].key))
		h.Write(all[k].sum[:])
	}
	return i + 1
}

func (c *canonical) sized(h hash.Hash, kind byte, s []byte) {
	var head [24]byte
	h.Write(append(strconv.AppendInt(append(head[:0], kind), int64(len(s)), 10), ':'))
	h.Write(s)
}
