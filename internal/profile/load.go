package profile

import (
	"fmt"

	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/llmentry"
	"github.com/ohgw/ohgw/internal/optional"
	"github.com/ohgw/ohgw/internal/secret"
)

// Profile is a profile that was read, with the secrets that are in it.
type Profile struct {
	Summary
	LLM llmentry.LLM `json:"llm"`

	// KeyErr is why the key that is written in the profile or its connection
	// cannot be used: it cannot be decrypted. OpenHands would go on without a
	// key, or send what it cannot decrypt.
	KeyErr error `json:"-"`
}

// Subject says what to look for to find a secret of the profile.
func (p *Profile) Subject(field string) secret.Subject {
	base := optional.Or(p.LLM.BaseURL, "")
	subject := secret.Subject{
		Base: p.Base, Profile: p.Name, Model: p.LLM.Model, BaseURL: base,
		Endpoint: Endpoint(p.LLM.Model, base, optional.Or(p.LLM.AWSEndpoint, ""), optional.Or(p.LLM.OllamaBaseURL, "")),
		Field:    field, OwnOrigin: p.ownOrigin(),
	}
	member := field
	if field == secret.APIKey {
		member = llmentry.FieldAPIKey
	}
	switch own := p.LLM.Secret(member); {
	case field == secret.APIKey && p.KeyErr != nil:
		subject.Own = func() (secret.Value, error) { return secret.Value{}, p.KeyErr }
	case own != nil && !own.IsZero():
		key := *own
		subject.Own = func() (secret.Value, error) { return key, nil }
	}
	return subject
}

// Load reads a profile as OpenHands does: in its present form, with the URL and
// the key of its provider connection, keys decrypted. It returns ErrNotFound,
// ErrName, a *document.GateError, a *shape.FieldError or a *ConnectionError. A key
// that cannot be decrypted is not an error here; see Profile.KeyErr.
func (s *Store) Load(name string) (*Profile, error) {
	name, err := CleanName(name)
	if err != nil {
		return nil, err
	}
	p, err := s.load(s.file(name).Read())
	if err != nil {
		return nil, fmt.Errorf("load profile %q: %w", name, err)
	}
	return p, nil
}

func (s *Store) load(snap document.Snapshot) (*Profile, error) {
	switch {
	case snap.Missing():
		return nil, ErrNotFound
	case snap.Gate != nil:
		return nil, snap.Err()
	}
	conns := s.readConnections()
	p := &Profile{Summary: s.summarize(snap, conns)}
	active, _ := s.Active()
	p.Active = active == p.Name
	if p.Action.IsError() {
		return nil, &EntryError{p.Action}
	}
	entry := snap.Doc.Root()
	llm, err := readLLM(entry, s.cfg.Models)
	if err != nil {
		return nil, err
	}
	p.LLM = llm
	if err := p.readSecrets(entry, s.cfg.Ciphers); err != nil {
		return nil, err
	}
	if p.Connection != "" {
		return p, p.link(conns, s.cfg.Ciphers)
	}
	return p, nil
}

// EntryError says that OpenHands refuses an entry.
type EntryError struct{ Action canon.Action }

func (e *EntryError) Error() string { return e.Action.Text() }

// readSecrets decrypts what is in the entry. One of the secrets of AWS that
// cannot be decrypted is an error: the others are of no use without it.
func (p *Profile) readSecrets(entry jsonedit.Value, ciphers *Ciphers) error {
	p.LLM.APIKey, p.KeyErr = readSecret(entry.Get("api_key"), ciphers)
	for _, name := range []string{secret.AWSAccessKeyID, secret.AWSSecretAccessKey, secret.AWSSessionToken} {
		var err error
		if *p.LLM.Secret(name), err = readSecret(entry.Get(name), ciphers); err != nil {
			return fmt.Errorf("decrypt %s: %w", name, err)
		}
	}
	return nil
}

// ConnectionError says that the provider connection of a profile cannot be
// used.
type ConnectionError struct {
	ID  string
	Err error // nil when it is not there
}

func (e *ConnectionError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("provider connection not found: %q", e.ID)
	}
	return fmt.Sprintf("provider connection %q: %v", e.ID, e.Err)
}

func (e *ConnectionError) Unwrap() error { return e.Err }

// link takes the URL and the key from the connection. If the connection does not
// exist, OpenHands uses a key that is in the profile all the same.
func (p *Profile) link(conns connections, ciphers *Ciphers) error {
	if conns.err != nil {
		return &ConnectionError{p.Connection, conns.err}
	}
	conn, ok := conns.byID[p.Connection]
	if !ok {
		if p.LLM.APIKey.IsZero() {
			return &ConnectionError{ID: p.Connection}
		}
		return nil
	}
	p.LLM.BaseURL = nil
	if url, ok := conn.Get("base_url").Text(); ok {
		p.LLM.BaseURL = &url
	}
	key, err := readSecret(conn.Get("api_key"), ciphers)
	if err != nil {
		return &ConnectionError{p.Connection, err}
	}
	if !key.IsZero() {
		p.LLM.APIKey, p.KeyErr = key, nil
	}
	return nil
}
