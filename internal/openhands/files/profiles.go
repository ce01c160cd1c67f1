package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/shape"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
)

// invisible are what OpenHands leaves out of its list.
var invisible = []canon.Action{canon.ErrorName, canon.ErrorCorrupt, canon.ErrorNotObject, canon.ErrorUnreadable}

// LLMProfiles are all profiles that OpenHands lists.
func (s *Store) LLMProfiles(ctx context.Context) (openhands.LLMProfiles, error) {
	list, err := s.Profiles.List(ctx)
	if err != nil {
		return openhands.LLMProfiles{}, fmt.Errorf("list profiles: %w", err)
	}
	names := s.keyNames(ctx)
	out := openhands.LLMProfiles{Profiles: []openhands.LLMProfile{}, Active: s.load().Active}
	for _, p := range list {
		if slices.Contains(invisible, p.Action) {
			continue
		}
		if p.Connection != "" && !p.Broken {
			p.BaseURL = "" // that of the connection, which is not the profile's
		}
		out.Profiles = append(out.Profiles, openhands.LLMProfile{
			Name: p.Name, Model: orNil(p.Model), BaseURL: orNil(p.BaseURL), Connection: orNil(p.Connection), Broken: p.Broken,
			KeySet: p.Key == profile.KeyPlain || p.Key == profile.KeyEncrypted || s.keyFound(p.Subject(), names),
		})
	}
	return out, nil
}

func orNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// keyNames are the names of the keys that ohgw keeps itself.
func (s *Store) keyNames(ctx context.Context) []string {
	if s.Keys == nil {
		return nil
	}
	names, err := s.Keys.List(ctx)
	if err != nil {
		s.Log.Warn("the stored keys cannot be listed", "err", err)
	}
	return names
}

// keyKept reports whether ohgw itself keeps a key for a profile.
func (s *Store) keyKept(subject secret.Subject, names []string) bool {
	if s.Resolver == nil {
		return false
	}
	return slices.ContainsFunc(s.Resolver.Entries(subject), func(o secret.Origin) bool { return slices.Contains(names, o.Name) })
}

// keyFound is keyKept, or that an environment variable has a key for the profile: a
// conversation with it then runs.
func (s *Store) keyFound(subject secret.Subject, names []string) bool {
	return s.Resolver != nil && s.Resolver.Locate(subject, names).Kind != secret.FromNowhere
}

// LLMProfile is one profile as it is stored, with its secrets as e says; masked, there
// is no API key at all. A key that ohgw keeps itself is shown as if it were in the file.
func (s *Store) LLMProfile(ctx context.Context, name string, e openhands.Exposure) (openhands.LLMConfig, error) {
	show, err := s.show(e)
	if err != nil {
		return openhands.LLMConfig{}, err
	}
	llm, err := s.llm(name)
	if err != nil {
		return openhands.LLMConfig{}, err
	}
	set, err := s.findKey(ctx, name, llm, e)
	if err != nil {
		return openhands.LLMConfig{}, err
	}
	if id := llm.Text("provider_connection_id"); id != "" {
		conn, key, err := s.connection(id)
		if err != nil {
			return openhands.LLMConfig{}, err
		}
		set = set || !key.IsZero()
		if e != openhands.Masked && conn != nil {
			if llm, err = s.linked(llm, "Profile '"+name+"'"); err != nil {
				return openhands.LLMConfig{}, err
			}
		}
	}
	if e == openhands.Masked {
		llm.Set("api_key", nil)
	}
	config, err := exposed(llm, show)
	return openhands.LLMConfig{Name: name, Config: config, KeySet: set}, err
}

// findKey reports whether a profile has a key: in its file, with ohgw, or in the
// environment. One that ohgw keeps is put into llm where e shows it. One of the
// environment is shown encrypted only, for a client that begins a conversation with it.
func (s *Store) findKey(ctx context.Context, name string, llm shape.Tree, e openhands.Exposure) (bool, error) {
	subject, names := s.subject(name, llm), s.keyNames(ctx)
	inFile := keySet(llm)
	kept := s.keyKept(subject, names)
	found := inFile || s.keyFound(subject, names)
	if e == openhands.Masked || !kept && (inFile || !found || e == openhands.Clear) {
		return found, nil
	}
	resolved, err := s.Resolver.Resolve(ctx, subject)
	if err != nil {
		return false, &openhands.Error{Kind: openhands.Busy, Msg: "The key of profile '" + name + "' cannot be read; unlock the keyring and retry.", Err: err}
	}
	llm["api_key"] = resolved.Key
	return true, nil
}

