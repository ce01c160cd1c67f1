package conversations_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

func TestTheExtensionsOfAConversation(t *testing.T) {
	t.Parallel()
	g := apitest.Talked(t, func(c *daemon.Config) {
		c.StateDir = t.TempDir()
		c.Backend.(*daemontest.Backend).Loaded = agentapi.Extensions{
			Servers: []agentapi.MCPServer{
				{Name: "a", Transport: "stdio", State: agentapi.ServerConnected, Tools: []string{"echo"}},
				{Name: "b", State: agentapi.ServerFailed, Reason: "no such file"},
			},
			Skills: []agentapi.Skill{{Name: "bad.md", Source: "/src/bad.md", State: agentapi.SkillSkipped, Reason: "its front matter is not valid YAML"}},
		}
	})
	path := "/v1/conversations/" + apitest.Conversation + "/extensions"
	apitest.Equal(t, "the body", strings.TrimSpace(g.Do(http.MethodGet, path, "").Body), `{"id":"`+apitest.Conversation+`","object":"conversation.extensions",`+
		`"mcp_servers":[{"name":"a","transport":"stdio","state":"connected","tools":["echo"]},{"name":"b","state":"failed","reason":"no such file","tools":[]}],`+
		`"skills":[{"name":"bad.md","source":"/src/bad.md","state":"skipped","reason":"its front matter is not valid YAML"}]}`)
	apitest.Envelope(t, g.Do(http.MethodGet, path, "", "Authorization", "Bearer "+apitest.OtherKey), http.StatusNotFound, "conversation_not_found", "id")
	apitest.Envelope(t, g.Do(http.MethodGet, "/v1/conversations/x/extensions", ""), http.StatusBadRequest, "invalid_conversation_id", "id")
	apitest.Envelope(t, g.Do(http.MethodPost, path, ""), http.StatusMethodNotAllowed, "method_not_allowed", "")
}

func TestAnAgentThatListsNoExtensionsSaysSo(t *testing.T) {
	t.Parallel()
	g := apitest.Talked(t, func(c *daemon.Config) { c.Backend.(*daemontest.Backend).NoExtensions = true })
	apitest.Equal(t, "the body", strings.TrimSpace(g.Do(http.MethodGet, "/v1/conversations/"+apitest.Conversation+"/extensions", "").Body),
		`{"id":"`+apitest.Conversation+`","object":"conversation.extensions","mcp_servers":[],"skills":[],"note":"This agent lists no MCP servers and skills."}`)
}
