package profile

import (
	"encoding/json"
	"strings"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/shape"
)

// switches adds the switches to an agent whose tools were read. In older settings they
// decide, whatever the list says of the tool that changes the model. In newer ones the
// list decides: version 8 ignores switches that are left over, and OpenHands does not load
// later settings that have one, which is reported by removed. Sub-agents have the same
// name in both kinds of list.
func (r *settingsReader) switches(path string, v jsonedit.Value, agent map[string]any) {
	listed := takeModelSwitch(v.Get("tools"), agent)
	if version, _ := v.Get("schema_version").Int(); version < shape.SinceToolsAlone {
		r.plain(path, v, []shape.Field{shape.Truth(shape.SubAgentsSwitch, "false"), shape.Truth(shape.ModelSwitch, "true")}, agent)
		return
	}
	agent[shape.SubAgentsSwitch] = false
	agent[shape.ModelSwitch] = listed || v.Get("tools").Kind() != jsonedit.Array
}

// takeModelSwitch takes the tool that changes the model out of the tools of an agent, and
// reports whether it was there.
func takeModelSwitch(tools jsonedit.Value, agent map[string]any) bool {
	if tools.Kind() != jsonedit.Array {
		return false
	}
	others, found := []json.RawMessage{}, false
	for t := range tools.Elements() {
		if name, _ := t.Get("name").Text(); shape.IsModelTool(name) {
			found = true
			continue
		}
		others = append(others, json.RawMessage(t.Raw()))
	}
	agent["tools"] = others
	return found
}

// removed reports members of the agent settings for which OpenHands does not load the
// file, and goes on with its defaults.
func (f finding) removed(root jsonedit.Value) {
	agent := root.Get("agent_settings")
	version, _ := agent.Get("schema_version").Int()
	if version < shape.SinceSwitchesRefused || f.newer {
		return
	}
	names := shape.Switches()
	if kind, _ := agent.Get("agent_kind").Text(); kind == "acp" {
		names = append(names, "llm")
	}
	var found []string
	for _, name := range names {
		if agent.Get(name).Exists() {
			found = append(found, name)
		}
	}
	if len(found) > 0 {
		f.entry = "$.agent_settings"
		f.add(Error, "removed-member", edit(f.file.Path),
			"OpenHands does not load the settings and uses its defaults: agent settings of version %d cannot have %s", version, strings.Join(found, ", "))
	}
}
