package shape

import (
	"encoding/json"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
)

// The switches for single tools, and the tools that say the same in lists of tools.
const (
	SubAgentsSwitch = "enable_sub_agents"
	ModelSwitch     = "enable_switch_llm_tool"
	SubAgentsTool   = "task_tool_set"
	ModelTool       = "switch_llm"

	modelToolClass = "SwitchLLMTool" // another name of ModelTool
)

// SinceToolsAlone is the version of agent settings from which on there are no switches:
// what they stood for is in the list of tools, and null stands for ModelTool, too.
const SinceToolsAlone = 8

// SinceSwitchesRefused is the version of agent settings from which on OpenHands does not
// load settings that have what was removed.
const SinceSwitchesRefused = 9

// Switches are their names.
func Switches() []string { return []string{SubAgentsSwitch, ModelSwitch} }

// IsModelTool reports whether a tool of this name is ModelTool.
func IsModelTool(name string) bool { return name == ModelTool || name == modelToolClass }

// HasSwitches reports whether an object has one of them.
func HasSwitches(v jsonedit.Value) bool {
	return v.Get(SubAgentsSwitch).Exists() || v.Get(ModelSwitch).Exists()
}

// Unfold writes the tools of an agent as OpenHands 1.43.1 does: what changes the
// model is not in the list of tools but has a switch. If the tree has switches, they decide.
func (t Tree) Unfold() {
	others, listed := t.withoutModelTool()
	standard := t["tools"] == nil || isNull(t["tools"])
	if !standard {
		t["tools"] = others
	}
	if _, has := t[ModelSwitch]; has {
		return
	}
	t[SubAgentsSwitch] = truth(false)
	t[ModelSwitch] = truth(listed || standard)
}

// Fold says the tools of an agent as OpenHands 1.58.2 does: the list says all. The standard
// tools with more or less have to be listed, and the browser with them: it is in the
// standard set of a server that can run one.
func (t Tree) Fold() {
	subAgents, model := t.is(SubAgentsSwitch, false), t.is(ModelSwitch, true)
	delete(t, SubAgentsSwitch)
	delete(t, ModelSwitch)
	others, listed := t.withoutModelTool()
	if model && listed {
		return
	}
	if t["tools"] == nil || isNull(t["tools"]) {
		if !subAgents && model {
			return
		}
		for _, name := range []string{"terminal", "file_editor", "task_tracker", "browser_tool_set"} {
			others = append(others, tool(name))
		}
		if subAgents {
			others = append(others, tool(SubAgentsTool))
		}
	}
	if model {
		others = append(others, tool(ModelTool))
	}
	t["tools"] = others
}

func (t Tree) withoutModelTool() (others []any, listed bool) {
	others = []any{}
	for _, item := range t.List("tools") {
		if spec, ok := item.(Tree); ok && IsModelTool(spec.Text("name")) {
			listed = true
			continue
		}
		others = append(others, item)
	}
	return others, listed
}

func (t Tree) is(name string, usual bool) bool {
	raw, ok := t[name].(json.RawMessage)
	if !ok {
		return usual
	}
	return string(raw) == "true"
}

func tool(name string) Tree {
	return Tree{"name": json.RawMessage(jsonedit.Quote(name)), "params": json.RawMessage("{}")}
}

func truth(value bool) json.RawMessage {
	if value {
		return json.RawMessage("true")
	}
	return json.RawMessage("false")
}
