// Package finishstream reads the message of a finish call out of the call's
// arguments while the model is still writing them.
//
// The arguments are the JSON of an object, cut into pieces anywhere: inside an
// escape, a surrogate pair, a character. A [Decoder] gives each character of
// the member "message" as soon as it is known. It never gives one that the
// whole text, decoded at once, would not have; where the text turns out not to
// be JSON it stops quietly, and the whole message is for the caller to find at
// the end of the call.
package finishstream

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Tool is the name of the tool whose calls this is for.
const Tool = "finish"

// member is the argument that is read.
const member = "message"

// maxDepth bounds how deep the values of other arguments may be nested.
const maxDepth = 1000

type state int

const (
	atStart  state = iota // before the object
	atKey                 // after { or a comma
	inKey                 // in the string of a key
	atColon               // after a key
	atValue               // after a colon
	inText                // in the string that is read
	inString              // in another string
	inScalar              // in a number, true, false, null
	inNested              // in an array or object, outside of its strings
	atComma               // after a value
	stopped               // at the end, or at what is not JSON
)

// Decoder decodes one call. The zero Decoder is ready for the first piece. It
// is not safe for concurrent use.
type Decoder struct {
	state   state
	found   bool // the member has begun
	first   bool // the object is open and has no member yet
	nesting []byte
	key     strings.Builder
	out     strings.Builder

	// Inside a string:
	escape []byte // an escape that is not complete, from the backslash on
	high   rune   // the first half of a surrogate pair
	utf    []byte // the beginning of a character
}

// Write takes the next piece of the arguments and gives what it adds to the
// message; often nothing.
func (d *Decoder) Write(piece string) string {
	d.out.Reset()
	for i := 0; i < len(piece) && d.state != stopped; i++ {
		d.step(piece[i])
	}
	return d.out.String()
}

// Found says that there is a message, if only the beginning of one.
func (d *Decoder) Found() bool { return d.found }

// Stopped says that nothing will follow: the arguments are complete, or they
// are not what they should be.
func (d *Decoder) Stopped() bool { return d.state == stopped }

func (d *Decoder) step(c byte) {
	switch d.state {
	case inKey, inText, inString:
		d.inside(c)
		return
	case inScalar:
		if isScalar(c) {
			return
		}
		d.state = atComma
	default: // white space means nothing there
	}
	if c == ' ' || c == '\t' || c == '\n' || c == '\r' {
		return
	}
	switch d.state {
	case atStart:
		d.expect(c, '{', atKey)
		d.first = true
	case atKey:
		if c == '}' && d.first {
			d.state = stopped
			return
		}
		d.key.Reset()
		d.first = false
		d.expect(c, '"', inKey)
	case atColon:
		d.expect(c, ':', atValue)
	case atValue:
		d.value(c)
	case inNested:
		d.nested(c)
	default: // atComma
		d.expect(c, ',', atKey) // anything else, } too, ends it
	}
}

func (d *Decoder) expect(c, want byte, next state) {
	d.state = stopped
	if c == want {
		d.state = next
	}
}

// value begins the value of the key.
func (d *Decoder) value(c byte) {
	wanted := d.key.String() == member
	if wanted && d.found {
		d.state = stopped // told twice: which of them counts is not known yet
		return
	}
	switch {
	case c == '"' && wanted:
		d.found, d.state = true, inText
	case c == '"':
		d.state = inString
	case c == '{' || c == '[':
		d.state = inNested
		d.nested(c)
	case isScalar(c):
		d.state = inScalar
	default:
		d.state = stopped
	}
}

// nested follows arrays and objects as far as to find their end.
func (d *Decoder) nested(c byte) {
	switch c {
	case '"':
		d.state = inString
	case '{', '[':
		if len(d.nesting) == maxDepth {
			d.state = stopped
			return
		}
		d.nesting = append(d.nesting, c+2) // the bracket that closes it
	case '}', ']':
		last := len(d.nesting) - 1
		if d.nesting[last] != c {
			d.state = stopped
			return
		}
		if d.nesting = d.nesting[:last]; last == 0 {
			d.state = atComma
		}
	}
}

