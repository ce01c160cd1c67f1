package engine

import (
	"context"
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

// classifierUsage is the usage ID of an LLM that chooses, as OpenHands has it.
func classifierUsage(name string) string { return "classifier:" + name }

// profileUsage is the usage ID of an LLM that is chosen, as OpenHands has it.
func profileUsage(name string) string { return "profile:" + name }

// Classifier is the choice of an LLM that chooses: one of the agent's own, or else that of
// a profile.
func (p RouteParams) Classifier(name string) conversation.Choice {
	c := conversation.Choice{Usage: classifierUsage(name)}
	if _, own := p.LLMs[name]; !own {
		c.Profile = name
	}
	return c
}

func isRoute(name string) bool { return name == routeClass || name == builtin.RouteName }

// route gives an agent the tool that chooses a model, as OpenHands does: where its settings
// switch it on, with what they say of it; else where their list of tools has it, with the
// parameters there. A tool without parameters is one of the built-in ones.
func (a agent) route(settings agent) {
	var listed []agent
	_ = json.Unmarshal(a["tools"], &listed) // anything but a list has no such tool
	params := agent{}
	others := slices.DeleteFunc(slices.Clone(listed), func(tool agent) bool {
		if isRoute(tool.text("name")) && len(params) == 0 {
			params = tool.object("params")
		}
		return isRoute(tool.text("name"))
	})
	on := string(settings[routeSwitch]) == "true"
	if on {
		params = agent{}
		if name := settings.text(activeMeta); name != "" {
			params.set(activeMeta, name)
		}
		for _, name := range []string{metaMember, metaLLMs} {
			if len(settings.object(name)) > 0 {
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
		a.set("include_default_tools", append(builtin, routeClass))
	default:
		tool := agent{}
		tool.set("name", routeClass)
		tool.set("params", params)
		others = append(others, tool)
	}
	a.set("tools", others)
}

// replacedTools replaces the secrets of the LLMs that tools have: those of a meta-profile.
func replacedTools(value json.RawMessage, f func(string) (string, error)) (json.RawMessage, error) {
	var tools []agent
	if json.Unmarshal(value, &tools) != nil {
		return value, nil //nolint:nilerr // what is no list of tools has no LLMs
	}
	changed := false
	for _, tool := range tools {
		params := tool.object("params")
		if params[metaLLMs] == nil {
			continue
		}
		llms, err := replacedFields(params[metaLLMs], f)
		if err != nil {
			return nil, err
		}
		params[metaLLMs] = llms
		tool.set("params", params)
		changed = true
	}
	if !changed {
		return value, nil
	}
	return json.Marshal(tools)
}

// addRouted makes the LLMs of an agent's meta-profile those of its conversation, each as one
// that chooses and as one that answers.
func (b *Backend) addRouted(models *ownModels, id string, stored agent) {
	if routeParams(stored).LLMs == nil {
		return
	}
	plain, _ := b.plainAgent(id, stored)
	for name, object := range routeParams(plain).LLMs {
		for _, usage := range []string{classifierUsage(name), profileUsage(name)} {
			model := agent{}
			if json.Unmarshal(object, &model) != nil || model == nil {
				continue // it is told when it is called
			}
			model.set("usage_id", usage)
			models.add(model)
		}
	}
}

func routeParams(a agent) (p RouteParams) {
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

// toRouted makes the next call go to an LLM of the agent's meta-profile.
func (b *Backend) toRouted(conv conversation.Host, id string, models *ownModels) func(context.Context, string) (string, error) {
	return func(ctx context.Context, name string) (string, error) {
		usage := profileUsage(name)
		if err := b.switchOwn(ctx, conv, id, models, usage); err != nil {
			return "", err
		}
		return models.object(usage).text("model"), nil
	}
}
