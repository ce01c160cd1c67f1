package conversations

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/pattern"
)

// readAgent reads who answers: an agent, settings of one, or the id of a profile of one.
func readAgent(o *pydantic.Object, req *request) {
	req.agentProfile = o.ID("agent_profile_id")
	switch {
	case o.Has("agent"):
		if agent := o.Object("agent"); agent != nil {
			req.Agent = readOwnAgent(agent)
		}
	case o.Has("agent_settings"):
		if settings := o.Object("agent_settings"); settings != nil {
			settings.Text("agent_kind", 0, -1)
			checkVersion(o, settings)
			checkLLM(settings, pydantic.NoObject())
			req.Settings = settings.JSON()
		}
	}
}

// checkVersion refuses settings of an unknown version, and members that were removed. Older
// settings may have them. Without a version they are of the newest one.
func checkVersion(o, settings *pydantic.Object) {
	version := openhands.AgentSettingsVersion
	if raw := settings.Raw("schema_version"); raw != nil && json.Unmarshal(raw, &version) != nil {
		o.Value("", "AgentSettings schema_version must be an integer.")
		return
	}
	switch {
	case version < 0:
		o.Value("", "AgentSettings schema_version must be non-negative.")
	case version > openhands.AgentSettingsVersion:
		o.Value("", fmt.Sprintf("AgentSettings schema_version %d is newer than supported version %d.", version, openhands.AgentSettingsVersion))
	case version >= openhands.SwitchesRefused:
		var removed []string
		for _, name := range openhands.Switches() {
			if slices.Contains(settings.Names(), name) {
				removed = append(removed, name)
			}
		}
		if len(removed) > 0 {
			o.Value("", "Removed agent settings: "+strings.Join(removed, ", "))
		}
	}
}

// bothAgents refuses a request with an agent and the id of a profile of one.
func bothAgents(o *pydantic.Object) error {
	if o.Has("agent_profile_id") && (o.Has("agent") || o.Has("agent_settings")) {
		o.Value("", "`agent_profile_id` is mutually exclusive with `agent` and `agent_settings`")
	}
	return o.Err()
}

// noAgent refuses a request that is valid but names no agent, or that names an LLM
// profile without an agent profile.
func noAgent(o *pydantic.Object, req *request) error {
	if o.Err() == nil && !o.Has("agent") && !o.Has("agent_settings") && !o.Has("agent_profile_id") {
		o.Value("", "One of `agent`, `agent_settings`, or `agent_profile_id` must be provided")
	}
	if o.Err() == nil && req.llm != "" && req.agentProfile == "" {
		o.Value("", "`agent_launch_additions.llm_profile_ref` requires `agent_profile_id`")
	}
	return o.Err()
}

// readOwnAgent reads an agent; one with an LLM and no kind is OpenHands' own.
func readOwnAgent(o *pydantic.Object) json.RawMessage {
	raw := o.JSON()
	if !o.Has("kind") && o.Has("llm") {
		members := make(map[string]json.RawMessage)
		for _, name := range o.Names() {
			members[name] = o.Raw(name)
		}
		members["kind"] = json.RawMessage(`"Agent"`)
		raw = encoded(members)
	} else if kind, ok := o.Kinds("openhands.sdk.agent.base.AgentBase", "ACPAgent", "Agent"); !ok || kind == "ACPAgent" {
		return raw // which agents can be run is for the engine to say
	}
	o.Need("llm")
	checkLLM(o, pydantic.NoInstance("LLM"))
	for _, item := range o.List("tools") {
		if tool := item.Object(); tool != nil && tool.Need("name") {
			tool.Text("name", 1, -1)
			tool.Map("params")
		}
	}
	o.Map("mcp_config")
	o.Object("agent_context")
	o.Object("condenser")
	return raw
}

// clientTools checks the tools that the client carries out itself.
func clientTools(o *pydantic.Object) {
	for _, item := range o.List("client_tools") {
		tool := item.Object()
		if tool == nil {
			continue
		}
		for _, name := range []string{"name", "description"} {
			if tool.Need(name) {
				tool.String(name, "")
			}
		}
		if in := tool.Map("parameters"); in != nil {
			var kind string
			if json.Unmarshal(in.Raw("type"), &kind) != nil || kind != "object" {
				tool.Value("parameters", `ClientToolSpec.parameters must be an object JSON Schema (got type='`+kind+
					`'). Example: {"type": "object", "properties": {...}}`)
			}
		}
	}
}

// localOnly refuses a conversation that is to run in a container.
func localOnly(o *pydantic.Object) error {
	if o.String("conversation_runtime", "local") == "docker" {
		return wire.Refuse(http.StatusUnprocessableEntity, "This server only runs local conversations")
	}
	return nil
}

// uniqueTools refuses client tools that have one name, or that of a tool of the agent.
func uniqueTools(o *pydantic.Object) error {
	taken := []string{"terminal", "file_editor", "task_tracker", "finish", "think"}
	own := len(taken)
	for _, item := range o.List("client_tools") {
		tool := item.Object()
		name := tool.String("name", "")
		if i := slices.Index(taken, name); i >= own {
			return wire.Refuse(http.StatusUnprocessableEntity, "Duplicate client tool name '%s' in one registration request. Client tool names must be unique.", name)
		} else if i >= 0 {
			return wire.Refuse(http.StatusUnprocessableEntity, "Client tool name '%s' collides with an existing non-client tool. Choose a unique client tool name.", name)
		}
		taken = append(taken, name)
	}
	return nil
}

// spanName is what a name for traces may have.
var spanName = pattern.Of(`^[A-Za-z0-9._:/-]+$`)

// maxSpan is the highest number of characters of such a name.
const maxSpan = 128

// readRest checks what is only kept.
func readRest(o *pydantic.Object) {
	o.Map("tool_module_qualnames")
	if o.Has("conversation_runtime") {
		o.Choice("conversation_runtime", "", pydantic.Literal, "local", "docker")
	}
	o.List("agent_definitions")
	o.Object("hook_config")
	o.Text("user_id", 0, -1)
	o.Text("title_llm_profile", 0, -1)
	o.Map("observability_metadata")
	o.List("observability_tags")
	if name := o.Text("observability_span_name", 0, -1); name != nil {
		switch {
		case *name == "":
			o.Value("observability_span_name", "Observability span name must be a non-empty string")
		case utf8.RuneCountInString(*name) > maxSpan:
			o.Value("observability_span_name", "Observability span name exceeds maximum length of 128 characters")
		case !spanName().MatchString(*name):
			o.Value("observability_span_name", "Observability span name may only contain letters, numbers, dots, underscores, colons, slashes, and hyphens")
		}
	}
}

// readPlugins reads where plugins are.
func readPlugins(o *pydantic.Object) (list []control.Plugin) {
	for _, item := range o.List("plugins") {
		in := item.Object()
		if in == nil || !in.Need("source") {
			continue
		}
		p := control.Plugin{Source: in.String("source", "")}
		if ref := in.Text("ref", 0, -1); ref != nil {
			p.Ref = *ref
		}
		if at := in.Text("repo_path", 0, -1); at != nil {
			p.Path = *at
		}
		switch {
		case strings.HasPrefix(p.Path, "/"):
			in.Value("repo_path", "repo_path must be relative, not absolute")
		case slices.Contains(strings.Split(p.Path, "/"), ".."):
			in.Value("repo_path", "repo_path cannot contain '..' (parent directory traversal)")
		}
		list = append(list, p)
	}
	return list
}
