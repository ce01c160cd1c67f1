package openhandsapi

import (
	"net/http"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
)

// NotServed is a route of an agent-server that the embedded engine does not serve, and
// why. docs/native.md has the same table.
type NotServed struct{ Method, Path, Why string }

// The reasons.
const (
	whySkillFetch   = "OpenHands' public skills are fetched from the network; clone one, and install its directory"
	whySubscription = "a login with a subscription is the agent-server's; use an API key"
	whyExtensions   = "apps of OpenHands' page are programs of others that are fetched from the network"
	whyACP          = "agents of other makers (ACP) need OpenHands' Python; use an agent-server"
)

// Missing lists the routes that are not served.
func Missing() []NotServed {
	return []NotServed{
		{http.MethodPut, "/api/conversations/{id}/credential-bindings/{name}", whyACP},
		{http.MethodPost, "/api/conversations/{id}/switch_acp_model", whyACP},
		{http.MethodGet, "/api/llm/subscription/openai/models", whySubscription},
		{http.MethodGet, "/api/llm/subscription/openai/status", whySubscription},
		{http.MethodPost, "/api/llm/subscription/openai/device/start", whySubscription},
		{http.MethodPost, "/api/llm/subscription/openai/device/poll", whySubscription},
		{http.MethodPost, "/api/llm/subscription/openai/logout", whySubscription},
		{http.MethodPost, "/api/skills/sync", whySkillFetch},
		{http.MethodPost, "/api/canvas-extensions/install", whyExtensions},
		{http.MethodGet, "/api/canvas-extensions/installed/{extension_name}", whyExtensions},
		{http.MethodPatch, "/api/canvas-extensions/installed/{extension_name}", whyExtensions},
		{http.MethodDelete, "/api/canvas-extensions/installed/{extension_name}", whyExtensions},
		{http.MethodGet, "/api/canvas-extensions/installed/{extension_name}/backend", whyExtensions},
		{http.MethodPost, "/api/canvas-extensions/installed/{extension_name}/backend/prepare", whyExtensions},
		{http.MethodPost, "/api/canvas-extensions/installed/{extension_name}/backend/start", whyExtensions},
		{http.MethodPost, "/api/canvas-extensions/installed/{extension_name}/backend/stop", whyExtensions},
		{http.MethodGet, "/api/canvas-extensions/installed/{extension_name}/backend/logs", whyExtensions},
		{http.MethodDelete, "/api/canvas-extensions/installed/{extension_name}/backend/data", whyExtensions},
		{http.MethodGet, "/api/canvas-extensions/installed/{extension_name}/bundle", whyExtensions},
		{http.MethodGet, "/api/canvas-extensions/installed/{extension_name}/icon", whyExtensions},
		{http.MethodPost, "/api/acp/models", whyACP},
	}
}

// editor are the routes of the editor that an agent-server starts beside itself, answered
// as it does where that is switched off.
func editor() []wire.Route {
	return []wire.Route{
		{Method: http.MethodGet, Path: "/api/vscode/url", Summary: "Address of the editor: there is none", Handle: off("VSCode is disabled in configuration. Set enable_vscode=true to enable.")},
		{Method: http.MethodGet, Path: "/api/vscode/status", Summary: "Whether the editor runs: it does not", Handle: noEditor},
	}
}

// missing are the routes of what is not served.
func missing() []wire.Route {
	list := editor()
	for _, n := range nothing() {
		list = append(list, wire.Route{Method: n.method, Path: n.path, Summary: "A list that is always empty", Handle: n.answer})
	}
	for _, m := range Missing() {
		list = append(list, wire.Route{Method: m.Method, Path: m.Path, Summary: "Not served: " + m.Why, Handle: func(http.ResponseWriter, *http.Request) error {
			return wire.Refuse(http.StatusNotImplemented, "ohgw does not serve this: %s.", m.Why)
		}})
	}
	return list
}

// emptyList is a route that lists what ohgw never has. OpenHands' own UI asks for it on
// each of its pages, and takes an error for a fault.
type emptyList struct{ method, path, name string }

func nothing() []emptyList {
	return []emptyList{
		{http.MethodGet, "/api/canvas-extensions/installed", "canvas_extensions"},
		{http.MethodGet, "/api/plugins/marketplace", "plugins"},
		{http.MethodGet, "/api/skills/marketplace", "skills"},
	}
}

func (n emptyList) answer(w http.ResponseWriter, _ *http.Request) error {
	wire.WriteJSON(w, http.StatusOK, map[string]any{n.name: []string{}})
	return nil
}

// off answers for a program beside the agent-server that is not there.
func off(detail string) wire.Handler {
	return func(http.ResponseWriter, *http.Request) error {
		return wire.Refuse(http.StatusServiceUnavailable, "%s", detail)
	}
}

func noEditor(w http.ResponseWriter, _ *http.Request) error {
	wire.WriteJSON(w, http.StatusOK, map[string]any{"running": false, "enabled": false, "message": "VSCode is disabled in configuration"})
	return nil
}
