//go:build e2e

package terminal_test

import (
	"strings"
	"testing"
)

// withExtensions gives the agent an MCP server that fails and one that is disabled,
// a skill that is listed, and one that is skipped.
func (p *person) withExtensions() {
	p.write("oh/settings.json", `{"active_profile": "work", "agent_settings": {"mcp_config": {
		"files": {"command": "/no/such/program", "args": ["--key", "sk-hidden"]},
		"later": {"url": "https://me:sk-hidden@mcp.test/?key=sk-hidden", "enabled": false}}}}`)
	p.write("src/.agents/skills/build/SKILL.md", "---\ndescription: Builds it.\n---\nRun make.")
	p.write("src/.openhands/skills/broken.md", "---\n: [\n---\nx")
}

func TestMCPServersAndSkillsAreListedWithReasons(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.withExtensions()
	s := p.chat(usual, "--workspace src")
	s.sees("ready")
	s.asks("/mcp")
	s.sees("send a message first")
	s.asks("hello")
	s.sees("You said: hello", "● ready")
	s.asks("/mcp")
	shown := s.sees("MCP servers", "files", "failed · stdio · ", "no such file", "later", "disabled · http")
	if strings.Contains(shown, "sk-hidden") {
		t.Errorf("a secret is shown:\n%s", shown)
	}
	s.press("Escape")
	s.misses("disabled · http")
	s.asks("/skills")
	s.sees("Skills", "build", "listed · Builds it.", "broken.md", "skipped · its front matter is not valid YAML")
}

func TestAPlainChatListsMCPServersAndSkills(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.withExtensions()
	s := p.chat(size{200, 50}, "--plain --workspace src")
	s.sees("Model:")
	s.asks("hello")
	s.sees("Done:")
	s.asks("/mcp")
	s.sees("MCP servers:", "files: failed · stdio · ", "later: disabled · http")
	s.asks("/skills")
	s.sees("Skills:", "build: listed · Builds it.", "broken.md: skipped · its front matter is not valid YAML")
}
