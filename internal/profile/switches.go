package profile

import (
	"encoding/json"
	"strings"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/shape"
)

// switches says the tools of an agent by switches, as engines read them. In older settings
// they decide, whatever the list says of the tool that changes the model; without a list
// they stand for tools that the present form has to list.
func switches(agent shape.Tree, said jsonedit.Value) {
	version, _ := said.Get("schema_version").Int()
	if version >= shape.SinceToolsAlone || said.Get("tools").Kind() == jsonedit.Array {
		agent.Unfold()
	} else {
		delete(agent, "tools")
		for _, f := range []shape.Field{shape.Truth(shape.SubAgentsSwitch, "false"), shape.Truth(shape.ModelSwitch, "true")} {
			value, _ := f.Read(said.Get(f.Name)) // it was read when the settings were brought to their present form
			agent[f.Name] = json.RawMessage(value)
		}
	}
	if shape.IsNull(agent["tools"]) {
		delete(agent, "tools")
	}
}

// removed reports members of the agent settings because of which OpenHands does
// not load the file and uses its defaults.
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
