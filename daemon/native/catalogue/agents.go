package catalogue

import (
	"encoding/json"
	"net/http"

	"github.com/ohgw/ohgw/daemon/native/wire"
	"github.com/ohgw/ohgw/internal/hookfile"
)

// Places are where agents are looked for.
type Places struct {
	Dir           string // of the project, absolute; "" is none
	User, Builtin bool   // those of the user, and those that are always there
}

// Agent is an agent that the agent can delegate to, in OpenHands' form.
type Agent struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Model       string  `json:"model"`
	Color       *string `json:"color"`
	// Lists that are nil are shown as empty ones.
	Tools    []string `json:"tools"`
	Skills   []string `json:"skills"`
	Prompt   string   `json:"system_prompt"`
	Examples []string `json:"when_to_use_examples"`
	// Permission, the limits and what follows are null where the definition has none.
	Permission    *string         `json:"permission_mode"`
	MaxIterations *int            `json:"max_iteration_per_run"`
	MaxBudget     *float64        `json:"max_budget_per_run"`
	Servers       json.RawMessage `json:"mcp_config"`
	ProfileDir    *string         `json:"profile_store_dir"`
	Hooks         json.RawMessage `json:"hooks"`
	Condenser     json.RawMessage `json:"condenser"`
	Level         string          `json:"level"` // project, user or builtin
	Source        string          `json:"source"`
}

// shownAgent is an agent with what follows from the rest.
type shownAgent struct {
	Agent

	Servers  any      `json:"mcp_config"`
	Before   any      `json:"mcp_servers"` // as it was called once
	Hooks    any      `json:"hooks"`
	Metadata struct{} `json:"metadata"`
	Builtin  bool     `json:"is_builtin"`
}

// agents lists the agents of a project and of the user, and those that are always there.
func (s *server) agents(w http.ResponseWriter, r *http.Request) error {
	body, err := wire.ReadObject(r, false)
	if err != nil {
		return err
	}
	p := Places{User: body.Bool("load_user", true), Builtin: body.Bool("load_builtin", true)}
	project, dir := body.Bool("load_project", true), body.Text("project_dir", 0, -1)
	if err := body.Err(); err != nil {
		return err
	}
	if project && dir != nil {
		p.Dir = *dir
	}
	list := []shownAgent{}
	for _, a := range s.Agents(r.Context(), p) {
		for _, names := range []*[]string{&a.Tools, &a.Skills, &a.Examples} {
			*names = append([]string{}, *names...)
		}
		servers := maskedServers(a.Servers)
		shown := shownAgent{Agent: a, Servers: servers, Before: servers, Builtin: a.Level == "builtin"}
		if hooks, err := hookfile.Parse(a.Hooks); err == nil && len(hooks) > 0 {
			shown.Hooks = hooks
		}
		list = append(list, shown)
	}
	wire.WriteJSON(w, http.StatusOK, map[string]any{"agents": list})
	return nil
}

// redacted stands in the place of a secret.
const redacted = "**********"

// maskedServers are MCP servers without the secrets in their environment, their headers
// and their logins.
func maskedServers(raw json.RawMessage) any {
	var servers map[string]map[string]any
	if json.Unmarshal(raw, &servers) != nil || servers == nil {
		return nil
	}
	for _, server := range servers {
		if _, said := server["enabled"]; !said {
			server["enabled"] = true
		}
		for _, name := range []string{"env", "headers", "auth"} {
			if v, ok := server[name]; ok {
				server[name] = masked(v)
			}
		}
	}
	return servers
}

// masked hides texts, but those that say how a login is made.
func masked(v any) any {
	switch v := v.(type) {
	case string:
		return redacted
	case map[string]any:
		for name, value := range v {
			if name != "strategy" && name != "type" && name != "username" && name != "header_name" {
				v[name] = masked(value)
			}
		}
	case []any:
		for i := range v {
			v[i] = masked(v[i])
		}
	}
	return v
}
