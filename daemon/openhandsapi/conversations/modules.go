package conversations

import "encoding/json"

// modules names the modules of OpenHands in which an agent-server has its tools. A
// program of another machine that reads the events of a tool imports its module.
func modules() map[string]string {
	const tools = "openhands.tools."
	return map[string]string{
		"ClassifyAndSwitchLLMTool": "openhands.sdk.tool.builtins.classify_and_switch_llm",
		"ask_oracle":               tools + "ask_oracle.definition",
		"browser_tool_set":         tools + "browser_use.definition",
		"edit":                     tools + "gemini.edit.definition",
		"file_editor":              tools + "file_editor.definition",
		"glob":                     tools + "glob.definition",
		"grep":                     tools + "grep.definition",
		"list_directory":           tools + "gemini.list_directory.definition",
		"planning_file_editor":     tools + "planning_file_editor.definition",
		"read_file":                tools + "gemini.read_file.definition",
		"start_child_conversation": tools + "child_conversation.definition",
		"task":                     tools + "task.definition",
		"task_tool_set":            tools + "task.definition",
		"task_tracker":             tools + "task_tracker.definition",
		"terminal":                 tools + "terminal.definition",
		"workflow":                 tools + "workflow.definition",
		"workflow_tool_set":        tools + "workflow.definition",
		"write_file":               tools + "gemini.write_file.definition",
	}
}

// modulesOf names the modules of the tools of an agent: those that the client named, and
// those of an agent-server. Tools of the client itself have none.
func modulesOf(meta map[string]json.RawMessage, agent json.RawMessage) (any, error) {
	type named struct{ Name string }
	found := map[string]string{}
	_ = json.Unmarshal(meta["tool_module_qualnames"], &found) // of another form: there are none
	if found == nil {
		found = map[string]string{}
	}
	var clients []named
	_ = json.Unmarshal(meta["client_tools"], &clients)
	own := map[string]bool{}
	for _, tool := range clients {
		own[tool.Name] = true
	}
	var has struct{ Tools []named }
	_ = json.Unmarshal(agent, &has)
	known := modules()
	for _, tool := range has.Tools {
		if _, said := found[tool.Name]; !said && !own[tool.Name] && known[tool.Name] != "" {
			found[tool.Name] = known[tool.Name]
		}
	}
	return found, nil
}
