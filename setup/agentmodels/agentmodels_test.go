package agentmodels_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/definition"
	"github.com/ohgw/ohgw/internal/budget"
	"github.com/ohgw/ohgw/internal/openhands/files"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/setup/agentmodels"
)

// place is a home directory with OpenHands' files.
type place struct {
	home, base string
	browser    error // why this machine has none
	log        bytes.Buffer
	*agentmodels.Roster
}

func newPlace(t *testing.T, content map[string]string) *place {
	t.Helper()
	p := &place{home: t.TempDir()}
	p.base = filepath.Join(p.home, ".openhands")
	for name, text := range content {
		p.save(t, name, text)
	}
	ciphers := profile.FindCiphers(profile.CipherSources{LookupEnv: func(string) (string, bool) { return "", false }})
	store := files.New(files.Config{Profiles: profile.Open(profile.Config{Base: p.base, Ciphers: ciphers}), Ciphers: ciphers, Now: time.Now})
	p.Roster = agentmodels.New(agentmodels.Config{
		Home: p.home, Base: p.base, Recipes: store.AgentProfiles, Log: slog.New(slog.NewTextHandler(&p.log, nil)),
		Profiles: func(context.Context) ([]agentapi.Profile, error) {
			return []agentapi.Profile{{Name: "fast", Model: "openai/fast", Active: true}, {Name: "slow", Model: "openai/slow"}}, nil
		},
		Browser: func() error { return p.browser },
	})
	return p
}

func (p *place) save(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(p.home, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

const (
	recipeID = "6f2b9e1c-6f5c-4a62-9a3f-0d1e6a1f7c11"
	recipe   = `{"schema_version":2,"agent_kind":"openhands","id":"` + recipeID + `","name":"helper","revision":1,
		"llm_profile_ref":"fast","system_message_suffix":"Help.","tools":[{"name":"terminal","params":{}}]}`
	fastProfile = `{"model":"openai/fast","api_key":"sk-test-not-real"}`
)

// TestAgentsOfBothKindsAreListed has the agent profiles and the definitions in one
// list, and a problem for each that is not in it.
func TestAgentsOfBothKindsAreListed(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{
		".openhands/profiles/fast.json":         fastProfile,
		".openhands/agent-profiles/helper.json": recipe,
		".openhands/agent-profiles/other.json":  `{"agent_kind":"acp","id":"` + recipeID + `","name":"other","acp_server":"codex"}`,
		".openhands/agent-profiles/lost.json":   strings.ReplaceAll(recipe, `"fast"`, `"gone"`),
		".openhands/agent-profiles/ohgw.x.json": recipe,
		".agents/agents/a.md":                   "---\nname: Go Expert\ndescription: |\n  Knows Go.\n  <example>Why?</example>\nmodel: slow\n---\n",
		".agents/agents/b.md":                   "---\nname: helper\ndescription: x\n---\n",
		".agents/agents/c.md":                   "---\nname: c\ndescription: x\nmodel: none\n---\n",
		".agents/agents/d.md":                   "---\nname: '***'\ndescription: x\n---\n",
		".agents/agents/e.md":                   "---\nname: [\n---\n",
	})
	list, err := p.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range list {
		got = append(got, fmt.Sprintf("%s|%s|%s|%s", a.Name, a.Agent, a.Description, a.Model))
		if a.Modified.IsZero() || a.Revision == "" {
			t.Errorf("agent = %+v", a)
		}
	}
	if diff := cmp.Diff([]string{"agent_Go-Expert|Go Expert|Knows Go.|openai/slow", "agent_helper|helper||openai/fast"}, got); diff != "" {
		t.Error(diff)
	}
	_, problems, err := p.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[string]string{}
	for _, q := range problems {
		if q.Unused {
			reasons[filepath.Base(q.Path)] = fmt.Sprintf("%d %s", q.Line, strings.ReplaceAll(q.Msg, p.home, "HOME"))
		}
	}
	want := map[string]string{
		"other.json": "1 the agent is another program, which only an agent-server can run",
		"lost.json":  `2 there is no LLM profile "gone"`,
		"b.md":       "2 the model openhands_agent_helper is already that of " + filepath.FromSlash("HOME/.openhands/agent-profiles/helper.json"),
		"c.md":       `4 there is no LLM profile "none"`,
		"d.md":       "2 the name has no letter and no digit",
		"e.md":       reasons["e.md"],
	}
	if diff := cmp.Diff(want, reasons); diff != "" || reasons["e.md"] == "" {
		t.Error(diff)
	}
	told := p.log.String()
	for file := range want {
		if strings.Count(told, file+" ") == 0 {
			t.Errorf("the log does not name %s", file)
		}
	}
	if _, err := p.List(t.Context()); err != nil || p.log.String() != told {
		t.Errorf("a problem is told again: %v %s", err, p.log.String()[len(told):])
	}
}

func TestASavedFileCountsAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	before := []agentapi.Profile{}
	for _, text := range []string{"---\nname: a\n---\none", "---\nname: a\n---\ntwo"} {
		p.save(t, ".agents/agents/a.md", text)
		list, err := p.List(t.Context())
		if err != nil || len(list) != 1 || len(before) > 0 && before[0].Revision == list[0].Revision {
			t.Fatal(list, err)
		}
		before = list
	}
	if err := os.Remove(filepath.Join(p.home, ".agents/agents/a.md")); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Load(t.Context(), "a", ""); !errors.Is(err, agentapi.ErrProfileNotFound) {
		t.Fatal(err)
	}
}

