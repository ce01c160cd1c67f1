package agents

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/agentmodels"
)

func newList(opts *options) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the agents with their models",
		Long: kit.Long(`
Lists the agents and teams that are models: name, model ID, origin, LLM profile
and description. Files that do not define a usable agent or team are counted;
"ohgw agents check" names them.

In a pipe, each agent is one line with tabs between the columns. With --json,
agents is a list of objects with name, title, model, kind, path, llm,
description, tools, skills, max_iterations, max_budget, max_tokens and
permission_mode. Teams also have values for mode, lead and members.`, 0, fault.Failed, fault.Usage),
		Example:           kit.Examples("ohgw agents list", "ohgw agents list --workspace ~/project --json"),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runList(cmd.Context(), opts) },
	}
}

// agentJSON is an agent in JSON.
type agentJSON struct {
	Name          string   `json:"name"`
	Title         string   `json:"title"`
	Model         string   `json:"model"`
	Kind          string   `json:"kind"`
	Path          string   `json:"path"`
	LLM           string   `json:"llm"`
	Description   string   `json:"description"`
	Tools         []string `json:"tools"`
	Skills        []string `json:"skills"`
	MaxIterations int      `json:"max_iterations"` // 0: as the settings say
	MaxBudget     float64  `json:"max_budget"`     // US dollars of a run; 0: no limit
	MaxTokens     int64    `json:"max_tokens"`     // of a run; 0: no limit
	Permission    string   `json:"permission_mode"`
	// What follows has values for teams only.
	Mode      string   `json:"mode"`
	Lead      string   `json:"lead"`
	Isolation string   `json:"isolation"` // none or worktree
	Members   []string `json:"members"`
}

func describe(e agentmodels.Entry) agentJSON {
	j := agentJSON{
		Name: e.Name, Title: e.Title, Model: modelID(e), Kind: string(e.Kind), Path: e.Path, LLM: e.LLM, Description: e.Description,
		Tools: []string{}, Skills: []string{}, Members: []string{},
	}
	if d := e.Definition; d != nil {
		j.Tools, j.Skills = append(j.Tools, d.Tools...), append(j.Skills, d.Skills...)
		j.MaxIterations, j.MaxBudget, j.MaxTokens, j.Permission = d.MaxIterations, d.MaxBudget, d.MaxTokens, d.Permission
	}
	if e.Team != nil {
		t := e.Definition.Team
		j.Mode, j.Lead, j.Isolation = t.Mode, t.Lead, t.Isolation
		for _, m := range e.Team.Members {
			j.Members = append(j.Members, m.Name)
		}
	}
	return j
}

// runList runs the command.
func runList(ctx context.Context, o *options) error {
	r, err := o.open()
	if err != nil {
		return err
	}
	entries, problems, err := r.Read(ctx)
	if err != nil {
		return explain(err)
	}
	list := make([]agentJSON, 0, len(entries))
	for _, e := range entries {
		list = append(list, describe(e))
	}
	if o.JSON {
		return o.PrintJSON(map[string]any{"agents": list})
	}
	if len(list) == 0 {
		o.Note("There are no agents. Create one with: ohgw agents new NAME")
	}
	unused := 0
	for _, p := range problems {
		if p.Unused {
			unused++
		}
	}
	if unused > 0 {
		o.Note("%d more cannot be used; ohgw agents check shows why", unused)
	}
	t := kit.Table{Header: []string{"NAME", "MODEL", "KIND", "LLM", "DESCRIPTION"}}
	for _, e := range list {
		t.Add(e.Title, e.Model, e.Kind, e.LLM, setup.Clean(e.Description))
	}
	return t.Write(o.Stdout)
}
