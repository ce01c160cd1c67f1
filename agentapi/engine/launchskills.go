package engine

import (
	"encoding/json"
	"slices"

	"github.com/ohgw/ohgw/agentapi/engine/skill"
)

// addLaunchSkills gives an agent the skills of its launch, as OpenHands does: those that the
// agent has come first, and so do those of the user where it loads them. A name that the
// agent disables stays without a skill.
func (b *Backend) addLaunchSkills(a agent, launch []json.RawMessage) {
	if len(launch) == 0 {
		return
	}
	words := a.object("agent_context")
	if raw := a["agent_context"]; len(raw) == 0 || string(raw) == "null" {
		words["current_datetime"] = json.RawMessage("null") // an agent without a context knows no date
	}
	var list []json.RawMessage
	_ = json.Unmarshal(words["skills"], &list) // no list: none
	taken := make(map[string]bool)
	for _, raw := range list {
		taken[nameOf(raw)] = true
	}
	var disabled []string
	_ = json.Unmarshal(words["disabled_skills"], &disabled) // no list: none
	for _, name := range disabled {
		taken[name] = true
	}
	if string(words["load_user_skills"]) == "true" {
		found, _ := skill.Find("", skill.User{Home: b.cfg.Home, Base: b.cfg.Base})
		for _, s := range found {
			taken[s.Name] = true
		}
	}
	added := slices.DeleteFunc(slices.Clone(launch), func(raw json.RawMessage) bool {
		name := nameOf(raw)
		there := taken[name]
		taken[name] = true
		return there
	})
	if len(added) > 0 {
		words.set("skills", append(list, added...))
		a.set("agent_context", words)
	}
}

func nameOf(raw json.RawMessage) string {
	var n named
	_ = json.Unmarshal(raw, &n) // what has no name is like one with an empty name
	return n.Name
}