func TestADefinitionBecomesSettings(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{
		".agents/skills/review/SKILL.md": "---\nname: review\ndescription: r\n---\n",
		".agents/skills/deploy/SKILL.md": "---\nname: deploy\ndescription: d\n---\n",
		".agents/agents/a.md": "---\nname: a\ntools: [terminal, magic, grep]\nskills: [review]\nmax_iteration_per_run: 5\nmax_budget_per_run: 2\nmax_tokens_per_run: 30000\n" +
			"permission_mode: confirm_risky\nmcp_servers: {f: {command: x}}\ncondenser: {kind: LLMSummarizingCondenser, max_size: 50, llm: {model: x}}\n---\nBe kind.",
	})
	a, err := p.Load(t.Context(), "a", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if a.Profile != "fast" || a.MaxIterations != 5 || a.MaxRun != (budget.Amount{Cost: 2, Tokens: 30000}) || a.Confirm != agentapi.ConfirmRisky {
		t.Errorf("agent = %+v", a)
	}
	var got, want any
	if err := json.Unmarshal(a.Settings, &got); err != nil {
		t.Fatal(err)
	}
	text := `{"agent_kind":"openhands","tools":[{"name":"terminal"},{"name":"grep"}],"mcp_config":{"f":{"command":"x"}},
		"condenser":{"enabled":true,"max_size":50},"agent_context":{"system_message_suffix":"Be kind.","disabled_skills":["deploy"]}}`
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestAWorkspaceBringsNoServers has the same definition in the workspace and in the
// home directory: only the user's own has MCP servers.
func TestAWorkspaceBringsNoServers(t *testing.T) {
	t.Parallel()
	for field, text := range map[string]string{
		"mcp_servers": "mcp_servers: {m: {url: 'http://127.0.0.1:9/mcp', headers: {X: '${ANTHROPIC_API_KEY}'}}}",
		"mcp_config":  "mcp_config:\n  mcpServers:\n    m: {command: sh}",
	} {
		for place, want := range map[string]bool{".agents/agents/": false, ".openhands/agents/": false, "home/": true} {
			p := newPlace(t, nil)
			project := t.TempDir()
			root, dir := project, place
			if place == "home/" {
				root, dir = p.home, ".agents/agents/"
			}
			file := filepath.Join(root, filepath.FromSlash(dir), "m.md")
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("---\nname: m\ndescription: d\n"+text+"\n---\n"), 0o600)); err != nil {
				t.Fatal(err)
			}
			r := agentmodels.New(agentmodels.Config{Project: project, Home: p.home, Base: p.base, Profiles: func(context.Context) ([]agentapi.Profile, error) {
				return []agentapi.Profile{{Name: "fast", Active: true}}, nil
			}})
			a, err := r.Load(t.Context(), "m", project)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(string(a.Settings), "mcp_config"); got != want {
				t.Errorf("%s in %s: it has servers: %t, want %t", field, place, got, want)
			}
			_, problems, err := r.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			told := len(problems) == 1 && problems[0].Line == 4 && !problems[0].Unused && strings.Contains(problems[0].Msg, "MCP servers are not started")
			if told == want || want && len(problems) > 0 {
				t.Errorf("%s in %s: problems %+v", field, place, problems)
			}
		}
	}
}

