package session

import (
	"cmp"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/human"
	"github.com/ohgw/ohgw/tui/safe"
)

// loadedMsg is what the agent of a conversation has, or why that is unknown.
type loadedMsg struct {
	skills bool // the skills are asked for, else the MCP servers
	found  gateway.Extensions
	err    error
}

// Loaded asks for the MCP servers of the conversation of an ID, or for its skills.
func (s Kept) Loaded(id string, skills bool) tea.Cmd {
	if s.cfg.History == nil {
		return s.view.Say("this gateway lists no MCP servers and skills")
	}
	history, ctx := s.cfg.History, s.ctx
	return s.Work(func() tea.Msg {
		found, err := history.Extensions(ctx, id)
		return loadedMsg{skills, found, err}
	})
}

// loaded shows what the agent has.
func (s Kept) loaded(msg loadedMsg) tea.Cmd {
	title, what, rows := "MCP servers", "MCP servers", serverRows(msg.found.Servers)
	if msg.skills {
		title, what, rows = "Skills", "skills", skillRows(msg.found.Skills)
	}
	switch {
	case gateway.IsUnknown(msg.err):
		return s.view.Say("send a message first: the agent's " + what + " are known with the conversation")
	case msg.err != nil:
		s.Note("The "+what+" cannot be listed: "+human.Sentence(asGateway(msg.err).Message), true)
		return nil
	case len(rows) == 0 && msg.found.Note == "":
		return s.view.Say("the agent of this conversation has no " + what)
	case len(rows) == 0:
		rows = [][2]string{{"none", "the agent of this conversation has no " + what}}
	}
	if msg.found.Note != "" {
		rows = append(rows, [2]string{"note", safe.Line(msg.found.Note)})
	}
	s.view.Sheet(title, rows)
	return nil
}

// serverRows are a name and a text for each server, harmless.
func serverRows(list []gateway.MCPServer) (rows [][2]string) {
	for _, x := range list {
		tools := ""
		switch {
		case len(x.Tools) > 0:
			tools = human.Count(len(x.Tools), "tool") + ": " + strings.Join(x.Tools, ", ")
		case x.State == "connected":
			tools = "no tools"
		}
		rows = append(rows, row(x.Name, x.State, x.Transport, x.Reason, tools))
	}
	return rows
}

// skillRows are a name and a text for each skill, harmless.
func skillRows(list []gateway.Skill) (rows [][2]string) {
	for _, x := range list {
		rows = append(rows, row(x.Name, x.State, x.Reason, x.Description, x.Source))
	}
	return rows
}

// row is a name with the parts that are not empty.
func row(name string, parts ...string) [2]string {
	var said []string
	for _, p := range parts {
		if p = safe.Line(p); p != "" {
			said = append(said, p)
		}
	}
	return [2]string{cmp.Or(safe.Line(name), "(no name)"), strings.Join(said, " · ")}
}
