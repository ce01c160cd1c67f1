// Package safe makes text from outside harmless for a terminal: what an agent,
// a model, a gateway or a clipboard says may be shown, and can neither move
// the cursor, write a clipboard, open a link, nor pretend to be other text.
//
// Control sequences are removed whole, other control characters, invisible
// ones and those that change the direction of text one by one. Invalid UTF-8
// becomes U+FFFD. Line feeds and tabs stay.
package safe

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxSequence bounds what an unfinished control sequence can swallow.
	maxSequence = 4096
	// maxMarks is how many marks may stand on one character. Languages need up
	// to four or so; more are there to write over the lines around them.
	maxMarks = 8
)

// Text cleans a whole text. See [Cleaner] for one that comes in pieces.
func Text(s string) string {
	if harmless(s) {
		return s
	}
	var c Cleaner
	return c.Clean(s) + c.Rest()
}

// Line cleans s and makes one line of it: what was white space is one space.
func Line(s string) string {
	return strings.Join(strings.Fields(Text(s)), " ")
}

// harmless reports whether s is printable ASCII, line feeds and tabs.
func harmless(s string) bool {
	for i := range len(s) {
		if b := s[i]; (b < ' ' || b > '~') && b != '\n' && b != '\t' {
			return false
		}
	}
	return true
}

// state is where a Cleaner is in a control sequence.
type state int

const (
	ground    state = iota
	escape          // after ESC
	csi             // ESC [ up to its final byte
	str             // ESC ] P X ^ _ up to its terminator
	strEscape       // ESC in one of those
)

// Cleaner cleans a text that comes in pieces, cut anywhere. The zero value is
// ready. What it gives for the pieces is what it gives for the whole.
type Cleaner struct {
	state   state
	skipped int    // runes of the sequence so far
	marks   int    // on the character before
	base    bool   // the character before is one that can be chosen or joined
	partial []byte // of a rune that the last piece cut
}

// Clean cleans the next piece.
func (c *Cleaner) Clean(piece string) string {
	if len(c.partial) == 0 && c.state == ground && c.marks == 0 && harmless(piece) {
		if piece != "" {
			c.base = piece[len(piece)-1] > ' '
		}
		return piece
	}
	if len(c.partial) > 0 {
		piece = string(c.partial) + piece
		c.partial = nil
	}
	var b strings.Builder
	b.Grow(len(piece))
	for i := 0; i < len(piece); {
		if !utf8.FullRuneInString(piece[i:]) {
			c.partial = []byte(piece[i:])
			break
		}
		r, size := utf8.DecodeRuneInString(piece[i:])
		c.rune(&b, r)
		i += size
	}
	return b.String()
}

// Rest returns what a text that ends within a character leaves.
func (c *Cleaner) Rest() string {
	n := len(c.partial)
	c.partial = nil
	return strings.Repeat(string(utf8.RuneError), n)
}

func (c *Cleaner) rune(b *strings.Builder, r rune) {
	if c.state != ground {
		c.skipped++
		if c.skip(r) {
			return
		}
	}
	switch r {
	case 0x1b:
		c.enter(escape)
	case 0x9b: // The same controls in one character.
		c.enter(csi)
	case 0x90, 0x98, 0x9d, 0x9e, 0x9f:
		c.enter(str)
	case 0x2028, 0x2029:
		c.marks, c.base = 0, false
		b.WriteByte('\n')
	default:
		c.visible(b, r)
	}
}

func (c *Cleaner) enter(s state) { c.state, c.skipped = s, 0 }

// skip reports whether r belongs to the control sequence and is gone with it.
// A sequence that does not end like one ends at the line, or at maxSequence.
func (c *Cleaner) skip(r rune) bool {
	if r == '\n' || c.skipped > maxSequence {
		c.state = ground
		return false
	}
	switch c.state {
	case escape:
		return c.skipEscape(r)
	case csi:
		if r < ' ' || r > '?' {
			c.state = ground
			return r >= '@' && r <= '~'
		}
	case str:
		c.skipString(r)
	case strEscape:
		if r != '\\' && r != 0x07 && r != 0x9c && r != 0x1b {
			c.state = ground
			return false
		}
		c.skipString(r)
	case ground:
		return false
	}
	return true
}

// skipEscape takes what follows an ESC.
func (c *Cleaner) skipEscape(r rune) bool {
	switch {
	case r == '[':
		c.state = csi
	case strings.ContainsRune("]PX^_", r):
		c.state = str
	case r >= ' ' && r <= '/': // Intermediate bytes.
	case r >= '0' && r <= '~':
		c.state = ground
	default:
		c.state = ground
		return false
	}
	return true
}

// skipString takes a character of a string for the terminal, such as a title.
func (c *Cleaner) skipString(r rune) {
	switch {
	case r == 0x07, r == 0x9c, c.state == strEscape && r == '\\':
		c.state = ground
	case r == 0x1b:
		c.state = strEscape
	}
}

func (c *Cleaner) visible(b *strings.Builder, r rune) {
	switch {
	case r == '\n', r == '\t':
		c.marks, c.base = 0, false
	case hidden(r):
		return
	case joins(r) && !c.base:
		// Emoji are joined and chosen by these; behind a space they are nothing,
		// and terminals do not agree how wide that is.
		return
	case joins(r), unicode.In(r, unicode.Mn, unicode.Me):
		c.marks++
		if c.marks > maxMarks {
			return
		}
	default:
		c.marks, c.base = 0, !unicode.IsSpace(r)
	}
	b.WriteRune(r)
}

// joins reports whether r is the zero-width joiner or chooses a variant.
func joins(r rune) bool { return r == 0x200d || r >= 0xfe00 && r <= 0xfe0f }

// hidden are runes with no look of their own that change what is around them.
func hidden(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r < 0xa0, // C0, DEL, C1
		r == 0xad, r == 0x61c, r == 0x180e, r == 0xfeff,
		r >= 0x200b && r <= 0x200f && r != 0x200d, // widthless spaces, marks of direction
		r >= 0x202a && r <= 0x202e,                // embeddings and overrides
		r >= 0x2060 && r <= 0x206f,                // isolates, invisible operators
		r >= 0xfff0 && r <= 0xfffb,                // annotations
		r >= 0xe0000 && r <= 0xe0fff:              // tags: a text that is not visible
		return true
	}
	return false
}
