package prompt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/prompt"
	"github.com/ohgw/ohgw/agentapi/engine/skill"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
)

func now() time.Time { return time.Date(2026, 8, 22, 16, 34, 56, 0, time.UTC) }

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestStaticPartDependsOnConfigurationAndModelOnly(t *testing.T) {
	t.Parallel()
	one, _ := prompt.New(prompt.Config{Workspace: t.TempDir(), Suffix: "a", Now: now}).System(nil, "openai/x")
	two, _ := prompt.New(prompt.Config{Workspace: t.TempDir(), Suffix: "b", Now: time.Now}).System(nil, "openai/x")
	if one != two {
		t.Error("two conversations have different static parts: no provider can cache them")
	}
	for model, want := range map[string]string{"anthropic/Claude-sonnet-4-5": "option that was not asked for", "openai/gpt-5.5": "review", "gemini/x": "nothing beside"} {
		if got, _ := prompt.New(prompt.Config{Workspace: t.TempDir(), Now: now}).System(nil, model); !strings.Contains(got, want) || strings.Contains(one, want) {
			t.Errorf("%s: its correction is missing, or there for others", model)
		}
	}
}

// SOUL.md is in OpenHands' directory, which need not be in the home directory.
func TestSoulIsInTheDirectoryOfOpenHands(t *testing.T) {
	t.Parallel()
	home, base := t.TempDir(), t.TempDir()
	write(t, home, ".openhands/SOUL.md", "You are a pirate.")
	write(t, base, "SOUL.md", "You are a monk.")
	static, _ := prompt.New(prompt.Config{Workspace: t.TempDir(), User: skill.User{Home: home, Base: base}, Now: now}).System(nil, "openai/x")
	if !strings.Contains(static, "You are a monk.") || strings.Contains(static, "pirate") {
		t.Error(static)
	}
}

func TestSectionsComeWhenTheyAreMeant(t *testing.T) {
	t.Parallel()
	ws, home := t.TempDir(), t.TempDir()
	write(t, ws, "AGENTS.md", "Run make test.")
	write(t, ws, "CLAUDE.md", "For claude only.")
	write(t, home, ".openhands/SOUL.md", "You are a pirate.")
	static, dynamic := prompt.New(prompt.Config{
		Workspace: ws, User: skill.User{Home: home, Base: filepath.Join(home, ".openhands")}, Suffix: "THE SUFFIX", Now: now, NoRisk: true,
		Secrets: []prompt.Secret{{Name: "API_TOKEN", Description: "for the API"}},
	}).System([]tool.Definition{{Name: "browser_navigate"}}, "openai/x")
	for _, want := range []string{"You are a pirate.", "<ROLE>", "<SECURITY>", "<BROWSER_TOOLS>"} {
		if !strings.Contains(static, want) {
			t.Errorf("the static part has no %q", want)
		}
	}
	if strings.Contains(static, "RISK_ASSESSMENT") || strings.Contains(static, "You are OpenHands") {
		t.Error("the static part has what was replaced or turned off")
	}
	order := []string{"Run make test.", ws, "THE SUFFIX", "$API_TOKEN: for the API", "2026-08-22T16:34"}
	at := 0
	for _, want := range order {
		i := strings.Index(dynamic[at:], want)
		if i < 0 {
			t.Fatalf("no %q after position %d of %q", want, at, dynamic)
		}
		at += i
	}
	if strings.Contains(dynamic, "For claude only.") || strings.Contains(dynamic, "available_skills") {
		t.Error("the dynamic part has what is not for this agent")
	}
}

func TestTheAgentIsToldWhatItsSandboxLeaves(t *testing.T) {
	t.Parallel()
	cfg := prompt.Config{Workspace: t.TempDir(), Now: now, Open: []string{"network: @packages api.example.com"}}
	if _, dynamic := prompt.New(cfg).System(nil, "x"); strings.Contains(dynamic, "<SANDBOX>") {
		t.Error("an agent without a sandbox is told of one")
	}
	cfg.Sandboxed = true
	static, dynamic := prompt.New(cfg).System(nil, "x")
	for _, want := range []string{"<SANDBOX>", "api.example.com", "registries", "--no-sandbox", "</SANDBOX>"} {
		if !strings.Contains(dynamic, want) || strings.Contains(static, want) {
			t.Errorf("%q belongs to the dynamic part alone: %s", want, dynamic)
		}
	}
	cfg.Open = nil
	if _, dynamic := prompt.New(cfg).System(nil, "x"); !strings.Contains(dynamic, "No hosts can be reached") {
		t.Errorf("the agent is not told that there is no network: %s", dynamic)
	}
}

