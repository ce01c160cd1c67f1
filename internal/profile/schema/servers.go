package schema

import (
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/profile/jsonedit"
)

// The members that hold MCP servers.
const (
	serversMember = "mcp_config"
	oldServers    = "mcpServers" // around them before OpenHands 1.31
)

// serversSince is the first release that takes servers without a wrapper, and
// enabledSince the first one in which a server can be off.
var (
	serversSince = Release{1, 31, 0}
	enabledSince = Release{1, 39, 0}
)

// serverMap takes the wrapper away from the servers. What it cannot do to their form
// without a change of a secret is left to a newer OpenHands.
func serverMap(e *editor) {
	config := e.get(serversMember)
	inner := config.Get(oldServers)
	if !inner.Exists() {
		inner = config
	} else if inner.Kind() != jsonedit.Object {
		e.fail("is not an object", serversMember, oldServers)
		return
	}
	for name, server := range inner.Members() {
		if form := oldForm(server); form != "" {
			e.fail("has a form that only OpenHands itself brings up to date", serversMember, name, form)
			return
		}
	}
	if config.Get(oldServers).Exists() {
		e.set(inner.Raw(), serversMember)
	}
}

// oldForm is a member of a server whose meaning is elsewhere in newer releases; "" if
// there is none.
func oldForm(server jsonedit.Value) string {
	for _, name := range []string{"authentication", "oauth_credentials", "api_key", "type"} {
		if server.Get(name).Exists() {
			return name
		}
	}
	auth := server.Get("auth")
	if auth.Kind() == jsonedit.String {
		return "auth"
	}
	for name, value := range server.Get("headers").Members() {
		if isAuthorization(name) && value.Kind() == jsonedit.String && auth.Kind() != jsonedit.Object {
			return "headers"
		}
	}
	return ""
}

func isAuthorization(name string) bool { return strings.EqualFold(name, "authorization") }

// fitServers removes the switch of servers from releases that refuse it, and puts the
// wrapper around the servers for the oldest ones.
func fitServers(e *editor) {
	var names []string
	for name := range e.get(serversMember).Members() {
		names = append(names, name)
	}
	for _, name := range names {
		path := []string{serversMember, name}
		e.fit(under(path, field{[]string{"enabled"}, enabledSince, "true"}))
		if e.to.before(serversSince) && e.get(serversMember, name, "auth").Exists() {
			e.lose("OpenHands "+e.to.String()+" does not have it", serversMember, name, "auth")
			e.delete(serversMember, name, "auth")
		}
	}
	if len(names) > 0 && e.to.before(serversSince) && !e.get(serversMember, oldServers).Exists() {
		e.set(slices.Concat([]byte(`{"`+oldServers+`": `), e.get(serversMember).Raw(), []byte("}")), serversMember)
	}
}

// fitChoices changes values that the release refuses.
func fitChoices(e *editor) {
	switch e.text("acp_server") {
	case "kimi-code", "pi", "opencode":
		if e.to.before(Release{1, 45, 0}) {
			e.lose("OpenHands "+e.to.String()+" does not have this server", "acp_server")
			e.set([]byte(`"custom"`), "acp_server")
		}
	}
}

// fitTools writes the standard tools as the releases did that do not take null.
func fitTools(e *editor) {
	if e.get(toolsMember).Kind() == jsonedit.Null && e.to.before(Release{1, 31, 0}) {
		e.set([]byte("[]"), toolsMember)
	}
}

// fitEffort removes an effort that the release refuses.
func fitEffort(e *editor) {
	if v := e.get("reasoning_effort"); v.Kind() == jsonedit.String && e.to.before(Release{1, 39, 0}) {
		switch e.text("reasoning_effort") {
		case "low", "medium", "high", "xhigh", "none":
		default:
			e.lose("OpenHands "+e.to.String()+" does not have this effort", "reasoning_effort")
			e.delete("reasoning_effort")
		}
	}
}
