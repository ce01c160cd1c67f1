package skill

import (
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/ohgw/ohgw/internal/truncate"
)

// given is a skill as programs of OpenHands send it with an agent.
type given struct {
	Name        string `json:"name"`
	Content     string `json:"content"`
	Description string `json:"description"`
	Source      string `json:"source"`
	Trigger     *struct {
		Keywords []string `json:"keywords"`
		Triggers []string `json:"triggers"`
		Paths    []string `json:"paths"`
	} `json:"trigger"`
	AgentSkill bool `json:"is_agentskills_format"`
	Silent     bool `json:"disable_model_invocation"`
}

// Given returns the skills that a program has sent with its agent, a list of OpenHands'
// Skill objects. It skips other values.
func Given(list json.RawMessage) (found []Skill) {
	var all []json.RawMessage
	_ = json.Unmarshal(list, &all) // without a list there are no skills
	for _, raw := range all[:min(len(all), maxSkills)] {
		var g given
		if json.Unmarshal(raw, &g) != nil || g.Name == "" {
			continue
		}
		s := Skill{Name: g.Name, Description: truncate.Head(g.Description, maxDescription), Body: g.Content, Path: g.Source}
		if g.Trigger != nil {
			s.Triggers, s.Paths = append(g.Trigger.Keywords, g.Trigger.Triggers...), g.Trigger.Paths
		}
		if g.AgentSkill {
			s.Invocable = !g.Silent && len(s.Paths) == 0
			if filepath.IsAbs(g.Source) {
				s.Dir = filepath.Dir(g.Source)
			}
		} else {
			s.Always = g.Trigger == nil
		}
		found = append(found, s)
	}
	return found
}

// Both are the skills of two lists. Of two with the same name the first counts.
func Both(first, second []Skill) []Skill {
	all := slices.Clone(first)
	for _, s := range second {
		if !slices.ContainsFunc(first, func(f Skill) bool { return f.Name == s.Name }) {
			all = append(all, s)
		}
	}
	return all
}
