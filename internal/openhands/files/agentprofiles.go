package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/openhands/settings"
	"github.com/ohgw/ohgw/internal/openhands/shape"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/uuid"
)

// maxAgentProfiles is how many recipes OpenHands lets people make.
const maxAgentProfiles = 50

// AgentProfiles are all recipes of agents. One of them is always the active one, as in
// OpenHands: where none is, it is made of the settings.
func (s *Store) AgentProfiles(ctx context.Context) (openhands.AgentProfiles, error) {
	if err := s.ensureActive(ctx); err != nil {
		return openhands.AgentProfiles{}, err
	}
	snaps, err := s.agentProfiles()
	if err != nil {
		return openhands.AgentProfiles{}, err
	}
	return openhands.AgentProfiles{Profiles: summaries(snaps), Active: s.load().ActiveAgent}, nil
}

// ensureActive makes the recipe "default" the active one where the active one is not there.
// It is made of the settings if there is none. Where it cannot be used or made, the first
// other recipe is the active one.
func (s *Store) ensureActive(ctx context.Context) error {
	now := s.load()
	if now.ActiveAgent != nil {
		if _, err := s.agentName(*now.ActiveAgent); err == nil {
			return nil
		}
	}
	if document.SettingsFile(s.base).Read().Newer() {
		return nil
	}
	if document.AgentProfileFile(s.base, seedName).Read().Missing() {
		err := s.seed(ctx, now)
		if full, ok := errors.AsType[*openhands.Error](err); !ok || full.Kind != openhands.Taken {
			return err
		}
	}
	snaps, err := s.agentProfiles()
	if err != nil {
		return err
	}
	var id *string
	for _, p := range summaries(snaps) {
		if p.ID == nil || p.Name == seedName && s.unusable(p.Name) {
			continue
		}
		if id == nil || p.Name == seedName {
			id = p.ID
		}
	}
	if id == nil {
		return nil
	}
	return s.point(ctx, id)
}

func (s *Store) unusable(name string) bool {
	_, err := s.agentProfile(name)
	return err != nil
}

// ListAgentProfiles are all recipes of agents that there are. It makes none.
func (s *Store) ListAgentProfiles() ([]openhands.AgentProfile, error) {
	snaps, err := s.agentProfiles()
	return summaries(snaps), err
}

func summaries(snaps []document.Snapshot) []openhands.AgentProfile {
	out := []openhands.AgentProfile{}
	for _, snap := range snaps {
		if snap.Doc != nil && snap.Gate == nil && document.ValidName(snap.File.Name()) {
			out = append(out, agentSummary(snap))
		}
	}
	return out
}

// agentProfiles are the files of recipes, those that cannot be read included.
func (s *Store) agentProfiles() ([]document.Snapshot, error) {
	entries, err := document.ListDir(document.AgentProfilesDir(s.base))
	if err != nil {
		return nil, fmt.Errorf("list agent profiles: %w", err)
	}
	out := make([]document.Snapshot, 0, len(entries))
	for _, e := range entries {
		out = append(out, document.AgentProfileFile(s.base, document.Stem(e)).ReadAs(e.Type()))
	}
	return out, nil
}

func agentSummary(snap document.Snapshot) openhands.AgentProfile {
	root := snap.Doc.Root()
	p := openhands.AgentProfile{ID: text(root.Get("id")), Name: snap.File.Name(), Kind: "openhands"}
	if kind, ok := root.Get("agent_kind").Text(); ok {
		p.Kind = kind
	}
	if n, ok := root.Get("revision").Int(); ok {
		p.Revision = &n
	}
	if snap.Newer() {
		p.Newer = snap.Sealed.Error()
	}
	if p.Kind == "openhands" {
		p.LLM = text(root.Get("llm_profile_ref"))
	}
	if refs := root.Get("mcp_server_refs"); refs.Kind() == jsonedit.Array {
		names := []string{}
		for v := range refs.Elements() {
			name, _ := v.Text()
			names = append(names, name)
		}
		p.Servers = &names
	}
	return p
}

// AgentProfile is one recipe.
func (s *Store) AgentProfile(_ context.Context, name string) (map[string]any, error) {
	tree, err := s.agentProfile(name)
	if err != nil {
		return nil, err
	}
	return exposed(newestRecipe(tree), shape.Plain) // it has no secrets
}

func (s *Store) agentProfile(name string) (shape.Tree, error) {
	f, err := s.agentFile(name)
	if err != nil {
		return nil, err
	}
	snap := f.Read()
	switch {
	case snap.Missing():
		return nil, noAgentProfile(name)
	case snap.Gate != nil:
		return nil, refuse(openhands.Malformed, "Failed to load profile `%s`: the file %s", name, snap.Gate.Msg)
	}
	tree, faults, err := s.readRecipe(snap.Doc)
	if err != nil {
		return nil, refuse(openhands.Malformed, "Failed to load profile `%s`: %v", name, err)
	}
	if len(faults) > 0 {
		return nil, refuse(openhands.Malformed, "Failed to load profile `%s`: %v: %s", name, faults[0].Loc, faults[0].Msg)
	}
	return tree, nil
}

func (s *Store) agentFile(name string) (document.File, error) {
	clean, err := profile.CleanName(name)
	if err != nil {
		return document.File{}, refuse(openhands.Malformed, "Invalid profile name: '%s'.", name)
	}
	return document.AgentProfileFile(s.base, clean), nil
}

func noAgentProfile(name string) error {
	return refuse(openhands.NotFound, "Agent profile '%s' not found", name)
}

