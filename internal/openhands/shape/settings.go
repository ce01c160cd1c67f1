package shape

import (
	"encoding/json"
	"regexp"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/pattern"
)

// AgentSettings are those of an agent: of OpenHands' own, or one that another
// program is.
func AgentSettings() *Object {
	return &Object{by: "agent_kind", usual: "openhands", variants: []variant{
		{"openhands", openHandsSettings()}, {"llm", openHandsSettings()}, {"acp", acpSettings()},
	}}
}

// ConversationSettings describes those of new conversations.
func ConversationSettings() *Object {
	return &Object{fields: []Field{
		version("1"),
		Number("max_iterations", IntKind, 1, "500"),
		Truth("confirmation_mode", "false"),
		Choice("security_analyzer", `"llm"`, "llm", "none").OrNull(),
		Choice("default_runtime", `"local"`, "local", "worktree", "docker"),
		Choice("worktree_base", `"default_branch"`, "default_branch", "head", "ref"),
		Maybe("worktree_base_ref", TextKind).Matching(gitRef(), `^[A-Za-z0-9][A-Za-z0-9._/-]*$`),
		Text("worktree_branch_prefix", `"openhands/"`).Matching(gitPrefix(), `^([A-Za-z0-9][A-Za-z0-9._/-]*)?$`),
		Maybe("container_memory", TextKind).Matching(dockerMemory(), `^\d+(\.\d+)? ?[kKmMgGtTpP]?[iI]?[bB]?$`),
		Number("container_cpus", FloatKind, 0.01, "null"),
		Truth("container_browser", "true"),
	}, after: setVersion("1"), check: func(t Tree) string {
		if t.Text("worktree_base") == "ref" && isNull(t["worktree_base_ref"]) {
			return "Branching worktrees from a ref needs worktree_base_ref"
		}
		return ""
	}}
}

// What names in git and sizes in Docker look like.
var (
	gitRef       = pattern.Of(`\A[A-Za-z0-9][A-Za-z0-9._/-]*\z`)
	gitPrefix    = pattern.Of(`\A([A-Za-z0-9][A-Za-z0-9._/-]*)?\z`)
	dockerMemory = pattern.Of(`\A[0-9]+(\.[0-9]+)? ?[kKmMgGtTpP]?[iI]?[bB]?\z`)
)

// AgentVersion is the version of the settings of agents that are read and served.
const AgentVersion = 9

const agentVersion = "9"

func openHandsSettings() *Object {
	return &Object{fields: []Field{
		version(agentVersion),
		Choice("agent_kind", `"openhands"`, "openhands", "llm"),
		Text("agent", `"CodeActAgent"`),
		object("llm", settingsLLM()),
		list("tools", object("", toolObject()), "null").OrNull(),
		Truth("enable_classify_and_switch_llm_tool", "false"),
		Maybe("active_meta_profile", TextKind),
		nullObject("meta_profile", MetaProfile()),
		{Name: "meta_profile_llms", Kind: mapKind, item: &Field{Kind: objectKind, object: LLMObject()}, fallback: "{}"},
		Number("tool_concurrency_limit", IntKind, 1, "1"),
		servers("mcp_config"),
		Maybe("persona", TextKind).Between(1, 65536),
		object("agent_context", agentContext()),
		object("condenser", condenserObject()),
		object("verification", verification(true)),
	}, bars: Switches(), after: func(t Tree) {
		setVersion(agentVersion)(t)
		t["agent_kind"] = json.RawMessage(`"openhands"`) // "llm" is its old name
	}}
}

func acpSettings() *Object {
	return &Object{fields: []Field{
		version(agentVersion),
		Choice("agent_kind", `"acp"`, "acp"),
		Choice("acp_server", `"claude-code"`, acpServers()...),
		list("acp_command", Text("", ""), "[]"),
		list("acp_args", Text("", ""), "[]"),
		Maybe("acp_model", TextKind),
		Maybe("acp_session_mode", TextKind),
		Number("acp_prompt_timeout", FloatKind, 0, "1800.0").Inside(),
		Number("acp_startup_timeout", FloatKind, 0, "90.0").Inside(),
		servers("mcp_config"),
		Truth("acp_isolate_data_dir", "false"),
		{Name: "acp_file_secrets", Kind: anyKind, fallback: acpFiles},
		nullObject("agent_context", agentContext()),
	}, bars: append(Switches(), "llm"), after: setVersion(agentVersion)}
}

func toolObject() *Object {
	return &Object{fields: []Field{
		Text("name", "").Required(),
		{Name: "params", Kind: FreeKind, fallback: "{}"},
	}}
}

func agentContext() *Object {
	return &Object{fields: []Field{
		list("skills", object("", skillObject()), "[]"),
		Maybe("system_message_suffix", TextKind),
		Maybe("user_message_suffix", TextKind),
		Truth("load_user_skills", "false"),
		Truth("load_public_skills", "false"),
		Text("marketplace_path", `"marketplaces/default.json"`).OrNull(),
		{Name: "registered_marketplaces", Kind: anyKind, fallback: "[]"},
		Truth("load_project_skills", "false"),
		Truth("load_memory", "false"),
		list("disabled_skills", Text("", ""), "[]"),
		{Name: "secrets", Kind: mapKind, item: &Field{Kind: sourceKind}, nullable: true, fallback: "null"},
		{Name: "current_datetime", Kind: timeKind, nullable: true},
	}}
}

