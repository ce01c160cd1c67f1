package agentmodels_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/skill"
	"github.com/ohgw/ohgw/setup/agentmodels"
)

// kindsOfFiles are the kinds of files by which a workspace could start something, each
// with what is said about it.
func kindsOfFiles() map[string]struct{ text, says string } {
	const servers = `{"mcpServers":{"m":{"command":"touch","args":["started"],"env":{"A":"${ANTHROPIC_API_KEY}"}}}}`
	const skillText = "---\nname: evil\ndescription: d\n---\n"
	return map[string]struct{ text, says string }{
		".mcp.json":                        {servers, "MCP servers are not started"},
		".openhands/mcp.json":              {servers, "MCP servers are not started"},
		".openhands/.mcp.json":             {servers, "MCP servers are not started"},
		".agents/mcp.json":                 {servers, "MCP servers are not started"},
		".agents/.mcp.json":                {servers, "MCP servers are not started"},
		".openhands/hooks.json":            {`{"hooks":{"SessionStart":[{"hooks":[{"command":"touch started"}]}]}}`, "hooks are not run"},
		".agents/hooks.json":               {`{"hooks":{"PreToolUse":[{"matcher":"*","hooks":[{"command":"touch started"}]}]}}`, "hooks are not run"},
		".openhands/setup.sh":              {"touch started\n", "script is not run"},
		".openhands/pre-commit.sh":         {"touch started\n", "script is not run"},
		".plugin/plugin.json":              {`{"name":"p"}`, "plugin is not used"},
		".claude-plugin/plugin.json":       {`{"name":"p"}`, "plugin is not used"},
		".openhands/plugins/p/plugin.json": {`{"name":"p"}`, "plugin is not used"},
		".agents/plugins/p/plugin.json":    {`{"name":"p"}`, "plugin is not used"},
		".agents/skills/evil/.mcp.json":    {servers, "MCP servers of the skill are not started"},
		".openhands/skills/evil/.mcp.json": {servers, "MCP servers of the skill are not started"},
		".agents/skills/evil/SKILL.md":     {skillText + "!`touch started`\n", "commands in the skill are not run"},
		".openhands/microagents/evil.md":   {"---\nname: evil\ntriggers: [a]\nmcp_tools: " + servers + "\n---\ntext\n", "mcp_tools of the skill has no effect"},
		".openhands/skills/other.md":       {"---\nname: other\nmcp_tools:\n  mcpServers: {}\n---\n!`touch started`\n", "mcp_tools of the skill has no effect"},
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func TestWhatAWorkspaceBringsIsNamedAndStartsNothing(t *testing.T) {
	t.Parallel()
	for name, file := range kindsOfFiles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home, workspace := t.TempDir(), t.TempDir()
			write(t, workspace, name, file.text)
			if strings.HasSuffix(name, "skills/evil/.mcp.json") {
				write(t, workspace, strings.TrimSuffix(name, ".mcp.json")+"SKILL.md", "---\nname: evil\ndescription: d\n---\ntext\n")
			}
			var log bytes.Buffer
			cfg := agentmodels.Config{
				Home: home, Base: filepath.Join(home, ".openhands"), Log: slog.New(slog.NewTextHandler(&log, nil)),
				Profiles: func(context.Context) ([]agentapi.Profile, error) { return nil, nil },
			}
			for range 2 { // a workspace of one conversation, said once
				r := agentmodels.New(cfg)
				log.Reset()
				r.Opened(workspace)
				r.Opened(workspace)
				if n := strings.Count(log.String(), file.says); n != 1 {
					t.Errorf("the log says it %d times:\n%s", n, log.String())
				}
			}
			cfg.Project = workspace
			_, problems, err := agentmodels.New(cfg).Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			said := false
			for _, p := range problems {
				said = said || strings.Contains(p.Msg, file.says) && strings.HasPrefix(p.Path, workspace) && p.Hint != "" && !p.Unused
			}
			if !said {
				t.Errorf("said %+v", problems)
			}
			if _, err := os.Stat(filepath.Join(workspace, "started")); err == nil {
				t.Error("a program was started")
			}
		})
	}
}

// One-shots have an empty directory each, for which nothing is to be kept.
func TestAnEmptyWorkspaceIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	home, workspace := t.TempDir(), t.TempDir()
	var log bytes.Buffer
	r := agentmodels.New(agentmodels.Config{Home: home, Base: filepath.Join(home, ".openhands"), Log: slog.New(slog.NewTextHandler(&log, nil))})
	r.Opened(workspace)
	if log.Len() > 0 {
		t.Errorf("log of an empty workspace = %s", log.String())
	}
	const name = ".openhands/hooks.json"
	file := kindsOfFiles()[name]
	write(t, workspace, name, file.text)
	r.Opened(workspace)
	r.Opened(workspace)
	if n := strings.Count(log.String(), file.says); n != 1 {
		t.Errorf("number of lines in the log = %d, want 1:\n%s", n, log.String())
	}
}

// The same files of the user are the user's word.
func TestFilesOfTheUserAreNotLeftOut(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	user := skill.User{Home: home, Base: filepath.Join(home, ".openhands")}
	for _, name := range []string{".openhands/hooks.json", ".agents/skills/evil/SKILL.md"} {
		write(t, home, name, kindsOfFiles()[name].text)
	}
	if got := agentmodels.LeftOut(home, user); len(got) > 0 {
		t.Errorf("said %+v", got)
	}
	for _, none := range []string{"", t.TempDir(), filepath.Join(home, "missing")} {
		if got := agentmodels.LeftOut(none, user); len(got) > 0 {
			t.Errorf("%q: said %+v", none, got)
		}
	}
}

// A link out of the workspace is not followed.
func TestLinksOfAWorkspaceAreNotFollowedOut(t *testing.T) {
	t.Parallel()
	outside, workspace := t.TempDir(), t.TempDir()
	write(t, outside, "hooks.json", "{}")
	if err := os.Symlink(outside, filepath.Join(workspace, ".openhands")); err != nil {
		t.Skip("no symbolic links")
	}
	if got := agentmodels.LeftOut(workspace, skill.User{}); len(got) > 0 {
		t.Errorf("said %+v", got)
	}
}
