package schema

import (
	"slices"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
)

// toolSince are the tools that came after the oldest release, by all their names. An
// agent does not start with a tool that its release does not have. Tools of other names
// stay: a program of the user may have them.
var toolSince = []struct {
	since Release
	names []string
}{
	{Release{1, 27, 0}, []string{"workflow_tool_set", "WorkflowToolSet", "workflow", "WorkflowTool"}},
	{Release{1, 44, 0}, []string{"ask_oracle", "AskOracleTool"}},
	{Release{1, 49, 6}, []string{"route_task_to_model", "ClassifyAndSwitchLLMTool"}},
	{builtInsListedSince, toolsOfEveryAgent},
	{builtInsListedSince, []string{"invoke_skill", "InvokeSkillTool", "inspect_image_with_vision", "VisionInspectTool"}},
	{Release{1, 56, 0}, []string{"start_child_conversation", "StartChildConversationTool"}},
}

// builtInsListedSince is the first release whose lists of tools may have those of the SDK
// itself. An older one does not start an agent with such a list.
var builtInsListedSince = Release{1, 51, 0}

// toolsOfEveryAgent are attached to an agent also if its list does not have them.
var toolsOfEveryAgent = []string{"finish", "FinishTool", "think", "ThinkTool"}

// isEveryAgents reports whether an agent that does not list the tool has the same one.
func (t tool) isEveryAgents() bool {
	return t.bare && slices.Contains(toolsOfEveryAgent, t.name)
}

// nullToolsSince is the first release that takes null for the standard tools.
var nullToolsSince = Release{1, 31, 0}

// fitTools takes tools out of the list that the release does not have, and writes the
// standard tools as the releases did that do not take null.
func fitTools(e *editor) {
	list := e.get(toolsMember)
	switch {
	case list.Kind() == jsonedit.Null && e.to.before(nullToolsSince):
		e.set([]byte("[]"), toolsMember)
	case list.Kind() == jsonedit.Array:
		tools := e.tools()
		kept := slices.DeleteFunc(slices.Clone(tools), func(t tool) bool {
			if e.to.before(builtInsListedSince) && t.isEveryAgents() {
				return true
			}
			if e.hasTool(t.name) {
				return false
			}
			e.lose("OpenHands "+e.to.String()+" does not have this tool", toolsMember, t.name)
			return true
		})
		if len(kept) < len(tools) {
			e.loseEmpty(kept)
			e.setTools(kept)
		}
	}
}

func (e *editor) hasTool(name string) bool {
	for _, t := range toolSince {
		if slices.Contains(t.names, name) {
			return !e.to.before(t.since)
		}
	}
	return true
}
