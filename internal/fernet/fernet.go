// Package fernet reads and writes the encrypted values in OpenHands' files.
//
// They are standard Fernet tokens (AES-128-CBC with PKCS#7, then HMAC-SHA-256)
// under the SHA-256 of a secret string: the first half of the hash signs, the
// second half encrypts. The secret is taken as it is, also when it looks like
// hexadecimal or like a Fernet key. No age is checked, as OpenHands checks
// none.
//
// A value that cannot be decrypted is an error of a known kind, never an empty
// string: a caller that mistakes one for the other erases the user's key.
package fernet

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Prefix is how every token starts until the year 2106. OpenHands takes any
// other non-blank value for plain text.
const Prefix = "gAAAAA"

const (
	version    = 0x80
	headerSize = 1 + 8 + aes.BlockSize // version, time, initialization vector
	minSize    = headerSize + aes.BlockSize + sha256.Size
)

// The ways in which a token is not readable.
var (
	// ErrNoKey means that there is no secret to read the token with.
	ErrNoKey = errors.New("no secret is configured")

	// ErrWrongKey means that the signature does not match: the token was made
	// with another secret, or it is damaged. The two cannot be told apart.
	ErrWrongKey = errors.New("encrypted with another secret, or damaged")

	// ErrMalformed means that this is not a Fernet token whatever the secret.
	ErrMalformed = errors.New("not a Fernet token")
)

// IsToken reports whether OpenHands takes value for an encrypted one.
func IsToken(value string) bool { return strings.HasPrefix(value, Prefix) }

// Key encrypts and decrypts. The zero Key is "no secret is configured". A Key
// does not show its bytes when it is printed.
type Key struct {
	// A function, because fmt prints the address of one whatever the verb. It
	// follows a pointer, when the Key is an unexported field of a struct.
	halves func() (sign, encrypt []byte)
}

// NewKey derives the key from a secret as OpenHands does. The empty secret is
// a secret like any other: OpenHands takes OH_SECRET_KEY="" for one.
func NewKey(secret string) Key {
	sum := sha256.Sum256([]byte(secret))
	return Key{func() (sign, encrypt []byte) { return sum[:16], sum[16:] }}
}

// IsZero reports whether k is the zero Key.
func (k Key) IsZero() bool { return k.halves == nil }

// String hides the key.
func (k Key) String() string { return "fernet.Key(REDACTED)" }

// GoString hides the key.
func (k Key) GoString() string { return k.String() }

// Encrypt makes a token that says it was made at the time at. The
// initialization vector is read from random, which must be crypto/rand.Reader
// outside tests.
func (k Key) Encrypt(plaintext []byte, at time.Time, random io.Reader) (string, error) {
	if k.IsZero() {
		return "", ErrNoKey
	}
	padding := aes.BlockSize - len(plaintext)%aes.BlockSize
	padded := append(bytes.Clone(plaintext), bytes.Repeat([]byte{byte(padding)}, padding)...)
	defer clear(padded)

	raw := make([]byte, headerSize+len(padded), headerSize+len(padded)+sha256.Size)
	raw[0] = version
	binary.BigEndian.PutUint64(raw[1:], uint64(at.Unix()))
	iv := raw[9:headerSize]
	if _, err := io.ReadFull(random, iv); err != nil {
		return "", fmt.Errorf("read random bytes: %w", err)
	}
	block, err := k.block()
	if err != nil {
		return "", err
	}
	cipher.NewCBCEncrypter(block, iv).CryptBlocks(raw[headerSize:], padded)
	return base64.URLEncoding.EncodeToString(append(raw, k.sign(raw)...)), nil
}

// Decrypt reads a token in every spelling that OpenHands reads it in.
func (k Key) Decrypt(token string) ([]byte, error) {
	body, err := k.open(token)
	if err != nil {
		return nil, err
	}
	block, err := k.block()
	if err != nil {
		return nil, err
	}
	padded := make([]byte, len(body)-headerSize)
	cipher.NewCBCDecrypter(block, body[9:headerSize]).CryptBlocks(padded, body[headerSize:])
	return unpad(padded)
}

// Verify reports whether the token was made with this key, without decrypting
// it. It returns nil, ErrNoKey, ErrWrongKey or ErrMalformed.
func (k Key) Verify(token string) error {
	_, err := k.open(token)
	return err
}

// open checks the signature and gives everything before it.
func (k Key) open(token string) ([]byte, error) {
	raw, err := decode(token)
	if err != nil {
		return nil, err
	}
	if k.IsZero() {
		return nil, ErrNoKey
	}
	body, mac := raw[:len(raw)-sha256.Size], raw[len(raw)-sha256.Size:]
	if !hmac.Equal(k.sign(body), mac) {
		return nil, ErrWrongKey
	}
	return body, nil
}

func (k Key) block() (cipher.Block, error) {
	_, encrypt := k.halves()
	return aes.NewCipher(encrypt)
}

func (k Key) sign(body []byte) []byte {
	sign, _ := k.halves()
	mac := hmac.New(sha256.New, sign)
	mac.Write(body)
	return mac.Sum(nil)
}

// decode checks the form of the token and undoes base64. Its errors never
// quote the token.
func decode(token string) ([]byte, error) {
	digits, ok := base64Digits(token)
	if !ok {
		return nil, ErrMalformed
	}
	raw, err := base64.RawURLEncoding.DecodeString(digits)
	if err != nil {
		return nil, ErrMalformed
	}
	if len(raw) < minSize || raw[0] != version || (len(raw)-minSize)%aes.BlockSize != 0 {
		return nil, ErrMalformed
	}
	return raw, nil
}

// base64Digits reads base64 as Python's decoder does, so that a token that
// OpenHands can read is readable here and the other way round: both alphabets
// are taken, characters of none are skipped, and the padding has to be there.
func base64Digits(token string) (digits string, ok bool) {
	var b strings.Builder
	pads := 0
	for _, c := range []byte(token) {
		switch {
		case c == '=':
			pads++
			continue
		case c == '+' || c == '-':
			b.WriteByte('-')
		case c == '/' || c == '_':
			b.WriteByte('_')
		case 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			b.WriteByte(c)
		default:
			continue
		}
		pads = 0
	}
	rest := b.Len() % 4
	return b.String(), rest == 0 || rest+pads >= 4
}

// unpad undoes PKCS#7. The signature has matched, so a wrong padding was
// written by a program with an error; there is no oracle to guard.
func unpad(padded []byte) ([]byte, error) {
	n := int(padded[len(padded)-1])
	if n == 0 || n > aes.BlockSize {
		return nil, ErrMalformed
	}
	plaintext, padding := padded[:len(padded)-n], padded[len(padded)-n:]
	if !bytes.Equal(padding, bytes.Repeat([]byte{byte(n)}, n)) {
		return nil, ErrMalformed
	}
	return plaintext, nil
}
