package secret

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ohgw/ohgw/internal/fernet"
	"github.com/ohgw/ohgw/internal/hidden"
)

// Redacted is what OpenHands writes in place of a secret that it does not show.
const Redacted = hidden.Redacted

// maxInput bounds what is read as a key. The longest that are in use, tokens of
// identity providers, have some thousand characters.
const maxInput = 64 << 10

// The ways in which an input is not a key.
var (
	ErrEmpty     = errors.New("the key is empty")
	ErrNotOneKey = errors.New("the key contains a line break, a space or a control character")
	ErrMasked    = errors.New("the value is the mask that replaces a key, not the key")
	ErrEncrypted = errors.New("the value is an encrypted key; only OpenHands with its secret can use it")
)

// Read reads a key from a file or a pipe. Blanks and line breaks around it are
// not part of it.
func Read(r io.Reader) (Value, error) {
	in, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err != nil {
		return Value{}, fmt.Errorf("read key: %w", err)
	}
	defer clear(in)
	if len(in) > maxInput {
		return Value{}, ErrTooBig
	}
	return Parse(string(bytes.TrimSpace(in)))
}

// Parse takes a text for a key, or reports why it is not one.
func Parse(text string) (Value, error) {
	switch {
	case text == "":
		return Value{}, ErrEmpty
	case text == Redacted:
		return Value{}, ErrMasked
	case fernet.IsToken(text):
		return Value{}, ErrEncrypted
	case !utf8.ValidString(text) || strings.ContainsFunc(text, notInKeys):
		return Value{}, ErrNotOneKey
	}
	return New(text), nil
}

func notInKeys(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) }

// The shape of keys that have no known start: a word this long with this many
// digits in it.
const (
	keyWord   = 16
	keyDigits = 3
)

// LooksLikeKey reports whether a command line argument is a key that the user
// typed where a name belongs. It is then in the history of the shell, and the user
// has to know that. Of keys without a known start it guesses by their shape, which
// commit hashes, digests and ids have, too: where such things belong, [HasKey] is the question.
func LooksLikeKey(arg string) bool {
	for _, start := range []string{"sk-", "sk_", fernet.Prefix, "AIza", "AKIA", "gsk_", "hf_", "ghp_", "github_pat_", "xai-", "r8_", "pplx-", "fw_"} {
		if strings.HasPrefix(arg, start) && len(arg) >= keyWord {
			return true
		}
	}
	for _, word := range strings.FieldsFunc(arg, func(r rune) bool { return strings.ContainsRune("-_./ ", r) }) {
		digits := strings.Count(strings.Map(digitsToZero, word), "0")
		if len(word) >= keyWord && digits >= keyDigits && digits < len(word) {
			return true
		}
	}
	return false
}

func digitsToZero(r rune) rune {
	if '0' <= r && r <= '9' {
		return '0'
	}
	return 'x'
}
