package fernet_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"github.com/ohgw/ohgw/internal/fernet"
)

// The published vectors. They were computed with Python's hashlib and hmac and
// with openssl, and equal what the cryptography library gives for the same time
// and initialization vector.
var vectors = []struct {
	name, secret, plaintext string
	time                    int64
	iv                      byte // its first byte; the others count up
	token                   string
}{
	{
		"a key", "ohgw-example-secret-key-0001", "sk-example-not-a-real-key-0123456789", 1767225600, 0x00,
		"gAAAAABpVbkAAAECAwQFBgcICQoLDA0OD4V2gXe4gKjk4-c8purNrPlrdfZ4gmm__omhIRYonYrHWaY-0GWSOxLeQCjVjuchCDHcTS81JnT8yOc1QdzIW9t75VV5LevLcDXIUm-e-cJ9",
	},
	{
		"nothing", "ohgw-example-secret-key-0001", "", 1767225600, 0x10,
		"gAAAAABpVbkAEBESExQVFhcYGRobHB0eH5-1DraCaCafjvuYRPex_vJ6vU8QRqZtByoN30WuxkHHKQcJ7bL8Uqw59OAQD4ZrNQ==",
	},
	{
		"a secret that looks like hexadecimal", strings.Repeat("0123456789abcdef", 4), "ключ-测试-🔑", 1785542400, 0x20,
		"gAAAAABqbTcAICEiIyQlJicoKSorLC0uL8ip2rlztDbRm1SpmJucDjgfXzDF11pwXiTDRPiIqN7ume6KKUjTb9g_JiTsv7QQsPAKMI_bzuH58syk29IQbgA=",
	},
}

func TestVectors(t *testing.T) {
	t.Parallel()
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			key := fernet.NewKey(v.secret)
			token, err := key.Encrypt([]byte(v.plaintext), time.Unix(v.time, 0), countingFrom(v.iv))
			if err != nil || token != v.token {
				t.Errorf("Encrypt = %q, %v; want %q", token, err, v.token)
			}
			plaintext, err := key.Decrypt(v.token)
			if err != nil || string(plaintext) != v.plaintext {
				t.Errorf("Decrypt = %q, %v; want %q", plaintext, err, v.plaintext)
			}
			if err := key.Verify(v.token); err != nil {
				t.Errorf("Verify = %v", err)
			}
			if !fernet.IsToken(v.token) {
				t.Error("IsToken = false")
			}
		})
	}
}

func TestUnreadableTokensHaveAKnownError(t *testing.T) {
	t.Parallel()
	token := vectors[0].token
	damaged := strings.Replace(vectors[1].token, "NQ==", "NA==", 1)
	secret := vectors[0].secret
	for _, tt := range []struct {
		name, token string
		key         fernet.Key
		want        error
	}{
		{"another secret", token, fernet.NewKey("other"), fernet.ErrWrongKey},
		{"the secret with a newline", token, fernet.NewKey(secret + "\n"), fernet.ErrWrongKey},
		{"a damaged signature", damaged, fernet.NewKey(secret), fernet.ErrWrongKey},
		{"no secret", token, fernet.Key{}, fernet.ErrNoKey},
		{"no secret and no token", "gAAAAAxx", fernet.Key{}, fernet.ErrMalformed},
		{"empty", "", fernet.NewKey(secret), fernet.ErrMalformed},
		{"only the prefix", "gAAAAA", fernet.NewKey(secret), fernet.ErrMalformed},
		{"a plain key", "sk-example-not-a-real-key-0123456789", fernet.NewKey(secret), fernet.ErrMalformed},
		{"without its padding", strings.TrimRight(vectors[1].token, "="), fernet.NewKey(secret), fernet.ErrMalformed},
		{"one block cut off", encode(t, token, func(b []byte) []byte { return b[:len(b)-16] }), fernet.NewKey(secret), fernet.ErrWrongKey},
		{"one byte cut off", encode(t, token, func(b []byte) []byte { return b[:len(b)-1] }), fernet.NewKey(secret), fernet.ErrMalformed},
		{"another version", encode(t, token, func(b []byte) []byte { b[0] = 0x81; return b }), fernet.NewKey(secret), fernet.ErrMalformed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			plaintext, err := tt.key.Decrypt(tt.token)
			if !errors.Is(err, tt.want) || plaintext != nil {
				t.Errorf("Decrypt = %q, %v; want %v", plaintext, err, tt.want)
			}
			if err := tt.key.Verify(tt.token); !errors.Is(err, tt.want) {
				t.Errorf("Verify = %v, want %v", err, tt.want)
			}
		})
	}
}

