package jsonedit

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ohgw/ohgw/internal/plainjson"
)

// manyNames is the number of members at which comparing each with each gets
// slower than a map. A profile has about fifty.
const manyNames = 64

// names finds a name that an object has twice.
type names struct {
	src     []byte
	escaped bool // some name is written with escapes
	few     []span
	many    map[string]bool
	small   [manyNames]span
}

// add reports whether the name was there already. Two spellings of one name are
// the same name.
func (n *names) add(key span) bool {
	if n.many != nil {
		return n.addToMap(key)
	}
	if n.few == nil {
		n.few = n.small[:0]
	}
	raw := n.src[key.start:key.end]
	n.escaped = n.escaped || bytes.IndexByte(raw, '\\') >= 0
	for _, other := range n.few {
		old := n.src[other.start:other.end]
		if bytes.Equal(raw, old) || n.escaped && nameKey(raw) == nameKey(old) {
			return true
		}
	}
	n.few = append(n.few, key)
	if len(n.few) == manyNames {
		n.many = make(map[string]bool, 2*manyNames)
		for _, k := range n.few {
			n.addToMap(k)
		}
	}
	return false
}

func (n *names) addToMap(key span) bool {
	name := nameKey(n.src[key.start:key.end])
	if n.many[name] {
		return true
	}
	n.many[name] = true
	return false
}

// nameKey is equal for spellings of one name.
func nameKey(raw []byte) string {
	name, _ := unquote(raw)
	return name
}

func nameIs(src []byte, key span, name string) bool {
	raw := src[key.start+1 : key.end-1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw) == name
	}
	return nameKey(src[key.start:key.end]) == name
}

// unquote reads a string that the scanner has accepted. It is false when a
// half of a surrogate pair stands alone. Python has such strings, so different
// ones stay different: the half is spelled as three bytes that are not UTF-8.
func unquote(raw []byte) (text string, ok bool) {
	body := raw[1 : len(raw)-1]
	if bytes.IndexByte(body, '\\') < 0 {
		return string(body), true
	}
	out, ok := make([]byte, 0, len(body)), true
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			out = append(out, body[i])
			continue
		}
		r, size := plainjson.Escape(body[i:])
		i += size - 1
		if utf16.IsSurrogate(r) {
			ok = false
			out = append(out, 0xed, byte(0x80|r>>6&0x3f), byte(0x80|r&0x3f))
			continue
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out), ok
}
