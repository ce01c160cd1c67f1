package shape

import (
	"encoding/json"

	"github.com/ohgw/ohgw/internal/profile/jsonedit"
)

// The switches for single tools, and the tools that say the same in lists of tools.
const (
	subAgentsSwitch = "enable_sub_agents"
	modelSwitch     = "enable_switch_llm_tool"
	subAgentsTool   = "task_tool_set"
	modelTool       = "switch_llm"
	modelToolClass  = "SwitchLLMTool"
)

// Switches are their names.
func Switches() []string { return []string{subAgentsSwitch, modelSwitch} }

// HasSwitches reports whether an object has one of them.
func HasSwitches(v jsonedit.Value) bool {
	return v.Get(subAgentsSwitch).Exists() || v.Get(modelSwitch).Exists()
}

// Unfold says the tools of an agent as OpenHands 1.43.1 does: what changes the model is no
// tool in the list but has a switch. In a tree that has switches they decide.
func (t Tree) Unfold() {
	others, listed := t.withoutModelTool()
	standard := t["tools"] == nil || isNull(t["tools"])
	if !standard {
		t["tools"] = others
	}
	if _, has := t[modelSwitch]; has {
		return
	}
	t[subAgentsSwitch] = truth(false)
	t[modelSwitch] = truth(listed || standard)
}

// Fold says the tools of an agent as OpenHands 1.58.2 does: the list says all. The standard
// tools with more or less have to be listed, and the browser with them: it is in the
// standard set of a server that can run one.
func (t Tree) Fold() {
	subAgents, model := t.is(subAgentsSwitch, false), t.is(modelSwitch, true)
	delete(t, subAgentsSwitch)
	delete(t, modelSwitch)
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
			others = append(others, tool(subAgentsTool))
		}
	}
	if model {
		others = append(others, tool(modelTool))
	}
	t["tools"] = others
}

func (t Tree) withoutModelTool() (others []any, listed bool) {
	others = []any{}
	for _, item := range t.List("tools") {
		if spec, ok := item.(Tree); ok && (spec.Text("name") == modelTool || spec.Text("name") == modelToolClass) {
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