// isScalar recognizes the characters that numbers, true, false and null have.
func isScalar(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == 'E' || c == '+' || c == '-' || c == '.'
}

// inside takes a byte of a string. Raw control characters stand for
// themselves: models write them, and calls with them are repaired.
func (d *Decoder) inside(c byte) {
	switch {
	case len(d.escape) > 0:
		d.escape = append(d.escape, c)
		d.unescape()
	case c == '\\':
		d.endCharacter()
		d.escape = append(d.escape, c)
	case c == '"':
		d.endCharacter()
		d.endSurrogate()
		d.endString()
	case c < utf8.RuneSelf:
		d.endCharacter()
		d.put(rune(c))
	default:
		d.utf = append(d.utf, c)
		d.characters()
	}
}

func (d *Decoder) endString() {
	switch {
	case d.state == inKey:
		d.state = atColon
	case len(d.nesting) > 0:
		d.state = inNested
	default:
		d.state = atComma
	}
}

// unescape decodes the escape if it is complete.
func (d *Decoder) unescape() {
	const unicodeLen = len(`\u0000`)
	if d.escape[1] == 'u' {
		if !isHex(d.escape[2:]) {
			d.state = stopped
		} else if len(d.escape) == unicodeLen {
			d.unit(hexValue(d.escape[2:]))
			d.escape = d.escape[:0]
		}
		return
	}
	const from, to = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	i := strings.IndexByte(from, d.escape[1])
	if i < 0 {
		d.state = stopped
		return
	}
	d.escape = d.escape[:0]
	d.put(rune(to[i]))
}

// unit takes a UTF-16 unit.
func (d *Decoder) unit(u rune) {
	if d.high != 0 {
		pair := utf16.DecodeRune(d.high, u)
		if pair != utf8.RuneError {
			d.high = 0
			d.put(pair)
			return
		}
		d.endSurrogate()
	}
	const lowSurrogate, afterSurrogates = 0xdc00, 0xe000
	switch {
	case utf16.IsSurrogate(u) && u < lowSurrogate:
		d.high = u
	case u >= lowSurrogate && u < afterSurrogates:
		d.put(utf8.RuneError)
	default:
		d.put(u)
	}
}

// endSurrogate ends half of a pair whose other half did not come.
func (d *Decoder) endSurrogate() {
	if d.high != 0 {
		d.high = 0
		d.put(utf8.RuneError)
	}
}

// characters decodes what is complete.
func (d *Decoder) characters() {
	for len(d.utf) > 0 && utf8.FullRune(d.utf) {
		r, size := utf8.DecodeRune(d.utf)
		d.utf = append(d.utf[:0], d.utf[size:]...)
		d.put(r)
	}
}

// endCharacter ends a character whose other bytes did not come.
func (d *Decoder) endCharacter() {
	for range d.utf {
		d.put(utf8.RuneError)
	}
	d.utf = d.utf[:0]
}

// put adds one decoded character to the text or to the key. What is longer than the
// key that is wanted is cut.
func (d *Decoder) put(r rune) {
	d.endSurrogate()
	switch {
	case d.state == inText:
		d.out.WriteRune(r)
	case d.state == inKey && d.key.Len() <= len(member): // longer ones are others
		d.key.WriteRune(r)
	}
}

func isHex(digits []byte) bool {
	for _, c := range digits {
		if !strings.ContainsRune("0123456789abcdefABCDEF", rune(c)) {
			return false
		}
	}
	return true
}

func hexValue(digits []byte) rune {
	var v rune
	for _, c := range digits {
		v <<= 4
		switch {
		case c <= '9':
			v |= rune(c - '0')
		default:
			v |= rune(c|0x20-'a') + 10
		}
	}
	return v
}
