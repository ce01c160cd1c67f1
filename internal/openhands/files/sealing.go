package files

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ohgw/ohgw/internal/fernet"
	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/openhands/shape"
	"github.com/ohgw/ohgw/internal/secret"
)

// Sealing is how secrets are read from files and requests, and how they are written. It is
// safe for concurrent use.
type Sealing struct {
	cfg   *Config
	plain sync.Once // that secrets are not encrypted is said once
}

func (s *Sealing) reader() shape.Reader { return shape.Reader{Open: s.open, Now: s.cfg.Now} }

// read reads an object; what cannot be decrypted counts as missing.
func (s *Sealing) read(o *shape.Object, v jsonedit.Value) (shape.Tree, []pydantic.Fault) {
	return s.reader().Read(o, v)
}

// readJSON is read for what comes from a client or was merged.
func (s *Sealing) readJSON(o *shape.Object, data []byte) (shape.Tree, []pydantic.Fault, error) {
	doc, err := jsonedit.Parse(data)
	if err != nil || doc.Irregular().NaN {
		return nil, nil, &openhands.Error{Kind: openhands.Malformed, Msg: "The value is not JSON."}
	}
	tree, faults := s.read(o, doc.Root())
	return tree, faults, nil
}

func (s *Sealing) open(token string) (secret.Value, error) {
	text, err := s.Unseal(token)
	return secret.New(text), err
}

// Unseal decrypts a secret that was encrypted for a client or in a file.
func (s *Sealing) Unseal(token string) (string, error) {
	if !s.cfg.Wire.IsZero() {
		if plain, err := s.cfg.Wire.Decrypt(token); err == nil {
			return string(plain), nil
		}
	}
	value, _, err := s.cfg.Ciphers.Decrypt(token)
	if err != nil {
		return "", fmt.Errorf("decrypt a secret: %w", err)
	}
	return value.Reveal(), nil
}

// atRest is how secrets are written into files.
func (s *Sealing) atRest() shape.Show {
	key, ok := s.cfg.Profiles.SealingKey()
	if !ok {
		return s.inClear
	}
	return s.sealWith(key)
}

// inClear shows a secret as it is, and says so in the log.
func (s *Sealing) inClear(v secret.Value) (string, error) {
	text, err := shape.Plain(v)
	if text != "" {
		s.plain.Do(func() {
			s.cfg.Log.Warn("secrets are stored in clear text; set OH_SECRET_KEY to have them encrypted", "directory", s.cfg.Profiles.Base())
		})
	}
	return text, err
}

func (s *Sealing) sealWith(key fernet.Key) shape.Show {
	return func(v secret.Value) (string, error) {
		return key.Encrypt([]byte(v.Reveal()), s.cfg.Now().Truncate(time.Second), rand.Reader)
	}
}

// show returns how secrets are shown to a client.
func (s *Sealing) show(e openhands.Exposure) (shape.Show, error) {
	switch e {
	case openhands.Encrypted:
		key, ok := s.cfg.Profiles.SealingKey()
		if !ok {
			key = s.cfg.Wire
		}
		if key.IsZero() {
			return nil, &openhands.Error{
				Kind: openhands.NoKey,
				Msg:  "Encryption not available: OH_SECRET_KEY is not configured. Cannot return encrypted secrets.",
			}
		}
		return s.sealWith(key), nil
	case openhands.Clear:
		return shape.Plain, nil
	}
	return shape.Masked, nil
}

// exposed is a tree as a client sees it.
func exposed(t shape.Tree, show shape.Show) (map[string]any, error) {
	shown, err := shape.Expose(t, show)
	if err != nil {
		return nil, fmt.Errorf("encrypt secrets: %w", err)
	}
	out, _ := shown.(map[string]any)
	return out, nil
}

// encode is a value of a tree as it is written into a file.
func encode(value any, show shape.Show) ([]byte, error) {
	shown, err := shape.Expose(value, show)
	if err != nil {
		return nil, fmt.Errorf("encrypt secrets: %w", err)
	}
	data, err := json.Marshal(shown)
	if err != nil {
		return nil, errors.New("a value cannot be encoded")
	}
	return jsonedit.ASCII(data), nil
}
