package secretenv

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/plainjson"
)

// patterns are the values that masking looks for. They are not changed.
type patterns struct {
	byFirst [][]string // by the first byte, longest first; nil without values
	any     bool
	// second has, by the first byte of a value, a bit for each byte that can follow. In most
	// texts few places pass it, although values begin with common letters.
	second [][byteValues / wordBits]uint64
}

// wordBits is how many bits a word of patterns.second has.
const wordBits = 64

// byteValues is how many values a byte has.
const byteValues = 256

func compile(values []string) *patterns {
	p := &patterns{}
	if len(values) == 0 {
		return p
	}
	p.byFirst = make([][]string, byteValues)
	p.second = make([][byteValues / wordBits]uint64, byteValues)
	all := slices.Clone(values)
	for _, v := range values {
		// A shell drops the line end of what it substitutes.
		all = append(all, strings.TrimRight(v, "\r\n"), strings.ReplaceAll(v, "\r\n", "\n"))
		if len(v) >= minForms {
			all = append(all, forms(strings.TrimRight(v, "\r\n"))...)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	for _, v := range all {
		if v == "" || slices.Contains(p.byFirst[v[0]], v) {
			continue
		}
		p.byFirst[v[0]] = append(p.byFirst[v[0]], v)
		p.any = true
		p.allow(v)
	}
	return p
}

// allow notes how a value begins. One of a single byte begins in any way.
func (p *patterns) allow(v string) {
	bits := &p.second[v[0]]
	if len(v) == 1 {
		for word := range bits {
			bits[word] = ^uint64(0)
		}
		return
	}
	bits[v[1]/wordBits] |= 1 << (v[1] % wordBits)
}

// minForms is how long a value is at least whose other forms are looked for:
// those of a short one are ordinary text.
const minForms = 8

// forms lists what tools make of a value: inside a JSON string, inside quotes of a
// shell, in a URL, and encoded with base64, alone or with a line end.
func forms(v string) []string {
	quoted, err := json.Marshal(v)
	var plain []byte
	if err == nil {
		plain, err = plainjson.Marshal(v)
	}
	list := []string{
		strings.ReplaceAll(v, "'", `'\''`), url.QueryEscape(v), url.PathEscape(v),
		strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(v)), "="),
		base64.RawURLEncoding.EncodeToString([]byte(v)),
		strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(v+"\n")), "="),
		base64.RawURLEncoding.EncodeToString([]byte(v + "\n")),
	}
	if err == nil {
		list = append(list, string(quoted[1:len(quoted)-1]), string(plain[1:len(plain)-1]))
	}
	return list
}

// beginning are the values with that first byte.
func (p *patterns) beginning(first byte) []string {
	if p.byFirst == nil {
		return nil
	}
	return p.byFirst[first]
}

// match looks at what begins at the start of text: the length of the longest
// value there, and whether a longer one could be there if more text came.
func (p *patterns) match(text []byte) (length int, more bool) {
	for _, v := range p.beginning(text[0]) {
		if len(v) <= len(text) {
			if bytes.HasPrefix(text, []byte(v)) {
				return len(v), more
			}
			continue
		}
		if strings.HasPrefix(v, string(text)) {
			more = true
		}
	}
	return 0, more
}

// occurs reports whether one of the values is in text: without one, masking changes
// nothing.
func occurs[T string | []byte](p *patterns, text T) bool {
	if !p.any || len(text) == 0 {
		return false
	}
	last := len(text) - 1
	for i := range last {
		next := text[i+1]
		if p.second[text[i]][next/wordBits]&(1<<(next%wordBits)) != 0 && isAt(p, text, i) {
			return true
		}
	}
	return isAt(p, text, last)
}

// isAt reports whether a value begins at text[i].
func isAt[T string | []byte](p *patterns, text T, i int) bool {
	for _, v := range p.byFirst[text[i]] {
		if len(v) <= len(text)-i && string(text[i:i+len(v)]) == v {
			return true
		}
	}
	return false
}

// extent is how far the values reach that begin at the start of text or inside
// one that does: overlapping values are one.
func (p *patterns) extent(text []byte, final bool) (end int, more bool) {
	for i := 0; i == 0 || i < end; i++ {
		n, more := p.match(text[i:])
		if more && !final {
			return 0, true
		}
		if n > 0 {
			end = max(end, i+n)
		}
	}
	return end, false
}

// Any reports whether there is a value to mask.
func (r *Registry) Any() bool { return r != nil && r.patterns.Load().any }

// Mask replaces every value that is known: see [Registry.Set].
func (r *Registry) Mask(s string) string {
	if r == nil || !occurs(r.patterns.Load(), s) {
		return s
	}
	m := r.Masker()
	return string(m.Write([]byte(s))) + string(m.Flush())
}

// Masker masks a text that comes in pieces, cut anywhere. It holds back the
// end of a piece for as long as that could be the beginning of a value.
type Masker struct {
	registry *Registry
	held     []byte
	shown    int // how much of held was released already
}

// Masker makes one for a new text. It knows values that are given out later,
// too.
func (r *Registry) Masker() *Masker { return &Masker{registry: r} }

// Write takes a piece and gives what can be shown. The result is valid until
// the next call.
func (m *Masker) Write(piece []byte) []byte { return m.scan(piece, false) }

// Flush returns what was held back: no more text will come.
func (m *Masker) Flush() []byte { return m.scan(nil, true) }

// Release returns what is held back if it is at most n bytes, because the reader
// waits and so little of a value tells nothing. More text may come.
func (m *Masker) Release(n int) []byte {
	if len(m.held) > n {
		return nil
	}
	out := m.held[m.shown:]
	m.shown = len(m.held)
	return out
}

func (m *Masker) scan(piece []byte, final bool) []byte {
	if m.registry == nil {
		return piece
	}
	p := m.registry.patterns.Load()
	if !p.any && len(m.held) == 0 {
		return piece
	}
	text, shown := slices.Concat(m.held, piece), m.shown
	out := make([]byte, 0, len(text))
	emit := func(from, to int) {
		if from = max(from, shown); from < to {
			out = append(out, text[from:to]...)
		}
	}
	i, from := 0, 0
	for i < len(text) {
		if p.beginning(text[i]) == nil {
			i++
			continue
		}
		end, more := p.extent(text[i:], final)
		if more {
			break
		}
		if end == 0 {
			i++
			continue
		}
		emit(from, i)
		out = append(out, Mark...)
		i += end
		from = i
	}
	emit(from, i)
	m.held, m.shown = text[i:], max(0, shown-i)
	return out
}
