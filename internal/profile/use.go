package profile

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/ohgw/ohgw/internal/fernet"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
)

// Activation is what Use did.
type Activation struct {
	Name    string   `json:"name"`
	Changed bool     `json:"changed"` // false when it was active already, with this content
	Key     KeyState `json:"key"`     // how the key is written in the settings now
	// Left are the secrets of the profile that were not copied, because they
	// would be in clear text in the settings, too: members of the entry.
	Left []string `json:"left,omitempty"`
}

// Use makes a profile the active one. As the agent-server does, it copies the
// entry into the settings, with the URL and the key of its provider connection.
// An encrypted key is copied as it is. A key in clear text is encrypted when it
// is known what the agent-server encrypts with. Otherwise it is copied only if
// the settings have one in clear text already: such an OpenHands needs it there.
//
// It returns the errors of Load, ErrLegacy, and a *SettingsError for settings that are
// newer than all that are known.
func (s *Store) Use(ctx context.Context, name string, now time.Time) (Activation, error) {
	return s.use(ctx, name, now, false)
}

// UseWithKey is Use, and copies a key in clear text in any case.
func (s *Store) UseWithKey(ctx context.Context, name string, now time.Time) (Activation, error) {
	return s.use(ctx, name, now, true)
}

func (s *Store) use(ctx context.Context, name string, now time.Time, clear bool) (Activation, error) {
	name, err := CleanName(name)
	if err != nil {
		return Activation{}, err
	}
	fail := func(err error) (Activation, error) {
		return Activation{}, fmt.Errorf("activate profile %q: %w", name, err)
	}
	snap := s.file(name).Read()
	p, err := s.load(snap)
	if err != nil {
		return fail(err)
	}
	done := Activation{Name: name}
	done.Changed, err = s.updateSettings(ctx, func(doc *jsonedit.Doc) (*jsonedit.Doc, error) {
		entry, err := s.activeEntry(p, snap)
		if err == nil {
			entry, done.Left, err = s.hideKeys(entry, doc, now, clear)
		}
		if err != nil {
			return nil, err
		}
		done.Key = keyState(entry.Root().Get("api_key"))
		return activate(doc, entry, name)
	})
	if err != nil {
		return fail(err)
	}
	return done, nil
}

// The versions of agent settings that have less than the one before.
const (
	sinceNoModifyParams = 6 // LLMs have no modify_params
	sinceNoLLMOfOthers  = 7 // agents of other programs (ACP) have no LLM
)

// activate puts the entry into the settings, as their version has it.
func activate(doc, entry *jsonedit.Doc, name string) (*jsonedit.Doc, error) {
	var err error
	agent := doc.Root().Get("agent_settings")
	version, _ := agent.Get("schema_version").Int()
	if version >= sinceNoModifyParams {
		if entry, err = entry.Delete("modify_params"); err != nil {
			return nil, err
		}
	}
	switch kind, _ := agent.Get("agent_kind").Text(); {
	case kind == "acp" && version >= sinceNoLLMOfOthers:
	case agent.Exists():
		doc, err = doc.Set(entry.Bytes(), "agent_settings", "llm")
	default:
		var agent *jsonedit.Doc
		if agent, err = jsonedit.Parse([]byte(`{"agent_kind": "openhands"}`)); err != nil {
			return nil, err
		}
		if agent, err = agent.Set(entry.Bytes(), "llm"); err != nil {
			return nil, err
		}
		doc, err = doc.Set(agent.Bytes(), "agent_settings")
	}
	if err != nil {
		return nil, err
	}
	return doc.Set(jsonedit.Quote(name), activeMember)
}

// activeEntry makes the entry that goes into the settings from the one in the
// profile.
func (s *Store) activeEntry(p *Profile, snap document.Snapshot) (*jsonedit.Doc, error) {
	entry, err := s.present(snap.Doc)
	if err != nil {
		return nil, err
	}
	drop := []string{"schema_version"}
	if p.LLM.AuthType == "subscription" {
		drop = append(drop, "api_key", "base_url", "extra_headers")
	}
	for _, name := range drop {
		if entry, err = entry.Delete(name); err != nil {
			return nil, err
		}
	}
	if conn, ok := s.readConnections().byID[p.Connection]; ok {
		return withConnection(entry, conn)
	}
	return entry, nil
}

func withConnection(entry *jsonedit.Doc, conn jsonedit.Value) (*jsonedit.Doc, error) {
	var err error
	if key := conn.Get("api_key"); keyState(key) == KeyPlain || keyState(key) == KeyEncrypted {
		if entry, err = entry.Set(key.Raw(), "api_key"); err != nil {
			return nil, err
		}
	}
	if url := conn.Get("base_url"); url.Exists() {
		return entry.Set(url.Raw(), "base_url")
	}
	return entry.Delete("base_url")
}

// hideKeys encrypts the secrets of an entry that are in clear text, if a token
// in the store shows which secret the agent-server has: encrypting with a wrong
// one would lose the key for it. Otherwise it takes them out, unless clear text
// is wanted or the settings have it already; left are those.
func (s *Store) hideKeys(entry, settings *jsonedit.Doc, now time.Time, clear bool) (out *jsonedit.Doc, left []string, err error) {
	for _, field := range secretFields() {
		if keyState(entry.Root().Get(field)) != KeyPlain {
			continue
		}
		cipher, known := s.cfg.Ciphers.matching(s.tokens(settings))
		switch {
		case known:
			key, _ := entry.Root().Get(field).Text()
			token, err := cipher.Key.Encrypt([]byte(key), now, rand.Reader)
			if err != nil {
				return nil, nil, err
			}
			entry, err = entry.Set(jsonedit.Quote(token), field)
			if err != nil {
				return nil, nil, err
			}
		case clear || keyState(settings.Root().At("agent_settings", "llm", field)) == KeyPlain:
		default:
			if entry, err = entry.Delete(field); err != nil {
				return nil, nil, err
			}
			left = append(left, field)
		}
	}
	return entry, left, nil
}

// SealingKey is what the secrets of the store are encrypted with: the key that an
// agent-server is given, or the one that has encrypted what is there already. False:
// there is none, and OpenHands writes secrets in clear text.
func (s *Store) SealingKey() (fernet.Key, bool) {
	if key, ok := s.cfg.Ciphers.From("OH_SECRET_KEY"); ok {
		return key, true
	}
	if snap := s.settings().Read(); snap.Doc != nil {
		if cipher, ok := s.cfg.Ciphers.matching(s.tokens(snap.Doc)); ok {
			return cipher.Key, true
		}
	}
	for _, cipher := range s.cfg.Ciphers.all() {
		return cipher.Key, true
	}
	return fernet.Key{}, false
}

// tokens collects the encrypted keys of the store.
func (s *Store) tokens(settings *jsonedit.Doc) []string {
	values := []jsonedit.Value{settings.Root().At("agent_settings", "llm", "api_key")}
	for _, conn := range s.readConnections().byID {
		values = append(values, conn.Get("api_key"))
	}
	if entries, err := s.readDir(); err == nil {
		for _, e := range entries {
			if snap := s.file(document.Stem(e)).ReadAs(e.Type()); snap.Doc != nil {
				values = append(values, snap.Doc.Root().Get("api_key"))
			}
		}
	}
	var tokens []string
	for _, v := range values {
		if text, ok := v.Text(); ok && fernet.IsToken(text) {
			tokens = append(tokens, text)
		}
	}
	return tokens
}
