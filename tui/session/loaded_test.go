package session_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/session"
)

func TestWhatIsLoadedIsShownHarmless(t *testing.T) {
	t.Parallel()
	const hostile = "\x1b]0;owned\a\x1b[31mred\nline\u202e"
	kept := old()
	kept.loaded = gateway.Extensions{
		Servers: []gateway.MCPServer{
			{Name: "docs", Transport: "stdio", State: "connected", Tools: []string{"find", hostile}},
			{Name: hostile, State: "failed", Reason: hostile},
			{Name: "idle", State: "connected"},
		},
		Skills: []gateway.Skill{{Name: hostile, Source: hostile, Description: hostile, State: "skipped", Reason: "its front matter is not valid YAML"}},
		Note:   "Not all " + hostile,
	}
	talk(t, &script{}, func(cfg *session.Config) { cfg.History, cfg.Start.Conversation = kept, "c9" }, func(c *chat) {
		c.do(c.Kept.Loaded(c.Convo.ID, false))
		c.do(c.Kept.Loaded(c.Convo.ID, true))
		c.view.has(t, "sheet MCP servers")
		c.view.has(t, "docs | connected · stdio · 2 tools: find, ")
		c.view.has(t, "idle | connected · no tools")
		c.view.has(t, "sheet Skills")
		c.view.has(t, "skipped · its front matter is not valid YAML")
		c.view.has(t, "note | Not all ")
		for _, line := range c.view.lines {
			if strings.ContainsAny(line, "\x1b\a\n\u202e") {
				t.Errorf("%q is not harmless", line)
			}
		}
	})
}

func TestWhatCannotBeListedIsSaid(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		kept  *archive
		start string
		want  string
	}{
		"nothing was sent": {old(), "", "say send a message first: the agent's skills are known with the conversation"},
		"none":             {old(), "c9", "say the agent of this conversation has no skills"},
		"refused":          {&archive{items: old().items, err: errors.New("it is down")}, "", "note The skills cannot be listed: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			talk(t, &script{}, func(cfg *session.Config) { cfg.History, cfg.Start.Conversation = tc.kept, tc.start }, func(c *chat) {
				if name == "refused" {
					tc.kept.items[c.Convo.ID] = nil
				}
				c.do(c.Kept.Loaded(c.Convo.ID, true))
				c.view.has(t, tc.want)
			})
		})
	}
	talk(t, &script{}, nil, func(c *chat) {
		c.do(c.Kept.Loaded(c.Convo.ID, true))
		c.view.has(t, "say this gateway lists no MCP servers and skills")
	})
}