func TestInlinePromptReplacesTheStaticPart(t *testing.T) {
	t.Parallel()
	if got, _ := prompt.New(prompt.Config{Workspace: t.TempDir(), Static: "mine", Now: now}).System(nil, "x"); got != "mine" {
		t.Errorf("got %q", got)
	}
}

func TestRulesAreForFilesOfTheWorkspaceOnly(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	write(t, ws, ".openhands/skills/go.md", "---\npaths: '*.go'\n---\nTabs.")
	write(t, ws, "sub/AGENTS.md", "Sub rules.")
	p := prompt.New(prompt.Config{Workspace: ws, Now: now})
	for path, want := range map[string]int{
		filepath.Join(ws, "a.go"): 1, filepath.Join(ws, "sub/a.go"): 2, filepath.Join(ws, "sub/a.md"): 1,
		filepath.Join(filepath.Dir(ws), "a.go"): 0, "a.go": 0, "": 0,
	} {
		if got, _ := p.Path(path, nil); len(got) != want {
			t.Errorf("%q: %d rules, want %d", path, len(got), want)
		}
	}
	if got, names := p.Path(filepath.Join(ws, "sub/a.go"), []string{"go"}); len(got) != 1 || names[0] != "agents:sub" {
		t.Errorf("rules %v", names)
	}
}

func TestAPersonaReplacesWhoTheAgentIs(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write(t, home, "SOUL.md", "You are a monk.")
	tools := []tool.Definition{{Name: "browser_navigate"}}
	cfg := prompt.Config{Workspace: t.TempDir(), User: skill.User{Home: home, Base: home}, Now: now, Persona: " You review code.\n"}
	static, _ := prompt.New(cfg).System(tools, "anthropic/claude-x")
	if !strings.HasPrefix(static, "You review code.\n\n<MEMORY>") {
		t.Errorf("the persona is not first: %q", static[:80])
	}
	// As the SDK of 1.58.2 divides its own prompt.
	for _, tag := range []string{"MEMORY", "SECURITY", "SECURITY_RISK_ASSESSMENT", "BROWSER_TOOLS", "EXTERNAL_SERVICES", "PROCESS_MANAGEMENT", "IMPORTANT"} {
		if strings.Count(static, "<"+tag+">") != 1 || strings.Count(static, "</"+tag+">") != 1 {
			t.Errorf("%s is not there once", tag)
		}
	}
	for _, tag := range []string{
		"SOUL", "ROLE", "EFFICIENCY", "FILE_SYSTEM_GUIDELINES", "CODE_QUALITY", "VERSION_CONTROL", "PULL_REQUESTS",
		"PROBLEM_SOLVING_WORKFLOW", "SELF_DOCUMENTATION", "ENVIRONMENT_SETUP", "TROUBLESHOOTING",
	} {
		if strings.Contains(static, "<"+tag+">") {
			t.Errorf("%s stays", tag)
		}
	}
	cfg.Persona = " \n"
	if own, _ := prompt.New(cfg).System(tools, "x"); !strings.Contains(own, "You are a monk.") || !strings.Contains(own, "<ROLE>") {
		t.Error("a blank persona replaces something")
	}
	cfg.Persona, cfg.Static = "You review code.", "Only this."
	if got, _ := prompt.New(cfg).System(tools, "x"); !strings.HasPrefix(got, "Only this.\n\n<BROWSER_TOOLS>") || strings.Contains(got, "review") {
		t.Errorf("beside a system prompt: %q", got)
	}
	if got, _ := prompt.New(cfg).System(nil, "x"); got != "Only this." {
		t.Errorf("without the tools: %q", got)
	}
}

// Rules of the project's directories are left out with the rest of it.
func TestWithoutTheProjectItsNestedRulesAreLeftOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "deep/down/AGENTS.md", "Use tabs.")
	given := []skill.Skill{{Name: "rule", Body: "Use spaces.", Paths: []string{"**/*.txt"}}}
	for without, want := range map[bool]string{false: "rule deep/down", true: "rule"} {
		_, activated := prompt.New(prompt.Config{Workspace: dir, Given: given, NoProject: without, Now: now}).Path(filepath.Join(dir, "deep", "down", "a.txt"), nil)
		if len(activated) != len(strings.Fields(want)) || activated[0] != "rule" {
			t.Errorf("without the project %v: %q", without, activated)
		}
	}
}
