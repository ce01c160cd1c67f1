package storedagent

import (
	"encoding/json"
	"slices"

	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/tool/builtin"
)

// The names by which an agent has the tool that chooses a model by a meta-profile.
const (
	routeSwitch = "enable_classify_and_switch_llm_tool"
	routeClass  = "ClassifyAndSwitchLLMTool"
)

// The members of an agent's settings that become parameters of this tool, by the same
// names.
const (
	activeMeta = "active_meta_profile"
	metaMember = "meta_profile"
	metaLLMs   = "meta_profile_llms"
)

// RouteParams are the parameters of the tool in a stored agent.
type RouteParams struct {
	Active string                     `json:"active_meta_profile"`
	Meta   json.RawMessage            `json:"meta_profile"` // that of no file
	LLMs   map[string]json.RawMessage `json:"meta_profile_llms"`
}

// ClassifierUsage is the usage ID of an LLM that chooses, as OpenHands has it.
func ClassifierUsage(name string) string { return "classifier:" + name }

// ProfileUsage is the usage ID of an LLM that is chosen, as OpenHands has it.
func ProfileUsage(name string) string { return "profile:" + name }

// Classifier is the choice of an LLM that chooses: one of the agent's own, or else that of
// a profile.
func (p RouteParams) Classifier(name string) conversation.Choice {
	c := conversation.Choice{Usage: ClassifierUsage(name)}
	if _, own := p.LLMs[name]; !own {
		c.Profile = name
	}
	return c
}

func isRoute(name string) bool { return name == routeClass || name == builtin.RouteName }

// Route gives an agent the tool that chooses a model, as OpenHands does: where its settings
// switch it on, with what they say of it; else where their list of tools has it, with the
// parameters there. A tool without parameters is one of the built-in ones.
func (a Agent) Route(settings Agent) {
	var listed []Agent
	_ = json.Unmarshal(a["tools"], &listed) // anything but a list has no such tool
	params := Agent{}
	others := slices.DeleteFunc(slices.Clone(listed), func(tool Agent) bool {
		if isRoute(tool.Text("name")) && len(params) == 0 {
			params = tool.Object("params")
		}
		return isRoute(tool.Text("name"))
	})
	on := string(settings[routeSwitch]) == "true"
	if on {
		params = Agent{}
		if name := settings.Text(activeMeta); name != "" {
			params.Set(activeMeta, name)
		}
		for _, name := range []string{metaMember, metaLLMs} {
			if len(settings.Object(name)) > 0 {
				params[name] = settings[name]
			}
		}
	}
	switch {
	case !on && len(others) == len(listed):
		return
	case !on && len(params) == 0:
		var builtin []string
		_ = json.Unmarshal(a["include_default_tools"], &builtin) // ohgw wrote it
		a.Set("include_default_tools", append(builtin, routeClass))
	default:
		tool := Agent{}
		tool.Set("name", routeClass)
		tool.Set("params", params)
		others = append(others, tool)
	}
	a.Set("tools", others)
}

// RouteParamsOf are the parameters of the tool that a stored agent has.
func RouteParamsOf(a Agent) (p RouteParams) {
	var tools []struct {
		Name   string          `json:"name"`
		Params json.RawMessage `json:"params"`
	}
	_ = json.Unmarshal(a["tools"], &tools)
	for _, tool := range tools {
		if isRoute(tool.Name) {
			_ = json.Unmarshal(tool.Params, &p) // what cannot be read is not there
		}
	}
	return p
}

// replacedTools replaces the secrets of the LLMs that tools have: those of a meta-profile.
func replacedTools(value json.RawMessage, f func(string) (string, error)) (json.RawMessage, error) {
	var tools []Agent
	if json.Unmarshal(value, &tools) != nil {
		return value, nil //nolint:nilerr // what is no list of tools has no LLMs
	}
	changed := false
	for _, tool := range tools {
		params := tool.Object("params")
		if params[metaLLMs] == nil {
			continue
		}
		llms, err := replacedFields(params[metaLLMs], f)
		if err != nil {
			return nil, err
		}
		params[metaLLMs] = llms
		tool.Set("params", params)
		changed = true
	}
	if !changed {
		return value, nil
	}
	return json.Marshal(tools)
}