// llm is the LLM of a profile as it is stored, in its present form.
func (s *Store) llm(name string) (shape.Tree, error) {
	clean, err := profile.CleanName(name)
	if err != nil {
		return nil, refuse(openhands.Malformed, "Invalid profile name: '%s'.", name)
	}
	snap := document.ProfileFile(s.base, clean).Read()
	switch {
	case snap.Missing():
		return nil, refuse(openhands.NotFound, "Profile '%s' not found", name)
	case snap.Gate != nil:
		return nil, refuse(openhands.Malformed, "Failed to load profile `%s`: the file %s", name, snap.Gate.Msg)
	}
	if model := text(snap.Doc.Root().Get("model")); model == nil || *model == "" {
		return nil, refuse(openhands.Malformed, "Failed to load profile `%s`: it has no model", name)
	}
	llm, faults := s.read(shape.LLMObject(), snap.Doc.Root())
	if len(faults) > 0 {
		return nil, refuse(openhands.Malformed, "Failed to load profile `%s`: %v: %s", name, faults[0].Loc, faults[0].Msg)
	}
	canonical(llm)
	return llm, nil
}

// runnable is the LLM of a profile with the key and URL of its connection.
func (s *Store) runnable(name string) (shape.Tree, error) {
	llm, err := s.llm(name)
	if err != nil {
		return nil, err
	}
	return s.linked(llm, "Profile '"+name+"'")
}

// linked is an LLM with the key and URL of the connection that it names, if it does.
func (s *Store) linked(llm shape.Tree, what string) (shape.Tree, error) {
	id := llm.Text("provider_connection_id")
	if id == "" {
		return llm, nil
	}
	conn, key, err := s.connection(id)
	switch {
	case err != nil:
		return nil, err
	case conn == nil && keySet(llm):
		return llm, nil
	case conn == nil:
		return nil, refuse(openhands.Invalid, "%s references provider connection '%s', which does not exist. "+
			"Update the profile or recreate the connection.", what, id)
	}
	llm.Set("base_url", conn.BaseURL)
	if !key.IsZero() {
		llm["api_key"] = key
	}
	return llm, nil
}

// ParseLLM is an LLM that a client sent, its secrets in clear, with the key and the URL
// of the provider connection that it names.
func (s *Store) ParseLLM(data json.RawMessage) (json.RawMessage, error) {
	llm, err := s.draft(data)
	if err != nil {
		return nil, err
	}
	if llm, err = s.linked(llm, "LLM config"); err != nil {
		return nil, err
	}
	return encode(llm, shape.Plain)
}

// ResolveLLM is an LLM that a client sent with the key and the URL of the provider
// connection that it names. Without one it is the same.
func (s *Store) ResolveLLM(data json.RawMessage) (json.RawMessage, error) {
	var link struct {
		ID *string `json:"provider_connection_id"`
	}
	if err := json.Unmarshal(data, &link); err == nil && (link.ID == nil || *link.ID == "") {
		return data, nil
	}
	return s.ParseLLM(data)
}

// draft reads an LLM that a client sent.
func (s *Store) draft(data []byte) (shape.Tree, error) {
	llm, faults, err := s.readJSON(shape.LLMObject(), data)
	if err != nil {
		return nil, err
	}
	if len(faults) > 0 {
		return nil, &openhands.Error{Kind: openhands.Invalid, Msg: "The LLM is not valid.", Faults: faultsOf(faults, "body", "llm")}
	}
	return llm, nil
}

// SaveLLMProfile stores an LLM as a profile, in the place of one of that name.
func (s *Store) SaveLLMProfile(ctx context.Context, name string, data json.RawMessage, secrets bool) error {
	llm, err := s.draft(data)
	if err != nil {
		return err
	}
	settle(llm, secrets)
	if err := s.keepKey(ctx, name, llm); err != nil {
		return err
	}
	return s.saveLLM(ctx, name, llm)
}

// settle leaves out what OpenHands does not store.
func settle(llm shape.Tree, secrets bool) {
	canonical(llm)
	drop := []string{}
	switch {
	case llm.Text("auth_type") == "subscription":
		drop = append(drop, "api_key", "base_url", "extra_headers")
	case llm.Text("provider_connection_id") != "":
		drop = append(drop, "api_key", "base_url")
	}
	for name, value := range llm {
		if _, hidden := value.(secret.Value); hidden && !secrets {
			drop = append(drop, name)
		}
	}
	for _, name := range drop {
		delete(llm, name)
	}
}