func TestOtherSpellingsOfATokenAreRead(t *testing.T) {
	t.Parallel()
	v := vectors[1]
	for name, token := range map[string]string{
		"trailing newline":   v.token + "\n",
		"more padding":       v.token + "=",
		"foreign characters": v.token[:40] + " .\tä" + v.token[40:],
		"inner line break":   v.token[:40] + "\r\n" + v.token[40:],
		"standard alphabet":  strings.NewReplacer("-", "+", "_", "/").Replace(v.token),
		"surrounding blanks": "  " + v.token + "\t",
	} {
		if _, err := fernet.NewKey(v.secret).Decrypt(token); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEveryPlaintextComesBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := fernet.NewKey(rapid.String().Draw(t, "secret"))
		plaintext := rapid.SliceOf(rapid.Byte()).Draw(t, "plaintext")
		at := time.Unix(rapid.Int64Range(0, 1<<32-1).Draw(t, "time"), 0)
		token, err := key.Encrypt(plaintext, at, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		got, err := key.Decrypt(token)
		if err != nil || !bytes.Equal(got, plaintext) {
			t.Fatalf("Decrypt = %q, %v", got, err)
		}
		if !fernet.IsToken(token) {
			t.Fatalf("%q does not start with the marker", token)
		}
	})
}

func TestAnyChangeOfATokenIsNoticed(t *testing.T) {
	t.Parallel()
	key := fernet.NewKey(vectors[0].secret)
	for i := range rawOf(t, vectors[0].token) {
		changed := encode(t, vectors[0].token, func(b []byte) []byte { b[i] ^= 1; return b })
		if _, err := key.Decrypt(changed); err == nil {
			t.Fatalf("a change of byte %d is not noticed", i)
		}
	}
}

func TestEncryptNeedsAKeyAndRandomBytes(t *testing.T) {
	t.Parallel()
	if _, err := (fernet.Key{}).Encrypt(nil, time.Time{}, rand.Reader); !errors.Is(err, fernet.ErrNoKey) {
		t.Errorf("without a key: %v", err)
	}
	broken := errors.New("broken")
	if _, err := fernet.NewKey("x").Encrypt(nil, time.Time{}, iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("without random bytes: %v", err)
	}
}

func TestAKeyIsNotPrinted(t *testing.T) {
	t.Parallel()
	key := fernet.NewKey(vectors[0].secret)
	in := struct{ hidden fernet.Key }{key}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, out := range []string{fmt.Sprintf(format, key), fmt.Sprintf(format, &key), fmt.Sprintf(format, in)} {
			// 29 5f are the first bytes of the hash: 41 95 in decimal.
			if strings.Contains(strings.ToLower(out), "295f") || strings.Contains(out, "41 95") || strings.Contains(out, "0x29, 0x5f") {
				t.Errorf("%s prints %s", format, out)
			}
		}
	}
}

func FuzzDecrypt(f *testing.F) {
	for _, v := range vectors {
		f.Add(v.token, v.secret)
		f.Add(v.token, "")
	}
	f.Add("gAAAAA", "x")
	f.Fuzz(func(t *testing.T, token, secret string) {
		plaintext, err := fernet.NewKey(secret).Decrypt(token)
		switch {
		case err == nil:
			if verr := fernet.NewKey(secret).Verify(token); verr != nil {
				t.Errorf("decrypted to %q, but Verify says %v", plaintext, verr)
			}
		case plaintext != nil:
			t.Errorf("both %q and %v", plaintext, err)
		case !errors.Is(err, fernet.ErrWrongKey) && !errors.Is(err, fernet.ErrMalformed):
			t.Errorf("unknown error %v", err)
		case len(token) > 8 && strings.Contains(err.Error(), token):
			t.Errorf("the error quotes the token: %v", err)
		}
	})
}

type counter byte

func (c *counter) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(*c)
		*c++
	}
	return len(p), nil
}

func countingFrom(first byte) *counter {
	c := counter(first)
	return &c
}

func rawOf(t *testing.T, token string) []byte {
	t.Helper()
	raw, err := base64.URLEncoding.DecodeString(token)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// encode returns the token with its bytes changed.
func encode(t *testing.T, token string, change func([]byte) []byte) string {
	t.Helper()
	return base64.URLEncoding.EncodeToString(change(rawOf(t, token)))
}
