package file

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// western reports whether bytes that are not UTF-8 look like Windows-1252: most
// characters beyond ASCII are single ones or pairs in words of plain letters. Those of
// Chinese, Japanese and Korean encodings, and of Greek or Hebrew, stand beside each
// other. A text that is UTF-8 but for some bytes is none either.
func western(data []byte) bool {
	good, odd := 0, 0
	for i := 0; i < len(data); {
		if data[i] < utf8.RuneSelf {
			i++
			continue
		}
		end := i
		for end < len(data) && data[end] >= utf8.RuneSelf {
			end++
		}
		switch before, after := letterAt(data, i-1), letterAt(data, end); {
		case oddRun(data[i:end], before, after):
			odd++
		case before || after:
			good++
		}
		i = end
	}
	return 2*odd <= good
}

// letterAt reports whether an ASCII letter is at a place, which may be outside.
func letterAt(data []byte, i int) bool {
	return i >= 0 && i < len(data) && data[i] < utf8.RuneSelf && unicode.IsLetter(rune(data[i]))
}

// oddRun reports whether bytes beyond ASCII, and whether a plain letter is before and
// after them, are not what Windows-1252 has in words.
func oddRun(run []byte, before, after bool) bool {
	letters := 0
	for _, c := range run {
		r := windows1252.character(c)
		if r >= 0x80 && r < 0xa0 || r == 'ƒ' { // no character, or one that no word has
			return true
		}
		if unicode.IsLetter(r) {
			letters++
		}
	}
	switch {
	case utf8.Valid(run):
		return true
	case len(run) > 3:
		return true
	case letters == 0:
		return before && after && !strings.ContainsRune("’‘–—·\u00ad\u00a0", windows1252.character(run[0]))
	}
	return len(run) > 1 && !before && !after
}

// double are the encodings with two bytes for most characters, as far as it matters
// where a character ends: which bytes begin one, and which end it.
var double = []struct{ lead, trail func(c byte) bool }{
	{ // Shift_JIS
		func(c byte) bool { return c >= 0x81 && c <= 0x9f || c >= 0xe0 && c <= 0xfc },
		func(c byte) bool { return c >= 0x40 && c <= 0xfc && c != 0x7f },
	},
	{ // GBK, Big5, and the encodings of the EUC family
		func(c byte) bool { return c >= 0x81 && c <= 0xfe },
		func(c byte) bool { return c >= 0x40 && c <= 0xfe && c != 0x7f },
	},
}

// parted reports whether a place may be in the middle of a character: it is, in an
// encoding that the text can have.
func parted(data []byte, place int) bool {
	for _, enc := range double {
		within, fits := false, true
		for i := 0; i < len(data) && fits; i++ {
			if !enc.lead(data[i]) {
				continue
			}
			within = within || i+1 == place
			i++
			fits = i < len(data) && enc.trail(data[i])
		}
		if fits && within {
			return true
		}
	}
	return false
}

// changed finds the part of a text that another one has in place of a part of it: both
// begin with the same head bytes, and end with the same tail bytes.
func changed(old, now []byte) (head, tail int) {
	shorter := min(len(old), len(now))
	for head < shorter && old[head] == now[head] {
		head++
	}
	for tail < shorter-head && old[len(old)-1-tail] == now[len(now)-1-tail] {
		tail++
	}
	return head, tail
}

// untold writes the new content of a file whose encoding cannot be told: what is new is
// ASCII, and begins and ends where no character can be parted.
func untold(old []byte, now string) ([]byte, error) {
	data, err := encode(now, unknown)
	if err != nil {
		return nil, err
	}
	head, tail := changed(old, data)
	for _, c := range data[head : len(data)-tail] {
		if c >= utf8.RuneSelf {
			return nil, noCharacter(unknown, unknown.character(c))
		}
	}
	if parted(old, head) || parted(old, len(old)-tail) {
		return nil, errors.New("the file is in an encoding that cannot be told, and the edit may part a character of two bytes")
	}
	return data, nil
}

// noCharacter says that a file cannot have a character.
func noCharacter(e encoding, r rune) error {
	if e == unknown {
		return fmt.Errorf("the file is not UTF-8 and its encoding cannot be told, so only ASCII can be written, and not %q (%U)", r, r)
	}
	return fmt.Errorf("the file is written in %s, which has no character %q (%U)", e, r, r)
}

// unmarked16 recognises UTF-16 without a byte order mark, as some programs of Windows
// write it: half of the bytes of plain text are zero.
func unmarked16(data []byte) (encoding, bool) {
	if len(data) < 4 || len(data)%2 != 0 {
		return 0, false
	}
	var zero [2]int
	for i, c := range data {
		if c == 0 {
			zero[i%2]++
		}
	}
	half := len(data) / 4
	switch {
	case zero[0] == 0 && zero[1] > half:
		return utf16LittleBare, true
	case zero[1] == 0 && zero[0] > half:
		return utf16BigBare, true
	}
	return 0, false
}

// decode16 reads a text in UTF-16.
func decode16(data []byte, e encoding) (string, encoding, error) {
	if len(data)%2 != 0 {
		return "", 0, errBinary
	}
	var order binary.ByteOrder = binary.LittleEndian
	if e == utf16Big || e == utf16BigBare {
		order = binary.BigEndian
	}
	units := make([]uint16, 0, len(data)/2)
	for i := e.mark(); i < len(data); i += 2 {
		unit := order.Uint16(data[i:])
		if unit == 0 || e.mark() == 0 && control(rune(unit)) { // UTF-32, or no text
			return "", 0, errBinary
		}
		units = append(units, unit)
	}
	text := string(utf16.Decode(units))
	// Halves of pairs would be lost.
	if again, err := encode(text, e); err != nil || !bytes.Equal(again, data) {
		return "", 0, errBinary
	}
	return text, e, nil
}
