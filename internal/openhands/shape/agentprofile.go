package shape

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
)

// The versions of agent profiles that are told apart. The first one is read as the second.
const (
	SwitchesVersion = 2 // single tools have switches
	ToolsVersion    = 3 // the list of tools says all; switches that are left over mean nothing
	RecipeVersion   = 4 // such switches are refused; the newest that is known
)

// AgentProfile describes a recipe of an agent in a version. It names an LLM profile and
// has no secrets. What a newer version has and is not known stays as it is.
func AgentProfile(version int64) *Object {
	version = max(version, SwitchesVersion)
	unknown := refuse
	if version > RecipeVersion {
		unknown = keep
	}
	common := identity(version)
	return &Object{by: "agent_kind", usual: "openhands", variants: []variant{
		{"openhands", &Object{rest: unknown, after: dropNull("secret_refs", version), fields: slices.Concat(common, []Field{
			Choice("agent_kind", `"openhands"`, "openhands"),
			Text("llm_profile_ref", "").Between(1, 0).Required(),
			Text("agent", `"CodeActAgent"`),
			list("tools", object("", toolObject()), "null").OrNull(),
			Maybe("system_message_suffix", TextKind),
			list("disabled_skills", Text("", ""), "[]"),
			object("condenser", condenserObject()),
			object("verification", verification(false)),
			Number("tool_concurrency_limit", IntKind, 1, "1"),
		}, toolFields(version))}},
		{"acp", &Object{rest: unknown, after: dropNull("secret_refs", version), fields: slices.Concat(common, []Field{
			Choice("agent_kind", `"acp"`, "acp"),
			Choice("acp_server", `"claude-code"`, acpServers()...),
			Maybe("acp_model", TextKind),
			Maybe("acp_session_mode", TextKind),
			Number("acp_prompt_timeout", FloatKind, 0, "1800.0").Inside(),
			Number("acp_startup_timeout", FloatKind, 0, "90.0").Inside(),
			Maybe("acp_command", TextKind),
			list("acp_args", Text("", ""), "null").OrNull(),
		})}},
	}}
}

// toolFields are the members that not all versions have.
func toolFields(version int64) []Field {
	if version < ToolsVersion {
		return []Field{Truth(SubAgentsSwitch, "false"), Truth(ModelSwitch, "true")}
	}
	return []Field{
		Maybe("persona", TextKind).Between(1, 65536),
		list("public_skills", Text("", ""), "null").OrNull(),
		Truth("enable_classify_and_switch_llm_tool", "false"),
		Maybe("meta_profile_ref", TextKind).Between(1, 0),
	}
}

// RecipeNewer are the members of agent profiles that OpenHands 1.43.1 does not know.
func RecipeNewer() []string {
	names := []string{"secret_refs"}
	for _, f := range toolFields(RecipeVersion) {
		names = append(names, f.Name)
	}
	return names
}

// RecipeVersionOf returns the version of an agent profile. If the profile does
// not say one, it is the first version that has all of its members. It returns
// false if the value is not a version.
func RecipeVersionOf(v jsonedit.Value) (version int64, ok bool) {
	said := v.Get("schema_version")
	if said.Exists() && said.Kind() != jsonedit.Null {
		version, ok = said.Int()
		return version, ok && version >= 1
	}
	if HasSwitches(v) || !slices.ContainsFunc(RecipeNewer(), func(name string) bool { return v.Get(name).Exists() }) {
		return SwitchesVersion, true
	}
	return RecipeVersion, true
}

// RecipeKind is whose agent a profile is of; "" for an unknown one.
func RecipeKind(v jsonedit.Value) string {
	switch kind, _ := v.Get("agent_kind").Text(); {
	case !v.Get("agent_kind").Exists():
		return "openhands"
	case kind == "openhands" || kind == "acp":
		return kind
	}
	return ""
}

// identity is what every agent profile has.
func identity(version int64) []Field {
	return []Field{
		this(version),
		{Name: "id", Kind: anyKind, fallback: `""`},
		Text("name", "").Between(1, 0).Required(),
		Number("revision", IntKind, 0, "0"),
		list("mcp_server_refs", Text("", ""), "null").OrNull(),
		list("secret_refs", Text("", ""), "null").OrNull(), // since 1.49.1, which writes version 2
	}
}

// this is the version of an object.
func this(n int64) Field { return version(strconv.FormatInt(n, 10)) }

// dropNull completes a recipe of a version, in which version 2 need not have a member.
func dropNull(name string, version int64) func(Tree) {
	set := setVersion(strconv.FormatInt(version, 10))
	return func(t Tree) {
		set(t)
		if version == SwitchesVersion && isNull(t[name]) {
			delete(t, name)
		}
	}
}

// List returns a member that is a list, and nil for null and any other member.
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
