package file

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

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

// recognisable writes the new content of a file whose encoding was told from its words.
// Characters that make it be taken for another encoding next time are refused, since what
// is written then would be in that one.
func recognisable(f text, now string) ([]byte, error) {
	data, err := encode(now, f.encoding)
	if err != nil {
		return nil, err
	}
	head, tail := changed(f.data, data)
	if asciiBytes(data[head : len(data)-tail]) {
		return data, nil
	}
	if again, enc, err := decode(data); err == nil && enc >= oneByte && again != now {
		return nil, fmt.Errorf("the file is written in %s, and with these characters it would be taken for %s", f.encoding, enc)
	}
	return data, nil
}

func asciiBytes(data []byte) bool {
	return !slices.ContainsFunc(data, func(c byte) bool { return c >= utf8.RuneSelf })
}

// noCharacter says that a file cannot have a character.
func noCharacter(e encoding, r rune) error {
	if e == unknown {
		return fmt.Errorf("the file is not UTF-8 and its encoding cannot be told, so only ASCII can be written, and not %q (%U)", r, r)
	}
	if len(e.tables()) > 1 {
		return fmt.Errorf("the file is written in %s, which do not have the same byte for %q (%U)", e, r, r)
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