// TestFilesThatAreNoAgentProfilesAreNamed has one good file beside each that is not.
func TestFilesThatAreNoAgentProfilesAreNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, text string
		line       int
		msg        string
	}{
		"broken":         {"broken", "{\n  \"id\": \"x\",\n  no json", 3, "the file is not JSON: "},
		"empty":          {"empty", "", 1, "the file is not JSON: "},
		"not an object":  {"list", "[]", 0, "the file "},
		"odd name":       {"my agent", recipe, 0, "OpenHands ignores files with this name"},
		"no id":          {"plain", `{"agent_kind":"openhands","llm_profile_ref":"fast"}`, 0, "the agent profile has no id"},
		"unknown model":  {"other", strings.Replace(recipe, `"llm_profile_ref":"fast"`, `"llm_profile_ref":"gone"`, 1), 2, `there is no LLM profile "gone"`},
		"not even bytes": {"binary", "\xff\xfe", 1, "the file is not JSON: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, map[string]string{
				".openhands/agent-profiles/helper.json": recipe, ".openhands/agent-profiles/" + c.file + ".json": c.text,
			})
			entries, problems, err := p.Read(t.Context())
			if err != nil || len(entries) != 1 || entries[0].Name != "helper" {
				t.Fatalf("the agents are %+v: %v", entries, err)
			}
			if len(problems) != 1 {
				t.Fatalf("the problems are %+v", problems)
			}
			got := problems[0]
			if !got.Unused || got.Agent != c.file || got.Line != c.line || !strings.HasPrefix(got.Msg, c.msg) || got.Hint == "" || filepath.Base(got.Path) != c.file+".json" {
				t.Errorf("the problem is %+v, want line %d and %q", got, c.line, c.msg)
			}
			if _, err := p.List(t.Context()); err != nil || !strings.Contains(p.log.String(), "agent-profiles") {
				t.Errorf("the log has %s: %v", p.log.String(), err)
			}
		})
	}
}

// TestNamesInTheListAreOneLine has control characters in what a workspace says of itself.
func TestNamesInTheListAreOneLine(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{
		".agents/agents/a.md": "---\nname: \"esc\\e[31mred\\nline\"\ndescription: \"one\\e[0m\\u202e two\\nthree\"\n---\n",
	})
	list, err := p.List(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("the list is %+v: %v", list, err)
	}
	if got := list[0]; got.Agent != "esc [31mred line" || got.Description != "one [0m two three" {
		t.Errorf("the agent is %q: %q", got.Agent, got.Description)
	}
}

func TestAnAgentProfileIsResolved(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{".openhands/profiles/fast.json": fastProfile, ".openhands/agent-profiles/helper.json": recipe})
	a, err := p.Load(t.Context(), "helper", "")
	if err != nil {
		t.Fatal(err)
	}
	text := string(a.Settings)
	if a.Profile != "fast" || !strings.Contains(text, "Help.") || !strings.Contains(text, "terminal") || strings.Contains(text, "sk-test") || strings.Contains(text, `"llm":`) {
		t.Errorf("agent = %+v, settings %s", a, text)
	}
}

