package agentmodels

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/definition"
	"github.com/ohgw/ohgw/agentapi/engine/skill"
	"github.com/ohgw/ohgw/agentapi/engine/toolset"
	"github.com/ohgw/ohgw/internal/budget"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/pattern"
)

// Find finds one agent by its name in model ids or its own.
func (r *Roster) Find(ctx context.Context, name string) (Entry, error) {
	entries, _, err := r.Read(ctx)
	if err != nil {
		return Entry{}, err
	}
	for _, is := range []func(Entry) bool{ // an agent comes before a team of that name
		func(e Entry) bool { return e.Name == name },
		func(e Entry) bool { return e.Team == nil && e.Title == name },
		func(e Entry) bool {
			return e.Team != nil && (e.Title == name || strings.TrimPrefix(e.Name, agentapi.TeamMark) == name)
		},
	} {
		if i := slices.IndexFunc(entries, is); i >= 0 {
			return entries[i], nil
		}
	}
	return Entry{}, &agentapi.Error{Kind: agentapi.ErrProfileNotFound, Msg: fmt.Sprintf("There is no agent %q.", name), Err: errNoAgent}
}

// LLM is the LLM profile of an agent.
func (r *Roster) LLM(ctx context.Context, name string) (string, error) {
	e, err := r.Find(ctx, name)
	return e.LLM, err
}

// Probe finds the problems of an agent that only show when it is put together: an
// agent profile may refer to MCP servers that are gone.
func (r *Roster) Probe(ctx context.Context, e Entry) []definition.Problem {
	if e.Team != nil {
		return nil
	}
	if e.Recipe == nil {
		return append(r.missingSkills(e), r.browserless(e, e.Definition.Tools)...)
	}
	launch, err := r.cfg.Recipes.Resolve(ctx, *e.Recipe.ID)
	var tools []string
	if err == nil {
		tools, err = toolsOf(launch.Settings)
	} else {
		err = unresolved(e, err)
	}
	if err != nil {
		return []definition.Problem{{
			Path: e.Path, Agent: e.Title, Msg: agentapi.PublicMessage(err, "the agent profile cannot be resolved"), Unused: true,
			Hint: "change the agent profile in OpenHands, or add what it refers to",
		}}
	}
	var list []definition.Problem
	for _, name := range launch.Ignored {
		list = append(list, definition.Problem{
			Path: e.Path, Agent: e.Title, Msg: "the embedded agent ignores " + name, Hint: "use an agent-server for agents with " + name,
		})
	}
	return append(list, r.browserless(e, tools)...)
}

