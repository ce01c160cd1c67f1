package definition

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// servers reads MCP servers: a mapping of them by name, which may be wrapped in
// mcpServers.
func (r *reader) servers(n *node) {
	all, ok := n.value.([]member)
	if !ok {
		r.refuse(n.line, "the MCP servers are not a mapping", "write a mapping of names to servers, each with a command or a url")
		return
	}
	for _, m := range all {
		if m.name == "mcpServers" {
			all, _ = m.value.value.([]member)
			break
		}
	}
	list := make(map[string]any, len(all))
	for _, m := range all {
		server, ok := plain(m.value).(map[string]any)
		if !ok {
			r.refuse(m.line, fmt.Sprintf("the MCP server %s is not a mapping", m.name), "write a command or a url for it")
			return
		}
		if problem := serverProblem(server); problem != "" {
			r.refuse(m.line, fmt.Sprintf("the MCP server %s %s", m.name, problem), "write a command or a url for it")
			return
		}
		list[m.name] = server
	}
	r.def.Servers = r.stored(n, list)
}

// serverProblem returns what keeps a server from being used; "" for a usable one.
func serverProblem(server map[string]any) string {
	command, hasCommand := server["command"]
	url, hasURL := server["url"]
	if text, ok := command.(string); hasCommand && command != nil && (!ok || text == "") {
		return "has a command that is not a text"
	}
	if text, ok := url.(string); hasURL && url != nil && (!ok || text == "") {
		return "has a url that is not a text"
	}
	transport, _ := server["transport"].(string)
	if transport == "" {
		transport, _ = server["type"].(string)
	}
	switch {
	case transport == "stdio" && command == nil:
		return "has no command"
	case slices.Contains([]string{"http", "shttp", "streamable-http", "sse"}, transport) && url == nil:
		return "has no url"
	}
	return ""
}

func (r *reader) stored(n *node, v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil { // NaN or an infinity
		r.refuse(n.line, "the value cannot be stored: "+err.Error(), "correct the value")
	}
	return data
}

// events are the events that hooks can be for.
var events = []string{"pre_tool_use", "post_tool_use", "user_prompt_submit", "session_start", "session_end", "stop"}

// hooks reads the hooks by event, under OpenHands' names of the events or those
// in Pascal case.
func (r *reader) hooks(n *node) {
	all, ok := n.value.([]member)
	if !ok {
		r.note(n.line, "hooks is not a mapping, so it does not count", "write a mapping of events to lists of hooks")
		return
	}
	for _, m := range all {
		if m.name == "hooks" {
			all, _ = m.value.value.([]member)
			break
		}
	}
	list := make(map[string]any, len(all))
	for _, m := range all {
		event := snake(m.name)
		if !slices.Contains(events, event) {
			r.refuse(m.line, fmt.Sprintf("there is no event %s for hooks", m.name), "use one of "+strings.Join(events, ", "))
			return
		}
		if _, twice := list[event]; twice {
			r.refuse(m.line, fmt.Sprintf("the event %s is there twice", event), "put its hooks into one list")
			return
		}
		if line, problem := hookProblem(m); problem != "" {
			r.refuse(line, problem, "write a list of matchers, each with a list of hooks that have a command or a prompt")
			return
		}
		list[event] = plain(m.value)
	}
	r.def.Hooks = r.stored(n, list)
}

// hookProblem returns what is wrong with the hooks of an event, and the line.
func hookProblem(m member) (line int, problem string) {
	matchers, ok := m.value.value.([]*node)
	if !ok {
		return m.line, fmt.Sprintf("the hooks of %s are not a list", m.name)
	}
	for _, matcher := range matchers {
		object, ok := plain(matcher).(map[string]any)
		if !ok {
			return matcher.line, fmt.Sprintf("a matcher of %s is not a mapping", m.name)
		}
		hooks, ok := object["hooks"].([]any)
		if object["hooks"] != nil && !ok {
			return matcher.line, fmt.Sprintf("a matcher of %s has no list of hooks", m.name)
		}
		for _, h := range hooks {
			if !isHook(h) {
				return matcher.line, fmt.Sprintf("a hook of %s has no command and no prompt", m.name)
			}
		}
	}
	return 0, ""
}

func isHook(h any) bool {
	hook, ok := h.(map[string]any)
	if !ok {
		return false
	}
	command, _ := hook["command"].(string)
	prompt, _ := hook["prompt"].(string)
	switch hook["type"] {
	case nil, "command":
		return command != ""
	case "prompt":
		return prompt != "" && command == ""
	case "agent":
		return command == ""
	}
	return false
}

// snake is a name in Pascal case in snake case.
func snake(name string) string {
	var b strings.Builder
	for i, c := range name {
		if unicode.IsUpper(c) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

func (r *reader) condenser(n *node) {
	switch v := n.value.(type) {
	case bool:
		r.def.NoCondenser = !v
		return
	case string:
		switch strings.ToLower(strings.TrimSpace(v)) {
		case "", "default", Inherit:
			return
		case "none", "off", "false", "no", "disable", "disabled":
			r.def.NoCondenser = true
			return
		}
	case []member:
		object, _ := plain(n).(map[string]any)
		if kind, _ := object["kind"].(string); strings.HasSuffix(kind, "Condenser") {
			r.def.Condenser = r.stored(n, object)
			r.def.NoCondenser = kind == "NoOpCondenser"
			return
		}
	}
	r.refuse(n.line, "condenser cannot be "+text(n), "write default, none, or a mapping with the kind of a condenser")
}
