package definition_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/definition"
)

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const complete = `---
name: reviewer
description: |
  Reviews Go code.
  <example>Is this right?</example>
  <example> Look at my diff </example>
model: fast
color: blue
tools: [terminal, file_editor]
skills: go, review
max_iteration_per_run: 20
max_budget_per_run: 0.25
max_tokens_per_run: 90000
permission_mode: Always_Confirm
mcp_servers:
  fetch: {command: uvx, args: [mcp-server-fetch]}
hooks:
  PreToolUse:
    - matcher: terminal
      hooks: [{command: ./check.sh}]
condenser: none
other: 1
---
Be strict.
`

func TestAFileWithEveryFieldIsReadCompletely(t *testing.T) {
	t.Parallel()
	d, problems := definition.Parse("/x/reviewer.md", []byte(complete))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := definition.Definition{
		Name: "reviewer", Description: "Reviews Go code.\n<example>Is this right?</example>\n<example> Look at my diff </example>\n",
		Examples: []string{"Is this right?", "Look at my diff"}, Color: "blue", Prompt: "Be strict.", Model: "fast",
		Tools: []string{"terminal", "file_editor"}, Skills: []string{"go", "review"},
		Servers:    []byte(`{"fetch":{"args":["mcp-server-fetch"],"command":"uvx"}}`),
		Hooks:      []byte(`{"pre_tool_use":[{"hooks":[{"command":"./check.sh"}],"matcher":"terminal"}]}`),
		Permission: definition.AlwaysConfirm, MaxIterations: 20, MaxBudget: 0.25, MaxTokens: 90000, NoCondenser: true,
		Others: []string{"other"}, Metadata: map[string]json.RawMessage{"other": json.RawMessage("1")}, Path: "/x/reviewer.md",
	}
	if diff := cmp.Diff(want, d, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".lines" }, cmp.Ignore())); diff != "" {
		t.Fatal(diff)
	}
	if line := d.Line("tools"); line != 9 {
		t.Errorf("tools are in line %d, want 9", line)
	}
}

func TestAProjectsDefinitionComesBeforeTheUsers(t *testing.T) {
	t.Parallel()
	project, home := t.TempDir(), t.TempDir()
	write(t, project, ".openhands/agents/a.md", "---\nname: a\ndescription: second\n---\n")
	first := write(t, project, ".agents/agents/x.md", "---\nname: a\ndescription: first\n---\n")
	write(t, home, ".agents/agents/a.md", "---\ndescription: third\n---\n")
	write(t, home, ".openhands/agents/b.md", "no head")
	write(t, home, ".agents/agents/README.md", "---\nname: readme\n---\n")
	found, problems := definition.Load(t.Context(), definition.Dirs(project, home, filepath.Join(home, ".openhands"))...)
	var got []string
	for _, d := range found {
		got = append(got, fmt.Sprintf("%s %q user=%v", d.Name, d.Description+d.Prompt, d.User))
	}
	if diff := cmp.Diff([]string{`a "first" user=false`, `b "no head" user=true`}, got); diff != "" {
		t.Fatal(diff)
	}
	if len(problems) != 2 || !strings.Contains(problems[0].Msg, first) || problems[0].Line != 2 || !problems[1].Unused {
		t.Fatalf("problems = %+v", problems)
	}
}

// The user's directory of OpenHands has definitions wherever it is, and the one in the
// home directory has none then.
func TestDefinitionsAreInTheDirectoryOfOpenHands(t *testing.T) {
	t.Parallel()
	home, base := t.TempDir(), t.TempDir()
	write(t, home, ".openhands/agents/a.md", "---\ndescription: hidden\n---\n")
	write(t, home, ".agents/agents/b.md", "---\ndescription: b\n---\n")
	write(t, base, "agents/c.md", "---\ndescription: c\n---\n")
	found, problems := definition.Load(t.Context(), definition.Dirs("", home, base)...)
	var got []string
	for _, d := range found {
		got = append(got, fmt.Sprintf("%s user=%v", d.Name, d.User))
	}
	if diff := cmp.Diff([]string{"b user=true", "c user=true"}, got); diff != "" || len(problems) > 0 {
		t.Errorf("found (-want +got):\n%sproblems = %+v", diff, problems)
	}
	// Where the workspace is the home directory, what is in it belongs to the workspace.
	if dirs := definition.Dirs(home, home, filepath.Join(home, ".openhands")); len(dirs) != 2 || dirs[0].User || dirs[1].User {
		t.Errorf("dirs = %+v", dirs)
	}
}

