package file

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// encoding is how a file writes its characters.
type encoding int

const (
	utf8Plain encoding = iota
	utf8BOM
	utf16Little
	utf16Big
	utf16LittleBare // without a byte order mark
	utf16BigBare
	// unknown is shown as Windows-1252, where every byte is a character: a text in another
	// encoding is shown wrongly but is kept byte for byte. Only ASCII can be written.
	unknown
	// windows1252 is Latin-1 with printable characters in place of the second set of
	// controls.
	windows1252 = oneByte
)

func (e encoding) String() string {
	if e >= oneByte {
		return e.names()
	}
	return [...]string{
		"UTF-8", "UTF-8 with a byte order mark", "UTF-16 (little-endian)", "UTF-16 (big-endian)",
		"UTF-16 (little-endian) without a byte order mark", "UTF-16 (big-endian) without a byte order mark",
		"an encoding that cannot be told",
	}[e]
}

// named is what is said of the encoding of a file, with a blank before it: nothing of
// the usual one.
func (e encoding) named() string {
	switch {
	case e == utf8Plain, e == utf8BOM:
		return ""
	case e >= oneByte:
		return fmt.Sprintf(" (not UTF-8; taken for %s)", e)
	case e == unknown:
		return " (not UTF-8; the encoding cannot be told, so characters other than ASCII are shown wrongly)"
	}
	return fmt.Sprintf(" (in %s)", e)
}

// mark is how many bytes the byte order mark of UTF-16 takes.
func (e encoding) mark() int {
	if e == utf16Little || e == utf16Big {
		return 2
	}
	return 0
}

var errBinary = errors.New("it is not a text file")

// sniffed is how much of a file is read to decide whether it is text.
const sniffed = 8000

// decode reads a text, whatever encoding it has, so that encode gives the same
// bytes. Data that is not text is errBinary.
func decode(data []byte) (string, encoding, error) {
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) && utf8.Valid(data):
		return string(data[3:]), utf8BOM, nil
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		return decode16(data, utf16Little)
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		return decode16(data, utf16Big)
	}
	if enc, ok := unmarked16(data); ok {
		return decode16(data, enc)
	}
	switch {
	case looksBinary(data[:min(len(data), sniffed)]):
		return "", 0, errBinary
	case utf8.Valid(data):
		return string(data), utf8Plain, nil
	}
	return decodeBytes(data)
}

// decodeBytes reads a text in an encoding with one byte for a character. Only UTF-8
// may have control characters: nearly all data has some byte that is not UTF-8.
func decodeBytes(data []byte) (string, encoding, error) {
	if bytes.ContainsFunc(data, control) {
		return "", 0, errBinary
	}
	enc := recognise(data)
	var b strings.Builder
	b.Grow(len(data) + len(data)/8)
	for _, c := range data {
		b.WriteRune(enc.character(c))
	}
	return b.String(), enc, nil
}

// control reports a character that text does not have.
func control(c rune) bool {
	return c < 0x09 || c >= 0x0e && c < 0x20 || c == 0x7f
}

// looksBinary tells data from text: text has no NUL, and few control
// characters.
func looksBinary(data []byte) bool {
	controls := 0
	for _, c := range data {
		switch {
		case c == 0:
			return true
		case c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != '\v' && c != 0x1b && c != '\b':
			controls++
		}
	}
	return controls*10 > len(data)
}

// encode writes a text. The error names a character that the encoding has not.
func encode(text string, e encoding) ([]byte, error) {
	switch e {
	case utf8Plain:
		return []byte(text), nil
	case utf8BOM:
		return []byte("\xef\xbb\xbf" + text), nil
	case utf16Little, utf16LittleBare:
		return encode16(text, binary.LittleEndian, e), nil
	case utf16Big, utf16BigBare:
		return encode16(text, binary.BigEndian, e), nil
	}
	return encodeBytes(text, e)
}

func encode16(text string, order binary.AppendByteOrder, e encoding) []byte {
	out := make([]byte, 0, 2*len(text)+2)
	if e.mark() > 0 {
		out = order.AppendUint16(out, 0xfeff)
	}
	for _, unit := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, unit)
	}
	return out
}

func encodeBytes(text string, e encoding) ([]byte, error) {
	out := make([]byte, 0, len(text))
	for _, r := range text {
		c, ok := e.byteOf(r)
		if !ok {
			return nil, noCharacter(e, r)
		}
		out = append(out, c)
	}
	return out, nil
}

// crlf reports whether most lines of a text end as on Windows.
func crlf(text string) bool {
	pairs := strings.Count(text, "\r\n")
	return pairs > 0 && 2*pairs >= strings.Count(text, "\n")
}

// ends converts what a model wrote to the line ends of the file.
func ends(s string, windows bool) string {
	if !windows {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n")
}

// splitLines returns the lines without their ends. A text that ends in a line
// end has no empty line after it.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
	}
	return lines
}