// What a newer OpenHands has in an agent profile and the embedded agent has not is named.
// The agent is one all the same.
func TestAgentProfilesOfANewerOpenHands(t *testing.T) {
	t.Parallel()
	const newer = `,"persona":"Me.","secret_refs":["A"],"enable_classify_and_switch_llm_tool":true,"meta_profile_ref":"router"}`
	of := func(version string) string {
		return strings.TrimSuffix(strings.Replace(recipe, `"schema_version":2`, `"schema_version":`+version, 1), "}") + newer
	}
	ignored := []string{
		"the embedded agent ignores enable_classify_and_switch_llm_tool", "the embedded agent ignores meta_profile_ref",
	}
	for version, want := range map[string][]string{
		"3": ignored, "4": ignored,
		"99": append([]string{
			"schema_version is 99, newer than 4, the newest version that ohgw knows: ohgw uses what it understands of the file and does not change it",
		}, ignored...),
	} {
		p := newPlace(t, map[string]string{".openhands/profiles/fast.json": fastProfile, ".openhands/agent-profiles/helper.json": of(version)})
		entries, problems, err := p.Read(t.Context())
		if err != nil || len(entries) != 1 {
			t.Fatalf("%s: entries = %+v, problems %+v, error %v", version, entries, problems, err)
		}
		var got []string
		for _, q := range append(problems, p.Probe(t.Context(), entries[0])...) {
			if q.Unused || q.Hint == "" || q.Agent != "helper" || filepath.Base(q.Path) != "helper.json" {
				t.Errorf("problem = %+v", q)
			}
			got = append(got, q.Msg)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", version, diff)
		}
		a, err := p.Load(t.Context(), "helper", "")
		if err != nil || a.Secrets == nil || len(*a.Secrets) != 1 || !strings.Contains(string(a.Settings), "terminal") || !strings.Contains(string(a.Settings), `"persona":"Me."`) {
			t.Errorf("%s: agent = %+v, error %v", version, a, err)
		}
		if _, err := p.List(t.Context()); err != nil || strings.Contains(p.log.String(), "newer than 4") != (version == "99") {
			t.Errorf("%s: %v, log %s", version, err, p.log.String())
		}
	}
}

// The hooks of a definition count where the file is the user's, also for the lead of a team.
func TestHooksOfDefinitions(t *testing.T) {
	t.Parallel()
	const file = "---\nname: %s\ndescription: d\nhooks: {stop: [{hooks: [{command: x}]}]}\n---\n"
	p := newPlace(t, map[string]string{
		"project/.agents/agents/project.md": fmt.Sprintf(file, "project"), ".agents/agents/mine.md": fmt.Sprintf(file, "mine"),
		".openhands/agents/other.md": fmt.Sprintf(file, "other"),
		".agents/teams/led.md":       "---\nname: led\ndescription: d\nmembers: [other]\nlead: mine\n---\n",
		".agents/teams/all.md":       "---\nname: all\ndescription: d\nmembers: [other]\nmode: collaborate\nlead: mine\n---\n",
		".agents/teams/evil.md":      "---\nname: evil\ndescription: d\nmembers: [other]\nhooks: {stop: [{hooks: [{command: x}]}]}\n---\n",
	})
	project := filepath.Join(p.home, "project")
	r := agentmodels.New(agentmodels.Config{Project: project, Home: p.home, Base: p.base, Profiles: func(context.Context) ([]agentapi.Profile, error) {
		return []agentapi.Profile{{Name: "fast", Model: "openai/fast", Active: true}}, nil
	}})
	entries, problems, err := r.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"project": false, "mine": true, "other": true, "led": true, "all": false, "evil": false}
	for _, e := range entries {
		a, err := r.Load(t.Context(), e.Name, project)
		hooked, known := want[e.Title]
		if err != nil || !known || (len(a.Hooks) > 0) != hooked {
			t.Errorf("%s has the hooks %q, %v", e.Title, a.Hooks, err)
		}
		delete(want, e.Title)
	}
	if len(want) > 0 {
		t.Errorf("agents that are not there: %v", want)
	}
	problems = slices.DeleteFunc(problems, func(p definition.Problem) bool { return !strings.Contains(p.Msg, "hooks") || p.Agent == "evil" })
	if len(problems) != 1 || problems[0].Agent != "project" || problems[0].Line != 4 || !strings.Contains(problems[0].Msg, "belongs to the workspace") {
		t.Errorf("problems %+v", problems)
	}
}

func TestWhatHasNoEffectIsSaid(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{
		".agents/agents/a.md": "---\nname: a\ndescription: d\ntools: [magic]\npermission_mode: never_confirm\n" +
			"condenser: {kind: RecentEventsCondenser}\nprofile_store_dir: /x\n---\n",
	})
	_, problems, err := p.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lines := map[int]bool{}
	for _, q := range problems {
		lines[q.Line] = true
		if q.Unused || q.Hint == "" {
			t.Errorf("problem = %+v", q)
		}
	}
	for line := 4; line <= 7; line++ {
		if !lines[line] {
			t.Errorf("nothing is said of line %d: %+v", line, problems)
		}
	}
}