// TestABadFileIsNamedWithItsLineAndARemedy has every kind of bad file beside a
// good one, which has to stay.
func TestABadFileIsNamedWithItsLineAndARemedy(t *testing.T) {
	t.Parallel()
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for i := 'b'; i <= 'j'; i++ {
		bomb += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", i, i, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1)
	}
	for name, c := range map[string]struct {
		head   string
		line   int
		msg    string
		unused bool
	}{
		"yaml":        {"name: x\ntools: [a\n", 3, "not valid YAML", true},
		"colon":       {"description: a: b: c", 2, "not valid YAML", true},
		"bomb":        {"name: x\n" + bomb, 6, "more than 5000 values", true},
		"self":        {"a: &a [*a]", 2, "nested too deeply", true},
		"anchor":      {"a: *b", 2, "*b has no anchor", true},
		"brackets":    {strings.Repeat("[", 60000), 2, "nested too deeply", true},
		"dashes":      {strings.Repeat("- ", 30000), 2, "nested too deeply", true},
		"big":         {"a: " + strings.Repeat("x", 70000), 1, "larger than 65536 bytes", true},
		"tag":         {"a: !python/object:os.system x", 2, "has no meaning", true},
		"iterations":  {"name: x\nmax_iteration_per_run: 0", 3, "cannot be 0", true},
		"iterations2": {"max_iteration_per_run: many", 2, "cannot be many", true},
		"budget":      {"max_budget_per_run: -1", 2, "cannot be -1", true},
		"budget2":     {"max_budget_per_run: .nan", 2, "cannot be", true},
		"budget3":     {"max_budget_per_run: [1]", 2, "is not a number", false},
		"tokens":      {"name: x\nmax_tokens_per_run: 0", 3, "cannot be 0", true},
		"tokens2":     {"max_tokens_per_run: -5", 2, "cannot be -5", true},
		"tokens3":     {"max_tokens_per_run: .inf", 2, "cannot be .inf", true},
		"tokens4":     {"max_tokens_per_run: [5]", 2, "is not a whole number", false},
		"permission":  {"permission_mode: ask", 2, `cannot be "ask"`, true},
		"servers":     {"mcp_config: [a]", 2, "not a mapping", true},
		"server":      {"mcp_config:\n  a: {command: ''}", 3, "MCP server a has a command", true},
		"event":       {"hooks:\n  Before: []", 3, "no event Before", true},
		"hook":        {"hooks:\n  stop:\n    - hooks: [{}]", 4, "no command", true},
		"condenser":   {"condenser: fancy", 2, "cannot be fancy", true},
		"tools":       {"tools: {a: b}", 2, "not a list of names", false},
		"twice":       {"name: a\nname: b", 3, "there twice", false},
		"empty":       {"name: ''", 2, "name is empty", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "good.md", "---\nname: good\n---\n")
			file := write(t, dir, "bad.md", "---\n"+c.head+"\n---\nbody")
			found, problems := definition.Load(t.Context(), definition.Dir{Root: dir, Place: "."})
			if want := map[bool]int{true: 1, false: 2}[c.unused]; len(found) != want {
				t.Errorf("%d definitions, want %d", len(found), want)
			}
			if len(problems) != 1 {
				t.Fatalf("problems = %+v", problems)
			}
			p := problems[0]
			if p.Path != file || p.Line != c.line || !strings.Contains(p.Msg, c.msg) || p.Hint == "" || p.Unused != c.unused {
				t.Errorf("problem = %+v", p)
			}
		})
	}
}

func TestAHugeFileAndOneThatIsNotTextDefineNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "a.md", "---\nname: a\n---\n"+strings.Repeat("x", 1<<20))
	write(t, dir, "b.md", "---\nname: b\n---\n\xff\xfe")
	found, problems := definition.Load(t.Context(), definition.Dir{Root: dir, Place: ".", User: true})
	if len(found) > 0 || len(problems) != 2 {
		t.Fatal(found, problems)
	}
}

func TestAFrontMatterWithoutAnEndIsThePrompt(t *testing.T) {
	t.Parallel()
	d, problems := definition.Parse("a.md", []byte("---\nname: b\n"))
	if d.Name != "a" || !strings.HasPrefix(d.Prompt, "---") || len(problems) != 1 || problems[0].Unused {
		t.Fatal(d, problems)
	}
}

func TestCheckNamesWhatIsNotThere(t *testing.T) {
	t.Parallel()
	text := "---\nname: a\nmodel: none.json\ntools: [terminal, magic]\nskills: s\nmax_iterations_per_run: 3\n---\n"
	d, problems := definition.Parse("a.md", []byte(text))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	problems = definition.Check(d, definition.Known{Tools: []string{"terminal"}, Profiles: []string{"fast"}, Skills: []string{}})
	var got []string
	for _, p := range problems {
		got = append(got, fmt.Sprintf("%d %s; %s", p.Line, p.Msg, p.Hint))
	}
	want := []string{
		`4 there is no tool "magic"; remove it, or use one of terminal`,
		`5 there is no skill "s"; remove it`,
		`3 there is no LLM profile "none"; write inherit, or use one of fast`,
		`6 the field max_iterations_per_run has no meaning and is ignored; write max_iteration_per_run, or remove the field`,
		`1 there is no description, so nothing says when to use this agent; add a line such as description: Reviews Go code`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(complete))
	f.Add([]byte("---\na: &a [*a]\n---\n"))
	f.Add([]byte("---\n? - - a\n: b\n<<: {a: b}\n---"))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, problems := definition.Parse("/x/a.md", data)
		if d.Name == "" {
			t.Fatal("no name")
		}
		for _, p := range problems {
			if p.Line < 1 || p.Line > bytes.Count(data, []byte("\n"))+bytes.Count(data, []byte("\r"))+2 || p.Msg == "" || p.Hint == "" {
				t.Fatalf("problem = %+v", p)
			}
		}
		definition.Check(d, definition.Known{Tools: []string{}})
	})
}
