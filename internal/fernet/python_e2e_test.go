//go:build e2e

package fernet_test

import (
	"crypto/rand"
	"encoding/json"
	mrand "math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/fernet"
	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

// upstream reads a JSON list of [secret, token] and prints what OpenHands'
// own cipher makes of each: a string, or null.
const upstream = `
import json, logging, sys
logging.disable(logging.CRITICAL)
from openhands.sdk.utils.cipher import Cipher
out = []
for secret, token in json.load(open(sys.argv[1])):
    value = Cipher(secret).decrypt(token)
    out.append(None if value is None else value.get_secret_value())
print("RESULT" + json.dumps(out))
`

// Tokens of ours, and thousands of damaged ones, read the same on both sides.
func TestOpenHandsReadsTheSame(t *testing.T) {
	random := mrand.New(mrand.NewPCG(1, 2))
	var cases [][2]string
	for i := range 400 {
		secret := string(rune('a' + i%26))
		plaintext := make([]byte, random.IntN(70))
		for j := range plaintext {
			plaintext[j] = byte(' ' + random.IntN(90))
		}
		token, err := fernet.NewKey(secret).Encrypt(plaintext, time.Unix(int64(i)*10_000_000, 0), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, [2]string{secret, token})
		for range 10 {
			cases = append(cases, [2]string{secret, mutate(random, token)})
		}
	}
	dir := t.TempDir()
	content, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cases"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	var theirs []*string
	if err := json.Unmarshal(sdktest.Result(t, sdktest.Run(t, dir, upstream, "cases")), &theirs); err != nil {
		t.Fatal(err)
	}
	read := 0
	for i, c := range cases {
		ours, err := fernet.NewKey(c[0]).Decrypt(c[1])
		switch {
		case theirs[i] == nil && err == nil:
			t.Errorf("%q: we read %q, OpenHands nothing", c[1], ours)
		case theirs[i] != nil && err != nil:
			t.Errorf("%q: OpenHands reads %q, we say %v", c[1], *theirs[i], err)
		case theirs[i] != nil && *theirs[i] != string(ours):
			t.Errorf("%q: OpenHands reads %q, we %q", c[1], *theirs[i], ours)
		case err == nil:
			read++
		}
	}
	t.Logf("%d tokens, %d of them readable", len(cases), read)
}

func mutate(random *mrand.Rand, token string) string {
	inserts := []rune("=-_+/\n\r \t.A\u00e4")
	b := []rune(token)
	at := random.IntN(len(b))
	switch random.IntN(6) {
	case 0:
		b[at] = inserts[random.IntN(len(inserts))]
	case 1:
		b = append(b[:at:at], append([]rune{inserts[random.IntN(len(inserts))]}, b[at:]...)...)
	case 2:
		b = append(b[:at:at], b[at+1:]...)
	case 3:
		for len(b) > 0 && b[len(b)-1] == '=' {
			b = b[:len(b)-1]
		}
	case 4:
		b = append(b, inserts[random.IntN(len(inserts))])
	case 5:
		return mutate(random, mutate(random, token))
	}
	return string(b)
}
