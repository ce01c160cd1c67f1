package conversations

import (
	"errors"
	"net/http"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/run"
)

// Extensions is the answer of GET /v1/conversations/{id}/extensions.
type Extensions struct {
	ID      string      `json:"id"`
	Object  string      `json:"object"` // "conversation.extensions"
	Servers []MCPServer `json:"mcp_servers"`
	Skills  []Skill     `json:"skills"`
	Note    string      `json:"note,omitempty"` // what the agent does not report
}

// MCPServer is an MCP server of a conversation.
type MCPServer struct {
	Name      string   `json:"name"`
	Transport string   `json:"transport,omitempty"`
	State     string   `json:"state"`
	Reason    string   `json:"reason,omitempty"`
	Tools     []string `json:"tools"`
}

// Skill is a skill of a conversation, or a file that is not a valid skill.
type Skill struct {
	Name        string `json:"name"`
	Source      string `json:"source"`
	Description string `json:"description,omitempty"`
	State       string `json:"state"`
	Reason      string `json:"reason,omitempty"`
}

// ListExtensions answers GET /v1/conversations/{id}/extensions: the MCP servers
// and the skills of a conversation, and why one of them is not there.
func (api *API) ListExtensions() gate.Handler {
	return api.conversation(func(x *gate.Exchange, r *http.Request, access run.Access, id string) error {
		found, err := api.core.Runs.Extensions(r.Context(), access, id)
		if errors.Is(err, agentapi.ErrUnsupported) {
			found, err = agentapi.Extensions{Note: agentapi.PublicMessage(err, "The agent does not list its MCP servers and skills.")}, nil
		}
		if err != nil {
			return err
		}
		return x.Encode(wireExtensions(id, found))
	})
}

func wireExtensions(id string, found agentapi.Extensions) Extensions {
	out := Extensions{ID: id, Object: "conversation.extensions", Servers: []MCPServer{}, Skills: []Skill{}, Note: found.Note}
	for _, s := range found.Servers {
		tools := s.Tools
		if tools == nil {
			tools = []string{}
		}
		out.Servers = append(out.Servers, MCPServer{Name: s.Name, Transport: s.Transport, State: string(s.State), Reason: s.Reason, Tools: tools})
	}
	for _, s := range found.Skills {
		out.Skills = append(out.Skills, Skill{Name: s.Name, Source: s.Source, Description: s.Description, State: string(s.State), Reason: s.Reason})
	}
	return out
}