// SaveAgentProfile stores a recipe, a JSON object, in the place of one of that name. A
// new one gets an id, an old one keeps its own and counts its revisions.
func (s *Store) SaveAgentProfile(ctx context.Context, name string, members map[string]any) error {
	members = shape.Merge(members, map[string]any{"name": name}, true)
	tree, err := sent(members).read(s)
	if err != nil {
		return err
	}
	f, err := s.agentFile(name)
	if err != nil {
		return err
	}
	return busy(f.WithLock(ctx, s.Locking, func() error { return s.writeAgentProfile(f, tree, members) }))
}

// sent is a recipe that a client sent.
type sent map[string]any

func (m sent) read(s *Store) (shape.Tree, error) {
	data, err := json.Marshal(m)
	if err != nil {
		return nil, refuse(openhands.Invalid, "Invalid agent profile")
	}
	doc, err := jsonedit.Parse(data)
	if err != nil {
		return nil, refuse(openhands.Invalid, "Invalid agent profile")
	}
	tree, faults, err := s.readRecipe(doc)
	if version, _ := shape.RecipeVersionOf(doc.Root()); err != nil || version > shape.RecipeVersion || doc.Irregular().NaN {
		return nil, refuse(openhands.Invalid, "Invalid agent profile")
	}
	if faults = append(faults, wrongID(doc.Root())...); len(faults) > 0 {
		return nil, &openhands.Error{Kind: openhands.Invalid, Msg: "Invalid agent profile", Faults: faults}
	}
	return tree, nil
}

// wrongID is what is wrong with the id of a recipe whose kind is known.
func wrongID(recipe jsonedit.Value) []pydantic.Fault {
	kind := shape.RecipeKind(recipe)
	id := recipe.Get("id")
	if kind == "" || !id.Exists() {
		return nil
	}
	if _, refused := pydantic.UUID(id.Raw()); refused != nil {
		return []pydantic.Fault{refused.At([]any{pydantic.Tag(kind), "id"}, nil)}
	}
	return nil
}

func isUUID(v jsonedit.Value) bool {
	text, _ := v.Text()
	_, err := uuid.Parse(text)
	return err == nil
}

// RemoveAgentProfile deletes a recipe. One that is not there is no failure.
func (s *Store) RemoveAgentProfile(ctx context.Context, name string) error {
	f, err := s.agentFile(name)
	if err != nil {
		return err
	}
	var id *string
	err = f.WithLock(ctx, s.Locking, func() error {
		if snap := f.Read(); snap.Doc != nil {
			id = text(snap.Doc.Root().Get("id"))
		}
		if err := os.Remove(f.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	if err != nil || id == nil {
		return busy(err)
	}
	if now := s.load().ActiveAgent; now == nil || *now != *id {
		return nil
	}
	err = s.change(ctx, func(doc *jsonedit.Doc, before settings.Settings) (*jsonedit.Doc, error) {
		after := before
		after.ActiveAgent = nil
		var err error
		if before.Agent.Text("agent_kind") != "openhands" { // what is left is of the recipe that was removed
			if after.Agent, _, err = s.readJSON(shape.AgentSettings(), []byte("{}")); err != nil {
				return nil, err
			}
			after.Agent["mcp_config"] = before.Agent["mcp_config"]
		}
		return s.write(doc, before, after)
	})
	if err != nil {
		return err
	}
	return s.ensureActive(ctx)
}

// RenameAgentProfile gives a recipe another name. Its id stays.
func (s *Store) RenameAgentProfile(ctx context.Context, name, to string) error {
	from, err := s.agentFile(name)
	if err != nil {
		return err
	}
	target, err := s.agentFile(to)
	if err != nil {
		return err
	}
	return busy(from.WithLock(ctx, s.Locking, func() error {
		snap := from.Read()
		switch {
		case snap.Missing():
			return noAgentProfile(name)
		case from.Path == target.Path:
			return nil
		case !target.Read().Missing():
			return refuse(openhands.Taken, "Agent profile '%s' already exists", to)
		case snap.Doc == nil || snap.Gate != nil || snap.Sealed != nil:
			return refuse(openhands.Malformed, "Failed to load profile `%s`: the file cannot be used", name)
		}
		doc, err := snap.Doc.Set(jsonedit.Quote(target.Name()), "name")
		if err != nil {
			return err
		}
		if err := target.Write(doc.Bytes()); err != nil {
			return err
		}
		return os.Remove(from.Path)
	}))
}

// ActivateAgentProfile makes the recipe with an id the active one, and nothing else.
func (s *Store) ActivateAgentProfile(ctx context.Context, id string) error {
	if _, err := s.agentName(id); err != nil {
		return err
	}
	return s.point(ctx, &id)
}

// agentName is the name of the recipe with an id.
func (s *Store) agentName(id string) (string, error) {
	snaps, err := s.agentProfiles()
	if err != nil {
		return "", err
	}
	for _, snap := range snaps {
		if snap.Doc == nil || snap.Gate != nil || !document.ValidName(snap.File.Name()) {
			continue
		}
		if found := text(snap.Doc.Root().Get("id")); found != nil && *found == id {
			return snap.File.Name(), nil
		}
	}
	return "", refuse(openhands.NotFound, "Agent profile with id '%s' not found", id)
}

// point sets the active recipe.
func (s *Store) point(ctx context.Context, id *string) error {
	return s.change(ctx, func(doc *jsonedit.Doc, before settings.Settings) (*jsonedit.Doc, error) {
		w := &writer{doc: doc, show: shape.Plain}
		w.name(settings.ActiveAgentMember, before.ActiveAgent, id)
		return w.doc, w.err
	})
}

// AgentProfilePath is the file of a recipe.
func (s *Store) AgentProfilePath(name string) string {
	return document.AgentProfileFile(s.base, name).Path
}
