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
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/shape"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
)

// Save stores an LLM as a profile, in the place of one of that name.
func (s *LLMProfiles) Save(ctx context.Context, name string, data json.RawMessage, secrets bool) error {
	llm, err := s.draft(data)
	if err != nil {
		return err
	}
	settle(llm, secrets)
	if err := s.keepKey(ctx, name, llm); err != nil {
		return err
	}
	return s.write(ctx, name, llm)
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

// write writes the file of a profile. Unknown members stay.
func (s *LLMProfiles) write(ctx context.Context, name string, llm shape.Tree) error {
	clean, err := profile.CleanName(name)
	if err != nil {
		return refuse(openhands.Malformed, "Invalid profile name: '%s'.", name)
	}
	f := document.ProfileFile(s.base, clean)
	err = f.WithLock(ctx, s.cfg.Locking, func() error {
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
func (s *LLMProfiles) room() error {
	names, err := s.cfg.Profiles.Names()
	if err != nil {
		return fmt.Errorf("count profiles: %w", err)
	}
	if len(names) >= profile.MaxProfiles {
		return refuse(openhands.Taken, "Profile limit reached (%d). Delete a profile before saving a new one.", profile.MaxProfiles)
	}
	return nil
}

// compose spells the file of a profile as OpenHands would.
func (s *LLMProfiles) compose(llm shape.Tree, before *jsonedit.Doc) (*jsonedit.Doc, error) {
	doc, err := newDoc("{}")
	if err != nil {
		return nil, err
	}
	w := &writer{doc: doc, show: s.sealing.atRest()}
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

// Remove deletes a profile, and the keys that ohgw keeps for it. One that is
// not there is no failure.
func (s *LLMProfiles) Remove(ctx context.Context, name string) error {
	_, err := s.cfg.Profiles.Remove(ctx, name)
	if used, ok := errors.AsType[*profile.InUseError](err); ok && len(used.By) == 0 {
		return refuse(openhands.Taken, "LLM profile is referenced by %d meta-profile(s): %s", len(used.Meta), joined(used.Meta))
	} else if ok {
		return refuse(openhands.Taken, "LLM profile is referenced by %d agent profile(s): %s", len(used.By), joined(used.By))
	}
	if err != nil && !errors.Is(err, profile.ErrNotFound) {
		return s.failure(name, err)
	}
	if s.cfg.Keys != nil {
		if _, err := s.cfg.Profiles.RemoveKeys(ctx, s.cfg.Keys, name); err != nil {
			s.cfg.Log.Warn("the stored keys of a removed profile stay", "profile", name, "err", err)
		}
	}
	return nil
}

// Rename gives a profile another name, everywhere.
func (s *LLMProfiles) Rename(ctx context.Context, name, to string) error {
	_, err := s.cfg.Profiles.Rename(ctx, name, to)
	switch {
	case errors.Is(err, profile.ErrExists):
		return refuse(openhands.Taken, "Profile '%s' already exists", to)
	case err != nil:
		return s.failure(name, err)
	}
	if s.cfg.Keys != nil && name != to {
		if err := s.cfg.Profiles.MoveKeys(ctx, s.cfg.Keys, name, to); err != nil {
			s.cfg.Log.Warn("the stored keys of a renamed profile keep its old name", "profile", name, "err", err)
		}
	}
	return nil
}

// Activate makes a profile the active one and copies it into the settings.
// A key that ohgw keeps itself is not copied.
func (s *LLMProfiles) Activate(ctx context.Context, name string) error {
	if _, err := s.runnable(name); err != nil {
		return err
	}
	_, err := s.cfg.Profiles.UseWithKey(ctx, name, s.cfg.Now())
	if _, gate := errors.AsType[*document.GateError](err); gate || errors.Is(err, profile.ErrLegacy) {
		return &openhands.Error{Kind: openhands.Unreadable, Msg: errSettings.Msg, Err: err}
	}
	return s.failure(name, err)
}

// failure explains, in OpenHands' words, why something could not be done with a
// profile.
func (s *LLMProfiles) failure(name string, err error) error {
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
