// Package probes serves the paths by which programs find out that an agent-server is
// there and what it can do.
package probes

import (
	"net/http"
	"time"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
)

// Version is that of the agent-server whose API is served. Clients choose by it what they
// ask for.
const Version = "1.58.2"

// capabilities are parts of the API that clients look for by name.
func capabilities() []string {
	return []string{
		"profile_secret_scope_v1",           // secret_refs of an agent profile
		"profile_persona_v1",                // persona of an agent profile
		"idempotent_conversation_create_v1", // a create can be sent again
		"tool_catalog_v1",                   // GET /api/tools/catalog
		"skill_catalog_v1",                  // GET /api/skills/catalog
	}
}

// Config is what the routes need.
type Config struct {
	Now   func() time.Time
	Tools []string // the names of the agent's tools
}

// Routes are the probes.
func Routes(cfg Config) []wire.Route {
	p := &probes{Config: cfg, started: cfg.Now()}
	return []wire.Route{
		{Method: http.MethodGet, Path: "/alive", Summary: "Whether the server lives", Handle: say("status", "ok")},
		{Method: http.MethodGet, Path: "/health", Summary: "The same", Handle: say("status", "ok")},
		{Method: http.MethodGet, Path: "/ready", Summary: "Whether the server is ready", Handle: say("status", "ready")},
		{Method: http.MethodGet, Path: "/api/init", Summary: "State of a server that waits for its settings: ohgw does not", Handle: noInit},
		{Method: http.MethodPost, Path: "/api/init", Summary: "Settings of a server that waits for them: ohgw does not", Handle: noInit},
		{Method: http.MethodGet, Path: "/server_info", Summary: "Versions and tools", Handle: p.info},
	}
}

type probes struct {
	Config

	started time.Time
}

func say(name, value string) wire.Handler {
	return func(w http.ResponseWriter, _ *http.Request) error {
		wire.WriteJSON(w, http.StatusOK, map[string]string{name: value})
		return nil
	}
}

func (p *probes) info(w http.ResponseWriter, _ *http.Request) error {
	wire.WriteJSON(w, http.StatusOK, map[string]any{
		"uptime": int(p.Now().Sub(p.started).Seconds()), "idle_time": 0, "title": "OpenHands Agent Server",
		"version": Version, "sdk_version": Version, "tools_version": Version, "workspace_version": Version,
		"build_git_sha": "unknown", "build_git_ref": "unknown", "python_version": "",
		"usable_tools": p.Tools, "runtime_idle_timeout_seconds": nil, "capabilities": capabilities(),
		// Conversations run in this process, and a start request cannot choose another place.
		"conversation_runtime": "local", "available_conversation_runtimes": []string{}, "app_backend_ingress_url": nil,
		"max_foreground_terminal_timeout_seconds": nil, "docs": "/docs", "redoc": "/redoc",
	})
	return nil
}

// noInit answers as an agent-server that has its settings from the beginning.
func noInit(http.ResponseWriter, *http.Request) error {
	return wire.Refuse(http.StatusNotFound, "server is not running with deferred_init=True; the /api/init endpoint is not available")
}
