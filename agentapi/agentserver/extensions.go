package agentserver

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
)

// equipment is what a conversation's description has of MCP servers and skills.
type equipment struct {
	Agent struct {
		Servers object `json:"mcp_config"`
		Context *struct {
			Skills []serverSkill `json:"skills"`
		} `json:"agent_context"`
	} `json:"agent"`
}

// serverSkill is a skill as the server describes it.
type serverSkill struct {
	Name        string `json:"name"`
	Source      string `json:"source"`
	Description string `json:"description"`
	Listed      bool   `json:"is_agentskills_format"`
	Trigger     *struct {
		Keywords []string `json:"keywords"`
		Triggers []string `json:"triggers"`
		Paths    []string `json:"paths"`
	} `json:"trigger"`
}

const extensionsNote = "The agent-server does not report MCP servers that failed or skill files that it skipped; its log does."

// Extensions reads the description of the conversation, and from the beginning of
// its log the tools that the agent was started with. Servers before 1.23 list the
// skills without being asked to.
func (b *Backend) Extensions(ctx context.Context, id string) (agentapi.Extensions, error) {
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var found equipment
	_, err := b.client.do(limited, request{
		method: http.MethodGet, path: conversationPath(id), query: url.Values{"include_skills": {"true"}}, out: &found,
	})
	if gone(err) {
		return agentapi.Extensions{}, conversationNotFound(id, err)
	}
	if err != nil {
		return agentapi.Extensions{}, b.fault(ctx, "describe the conversation", err)
	}
	out := agentapi.Extensions{Note: extensionsNote}
	if c := found.Agent.Context; c != nil {
		for _, s := range c.Skills {
			out.Skills = append(out.Skills, s.skill())
		}
	}
	servers := found.Agent.Servers
	if wrapped := servers.object("mcpServers"); len(wrapped) > 0 { // before 1.31.2
		servers = wrapped
	}
	if len(servers) == 0 {
		return out, nil
	}
	tools, started, err := b.startedWith(ctx, id)
	if err != nil {
		return agentapi.Extensions{}, err
	}
	out.Servers = listServers(servers, tools, started)
	return out, nil
}

// skill converts the skill to the form of the seam.
func (s serverSkill) skill() agentapi.Skill {
	out := agentapi.Skill{Name: s.Name, Description: s.Description, Source: s.Source, State: agentapi.SkillAlways}
	if out.Source == "" {
		out.Source = agentapi.SkillBuiltIn
	}
	if t := s.Trigger; t != nil {
		out.State = agentapi.SkillTriggered
		if words := slices.Concat(t.Keywords, t.Triggers); len(words) > 0 {
			out.Reason = "words: " + strings.Join(words, ", ")
		} else if len(t.Paths) > 0 {
			out.Reason = "files: " + strings.Join(t.Paths, ", ")
		}
	}
	if s.Listed {
		out.State = agentapi.SkillListed
	}
	return out
}

// startedWith reads the names of the tools of MCP servers that the agent was started
// with. It is started with the first message of the user.
func (b *Backend) startedWith(ctx context.Context, id string) (tools []string, started bool, err error) {
	page, err := b.Events(ctx, id, agentapi.EventQuery{Limit: 10})
	if err != nil {
		return nil, false, err
	}
	for _, e := range page.Events {
		prompt, ok := e.Body.(*event.SystemPrompt)
		if !ok {
			continue
		}
		for _, data := range prompt.Tools {
			var t struct {
				MCP *struct {
					Name string `json:"name"`
				} `json:"mcp_tool"`
			}
			if json.Unmarshal(data, &t) == nil && t.MCP != nil {
				tools = append(tools, t.MCP.Name)
			}
		}
		return tools, true, nil
	}
	return nil, false, nil
}

// listServers lists the servers of a conversation. An agent starts only with all of
// its servers, so those of one that was started are connected. With several servers
// the name of each is the beginning of its tools' names.
func listServers(servers object, tools []string, started bool) []agentapi.MCPServer {
	list := make([]agentapi.MCPServer, 0, len(servers))
	on := 0
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		s := describeServer(name, servers.object(name))
		if s.State != agentapi.ServerDisabled {
			on++
			if started {
				s.State, s.Reason = agentapi.ServerConnected, ""
			}
		}
		list = append(list, s)
	}
	for i, s := range list {
		if s.State != agentapi.ServerConnected {
			continue
		}
		for _, t := range tools {
			if on == 1 || strings.HasPrefix(t, s.Name+"_") {
				list[i].Tools = append(list[i].Tools, t)
			}
		}
	}
	return list
}

func describeServer(name string, o object) agentapi.MCPServer {
	s := agentapi.MCPServer{Name: name, State: agentapi.ServerNotStarted, Reason: "it starts with the first message"}
	if string(o["enabled"]) == "false" {
		s.State, s.Reason = agentapi.ServerDisabled, "enabled is false in the settings"
	}
	switch transport := o.text("transport"); {
	case transport == "stdio" || transport == "sse" || transport == "http":
		s.Transport = transport
	case o.text("url") != "":
		s.Transport = "http"
	case o.text("command") != "":
		s.Transport = "stdio"
	}
	return s
}
