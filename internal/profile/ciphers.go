package profile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/ohgw/ohgw/internal/fernet"
	"github.com/ohgw/ohgw/internal/profile/jsonedit"
	"github.com/ohgw/ohgw/internal/secret"
)

// Cipher is a secret that an agent-server may encrypt with, and where it was
// found.
type Cipher struct {
	Source string // a variable, a file, an option: never the secret
	Key    fernet.Key
}

// Ciphers are the secrets that may be the right one, the likeliest first. Which
// one is right, a token tells: its signature matches. A nil *Ciphers has none.
type Ciphers struct {
	candidates []Cipher
}

// CipherSources are the places where FindCiphers looks.
type CipherSources struct {
	Given     *Cipher // by the user, from a file or standard input; may be nil
	LookupEnv func(string) (string, bool)
	Bases     []string // base directories
	Dir       string   // the working directory, where an agent-server may have been started
}

// FindCiphers collects the secrets in the order in which OpenHands and its
// launchers look for them. A place that cannot be read is passed over: whether
// a secret was needed shows when a token is to be read.
func FindCiphers(s CipherSources) *Ciphers {
	c := &Ciphers{}
	if s.Given != nil {
		c.candidates = append(c.candidates, *s.Given)
	}
	c.fromVariable(s, "OH_SECRET_KEY", true)
	if path, _ := s.LookupEnv("OH_SECRET_KEY_PATH"); path != "" {
		c.fromFile(path)
	}
	for _, base := range s.Bases {
		c.fromFile(filepath.Join(base, "agent-canvas", "secret-key.txt"))
	}
	path, _ := s.LookupEnv("OPENHANDS_AGENT_SERVER_CONFIG_PATH")
	if path == "" {
		path = filepath.Join("workspace", "openhands_agent_server_config.json")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Dir, path)
	}
	c.fromConfig(path)
	c.fromVariable(s, "SESSION_API_KEY", false)
	c.fromVariable(s, "OH_SESSION_API_KEYS_0", false)
	return c
}

// fromVariable takes a secret from the environment. OpenHands takes an empty
// OH_SECRET_KEY for a secret; launchers that set it trim it, so both count.
func (c *Ciphers) fromVariable(s CipherSources, name string, emptyCounts bool) {
	text, set := s.LookupEnv(name)
	if text != "" || set && emptyCounts {
		c.candidates = append(c.candidates, Cipher{name, fernet.NewKey(text)})
	}
}

func (c *Ciphers) fromFile(path string) {
	text, err := os.ReadFile(path)
	if trimmed := strings.TrimSpace(string(text)); err == nil && trimmed != "" {
		c.candidates = append(c.candidates, Cipher{path, fernet.NewKey(trimmed)})
	}
	clear(text)
}

func (c *Ciphers) fromConfig(path string) {
	src, err := os.ReadFile(path)
	if err != nil {
		return
	}
	doc, err := jsonedit.Parse(src)
	if err != nil {
		return
	}
	if text, ok := doc.Root().Get("secret_key").Text(); ok && text != "" {
		c.candidates = append(c.candidates, Cipher{path, fernet.NewKey(text)})
	}
}

// Sources names the places that had a secret.
func (c *Ciphers) Sources() []string {
	var out []string
	for _, cipher := range c.all() {
		out = append(out, cipher.Source)
	}
	return out
}

// From is the secret of one source, such as the name of a variable.
func (c *Ciphers) From(source string) (fernet.Key, bool) {
	for _, cipher := range c.all() {
		if cipher.Source == source {
			return cipher.Key, true
		}
	}
	return fernet.Key{}, false
}

func (c *Ciphers) all() []Cipher {
	if c == nil {
		return nil
	}
	return c.candidates
}

// Decrypt reads an encrypted secret and tells whose secret it was encrypted
// with. The error is fernet.ErrNoKey without any secret, fernet.ErrWrongKey
// when none fits, or fernet.ErrMalformed.
func (c *Ciphers) Decrypt(token string) (key secret.Value, source string, err error) {
	err = fernet.Key{}.Verify(token)
	for _, cipher := range c.all() {
		var plain []byte
		plain, err = cipher.Key.Decrypt(token)
		switch {
		case err == nil && !utf8.Valid(plain):
			return secret.Value{}, "", fernet.ErrMalformed
		case err == nil:
			return secret.New(string(plain)), cipher.Source, nil
		case !errors.Is(err, fernet.ErrWrongKey):
			return secret.Value{}, "", err
		}
	}
	return secret.Value{}, "", err
}

// matching is the secret that one of these tokens was made with.
func (c *Ciphers) matching(tokens []string) (Cipher, bool) {
	for _, cipher := range c.all() {
		for _, token := range tokens {
			if cipher.Key.Verify(token) == nil {
				return cipher, true
			}
		}
	}
	return Cipher{}, false
}
