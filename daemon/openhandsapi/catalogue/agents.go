package catalogue

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/ohgw/ohgw/daemon/openhandsapi/shape"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/hidden"
	"github.com/ohgw/ohgw/internal/hookfile"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/optional"
)

// Agent is one that the agent can give tasks to.
type Agent struct {
	Name, Description, Model, Prompt string
	Color, Permission                string // may be empty
	Tools, Skills, Examples          []string
	MaxIterations                    int     // 0: no limit
	MaxBudget                        float64 // the same
	// Servers are MCP servers by name, without their secrets, Hooks and Condenser
	// OpenHands' objects; nil: none.
	Servers, Hooks, Condenser json.RawMessage
	NoCondenser               bool                       // its conversations are never condensed
	ProfileDir                string                     // a directory of LLM profiles of its own; "" is OpenHands'
	Metadata                  map[string]json.RawMessage // members of its file that have no meaning
	Source                    string                     // its file; "" for one that is built in
	User                      bool                       // it is the user's, not the project's
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
	Hooks         any             `json:"hooks"`
	Condenser     any             `json:"condenser"`
	Metadata      any             `json:"metadata"`
	Level         string          `json:"level"` // project, user or builtin
	Source        *string         `json:"source"`
	Builtin       bool            `json:"is_builtin"`
}

// agents lists the agents of a project, of the user, and those that are built in.
func (s *server) agents(w http.ResponseWriter, r *http.Request) error {
	o, err := wire.ReadObject(r, false)
	if err != nil {
		return err
	}
	user, project, builtin := o.Bool("load_user", true), o.Bool("load_project", true), o.Bool("load_builtin", true)
	dir := projectDir(o, project)
	if err := o.Err(); err != nil {
		return err
	}
	list := []agentInfo{}
	for _, a := range s.Agents(r.Context(), dir, user, builtin) {
		list = append(list, agentInfoOf(a))
	}
	wire.WriteJSON(w, http.StatusOK, map[string]any{"agents": list})
	return nil
}

// projectDir is the directory of the project that a body names; "" where it is not asked for.
func projectDir(o *pydantic.Object, wanted bool) string {
	if dir := o.Text("project_dir", 0, -1); dir != nil && wanted {
		return *dir
	}
	return ""
}

func agentInfoOf(a Agent) agentInfo {
	info := agentInfo{
		Name: a.Name, Description: a.Description, Model: a.Model, Color: optional.Of(a.Color), Tools: listed(a.Tools), Skills: listed(a.Skills), Prompt: a.Prompt,
		Examples: listed(a.Examples), Permission: optional.Of(a.Permission), MaxIterations: optional.Of(a.MaxIterations), MaxBudget: optional.Of(a.MaxBudget),
		Config: a.Servers, Servers: a.Servers, ProfileDir: optional.Of(a.ProfileDir), Hooks: hooksOf(a.Hooks), Condenser: condenserOf(a),
		Metadata: struct{}{}, Level: "project", Source: optional.Of(a.Source),
	}
	if len(a.Metadata) > 0 {
		info.Metadata = a.Metadata
	}
	switch {
	case a.Source == "":
		info.Level, info.Builtin = "builtin", true
	case a.User:
		info.Level = "user"
	}
	return info
}

func listed(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// hooksOf are hooks of a definition with all events and with OpenHands' defaults; those
// that cannot be read stay as they are.
func hooksOf(raw json.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	found, err := hookfile.Parse(raw)
	switch {
	case err != nil:
		return raw
	case found == nil:
		return hookfile.Empty()
	}
	return found
}

// condenserOf is the condenser of an agent's conversations, with OpenHands' defaults and
// without secrets; nil is the usual one.
func condenserOf(a Agent) any {
	if a.NoCondenser {
		return map[string]any{"kind": "NoOpCondenser"}
	}
	var condenser map[string]any
	if json.Unmarshal(a.Condenser, &condenser) != nil || condenser == nil {
		return nil
	}
	hide(condenser, false)
	if err := shape.Agent(map[string]any{"condenser": condenser}); err != nil {
		return nil
	}
	return condenser
}

// hide replaces the secrets in v, in place. With all, each text in it is one.
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
	return []string{"extra_headers", "api_key", "aws_access_key_id", "aws_secret_access_key", "aws_session_token"}
}
