package storedagent

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/skill"
	"github.com/ohgw/ohgw/internal/openhands/shape"
)

// OfSettings makes the agent of a profile and settings, with the secrets of its servers and
// variables in the clear.
func OfSettings(profile string, model json.RawMessage, settings Agent) (Agent, error) {
	data, err := json.Marshal(settings)
	if err != nil {
		return nil, err
	}
	stored, err := New(Source{Name: profile, LLM: model, Settings: data}, InClear)
	if err != nil {
		return nil, err
	}
	made := Agent{}
	if err := json.Unmarshal(stored, &made); err != nil {
		return nil, err
	}
	if secrets := settings.Object("agent_context").Object("secrets"); len(secrets) > 0 {
		words := made.Object("agent_context")
		words.Set("secrets", secrets)
		made.Set("agent_context", words)
	}
	return made, nil
}

// Unfold says by a switch whether an agent may change its model. Settings since OpenHands
// 1.51 have that in their list of tools, and without a list it may.
func (a Agent) Unfold() {
	if a[shape.SubAgentsSwitch] != nil || a[shape.ModelSwitch] != nil {
		return
	}
	var tools []json.RawMessage
	if json.Unmarshal(a["tools"], &tools) != nil || tools == nil {
		a.Set(shape.ModelSwitch, true)
		return
	}
	others := slices.DeleteFunc(slices.Clone(tools), func(raw json.RawMessage) bool {
		var tool struct{ Name string }
		return json.Unmarshal(raw, &tool) == nil && shape.IsModelTool(tool.Name)
	})
	a.Set("tools", others)
	a.Set(shape.ModelSwitch, len(others) < len(tools))
}

// TakeContext takes over the agent's context from settings that came with the request. It
// does not read the user's own settings.json: OpenHands writes false there also when the
// user has not chosen.
func (a Agent) TakeContext(settings Agent) {
	words, sent := a.Object("agent_context"), settings.Object("agent_context")
	for _, name := range []string{
		"skills", "load_user_skills", "load_project_skills", "load_public_skills", "load_memory", "memory_context", "marketplace_path", "registered_marketplaces",
	} {
		if v, ok := sent[name]; ok && string(v) != "null" {
			words[name] = v
		}
	}
	a.Set("agent_context", words)
}

// AddSuffix adds a text to what the agent's system message ends with.
func (a Agent) AddSuffix(text string) {
	words := a.Object("agent_context")
	if before := words.Text("system_message_suffix"); before != "" {
		text = before + SuffixGap + text
	}
	words.Set("system_message_suffix", text)
	a.Set("agent_context", words)
}

// Date notes when an agent with a context begins, unless the request says when, or null:
// its model is not to know.
func (a Agent) Date(now time.Time) {
	words := a.Object("agent_context")
	if raw := a["agent_context"]; len(raw) == 0 || string(raw) == "null" || words["current_datetime"] != nil {
		return
	}
	words.Set("current_datetime", now.Format("2006-01-02T15:04:05.000000Z07:00"))
	a.Set("agent_context", words)
}

// AddLaunchSkills gives the agent the skills of its launch, as OpenHands does: those that the
// agent has come first, and so do those of the user where it loads them. A name that the
// agent disables stays without a skill.
func (a Agent) AddLaunchSkills(launch []json.RawMessage, user skill.User) {
	if len(launch) == 0 {
		return
	}
	words := a.Object("agent_context")
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
		found, _ := skill.Find("", user)
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
		words.Set("skills", append(list, added...))
		a.Set("agent_context", words)
	}
}

func nameOf(raw json.RawMessage) string {
	var n Named
	_ = json.Unmarshal(raw, &n) // what has no name is like one with an empty name
	return n.Name
}

// Named is a tool or a skill of a stored agent by its name.
type Named struct {
	Name string `json:"name"`
}
