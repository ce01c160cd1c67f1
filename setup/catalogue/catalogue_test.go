package catalogue

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/skill"
	"github.com/ohgw/ohgw/internal/openhands/files"
	"github.com/ohgw/ohgw/internal/profile"
)

// TestTheAgentsOfACatalogueComeByPrecedence has agents of one name in a project, in both
// places of the user, and built in.
func TestTheAgentsOfACatalogueComeByPrecedence(t *testing.T) {
	t.Parallel()
	project, home, base := t.TempDir(), t.TempDir(), t.TempDir()
	for path, of := range map[string]string{
		filepath.Join(project, ".agents", "agents", "rev.md"):        "project",
		filepath.Join(project, ".openhands", "agents", "doc.md"):     "project",
		filepath.Join(home, ".agents", "agents", "rev.md"):           "home",
		filepath.Join(base, "agents", "own.md"):                      "base",
		filepath.Join(home, ".agents", "agents", "bash-runner.md"):   "home",
		filepath.Join(project, ".agents", "elsewhere", "nothing.md"): "project",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".md")
		text := "---\nname: " + name + "\ndescription: Of " + of + ".\ntools: [terminal]\n---\nWork.\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	user := skill.User{Home: home, Base: base}
	for _, tt := range []struct {
		dir          string
		own, builtin bool
		want         string
	}{
		{project, true, true, "rev:project doc:project bash-runner:home own:base general-purpose: code-explorer:"},
		{project, false, false, "rev:project doc:project"},
		{"", true, false, "bash-runner:home rev:home own:base"},
		{"", false, true, "general-purpose: code-explorer: bash-runner:"},
	} {
		var got []string
		for _, a := range agentsOf(t.Context(), tt.dir, user, tt.own, tt.builtin, nil) {
			of, found := strings.CutPrefix(strings.TrimSuffix(a.Description, "."), "Of ")
			if !found {
				of = ""
			}
			if a.User != (of == "home" || of == "base") || (a.Source == "") != (of == "") || a.Prompt == "" {
				t.Errorf("agent = %+v", a)
			}
			got = append(got, a.Name+":"+of)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%q %v %v: agents = %q, want %q", tt.dir, tt.own, tt.builtin, got, tt.want)
		}
	}
}

// TestAnAgentOfACatalogueHasAllOfItsDefinition has MCP servers with secrets, and members
// that only programs which list agents use.
func TestAnAgentOfACatalogueHasAllOfItsDefinition(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	file := filepath.Join(project, ".agents", "agents", "rev.md")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	const text = `---
description: Reviews.
profile_store_dir: /llms
condenser: none
team: [a]
since: 2026-01-01
mcp_config:
  local: {command: x, env: {A: secret-1}, odd: 1, timeout: 5}
  away: {url: 'http://x.test/mcp', type: shttp, auth: {strategy: bearer, value: secret-2}, enabled: 'no'}
---
Work.
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	kept := files.New(files.Config{Profiles: profile.Open(profile.Config{Base: t.TempDir()}), Now: time.Now})
	found := agentsOf(t.Context(), project, skill.User{}, false, false, kept.Servers.Masked)
	if len(found) != 1 {
		t.Fatal(found)
	}
	metadata, err := json.Marshal(found[0].Metadata)
	if err != nil {
		t.Fatal(err)
	}
	const (
		servers = `{"away":{"auth":{"strategy":"bearer","value":"**********"},"enabled":false,"transport":"http","url":"http://x.test/mcp"},` +
			`"local":{"command":"x","enabled":true,"env":{"A":"**********"},"timeout":5}}`
		others = `{"since":"2026-01-01","team":["a"]}`
	)
	if a := found[0]; a.ProfileDir != "/llms" || !a.NoCondenser || string(a.Servers) != servers || string(metadata) != others {
		t.Errorf("agent = %+v\nservers = %s\nmetadata = %s", a, a.Servers, metadata)
	}
}
