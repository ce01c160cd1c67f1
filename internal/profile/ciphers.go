package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/ohgw/ohgw/internal/fernet"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/secret"
)

// Cipher is a secret that an agent-server may encrypt with, and where it was
// found.
type Cipher struct {
	Source string // a variable, a file, an option: never the secret
	Key    fernet.Key

	// DecryptsOnly says that an agent-server of 1.57 or newer decrypts with the secret but
	// encrypts with none or with the current one: it is the secret of before a rotation,
	// or an empty one.
	DecryptsOnly bool
}

// Ciphers are the secrets that may be the right one, the likeliest first. Which
// one is right, a token tells: its signature matches. A nil *Ciphers has none.
type Ciphers struct {
	candidates []Cipher
	config     string // path of the agent-server's config file, the source of its secrets
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
	c.config = path
	c.fromConfig()
	c.fromVariable(s, "SESSION_API_KEY", false)
	c.fromVariable(s, "OH_SESSION_API_KEYS_0", false)
	c.previous(s)
	return c
}

// previousVariable has the secrets of before, as a JSON list or one in each of
// OH_PREVIOUS_SECRET_KEYS_0, _1 and so on.
const previousVariable = "OH_PREVIOUS_SECRET_KEYS"

func (c *Ciphers) previous(s CipherSources) {
	add := func(source, text string) {
		if strings.TrimSpace(text) != "" {
			c.candidates = append(c.candidates, Cipher{source, fernet.NewKey(text), true})
		}
	}
	var list []string
	if text, _ := s.LookupEnv(previousVariable); json.Unmarshal([]byte(text), &list) == nil {
		for _, text := range list {
			add(previousVariable, text)
		}
	}
	for i := 0; ; i++ {
		name := fmt.Sprintf("%s_%d", previousVariable, i)
		text, set := s.LookupEnv(name)
		if !set {
			return
		}
		add(name, text)
	}
}

// fromVariable takes a secret from the environment. OpenHands took an empty
// OH_SECRET_KEY for a secret until 1.57; launchers that set it trim it, so both count.
func (c *Ciphers) fromVariable(s CipherSources, name string, emptyCounts bool) {
	text, set := s.LookupEnv(name)
	if text != "" || set && emptyCounts {
		c.candidates = append(c.candidates, Cipher{name, fernet.NewKey(text), text == ""})
	}
}

// current is the secret that an agent-server with previous ones encrypts with. Its
// variable wins over its config file, as there.
func (c *Ciphers) current() (Cipher, bool) {
	for _, source := range []string{"OH_SECRET_KEY", c.config} {
		for _, cipher := range c.all() {
			if cipher.Source == source && !cipher.DecryptsOnly {
				return cipher, true
			}
		}
	}
	return Cipher{}, false
}

func (c *Ciphers) fromFile(path string) {
	text, err := os.ReadFile(path)
	if trimmed := strings.TrimSpace(string(text)); err == nil && trimmed != "" {
		c.candidates = append(c.candidates, Cipher{Source: path, Key: fernet.NewKey(trimmed)})
	}
	clear(text)
}

func (c *Ciphers) fromConfig() {
	src, err := os.ReadFile(c.config)
	if err != nil {
		return
	}
	doc, err := jsonedit.Parse(src)
	if err != nil {
		return
	}
	if text, ok := doc.Root().Get("secret_key").Text(); ok && text != "" {
		c.candidates = append(c.candidates, Cipher{Source: c.config, Key: fernet.NewKey(text)})
	}
	for v := range doc.Root().Get("previous_secret_keys").Elements() {
		if text, ok := v.Text(); ok && strings.TrimSpace(text) != "" {
			c.candidates = append(c.candidates, Cipher{c.config, fernet.NewKey(text), true})
		}
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

// matching is the secret to encrypt with beside these tokens: the one that a token was
// made with, or the current one if that was a previous one of the same agent-server.
func (c *Ciphers) matching(tokens []string) (Cipher, bool) {
	for _, cipher := range c.all() {
		for _, token := range tokens {
			if cipher.Key.Verify(token) != nil {
				continue
			}
			if current, ok := c.current(); ok && cipher.DecryptsOnly {
				return current, true
			}
			return cipher, true
		}
	}
	return Cipher{}, false
}
