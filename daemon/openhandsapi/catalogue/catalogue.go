// Package catalogue serves what an agent can be given: its tools, the skills and the
// hooks of a project, and a trial of an MCP server.
package catalogue

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
)

// Config is what the routes need. All fields are required.
type Config struct {
	// Tools are the names of the agent's tools.
	Tools []string
	// Skills finds the skills for a directory, an absolute path; "" stands for no
	// directory. own includes those of the user.
	Skills func(dir string, own bool) []Skill
	// Agents finds the agents that the agent of a directory, an absolute path, can give tasks to;
	// "" stands for no directory. own includes those of the user, builtin those that are always
	// there. Of two with one name the project's comes first, then the user's.
	Agents func(ctx context.Context, dir string, own, builtin bool) []Agent
	// ReadFile reads a file of a project by its path below the directory, and follows
	// no link out of it.
	ReadFile func(dir, name string) ([]byte, error)
	// TryServer starts or reaches the server of mcp_config, lists its tools, and makes
	// a call if there is one. The error says why it cannot be used.
	TryServer func(ctx context.Context, t Trial) (Tried, error)
}

// Skill is a file of instructions for the agent.
type Skill struct {
	Name, Description, Content, Source string
	Triggers                           []string
	Always                             bool // context of every conversation
	Directory                          bool // it has a directory of its own: OpenHands' AgentSkills
	Hidden                             bool // the model is not told of it
	Own                                bool // the user's, not the project's
}

// Trial is an MCP server that a user is about to add.
type Trial struct {
	Name   string
	Server json.RawMessage
	// Strategy is how one signs in to the server, such as "oauth2"; "" for one that
	// asks for nothing.
	Strategy string
	Call     *Call // nil: none
	Timeout  time.Duration
}

// Call is a call of a tool that shows whether a server's credentials are right.
type Call struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// Tried is what came of a trial.
type Tried struct {
	Tools  []string
	Result *Result // of the call
	// Login is what the client is to store of the login to the server. Nil: there is none.
	Login json.RawMessage
}

// Names are the names of the tools.
func (t Tried) Names() []string { return append([]string{}, t.Tools...) }

// Result is the result of a call.
type Result struct {
	IsError bool   `json:"is_error"`
	Text    string `json:"text"`
}

// Routes are those of the catalogue.
func Routes(cfg Config) []wire.Route {
	s := &server{cfg}
	return []wire.Route{
		{Method: http.MethodGet, Path: "/api/tools/{$}", Summary: "Names of the tools", Handle: s.tools},
		{Method: http.MethodGet, Path: "/api/tools/catalog", Summary: "The tools, and which of them a user chooses", Handle: s.toolCatalogue},
		{Method: http.MethodGet, Path: "/api/skills/catalog", Summary: "Skills that an agent profile can give", Handle: s.skillCatalogue},
		{Method: http.MethodPost, Path: "/api/skills", Summary: "Skills of the user and of a project", Body: true, Handle: s.skills},
		{Method: http.MethodPost, Path: "/api/hooks", Summary: "Hooks that a project has", Body: true, Handle: s.hooks},
		{Method: http.MethodPost, Path: "/api/sub-agents", Summary: "Agents that the agent can give tasks to", Body: true, Handle: s.agents},
		{Method: http.MethodPost, Path: "/api/mcp/test", Summary: "Try an MCP server", Body: true, Handle: s.try},
	}
}

type server struct{ Config }

func (s *server) tools(w http.ResponseWriter, _ *http.Request) error {
	wire.WriteJSON(w, http.StatusOK, s.Tools)
	return nil
}