// keepKey gives a new key to ohgw's own store where that has one for the profile: it
// would go before the one in the file.
func (s *Store) keepKey(ctx context.Context, name string, llm shape.Tree) error {
	entry := secret.ProfileEntry(s.base, name, secret.APIKey)
	names := s.keyNames(ctx)
	if !slices.Contains(names, entry) {
		return nil
	}
	if now, err := s.llm(name); err == nil && s.Resolver != nil {
		if err := s.Resolver.BindOld(ctx, s.subject(name, now), names); err != nil {
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
	if err := s.Keys.Set(ctx, entry, key); err != nil {
		return &openhands.Error{Kind: openhands.Busy, Msg: "The key cannot be stored; unlock the keyring and retry.", Err: err}
	}
	if s.Resolver != nil {
		if err := s.Resolver.Bind(ctx, s.subject(name, llm)); err != nil {
			return &openhands.Error{Kind: openhands.Busy, Msg: "The host of the key cannot be stored.", Err: err}
		}
	}
	delete(llm, "api_key")
	return nil
}

// sentBack reports whether a key is the stored one, which is for another host than the
// profile is to have. A client that shows a profile sends its key back with every change,
// so the user has not asked for this: the key stays where it is, for its own host.
func (s *Store) sentBack(ctx context.Context, name string, key secret.Value, llm shape.Tree) (bool, error) {
	if s.Resolver == nil {
		return false, nil
	}
	old, err := s.Keys.Get(ctx, secret.ProfileEntry(s.base, name, secret.APIKey))
	if err != nil || !old.Equal(key) {
		return false, nil //nolint:nilerr // the new key takes the place of what cannot be read
	}
	elsewhere := s.Resolver.Elsewhere(s.subject(name, llm), s.keyNames(ctx))
	if elsewhere != nil {
		s.Log.Warn("a stored key is not taken to another host", "profile", name, "err", elsewhere)
	}
	return elsewhere != nil, nil
}

// subject is what to look for to find the API key of a profile. A profile with a
// provider connection uses the URL of that.
func (s *Store) subject(name string, llm shape.Tree) secret.Subject {
	subject := secret.Subject{Base: s.base, Profile: name, Model: llm.Text("model"), BaseURL: llm.Text("base_url")}
	if id := llm.Text("provider_connection_id"); id != "" {
		if conn, _, err := s.connection(id); err == nil && conn != nil {
			subject.BaseURL = ""
			if conn.BaseURL != nil {
				subject.BaseURL = *conn.BaseURL
			}
		}
	}
	subject.Endpoint = profile.Endpoint(subject.Model, subject.BaseURL, llm.Text("aws_bedrock_runtime_endpoint"), llm.Text("ollama_base_url"))
	return subject
}

// saveLLM writes the file of a profile. Unknown members stay.
func (s *Store) saveLLM(ctx context.Context, name string, llm shape.Tree) error {
	clean, err := profile.CleanName(name)
	if err != nil {
		return refuse(openhands.Malformed, "Invalid profile name: '%s'.", name)
	}
	f := document.ProfileFile(s.base, clean)
	err = f.WithLock(ctx, s.Locking, func() error {
		before := f.Read()
		if before.Sealed != nil {
			return refuse(openhands.Malformed, "Profile '%s' %s.", name, before.Sealed.Msg)
		}
		if before.Missing() {
			if err := s.room(); err != nil {
				return err
			}
		}
		doc, err := s.compose(llm, before.Doc)
		if err != nil {
			return err
		}
		return f.Write(doc.Bytes())
	})
	return busy(err)
}

// room reports whether there may be one more profile.
func (s *Store) room() error {
	names, err := s.Profiles.Names()
	if err != nil {
		return fmt.Errorf("count profiles: %w", err)
	}
	if len(names) >= profile.MaxProfiles {
		return refuse(openhands.Taken, "Profile limit reached (%d). Delete a profile before saving a new one.", profile.MaxProfiles)
	}
	return nil
}

// compose spells the file of a profile as OpenHands would.
func (s *Store) compose(llm shape.Tree, before *jsonedit.Doc) (*jsonedit.Doc, error) {
	doc, err := newDoc("{}")
	if err != nil {
		return nil, err
	}
	w := &writer{doc: doc, show: s.atRest()}
	known := []string{"schema_version", "is_subscription"}
	for _, f := range shape.LLM() {
		known = append(known, f.Name)
		if value, ok := llm[f.Name]; ok && !shape.IsNull(value) {
			w.set([]string{f.Name}, value)
		}
	}
	for _, f := range shape.LLMNewer() {
		known = append(known, f.Name)
		if value, ok := llm[f.Name]; ok && !shape.IsNull(value) && !shape.Equal(value, llm[f.Like]) {
			w.set([]string{f.Name}, value)
		}
	}
	w.set([]string{"is_subscription"}, llm["is_subscription"])
	if before != nil && before.Root().Kind() == jsonedit.Object && !before.Irregular().Any() {
		for name, v := range before.Root().Members() {
			if !slices.Contains(known, name) {
				w.set([]string{name}, json.RawMessage(v.Raw()))
			}
		}
	}
	w.set([]string{"schema_version"}, 1)
	return w.doc, w.err
}

// RemoveLLMProfile deletes a profile, and the keys that ohgw keeps for it. One that is
// not there is no failure.
func (s *Store) RemoveLLMProfile(ctx context.Context, name string) error {
	_, err := s.Profiles.Remove(ctx, name)
	if used, ok := errors.AsType[*profile.InUseError](err); ok && len(used.By) == 0 {
		return refuse(openhands.Taken, "LLM profile is referenced by %d meta-profile(s): %s", len(used.Meta), joined(used.Meta))
	} else if ok {
		return refuse(openhands.Taken, "LLM profile is referenced by %d agent profile(s): %s", len(used.By), joined(used.By))
	}
	if err != nil && !errors.Is(err, profile.ErrNotFound) {
		return s.profileFault(name, err)
	}
	if s.Keys != nil {
		if _, err := s.Profiles.RemoveKeys(ctx, s.Keys, name); err != nil {
			s.Log.Warn("the stored keys of a removed profile stay", "profile", name, "err", err)
		}
	}
	return nil
}

// RenameLLMProfile gives a profile another name, everywhere.
func (s *Store) RenameLLMProfile(ctx context.Context, name, to string) error {
	_, err := s.Profiles.Rename(ctx, name, to)
	switch {
	case errors.Is(err, profile.ErrExists):
		return refuse(openhands.Taken, "Profile '%s' already exists", to)
	case err != nil:
		return s.profileFault(name, err)
	}
	if s.Keys != nil && name != to {
		if err := s.Profiles.MoveKeys(ctx, s.Keys, name, to); err != nil {
			s.Log.Warn("the stored keys of a renamed profile keep its old name", "profile", name, "err", err)
		}
	}
	return nil
}

// ActivateLLMProfile makes a profile the active one and copies it into the settings.
// A key that ohgw keeps itself is not copied.
func (s *Store) ActivateLLMProfile(ctx context.Context, name string) error {
	if _, err := s.runnable(name); err != nil {
		return err
	}
	_, err := s.Profiles.UseWithKey(ctx, name, s.Now())
	if _, gate := errors.AsType[*document.GateError](err); gate || errors.Is(err, profile.ErrLegacy) {
		return &openhands.Error{Kind: openhands.Unreadable, Msg: errSettings.Msg, Err: err}
	}
	return s.profileFault(name, err)
}

// profileFault is why something could not be done with a profile.
func (s *Store) profileFault(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, profile.ErrNotFound) || errors.Is(err, fs.ErrNotExist):
		return refuse(openhands.NotFound, "Profile '%s' not found", name)
	case errors.Is(err, profile.ErrName):
		return refuse(openhands.Malformed, "Invalid profile name: '%s'.", name)
	case os.IsPermission(err):
		return fmt.Errorf("change profile: %w", err)
	}
	if _, gate := errors.AsType[*document.GateError](err); gate {
		return &openhands.Error{Kind: openhands.Malformed, Msg: "Failed to load profile `" + name + "`: the file cannot be used", Err: err}
	}
	return busy(err)
}

// canonical brings an LLM to its present form.
func canonical(llm shape.Tree) {
	if llm == nil {
		return
	}
	e := canon.Entry{Model: llm.Text("model")}
	if url := llm.Text("base_url"); url != "" {
		e.URL = canon.URL{State: canon.URLText, Text: url}
	}
	if d := canon.Embedded().Decide(e); d.Action == canon.Migrate {
		llm.Set("model", &d.Model)
		llm.Set("base_url", nil)
	}
}