func skillObject() *Object {
	return &Object{rest: keep, fields: []Field{
		Text("name", "").Required(),
		Text("content", "").Required(),
		some("trigger", "null"), Maybe("source", TextKind), some("inputs", "[]"), Truth("is_agentskills_format", "false"),
		Text("version", `"1.0.0"`), Maybe("license", TextKind), Maybe("compatibility", TextKind), Maybe("description", TextKind),
		some("metadata", "null"), some("allowed_tools", "null"), Truth("disable_model_invocation", "false"), some("resources", "null"),
		{Name: "mcp_tools", Kind: mapKind, item: &Field{Kind: objectKind, object: ServerObject()}, nullable: true, fallback: "null"},
	}}
}

func secretSource() *Object {
	return &Object{by: "kind", usual: "StaticSecret", variants: []variant{
		{"StaticSecret", &Object{rest: keep, fields: []Field{
			Text("kind", `"StaticSecret"`), Maybe("description", TextKind), Maybe("value", SecretKind),
		}}},
		{"LookupSecret", &Object{rest: keep, fields: []Field{
			Text("kind", `"LookupSecret"`), Maybe("description", TextKind), Text("url", "").Required(),
			{Name: "headers", Kind: headersKind, item: &Field{Kind: SecretKind}, fallback: "{}"},
		}}},
	}}
}

func condenserObject() *Object {
	return &Object{by: "condenser_kind", usual: "llm_summarizing", variants: []variant{
		{"llm_summarizing", &Object{fields: []Field{
			Truth("enabled", "true"),
			Number("max_size", IntKind, 20, "240"),
			Choice("condenser_kind", `"llm_summarizing"`, "llm_summarizing"),
			Number("max_tokens", IntKind, 1, "null"),
			Number("keep_first", IntKind, 0, "2"),
			Number("minimum_progress", FloatKind, 0, "0.1").UpTo(1).Inside(),
			Number("hard_context_reset_max_retries", IntKind, 1, "5"),
			Number("hard_context_reset_context_scaling", FloatKind, 0, "0.8").UpTo(1).Inside(),
		}}},
		{"no_op", &Object{fields: []Field{Truth("enabled", "true"), Choice("condenser_kind", `"no_op"`, "no_op")}}},
	}}
}

// acpFiles are the files that OpenHands makes of secrets for agents of other programs.
const acpFiles = `[{"secret_name":"CODEX_AUTH_JSON","filename":"auth.json","env_var":"CODEX_HOME","subdir":"codex",` +
	`"env_points_to":"dir","warn_if_unset":[]},{"secret_name":"GOOGLE_APPLICATION_CREDENTIALS_JSON",` +
	`"filename":"gcloud-credentials.json","env_var":"GOOGLE_APPLICATION_CREDENTIALS","subdir":"gemini-cli",` +
	`"env_points_to":"file","warn_if_unset":["GOOGLE_CLOUD_PROJECT","GOOGLE_CLOUD_LOCATION"]},` +
	`{"secret_name":"KIMI_CODE_CONFIG_TOML","filename":"config.toml","env_var":"KIMI_CODE_HOME","subdir":"kimi-code",` +
	`"env_points_to":"dir","warn_if_unset":[]},{"secret_name":"PI_AUTH_JSON","filename":"auth.json",` +
	`"env_var":"PI_CODING_AGENT_DIR","subdir":"pi","env_points_to":"dir","warn_if_unset":[]}]`

func acpServers() []string {
	return []string{"claude-code", "codex", "gemini-cli", "kimi-code", "pi", "opencode", "custom"}
}

// verification describes what a critic checks, with its key or without.
func verification(withKey bool) *Object {
	fields := []Field{
		Truth("critic_enabled", "false"),
		Choice("critic_mode", `"finish_and_message"`, "finish_and_message", "all_actions"),
		Truth("enable_iterative_refinement", "false"),
		Number("critic_threshold", FloatKind, 0, "0.6").UpTo(1),
		Number("max_refinement_iterations", IntKind, 1, "3"),
		Maybe("critic_server_url", TextKind),
		Maybe("critic_model_name", TextKind),
	}
	if withKey {
		fields = append(fields, eitherSecret("critic_api_key"))
	}
	return &Object{fields: fields}
}

// version is the version of an object. It was checked when the file was read.
func version(now string) Field {
	return Field{Name: "schema_version", Kind: IntKind, nullable: true, fallback: now}
}

// setVersion makes an object one of the present version, which is what was read.
func setVersion(now string) func(Tree) {
	return func(t Tree) { t["schema_version"] = json.RawMessage(now) }
}

func object(name string, o *Object) Field { return Field{Name: name, Kind: objectKind, object: o} }

// some is any value.
func some(name, fallback string) Field {
	return Field{Name: name, Kind: anyKind, nullable: fallback == "null", fallback: fallback}
}

func nullObject(name string, o *Object) Field {
	return Field{Name: name, Kind: objectKind, object: o, nullable: true, fallback: "null"}
}

func list(name string, item Field, fallback string) Field {
	return Field{Name: name, Kind: listKind, item: &item, fallback: fallback}
}

// Required is the member that has to be there.
func (f Field) Required() Field {
	f.required = true
	return f
}

// Inside is the number whose bounds are out of bounds.
func (f Field) Inside() Field {
	f.bounds = pydantic.Bounds{Gt: f.bounds.Ge, Lt: f.bounds.Le}
	return f
}

// Matching is the text that looks like form, which OpenHands spells in its own way.
func (f Field) Matching(form *regexp.Regexp, spelled string) Field {
	f.text.Form, f.text.Pattern = form, spelled
	return f
}

// Between is the text of so many characters; longest 0 is any number.
func (f Field) Between(shortest, longest int) Field {
	f.text.Min, f.text.Max = shortest, longest
	return f
}

// unwrapped is the map of servers in the form before OpenHands 1.37, or v.
func unwrapped(v jsonedit.Value) jsonedit.Value {
	if inner := v.Get("mcpServers"); inner.Kind() == jsonedit.Object {
		return inner
	}
	return v
}