// toolsOf lists the tools in the settings of an agent profile.
func toolsOf(settings json.RawMessage) (names []string, err error) {
	var agent struct {
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(settings, &agent); err != nil {
		return nil, fmt.Errorf("read its settings: %w", err)
	}
	for _, t := range agent.Tools {
		names = append(names, t.Name)
	}
	return names, nil
}

// browserless names the problem of an agent that wants the browser where this machine has
// none. The agent works without it.
func (r *Roster) browserless(e Entry, tools []string) []definition.Problem {
	if r.cfg.Browser == nil || !slices.Contains(tools, toolset.BrowserSet) {
		return nil
	}
	f, ok := errors.AsType[*fault.Error](r.cfg.Browser())
	if !ok {
		return nil
	}
	p := definition.Problem{Path: e.Path, Agent: e.Title, Msg: "it has " + toolset.BrowserSet + ", and " + f.Msg, Hint: f.Hint}
	if e.Definition != nil {
		p.Line = e.Definition.Line("tools")
	}
	return []definition.Problem{p}
}

// missingSkills are the skills of a definition that are not there, neither in the
// workspace nor in the home directory.
func (r *Roster) missingSkills(e Entry) []definition.Problem {
	found, _ := skill.Find(r.cfg.Project, r.user())
	names := make([]string, 0, len(found))
	for _, s := range found {
		names = append(names, s.Name)
	}
	return slices.DeleteFunc(definition.Check(*e.Definition, definition.Known{Skills: names}), func(p definition.Problem) bool {
		return !strings.HasPrefix(p.Msg, "there is no skill")
	})
}

// user is where the user's own skills are.
func (r *Roster) user() skill.User { return skill.User{Home: r.cfg.Home, Base: r.cfg.Base} }

// Load implements engine.Agents.
func (r *Roster) Load(ctx context.Context, name, workspace string) (engine.Agent, error) {
	e, err := r.Find(ctx, name)
	if err != nil {
		return engine.Agent{}, err
	}
	if e.Recipe != nil {
		launch, err := r.cfg.Recipes.Resolve(ctx, *e.Recipe.ID)
		if err != nil {
			return engine.Agent{}, unresolved(e, err)
		}
		return ofRecipe(e, launch)
	}
	if e.Team != nil {
		return r.ofTeam(ctx, e, workspace)
	}
	return r.ofDefinition(e, workspace)
}

// unresolved explains why the agent of a recipe cannot be used.
func unresolved(e Entry, err error) error {
	msg := "it cannot be resolved"
	if why, ok := errors.AsType[*openhands.Error](err); ok {
		msg = why.Msg
	}
	return &agentapi.Error{Kind: agentapi.ErrRefused, Msg: fmt.Sprintf("The agent %q cannot be used: %s.", e.Title, msg), Err: err}
}

func ofRecipe(e Entry, launch openhands.Launch) (engine.Agent, error) {
	var settings map[string]json.RawMessage
	if err := json.Unmarshal(launch.Settings, &settings); err != nil {
		return engine.Agent{}, fmt.Errorf("read agent profile %q: %w", e.Title, err)
	}
	delete(settings, "llm") // the engine has it from the LLM profile
	data, err := json.Marshal(settings)
	return engine.Agent{Name: e.Name, Profile: launch.LLM, Settings: data, Secrets: launch.Secrets}, err
}

func (r *Roster) ofDefinition(e Entry, workspace string) (engine.Agent, error) {
	d := e.Definition
	a := engine.Agent{Name: e.Name, Profile: e.LLM, MaxIterations: d.MaxIterations, MaxRun: budget.Amount{Cost: d.MaxBudget, Tokens: d.MaxTokens}}
	switch d.Permission {
	case definition.AlwaysConfirm:
		a.Confirm = agentapi.ConfirmAlways
	case definition.ConfirmRisky:
		a.Confirm = agentapi.ConfirmRisky
	}
	type tool struct {
		Name string `json:"name"`
	}
	tools := []tool{}
	for _, name := range d.Tools {
		if toolset.Knows(name) {
			tools = append(tools, tool{name})
		}
	}
	settings := map[string]any{
		"agent_kind": "openhands", "tools": tools, "condenser": condenser(d),
		"agent_context": map[string]any{"system_message_suffix": d.Prompt, "disabled_skills": r.disabled(d, workspace)},
	}
	if len(d.Servers) > 0 && d.User { // the servers of a project have not been allowed by the user
		settings["mcp_config"] = d.Servers
	}
	if d.User { // nor have the hooks
		a.Hooks = d.Hooks
	}
	var err error
	a.Settings, err = json.Marshal(settings)
	return a, err
}

// disabled are the skills of a workspace and of the user that a definition does not
// name. What belongs to every conversation, such as AGENTS.md, stays.
func (r *Roster) disabled(d *definition.Definition, workspace string) []string {
	found, _ := skill.Find(workspace, r.user())
	names := []string{}
	for _, s := range found {
		if !s.Always && !slices.Contains(d.Skills, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// condenser converts the condenser of a definition to that of settings.
func condenser(d *definition.Definition) map[string]any {
	if d.NoCondenser {
		return map[string]any{"enabled": false}
	}
	settings := map[string]any{"enabled": true}
	var own map[string]any
	if json.Unmarshal(d.Condenser, &own) == nil && own["kind"] == summarizing {
		for _, name := range []string{"max_size", "keep_first", "max_tokens", "minimum_progress"} {
			if v, ok := own[name]; ok {
				settings[name] = v
			}
		}
	}
	return settings
}

const summarizing = "LLMSummarizingCondenser"

// limits lists the members of a definition that have no effect on a model.
func limits(d definition.Definition) []definition.Problem {
	var list []definition.Problem
	note := func(field, msg, hint string) {
		list = append(list, definition.Problem{Path: d.Path, Line: d.Line(field), Agent: d.Name, Msg: msg, Hint: hint})
	}
	if !d.User && len(d.Servers) > 0 && string(d.Servers) != "{}" {
		note(d.ServersField(), "the MCP servers are not started and their variables not filled in, because the file belongs to the workspace",
			"if you trust these servers, move the file to ~/"+definition.Primary)
	}
	if !d.User && len(d.Hooks) > 0 && string(d.Hooks) != "{}" {
		note("hooks", "the hooks are not run, because the file belongs to the workspace", "if you trust these hooks, move the file to ~/"+definition.Primary)
	}
	if d.Permission == definition.NeverConfirm {
		note("permission_mode", "never_confirm does not lift confirmation that the settings or --confirm ask for", "remove the field")
	}
	var own struct {
		Kind string `json:"kind"`
	}
	if json.Unmarshal(d.Condenser, &own) == nil && own.Kind != "" && own.Kind != summarizing && !d.NoCondenser {
		note("condenser", "a condenser of the kind "+own.Kind+" is replaced by the usual one", "write default, none, or the kind "+summarizing)
	}
	return list
}

// revision changes when the agent or its LLM profile does.
func (e Entry) revision() string {
	data, err := json.Marshal([]any{e.Definition, e.Recipe, e.Team, e.modified.UnixNano(), e.model.Revision})
	if err != nil {
		return e.model.Revision + strconv.FormatInt(e.modified.UnixNano(), 10)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

func modified(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

var notSlug = pattern.Of(`[^A-Za-z0-9._-]+`)

// Slug is a name as a part of a model id.
func Slug(name string) string {
	return strings.Trim(notSlug().ReplaceAllString(strings.TrimSpace(name), "-"), "-")
}

var exampleTag = pattern.Of(`(?is)<example>.*?</example>`)

// plainDescription is a description in one line, without its examples.
func plainDescription(text string) string {
	text = strings.Join(strings.Fields(exampleTag().ReplaceAllString(text, " ")), " ")
	const limit = 300
	if r := []rune(text); len(r) > limit {
		return strings.TrimSpace(string(r[:limit-1])) + "…"
	}
	return text
}

func quoted(name string) string { return strconv.Quote(name) }
