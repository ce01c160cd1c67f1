package gateway

import (
	"context"
	"net/http"
	"net/url"
)

// Extensions are the MCP servers and the skills of a conversation's agent.
type Extensions struct {
	Servers []MCPServer `json:"mcp_servers"`
	Skills  []Skill     `json:"skills"`
	Note    string      `json:"note"` // what the agent does not report; may be empty
}

// MCPServer is an MCP server of the agent's settings.
type MCPServer struct {
	Name      string   `json:"name"`
	Transport string   `json:"transport"` // empty: not known
	State     string   `json:"state"`     // "connected", "not started", "failed" or "disabled"
	Reason    string   `json:"reason"`
	Tools     []string `json:"tools"`
}

// Skill is a file of instructions for the agent.
type Skill struct {
	Name        string `json:"name"`
	Source      string `json:"source"` // its path where the agent is, or "built-in"
	Description string `json:"description"`
	State       string `json:"state"` // "always", "listed", "triggered" or "skipped"
	Reason      string `json:"reason"`
}

// Extensions implements [History].
func (c *Client) Extensions(ctx context.Context, conversation string) (Extensions, error) {
	var found Extensions
	err := c.call(ctx, http.MethodGet, "/v1/conversations/"+url.PathEscape(conversation)+"/extensions", &found)
	return found, err
}
