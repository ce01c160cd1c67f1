package files

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/shape"
	"github.com/ohgw/ohgw/internal/profile"
)

// LLMProfiles are the LLM profiles.
type LLMProfiles struct {
	place

	settings    *settingsFile
	connections *Connections
}

// invisible are what OpenHands leaves out of its list.
var invisible = []canon.Action{canon.ErrorName, canon.ErrorCorrupt, canon.ErrorNotObject, canon.ErrorUnreadable}

// List returns all profiles that OpenHands lists.
func (s *LLMProfiles) List(ctx context.Context) (openhands.LLMProfiles, error) {
	list, err := s.cfg.Profiles.List(ctx)
	if err != nil {
		return openhands.LLMProfiles{}, fmt.Errorf("list profiles: %w", err)
	}
	names := s.keyNames(ctx)
	out := openhands.LLMProfiles{Profiles: []openhands.LLMProfile{}, Active: s.settings.load().Active}
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

// Get returns one profile as it is stored, with its secrets as e says; masked, there
// is no API key at all. A key that ohgw keeps itself is shown as if it were in the file.
func (s *LLMProfiles) Get(ctx context.Context, name string, e openhands.Exposure) (openhands.LLMConfig, error) {
	show, err := s.sealing.show(e)
	if err != nil {
		return openhands.LLMConfig{}, err
	}
	llm, err := s.read(name)
	if err != nil {
		return openhands.LLMConfig{}, err
	}
	set, err := s.findKey(ctx, name, llm, e)
	if err != nil {
		return openhands.LLMConfig{}, err
	}
	if id := llm.Text("provider_connection_id"); id != "" {
		conn, key, err := s.connections.find(id)
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

// read reads the LLM of a profile as it is stored, in its present form.
func (s *LLMProfiles) read(name string) (shape.Tree, error) {
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
	llm, faults := s.sealing.read(shape.LLMObject(), snap.Doc.Root())
	if len(faults) > 0 {
		return nil, refuse(openhands.Malformed, "Failed to load profile `%s`: %v: %s", name, faults[0].Loc, faults[0].Msg)
	}
	canonical(llm)
	return llm, nil
}

// runnable is the LLM of a profile with the key and URL of its connection.
func (s *LLMProfiles) runnable(name string) (shape.Tree, error) {
	llm, err := s.read(name)
	if err != nil {
		return nil, err
	}
	return s.linked(llm, "Profile '"+name+"'")
}

// linked gives an LLM the key and URL of the connection that it names, if it does.
func (s *LLMProfiles) linked(llm shape.Tree, what string) (shape.Tree, error) {
	id := llm.Text("provider_connection_id")
	if id == "" {
		return llm, nil
	}
	conn, key, err := s.connections.find(id)
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

// Parse returns an LLM that a client sent, its secrets in clear, with the key and the URL
// of the provider connection that it names.
func (s *LLMProfiles) Parse(data json.RawMessage) (json.RawMessage, error) {
	llm, err := s.draft(data)
	if err != nil {
		return nil, err
	}
	if llm, err = s.linked(llm, "LLM config"); err != nil {
		return nil, err
	}
	return encode(llm, shape.Plain)
}

// Resolve returns an LLM that a client sent with the key and the URL of the provider
// connection that it names. Without one it is the same.
func (s *LLMProfiles) Resolve(data json.RawMessage) (json.RawMessage, error) {
	var link struct {
		ID *string `json:"provider_connection_id"`
	}
	if err := json.Unmarshal(data, &link); err == nil && (link.ID == nil || *link.ID == "") {
		return data, nil
	}
	return s.Parse(data)
}

// draft reads an LLM that a client sent.
func (s *LLMProfiles) draft(data []byte) (shape.Tree, error) {
	llm, faults, err := s.sealing.readJSON(shape.LLMObject(), data)
	if err != nil {
		return nil, err
	}
	if len(faults) > 0 {
		return nil, &openhands.Error{Kind: openhands.Invalid, Msg: "The LLM is not valid.", Faults: faultsOf(faults, "body", "llm")}
	}
	return llm, nil
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
