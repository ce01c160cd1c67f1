package shape

import "encoding/json"

// AgentProfile is a recipe of an agent. It names an LLM profile and has no secrets.
func AgentProfile() *Object {
	return &Object{by: "agent_kind", usual: "openhands", variants: []variant{
		{"openhands", &Object{rest: refuse, fields: append(identity(),
			Choice("agent_kind", `"openhands"`, "openhands"),
			Text("llm_profile_ref", "").Between(1, 0).Required(),
			Text("agent", `"CodeActAgent"`),
			list("tools", object("", toolObject()), "null").OrNull(),
			Maybe("system_message_suffix", TextKind),
			list("disabled_skills", Text("", ""), "[]"),
			object("condenser", condenserObject()),
			object("verification", verification(false)),
			Truth("enable_sub_agents", "false"),
			Truth("enable_switch_llm_tool", "true"),
			Number("tool_concurrency_limit", IntKind, 1, "1"),
		), after: setVersion(agentProfileVersion)}},
		{"acp", &Object{rest: refuse, fields: append(identity(),
			Choice("agent_kind", `"acp"`, "acp"),
			Choice("acp_server", `"claude-code"`, acpServers()...),
			Maybe("acp_model", TextKind),
			Maybe("acp_session_mode", TextKind),
			Number("acp_prompt_timeout", FloatKind, 0, "1800.0").Inside(),
			Number("acp_startup_timeout", FloatKind, 0, "90.0").Inside(),
			Maybe("acp_command", TextKind),
			list("acp_args", Text("", ""), "null").OrNull(),
		), after: setVersion(agentProfileVersion)}},
	}}
}

const agentProfileVersion = "2"

// identity is what every agent profile has.
func identity() []Field {
	return []Field{
		version(agentProfileVersion),
		{Name: "id", Kind: anyKind, fallback: `""`},
		Text("name", "").Between(1, 0).Required(),
		Number("revision", IntKind, 0, "0"),
		list("mcp_server_refs", Text("", ""), "null").OrNull(),
	}
}

// List is a member that is a list; null and what is none are nil.
func (t Tree) List(name string) []any {
	items, _ := t[name].([]any)
	return items
}

// Texts is a member that is a list of texts, with false where it is null.
func (t Tree) Texts(name string) ([]string, bool) {
	items, ok := t[name].([]any)
	out := make([]string, 0, len(items))
	for _, item := range items {
		var text string
		if raw, isText := item.(json.RawMessage); isText && json.Unmarshal(raw, &text) == nil {
			out = append(out, text)
		}
	}
	return out, ok
}
