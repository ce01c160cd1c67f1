package catalogue

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/ohgw/ohgw/daemon/native/wire"
	"github.com/ohgw/ohgw/internal/hidden"
)

// Agent is one that the agent can give tasks to.
type Agent struct {
	Name, Description, Model, Prompt string
	Color, Permission                string // "" is none
	Tools, Skills, Examples          []string
	MaxIterations                    int     // 0 is no limit
	MaxBudget                        float64 // the same
	// Servers are MCP servers by name, Hooks and Condenser OpenHands' objects; nil: none.
	Servers, Hooks, Condenser json.RawMessage
	Source                    string // its file; "" for one that is built in
	User                      bool   // it is the user's, not the project's
}

// agentInfo is one of them in OpenHands' form.
type agentInfo struct {
	Name          string          `json:"name"`
	Description   string          `json:"description"`
	Model         string          `json:"model"`
	Color         *string         `json:"color"`
	Tools         []string        `json:"tools"`
	Skills        []string        `json:"skills"`
	Prompt        string          `json:"system_prompt"`
	Examples      []string        `json:"when_to_use_examples"`
	Permission    *string         `json:"permission_mode"`
	MaxIterations *int            `json:"max_iteration_per_run"`
	MaxBudget     *float64        `json:"max_budget_per_run"`
	Config        json.RawMessage `json:"mcp_config"`
	Servers       json.RawMessage `json:"mcp_servers"` // the same, by its older name
	ProfileDir    *string         `json:"profile_store_dir"`
	Hooks         json.RawMessage `json:"hooks"`
	Condenser     json.RawMessage `json:"condenser"`
	Metadata      struct{}        `json:"metadata"`
	Level         string          `json:"level"` // project, user or builtin
	Source        *string         `json:"source"`
	Builtin       bool            `json:"is_builtin"`
}

// agents lists the agents of a project, of the user, and those that are built in.
func (s *server) agents(w http.ResponseWriter, r *http.Request) error {
	body := struct {
		User    bool    `json:"load_user"`
		Project bool    `json:"load_project"`
		Builtin bool    `json:"load_builtin"`
		Dir     *string `json:"project_dir"`
	}{User: true, Project: true, Builtin: true}
	if err := wire.ReadBody(r, &body, false); err != nil {
		return err
	}
	dir := ""
	if body.Project && body.Dir != nil {
		dir = *body.Dir
	}
	list := []agentInfo{}
	for _, a := range s.Agents(r.Context(), dir, body.User, body.Builtin) {
		list = append(list, agentInfoOf(a))
	}
	wire.WriteJSON(w, http.StatusOK, map[string]any{"agents": list})
	return nil
}

func agentInfoOf(a Agent) agentInfo {
	servers := withoutSecrets(a.Servers)
	info := agentInfo{
		Name: a.Name, Description: a.Description, Model: a.Model, Color: orNull(a.Color), Tools: listed(a.Tools), Skills: listed(a.Skills), Prompt: a.Prompt,
		Examples: listed(a.Examples), Permission: orNull(a.Permission), MaxIterations: orNull(a.MaxIterations), MaxBudget: orNull(a.MaxBudget),
		Config: servers, Servers: servers, Hooks: a.Hooks, Condenser: withoutSecrets(a.Condenser), Level: "project", Source: orNull(a.Source),
	}
	switch {
	case a.Source == "":
		info.Level, info.Builtin = "builtin", true
	case a.User:
		info.Level = "user"
	}
	return info
}

// orNull is nil for a zero value.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func listed(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// withoutSecrets is an object of a definition without its secrets: keys, and the values of
// variables and headers.
func withoutSecrets(raw json.RawMessage) json.RawMessage {
	var v any
	if json.Unmarshal(raw, &v) != nil || v == nil {
		return nil
	}
	data, err := json.Marshal(hide(v, false))
	if err != nil {
		return nil
	}
	return data
}

// hide is v without its secrets. With all, each text in it is one.
func hide(v any, all bool) any {
	switch v := v.(type) {
	case string:
		if all {
			return hidden.Redacted
		}
	case []any:
		for i := range v {
			v[i] = hide(v[i], all)
		}
	case map[string]any:
		for name := range v {
			v[name] = hide(v[name], all || slices.Contains(secretMembers(), name))
		}
	}
	return v
}

func secretMembers() []string {
	return []string{"env", "headers", "auth", "extra_headers", "api_key", "aws_access_key_id", "aws_secret_access_key", "aws_session_token"}
}
