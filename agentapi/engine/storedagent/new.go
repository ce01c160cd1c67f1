package storedagent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/internal/openhands/shape"
)

// Source is what the agent of a new conversation is made of.
type Source struct {
	Name, Revision string          // of the profile
	LLM            json.RawMessage // of the profile, without any secret
	Settings       json.RawMessage // agent_settings, secrets in the clear; nil: none
	System         string          // a text at the end of the system message
	// Memory says that the agent keeps notes for later conversations, where the settings
	// have that.
	Memory bool
	// Browser says that the standard tools have a browser among them.
	Browser bool
}

// New makes the agent of a new conversation, as OpenHands would make it of the
// profile and the settings. It has no key of a model, and the secrets of MCP servers
// as seal makes them.
func New(from Source, seal func(string) (string, error)) (json.RawMessage, error) {
	settings := Agent{}
	if len(from.Settings) > 0 {
		if err := json.Unmarshal(from.Settings, &settings); err != nil {
			return nil, apierr.Refused("OpenHands' agent settings cannot be read; repair settings.json.", err)
		}
	}
	model, err := LLM(from.Name, from.LLM, AgentUsage, true)
	if err != nil {
		return nil, err
	}
	a := Agent{}
	a.Set("kind", "Agent")
	a.Set("llm", model)
	if tools, ok := settings["tools"]; ok && string(tools) != "null" { // as it is: the switch is for the standard tools
		a["tools"] = tools
	} else {
		a.Set("tools", standardTools(settings, from))
	}
	builtin := []string{"FinishTool", "ThinkTool"}
	if string(settings[shape.ModelSwitch]) == "true" { // the client has chosen a model, so that has to be said
		builtin = append(builtin, "SwitchLLMTool")
	}
	a.Set("include_default_tools", builtin)
	if persona := settings.Text("persona"); strings.TrimSpace(persona) != "" {
		a.Set("persona", persona)
	}
	a.Set("agent_context", newContext(settings, from))
	servers, err := storedServers(settings, seal)
	if err != nil {
		return nil, apierr.Refused("The MCP servers in OpenHands' settings cannot be stored with the conversation; repair mcp_config in settings.json.", err)
	}
	if len(servers) > 0 {
		a.Set("mcp_config", servers)
	}
	if limit, ok := settings["tool_concurrency_limit"]; ok {
		a["tool_concurrency_limit"] = limit
	}
	if condenser := newCondenser(settings.Object("condenser"), from); condenser != nil {
		a.Set("condenser", condenser)
	}
	critic, err := newCritic(settings, seal)
	if err != nil {
		return nil, apierr.Refused("The key of the critic in OpenHands' settings cannot be stored with the conversation; repair verification in settings.json.", err)
	}
	if critic != nil {
		a.Set("critic", critic)
	}
	return json.Marshal(a)
}

// standardTools lists the tools of an agent whose settings do not list them.
func standardTools(settings Agent, from Source) []ToolSpec {
	tools := []ToolSpec{{Name: "terminal"}, {Name: "file_editor"}, {Name: "task_tracker"}}
	if from.Browser {
		tools = append(tools, ToolSpec{Name: "browser_tool_set"})
	}
	if string(settings[shape.SubAgentsSwitch]) == "true" {
		tools = append(tools, ToolSpec{Name: "task_tool_set"})
	}
	return tools
}

// newContext makes the context of a new agent: that of the settings, with the text of the
// source at the end of its suffix.
func newContext(of Agent, from Source) Agent {
	context, settings, system := Agent{}, of.Object("agent_context"), from.System
	if from.Memory && of.Remembers() {
		context.Set(loadMemory, true)
	}
	for _, name := range []string{"system_message_suffix", "user_message_suffix", "disabled_skills"} {
		if v, ok := settings[name]; ok && string(v) != "null" {
			context[name] = v
		}
	}
	// Another value than null is the time at which the settings were saved.
	if v := settings["current_datetime"]; string(v) == "null" {
		context["current_datetime"] = v
	}
	if system == "" {
		return context
	}
	if suffix := context.Text("system_message_suffix"); suffix != "" {
		system = suffix + SuffixGap + system
	}
	context.Set("system_message_suffix", system)
	return context
}

func newCondenser(settings Agent, from Source) Agent {
	if string(settings["enabled"]) == "false" || settings.Text("condenser_kind") == "no_op" {
		return nil
	}
	model, err := LLM(from.Name, from.LLM, CondenserUsage, false)
	if err != nil {
		return nil // the same error has been told of the agent's own model
	}
	c := Agent{}
	c.Set("kind", "LLMSummarizingCondenser")
	c.Set("llm", model)
	c.Set("max_size", 240)
	c.Set("keep_first", 2)
	for _, name := range []string{"max_size", "keep_first", "max_tokens", "minimum_progress"} {
		if v, ok := settings[name]; ok && string(v) != "null" {
			c[name] = v
		}
	}
	return c
}

// LLM is the LLM object of a profile for an agent: without key, under a
// usage id.
func LLM(profile string, object json.RawMessage, usage string, stream bool) (Agent, error) {
	model := Agent{}
	if err := json.Unmarshal(object, &model); err != nil {
		return nil, apierr.Refused(fmt.Sprintf("The profile %q cannot be read; repair or replace it.", profile), err)
	}
	for _, name := range []string{"schema_version", "is_subscription", "fallback_strategy", "api_key", "aws_access_key_id", "aws_secret_access_key", "aws_session_token"} {
		delete(model, name)
	}
	model.Set("usage_id", usage)
	model.Set("stream", stream)
	return model, nil
}

// ToolSpec is a tool without parameters, as an agent lists it.
type ToolSpec struct {
	Name   string   `json:"name"`
	Params struct{} `json:"params"`
}
