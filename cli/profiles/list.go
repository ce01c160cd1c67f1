package profiles

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
)

func newList(opts *options) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List profiles with model, key and problems",
		Long: kit.Long(`
Lists the LLM profiles: name, model, base URL, origin of the key, and problems.
A star marks the active profile. If SDK programs use a different directory than
the agent-server, its profiles follow, with that directory.

In a pipe, each profile is one line with tabs between the columns. With --json,
profiles is a list of objects with name, base, path, model, base_url, active,
key, key_from, action and problem.`, 0, fault.Failed, fault.Usage),
		Example:           kit.Examples("ohgw profiles list", "ohgw profiles list --json"),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runList(cmd.Context(), opts) },
	}
}

// profileJSON is a profile in a list.
type profileJSON struct {
	profile.Summary

	KeyFrom secret.Origin `json:"key_from"`
}

// runList runs the command.
func runList(ctx context.Context, o *options) error {
	stores, err := o.Setup().ProfileStores(o.LockTimeout)
	if err != nil {
		return err
	}
	keys, err := o.Keys(ctx, o.flags)
	if err != nil {
		return err
	}
	list := []profileJSON{}
	for _, store := range stores {
		summaries, err := store.List(ctx)
		if err != nil {
			return o.Setup().ProfileFault(ctx, err, "")
		}
		for _, s := range summaries {
			list = append(list, profileJSON{s, keys.From(s.Subject())})
		}
	}
	if o.JSON {
		return o.PrintJSON(map[string]any{"profiles": list})
	}
	if len(list) == 0 {
		o.Note("There are no profiles in %s. Create one with: ohgw profiles add NAME", stores[0].Base())
	}
	t := kit.Table{Header: []string{"", "NAME", "MODEL", "BASE URL", "KEY", "PROBLEM"}}
	for _, p := range list {
		t.Add(row(o.App, p, stores[0].Base())...)
	}
	return t.Write(o.Stdout)
}

func row(a *kit.App, p profileJSON, first string) []string {
	mark := ""
	if p.Active {
		mark = "*"
	}
	problem := p.Problem
	if problem == "" && p.Action != canon.Unchanged {
		problem = "see ohgw profiles check " + p.Name
	}
	name := p.Name
	if p.Base != first {
		name += " (" + p.Base + ")"
	}
	cells := []string{mark, name, p.Model, p.BaseURL, p.KeyFrom.String(), problem}
	if a.Stdout.TTY() {
		for i := 1; i < len(cells)-1; i++ {
			if strings.TrimSpace(cells[i]) == "" {
				cells[i] = "-"
			}
		}
	}
	return slices.Clip(cells)
}
