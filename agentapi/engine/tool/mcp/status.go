package mcp

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/tool/object"
	"github.com/ohgw/ohgw/internal/fault"
)

// spokenError is a failure of a program with what the program printed, which is
// for the log alone.
type spokenError struct{ text, said string }

func (e *spokenError) Error() string { return e.text + "; it printed: " + e.said }

// Describe lists the servers of mcp_config, in the order of their names, as they
// are before anything was started. Its values may be sealed.
func Describe(raw json.RawMessage) []agentapi.MCPServer {
	all, err := object.Parse(raw)
	if err != nil {
		return nil
	}
	if wrapped, err := object.Parse(all.Get("mcpServers")); err == nil {
		all = wrapped
	}
	found := map[string]agentapi.MCPServer{}
	for _, entry := range all {
		s := agentapi.MCPServer{Name: entry.Name, Transport: transportOf(entry.Value), State: agentapi.ServerNotStarted, Reason: "it starts with the next message"}
		if off(entry.Value) {
			s.State, s.Reason = agentapi.ServerDisabled, "enabled is false in the settings"
		}
		found[s.Name] = s
	}
	list := make([]agentapi.MCPServer, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		list = append(list, found[name])
	}
	return list
}

// transportOf returns the transport of a server of mcp_config, as far as its settings
// can be read.
func transportOf(raw json.RawMessage) string {
	var s struct {
		URL       string `json:"url"`
		Transport string `json:"transport"`
		Type      string `json:"type"`
		Command   string `json:"command"`
	}
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	known := server{URL: s.URL, Transport: s.Transport, Type: s.Type, Command: s.Command}
	if known.check() != nil {
		return ""
	}
	return known.Transport
}

// Status lists all servers of the settings as they are now. It waits for nothing.
func (c *Client) Status() []agentapi.MCPServer {
	list := Describe(c.cfg.Servers)
	for i, s := range list {
		if s.State == agentapi.ServerDisabled {
			continue
		}
		at := slices.IndexFunc(c.members, func(m *member) bool { return m.name == s.Name })
		if at < 0 {
			list[i].State, list[i].Reason = agentapi.ServerFailed, why(c.failed[s.Name])
			continue
		}
		m := c.members[at]
		for _, t := range m.list() {
			list[i].Tools = append(list[i].Tools, t.Definition().Name)
		}
		list[i].State, list[i].Reason = m.state()
		if said := m.said(); said != "" {
			list[i].Reason = strings.TrimPrefix(list[i].Reason+"; "+said, "; ")
		}
	}
	return list
}

// state reports how the connection of the conversation is.
func (m *member) state() (agentapi.ServerState, string) {
	m.mu.Lock()
	c := m.connection
	m.mu.Unlock()
	switch {
	case c == nil:
		return agentapi.ServerNotStarted, "its tools are known; it starts with their first call"
	case !c.mu.TryLock():
		return agentapi.ServerNotStarted, "it is being started"
	}
	defer c.mu.Unlock()
	if c.session == nil {
		return agentapi.ServerNotStarted, "it starts with the first call of its tools"
	}
	if c.broken() {
		return agentapi.ServerNotStarted, "the connection was lost; it starts again with the next call of its tools"
	}
	if c.process != nil {
		return agentapi.ServerConnected, c.process.noise.String()
	}
	return agentapi.ServerConnected, ""
}

// why is a failure for people, without what a program printed.
func why(err error) string {
	const fallback = "it cannot be used; the log of ohgw serve has the cause"
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return fallback
	}
	if said, ok := errors.AsType[*spokenError](f.Err); ok {
		return said.text + "; the log of ohgw serve has what it printed"
	}
	if f.Err != nil {
		return f.Err.Error()
	}
	return f.Msg
}
