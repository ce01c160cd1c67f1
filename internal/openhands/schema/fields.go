package schema

import (
	"strconv"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/shape"
)

// field is a member that came with a release without a new schema number.
type field struct {
	path  []string
	since Release
	usual string // what its absence means, as JSON; null always means it
}

// fit removes the members that came after the release. A member whose value is
// what its absence means can go without loss.
func (e *editor) fit(fields []field) {
	for _, f := range fields {
		v := e.get(f.path...)
		if !e.to.before(f.since) || !v.Exists() {
			continue
		}
		if v.Kind() != jsonedit.Null && !sameJSON(v, f.usual) {
			e.loseField(f.path)
		}
		e.delete(f.path...)
	}
}

// loseField names a member as the file has it that was read: a switch can stand for a tool
// that is not in its list.
func (e *editor) loseField(path []string) {
	if last := len(path) - 1; path[last] == switchLLM && e.unlisted {
		listed := append(path[:last:last], toolsMember, shape.ModelTool)
		e.lose("OpenHands "+e.to.String()+" cannot say that an agent does not have this tool", listed...)
		return
	}
	e.lose("OpenHands "+e.to.String()+" does not have it", path...)
}

// sameJSON reports whether a value is a usual one, whatever the blanks in it.
func sameJSON(v jsonedit.Value, usual string) bool {
	switch usual {
	case "{}":
		return v.Kind() == jsonedit.Object && isEmptyObject(v)
	case "[]":
		return isEmptyList(v)
	}
	if v.Kind() == jsonedit.Number {
		x, errX := strconv.ParseFloat(string(v.Raw()), 64)
		y, errY := strconv.ParseFloat(usual, 64)
		return errX == nil && errY == nil && x == y
	}
	return string(v.Raw()) == usual
}

// under puts fields into a member.
func under(path []string, fields ...field) []field {
	for i := range fields {
		fields[i].path = append(path[:len(path):len(path)], fields[i].path...)
	}
	return fields
}

func since(minor, patch int, usual string, names ...string) []field {
	fields := make([]field, 0, len(names))
	for _, name := range names {
		fields = append(fields, field{[]string{name}, Release{1, minor, patch}, usual})
	}
	return fields
}

func join(lists ...[]field) []field {
	var all []field
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

func settingsFields() []field {
	return join(
		since(22, 0, "null", "active_profile"),
		since(27, 0, "{}", "misc_settings"),
		since(29, 0, "null", "active_agent_profile_id"),
		since(49, 6, "null", "active_meta_profile"),
		under([]string{"agent_settings"}, join(
			since(22, 0, "true", switchLLM),
			since(26, 0, "[]", "acp_file_secrets"),
			since(26, 0, "false", "acp_isolate_data_dir"),
			since(27, 0, "1", "tool_concurrency_limit"),
			since(37, 0, "90", "acp_startup_timeout"),
			since(49, 6, "null", "active_meta_profile", "meta_profile"),
			since(49, 6, "false", "enable_classify_and_switch_llm_tool"),
			since(49, 6, "{}", "meta_profile_llms"),
			since(51, 0, "null", "persona"),
			llmFields([]string{"llm"}),
			condenserFields(),
			under([]string{"verification"}, since(26, 0, "null", "critic_api_key")...),
			under([]string{"agent_context"}, join(
				since(24, 0, "false", "load_project_skills"),
				since(29, 0, "[]", "registered_marketplaces"),
				since(34, 0, "[]", "disabled_skills"),
				since(37, 0, "false", "load_memory"),
				since(37, 0, "null", "memory_context"),
			)...),
		)...),
		under([]string{"conversation_settings"}, join(
			since(29, 0, "{}", "observability_metadata"),
			since(29, 0, "[]", "observability_tags"),
			since(31, 0, "null", "observability_span_name"),
			since(57, 0, `"local"`, "default_runtime"),
			since(57, 0, `"default_branch"`, "worktree_base"),
			since(57, 0, "null", "worktree_base_ref", "container_memory", "container_cpus"),
			since(57, 0, `"openhands/"`, "worktree_branch_prefix"),
			since(57, 0, "true", "container_browser"),
		)...),
	)
}

func condenserFields() []field {
	return under([]string{"condenser"}, join(
		since(27, 0, `"llm_summarizing"`, "condenser_kind"),
		since(27, 0, "null", "max_tokens"),
		since(27, 0, "2", "keep_first"),
		since(27, 0, "0.1", "minimum_progress"),
		since(27, 0, "5", "hard_context_reset_max_retries"),
		since(27, 0, "0.8", "hard_context_reset_context_scaling"),
	)...)
}

// agentProfileFields are refused by the releases that do not have them.
func agentProfileFields() []field {
	return join(
		since(31, 0, "null", toolsMember),
		since(31, 0, "true", switchLLM),
		since(34, 0, "[]", "disabled_skills"),
		since(37, 0, "90", "acp_startup_timeout"),
		since(48, 0, "null", "secret_refs"),
		since(51, 0, "null", "persona", "meta_profile_ref"),
		since(51, 0, "false", "enable_classify_and_switch_llm_tool"),
		since(55, 0, "null", "public_skills"),
	)
}

// llmFields are those of an LLM in a member, or of a file that is one.
func llmFields(path []string) []field {
	return under(path, join(
		since(26, 0, "null", "inline_image_urls"),
		since(29, 0, `"api_key"`, "auth_type"),
		since(29, 0, "null", "subscription_vendor"),
		since(39, 0, `"auto"`, "api_mode"),
		since(39, 0, "{}", "capability_overrides"),
		since(43, 0, "null", "provider_connection_id"),
	)...)
}
