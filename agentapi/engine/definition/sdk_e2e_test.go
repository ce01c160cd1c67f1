//go:build e2e

package definition_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/definition"
	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

// pythonReads prints what the SDK makes of the definitions in the current directory.
const pythonReads = `
import json
from openhands.sdk.subagent.load import load_project_agents
out = {}
for d in load_project_agents("."):
    out[d.name] = {
        "description": d.description.strip(), "examples": d.when_to_use_examples, "color": d.color or "", "prompt": d.system_prompt,
        "model": d.model, "tools": d.tools, "skills": d.skills, "permission": d.permission_mode or "",
        "iterations": d.max_iteration_per_run or 0, "budget": d.max_budget_per_run or 0,
        "servers": sorted(d.mcp_config or {}), "hooks": sorted(k for k, v in (d.hooks.model_dump() if d.hooks else {}).items() if v),
        "condenser": type(d.condenser).__name__ if d.condenser else "", "dir": d.profile_store_dir or "", "others": sorted(d.metadata),
    }
print("RESULT" + json.dumps(out))
`

// read is a definition as both tell it.
type read struct {
	Description, Color, Prompt, Model, Permission, Condenser, Dir string
	Examples, Tools, Skills, Servers, Hooks, Others               []string
	Iterations                                                    int
	Budget                                                        float64
}

// heads are the front matters of the files: every field in the spellings that people
// use, and what is wrong with each of them.
var heads = []string{
	"name: %s", "description: Plain text.", "description: 'it''s quoted'", "description: \"a\\nb\"", "description: |\n  two\n  lines",
	"description: >\n  folded\n  text\n\n  more", "description: a <example>one</example> b <EXAMPLE>two\nlines</EXAMPLE>", "model: fast", "model: inherit", "model: fast.json",
	"color: blue", "color: 5", "tools: terminal", "tools: [terminal, file_editor]", "tools:\n  - terminal\n  - grep", "tools: []", "tools: 'a, b'", "tools: {a: b}", "tools: 5",
	"skills: a, b,,c ", "skills: [a, b]", "skills: {a: b}", "max_iteration_per_run: 5", "max_iteration_per_run: '6'", "max_iteration_per_run: 0", "max_iteration_per_run: -1",
	"max_iteration_per_run: many", "max_iteration_per_run: 1.5", "max_budget_per_run: 1", "max_budget_per_run: 0.5", "max_budget_per_run: '0.25'", "max_budget_per_run: 0",
	"max_budget_per_run: lots", "max_budget_per_run: true", "permission_mode: always_confirm", "permission_mode: ' Never_Confirm '", "permission_mode: confirm_risky",
	"permission_mode: inherit", "permission_mode: 5", "mcp_servers: {a: {command: x, args: [y]}}", "mcp_config:\n  mcpServers:\n    a: {url: 'http://x', type: shttp}", "mcp_config: [a]",
	"mcp_config: {a: b}", "mcp_config: {a: {command: ''}}", "mcp_config: {a: {type: stdio, url: x}}", "mcp_config: {a: {command: x}}\nmcp_servers: {b: {command: y}}",
	"hooks: {PreToolUse: [{matcher: terminal, hooks: [{command: x}]}]}", "hooks: {hooks: {stop: [{hooks: [{type: prompt, prompt: x}]}]}}", "hooks: {Before: []}", "hooks: {before: []}",
	"hooks: {stop: [{hooks: [{}]}]}", "hooks: [a]", "condenser: none", "condenser: off", "condenser: default", "condenser: fancy", "profile_store_dir: /x", "profile_store_dir: [x]",
	"other: 1\nmore: [a]", "a: &a [x]\ntools: *a", "name: %s\ntools: [a", "description: a: b", "- a\n- b", "",
}

// TestTheSDKReadsTheSameDefinitions has both read a folder of files; each has the same
// definitions with the same fields.
func TestTheSDKReadsTheSameDefinitions(t *testing.T) {
	dir := t.TempDir()
	for i, head := range heads {
		name := fmt.Sprintf("agent%02d", i)
		if head == "name: %s" || len(head) > 8 && head[:8] == "name: %s" {
			head = fmt.Sprintf(head, name)
		}
		write(t, dir, ".agents/agents/"+name+".md", "---\n"+head+"\n---\n\nBody of "+name+".\n\n---\nmore\n")
	}
	write(t, dir, ".agents/agents/bare.md", "no head")
	write(t, dir, ".agents/agents/open.md", "---\nname: x\n")
	write(t, dir, ".agents/agents/long.md", "\n\n-----\nname: long\n----  \nbody")
	write(t, dir, ".agents/agents/upper.MD", "---\r\nname: upper\r\n---\r\nbody\r\n")
	write(t, dir, ".agents/agents/README.md", "---\nname: readme\n---\n")
	write(t, dir, ".openhands/agents/agent00.md", "---\ndescription: second\n---\n")
	write(t, dir, ".openhands/agents/only.md", "---\ndescription: only here\n---\n")

	var want map[string]read
	if err := json.Unmarshal(sdktest.Result(t, sdktest.Run(t, dir, pythonReads)), &want); err != nil {
		t.Fatal(err)
	}
	got := map[string]read{}
	found, _ := definition.Load(t.Context(), definition.Dirs(dir, "", "")...)
	for _, d := range found {
		got[d.Name] = told(t, d)
	}
	if len(heads) < 60 || len(want) < 40 {
		t.Fatalf("%d files, %d definitions", len(heads), len(want))
	}
	if diff := cmp.Diff(want, got, cmp.Transformer("nil", func(list []string) []string { return append([]string{}, list...) })); diff != "" {
		t.Errorf("definitions (-SDK +ohgw):\n%s", diff)
	}
}

func told(t *testing.T, d definition.Definition) read {
	t.Helper()
	r := read{
		Description: strings.TrimSpace(d.Description), Color: d.Color, Prompt: d.Prompt, Model: d.Model, Permission: d.Permission, Dir: d.ProfileDir,
		Examples: d.Examples, Tools: d.Tools, Skills: d.Skills, Servers: keys(t, d.Servers), Hooks: keys(t, d.Hooks), Others: slices.Sorted(slices.Values(d.Others)),
		Iterations: d.MaxIterations, Budget: d.MaxBudget,
	}
	if d.NoCondenser {
		r.Condenser = "NoOpCondenser"
	}
	return r
}

// keys are the members of an object that have something in them.
func keys(t *testing.T, data json.RawMessage) []string {
	t.Helper()
	var object map[string]any
	if len(data) > 0 {
		if err := json.Unmarshal(data, &object); err != nil {
			t.Fatal(err)
		}
	}
	return slices.Sorted(maps.Keys(object))
}
