package files

import (
	"context"
	"slices"

	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/shape"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
)

// keyNames are the names of the keys that ohgw keeps itself.
func (s *LLMProfiles) keyNames(ctx context.Context) []string {
	if s.cfg.Keys == nil {
		return nil
	}
	names, err := s.cfg.Keys.List(ctx)
	if err != nil {
		s.cfg.Log.Warn("the stored keys cannot be listed", "err", err)
	}
	return names
}

// keyKept reports whether ohgw itself keeps a key for a profile.
func (s *LLMProfiles) keyKept(subject secret.Subject, names []string) bool {
	if s.cfg.Resolver == nil {
		return false
	}
	return slices.ContainsFunc(s.cfg.Resolver.Entries(subject), func(o secret.Origin) bool { return slices.Contains(names, o.Name) })
}

// keyFound is keyKept, or that an environment variable has a key for the profile: a
// conversation with it then runs.
func (s *LLMProfiles) keyFound(subject secret.Subject, names []string) bool {
	return s.cfg.Resolver != nil && s.cfg.Resolver.Locate(subject, names).Kind != secret.FromNowhere
}

// findKey reports whether a profile has a key: in its file, with ohgw, or in the
// environment. One that ohgw keeps is put into llm where e shows it. One of the
// environment is shown encrypted only, for a client that begins a conversation with it.
func (s *LLMProfiles) findKey(ctx context.Context, name string, llm shape.Tree, e openhands.Exposure) (bool, error) {
	subject, names := s.subject(name, llm), s.keyNames(ctx)
	inFile := keySet(llm)
	kept := s.keyKept(subject, names)
	found := inFile || s.keyFound(subject, names)
	if e == openhands.Masked || !kept && (inFile || !found || e == openhands.Clear) {
		return found, nil
	}
	resolved, err := s.cfg.Resolver.Resolve(ctx, subject)
	if err != nil {
		return false, &openhands.Error{Kind: openhands.Busy, Msg: "The key of profile '" + name + "' cannot be read; unlock the keyring and retry.", Err: err}
	}
	llm["api_key"] = resolved.Key
	return true, nil
}

// keepKey gives a new key to ohgw's own store where that has one for the profile: it
// would go before the one in the file.
func (s *LLMProfiles) keepKey(ctx context.Context, name string, llm shape.Tree) error {
	entry := secret.ProfileEntry(s.base, name, secret.APIKey)
	names := s.keyNames(ctx)
	if !slices.Contains(names, entry) {
		return nil
	}
	if now, err := s.read(name); err == nil && s.cfg.Resolver != nil {
		if err := s.cfg.Resolver.BindOld(ctx, s.subject(name, now), names); err != nil {
			return &openhands.Error{Kind: openhands.Busy, Msg: "The host of the key cannot be stored.", Err: err}
		}
	}
	key, ok := llm["api_key"].(secret.Value)
	if !ok {
		return nil
	}
	moved, err := s.sentBack(ctx, name, key, llm)
	if err != nil || moved {
		delete(llm, "api_key")
		return err
	}
	if err := s.cfg.Keys.Set(ctx, entry, key); err != nil {
		return &openhands.Error{Kind: openhands.Busy, Msg: "The key cannot be stored; unlock the keyring and retry.", Err: err}
	}
	if s.cfg.Resolver != nil {
		if err := s.cfg.Resolver.Bind(ctx, s.subject(name, llm)); err != nil {
			return &openhands.Error{Kind: openhands.Busy, Msg: "The host of the key cannot be stored.", Err: err}
		}
	}
	delete(llm, "api_key")
	return nil
}

// sentBack reports whether a key is the stored one, which is for another host than the
// profile is to have. A client that shows a profile sends its key back with every change,
// so the user has not asked for this: the key stays where it is, for its own host.
func (s *LLMProfiles) sentBack(ctx context.Context, name string, key secret.Value, llm shape.Tree) (bool, error) {
	if s.cfg.Resolver == nil {
		return false, nil
	}
	old, err := s.cfg.Keys.Get(ctx, secret.ProfileEntry(s.base, name, secret.APIKey))
	if err != nil || !old.Equal(key) {
		return false, nil //nolint:nilerr // the new key takes the place of what cannot be read
	}
	elsewhere := s.cfg.Resolver.Elsewhere(s.subject(name, llm), s.keyNames(ctx))
	if elsewhere != nil {
		s.cfg.Log.Warn("a stored key is not taken to another host", "profile", name, "err", elsewhere)
	}
	return elsewhere != nil, nil
}

// subject is what to look for to find the API key of a profile. A profile with a
// provider connection uses the URL of that.
func (s *LLMProfiles) subject(name string, llm shape.Tree) secret.Subject {
	subject := secret.Subject{Base: s.base, Profile: name, Model: llm.Text("model"), BaseURL: llm.Text("base_url")}
	if id := llm.Text("provider_connection_id"); id != "" {
		if conn, _, err := s.connections.find(id); err == nil && conn != nil {
			subject.BaseURL = ""
			if conn.BaseURL != nil {
				subject.BaseURL = *conn.BaseURL
			}
		}
	}
	subject.Endpoint = profile.Endpoint(subject.Model, subject.BaseURL, llm.Text("aws_bedrock_runtime_endpoint"), llm.Text("ollama_base_url"))
	return subject
}
