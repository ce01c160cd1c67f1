// Package uuid makes and reads the ids of conversations.
package uuid

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strings"
)

// size is the number of bytes of a UUID.
const size = 16

// ErrMalformed is returned for a text that is not a UUID.
var ErrMalformed = errors.New("not a UUID")

// New makes a random UUID (version 4), in lower case with dashes.
func New() string {
	var b [size]byte
	_, _ = rand.Read(b[:]) // never fails: the runtime ends the program first
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return format(b)
}

// Parse reads a UUID of any version, with or without dashes, in any case, and
// returns it in the form of New.
func Parse(s string) (string, error) {
	switch len(s) {
	case 2 * size:
	case 2*size + 4:
		if s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
			return "", ErrMalformed
		}
		s = strings.ReplaceAll(s, "-", "")
	default:
		return "", ErrMalformed
	}
	var b [size]byte
	if n, err := hex.Decode(b[:], []byte(s)); err != nil || n != size {
		return "", ErrMalformed
	}
	return format(b), nil
}

func format(b [size]byte) string {
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// Beginning reads the beginning of a UUID, with or without dashes, in any case. It is
// false for what none begins with, and for a whole one.
func Beginning(s string) (plain string, ok bool) {
	plain = strings.ToLower(strings.ReplaceAll(s, "-", ""))
	ok = plain != "" && len(plain) < 2*size && strings.Trim(plain, "0123456789abcdef") == "" && s[0] != '-'
	return plain, ok
}

// Begins reports whether a UUID in the form of New has that plain beginning.
func Begins(id, plain string) bool {
	return strings.HasPrefix(strings.ReplaceAll(id, "-", ""), plain)
}
