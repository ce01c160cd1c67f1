package files

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/openhands/settings"
	"github.com/ohgw/ohgw/internal/openhands/shape"
	"github.com/ohgw/ohgw/internal/uuid"
)

// AgentProfiles are the recipes of agents.
type AgentProfiles struct {
	place

	files    *recipeFiles
	settings *settingsFile
	llms     *LLMProfiles
	metas    *metaFiles
	browser  func() bool // as in [Config]
}

// maxAgentProfiles is how many recipes OpenHands lets people make.
const maxAgentProfiles = 50

// List returns all recipes of agents. One of them is always the active one, as in
// OpenHands: where none is, it is made of the settings.
func (s *AgentProfiles) List(ctx context.Context) (openhands.AgentProfiles, error) {
	if err := s.ensureActive(ctx); err != nil {
		return openhands.AgentProfiles{}, err
	}
	snaps, err := s.files.all()
	if err != nil {
		return openhands.AgentProfiles{}, err
	}
	return openhands.AgentProfiles{Profiles: summaries(snaps), Active: s.settings.load().ActiveAgent}, nil
}

// ensureActive makes the recipe "default" the active one where the active one is not there.
// It is made of the settings if there is none. Where it cannot be used or made, the first
// other recipe is the active one.
func (s *AgentProfiles) ensureActive(ctx context.Context) error {
	now := s.settings.load()
	if now.ActiveAgent != nil {
		if _, err := s.files.nameOf(*now.ActiveAgent); err == nil {
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
	snaps, err := s.files.all()
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

func (s *AgentProfiles) unusable(name string) bool {
	_, err := s.files.read(name)
	return err != nil
}

// All returns all recipes of agents that there are. It makes none.
func (s *AgentProfiles) All() ([]openhands.AgentProfile, error) {
	snaps, err := s.files.all()
	return summaries(snaps), err
}

// Broken returns the files that are not recipes, although they are where recipes are.
func (s *AgentProfiles) Broken() ([]openhands.BrokenProfile, error) {
	snaps, err := s.files.all()
	var list []openhands.BrokenProfile
	for _, snap := range snaps {
		if b, is := brokenRecipe(snap); is {
			list = append(list, b)
		}
	}
	return list, err
}

// Get returns one recipe.
func (s *AgentProfiles) Get(_ context.Context, name string) (map[string]any, error) {
	tree, err := s.files.read(name)
	if err != nil {
		return nil, err
	}
	return exposed(newestRecipe(tree), shape.Plain) // it has no secrets
}

// Save stores a recipe, a JSON object, in the place of one of that name. A
// new one gets an id, an old one keeps its own and counts its revisions.
func (s *AgentProfiles) Save(ctx context.Context, name string, members map[string]any) error {
	members = shape.Merge(members, map[string]any{"name": name}, true)
	tree, err := sent(members).read(s.files)
	if err != nil {
		return err
	}
	f, err := s.files.file(name)
	if err != nil {
		return err
	}
	return busy(f.WithLock(ctx, s.cfg.Locking, func() error { return s.write(f, tree, members) }))
}

// sent is a recipe that a client sent.
type sent map[string]any

func (m sent) read(files *recipeFiles) (shape.Tree, error) {
	data, err := json.Marshal(m)
	if err != nil {
		return nil, refuse(openhands.Invalid, "Invalid agent profile")
	}
	doc, err := jsonedit.Parse(data)
	if err != nil {
		return nil, refuse(openhands.Invalid, "Invalid agent profile")
	}
	tree, faults, err := files.parse(doc)
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

// Remove deletes a recipe. One that is not there is no failure.
func (s *AgentProfiles) Remove(ctx context.Context, name string) error {
	f, err := s.files.file(name)
	if err != nil {
		return err
	}
	var id *string
	err = f.WithLock(ctx, s.cfg.Locking, func() error {
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
	if now := s.settings.load().ActiveAgent; now == nil || *now != *id {
		return nil
	}
	err = s.settings.change(ctx, func(doc *jsonedit.Doc, before settings.Settings) (*jsonedit.Doc, error) {
		after := before
		after.ActiveAgent = nil
		var err error
		if before.Agent.Text("agent_kind") != "openhands" { // what is left is of the recipe that was removed
			if after.Agent, _, err = s.sealing.readJSON(shape.AgentSettings(), []byte("{}")); err != nil {
				return nil, err
			}
			after.Agent["mcp_config"] = before.Agent["mcp_config"]
		}
		return s.settings.write(doc, before, after)
	})
	if err != nil {
		return err
	}
	return s.ensureActive(ctx)
}

// Rename gives a recipe another name. Its id stays.
func (s *AgentProfiles) Rename(ctx context.Context, name, to string) error {
	from, err := s.files.file(name)
	if err != nil {
		return err
	}
	target, err := s.files.file(to)
	if err != nil {
		return err
	}
	return busy(from.WithLock(ctx, s.cfg.Locking, func() error {
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

// Activate makes the recipe with an id the active one, and nothing else.
func (s *AgentProfiles) Activate(ctx context.Context, id string) error {
	if _, err := s.files.nameOf(id); err != nil {
		return err
	}
	return s.point(ctx, &id)
}

// point sets the active recipe.
func (s *AgentProfiles) point(ctx context.Context, id *string) error {
	return s.settings.change(ctx, func(doc *jsonedit.Doc, before settings.Settings) (*jsonedit.Doc, error) {
		w := &writer{doc: doc, show: shape.Plain}
		w.name(settings.ActiveAgentMember, before.ActiveAgent, id)
		return w.doc, w.err
	})
}

// Path returns the file of a recipe.
func (s *AgentProfiles) Path(name string) string {
	return document.AgentProfileFile(s.base, name).Path
}
