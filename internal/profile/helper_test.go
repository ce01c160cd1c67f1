package profile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/fernet"
	"github.com/ohgw/ohgw/internal/profile"
)

// The secret and the key of the fixtures, and that key encrypted with it.
const (
	fixtureSecret = "ohgw-example-secret-key-0001"
	fixtureKey    = "sk-example-not-a-real-key-0123456789"
	fixtureToken  = "gAAAAABpVbkAAAECAwQFBgcICQoLDA0OD4V2gXe4gKjk4-c8purNrPlrdfZ4gmm__omhIRYonYrHWaY-0GWSOxLeQCjVjuchCDHcTS81JnT8yOc1QdzIW9t75VV5LevLcDXIUm-e-cJ9"
	// foreignToken is a token with a damaged signature, which looks like one
	// of another secret.
	foreignToken = "gAAAAABpVbkAEBESExQVFhcYGRobHB0eH5-1DraCaCafjvuYRPex_vJ6vU8QRqZtByoN30WuxkHHKQcJ7bL8Uqw59OAQD4ZrNA=="
)

const proxyURL = "https://llm-proxy.app.all-hands.dev/"

// store is a base directory with some files.
type store struct {
	*profile.Store
	base string
	t    *testing.T
}

func newStore(t *testing.T, files map[string]string) store {
	t.Helper()
	base := filepath.Join(t.TempDir(), "base")
	for rel, content := range files {
		write(t, filepath.Join(base, rel), content)
	}
	return store{profile.Open(profile.Config{Base: base, Ciphers: ciphers()}), base, t}
}

// ciphers know the secret of the fixtures.
func ciphers() *profile.Ciphers {
	return profile.FindCiphers(profile.CipherSources{
		Given:     &profile.Cipher{Source: "test", Key: fernet.NewKey(fixtureSecret)},
		LookupEnv: environ(nil),
	})
}

func (s store) path(rel string) string { return filepath.Join(s.base, rel) }

func (s store) read(rel string) string {
	s.t.Helper()
	content, err := os.ReadFile(s.path(rel))
	must(s.t, err)
	return string(content)
}

// want compares the content of a file.
func (s store) want(rel, content string) {
	s.t.Helper()
	if diff := cmp.Diff(content, s.read(rel)); diff != "" {
		s.t.Errorf("%s (-want +got):\n%s", rel, diff)
	}
}

func (s store) gone(rel string) {
	s.t.Helper()
	if _, err := os.Lstat(s.path(rel)); err == nil {
		s.t.Errorf("%s is there", rel)
	}
}

func environ(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

func write(t *testing.T, path, content string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte(content), 0o600))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func now() time.Time { return time.Unix(1767225600, 0) }

// noKey fails when a text has a key of the fixtures in it.
func noKey(t *testing.T, what, out string) {
	t.Helper()
	for _, leak := range []string{fixtureKey, fixtureToken, fixtureSecret, "hidden-"} {
		if strings.Contains(out, leak) {
			t.Errorf("%s shows a secret: %s", what, out)
		}
	}
}
