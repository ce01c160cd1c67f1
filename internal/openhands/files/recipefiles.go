package files

import (
	"errors"
	"fmt"

	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/shape"
	"github.com/ohgw/ohgw/internal/profile"
)

// recipeFiles are the files of recipes, which it only reads.
type recipeFiles struct{ place }

// all are the files of recipes, those that cannot be read included.
func (s *recipeFiles) all() ([]document.Snapshot, error) {
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

func summaries(snaps []document.Snapshot) []openhands.AgentProfile {
	out := []openhands.AgentProfile{}
	for _, snap := range snaps {
		if snap.Doc != nil && snap.Gate == nil && document.ValidName(snap.File.Name()) {
			out = append(out, agentSummary(snap))
		}
	}
	return out
}

// brokenRecipe says why a file is not an agent profile; false where it is one.
func brokenRecipe(snap document.Snapshot) (openhands.BrokenProfile, bool) {
	b := openhands.BrokenProfile{Name: snap.File.Name()}
	syntax, corrupt := errors.AsType[*jsonedit.SyntaxError](snap.Err())
	switch {
	case !document.ValidName(b.Name):
		b.Msg = "OpenHands ignores files with this name"
		b.Hint = "rename the file: letters, digits, dots, dashes and underscores, 64 at most, the first one a letter or a digit"
	case corrupt:
		b.Line, b.Msg, b.Hint = syntax.Line, "the file is not JSON: "+syntax.Msg, "repair the JSON, or save the agent profile again in OpenHands"
	case snap.Gate != nil:
		b.Msg, b.Hint = "the file "+snap.Gate.Error(), "repair the file, or save the agent profile again in OpenHands"
	}
	return b, b.Msg != ""
}

func agentSummary(snap document.Snapshot) openhands.AgentProfile {
	root := snap.Doc.Root()
	p := openhands.AgentProfile{ID: text(root.Get("id")), Name: snap.File.Name(), Kind: "openhands", Lines: make(map[string]int)}
	for name, member := range root.Members() {
		p.Lines[name] = member.Line()
	}
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

func (s *recipeFiles) read(name string) (shape.Tree, error) {
	f, err := s.file(name)
	if err != nil {
		return nil, err
	}
	return loaded(f, "profile", name, noAgentProfile(name), s.parse)
}

func (s *recipeFiles) file(name string) (document.File, error) {
	clean, err := profile.CleanName(name)
	if err != nil {
		return document.File{}, refuse(openhands.Malformed, "Invalid profile name: '%s'.", name)
	}
	return document.AgentProfileFile(s.base, clean), nil
}

func noAgentProfile(name string) error {
	return refuse(openhands.NotFound, "Agent profile '%s' not found", name)
}

// nameOf finds the name of the recipe with an id.
func (s *recipeFiles) nameOf(id string) (string, error) {
	snaps, err := s.all()
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
