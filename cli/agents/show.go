package agents

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup"
)

func newShow(opts *options) *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Show an agent",
		Long: kit.Long(`
Shows what an agent is made of: its file, LLM profile, tools, skills and limits,
or the members, mode, lead and isolation of a team.
With --json, it is one object as in "ohgw agents list".`, 0, fault.Failed, fault.Usage),
		Example:           kit.Examples("ohgw agents show reviewer", "ohgw agents show reviewer --json"),
		Args:              kit.Exactly("the name"),
		ValidArgsFunction: completeNames(opts),
		RunE:              func(cmd *cobra.Command, args []string) error { return runShow(cmd.Context(), opts, args[0]) },
	}
}

// runShow runs the command.
func runShow(ctx context.Context, o *options, name string) error {
	r, err := o.open()
	if err != nil {
		return err
	}
	e, err := r.Find(ctx, name)
	if err != nil {
		return unknown(name, err)
	}
	j := describe(e)
	if o.JSON {
		return o.PrintJSON(j)
	}
	t := kit.Table{}
	for _, pair := range [][2]string{
		{"name", j.Title}, {"model", j.Model}, {"kind", j.Kind}, {"file", j.Path}, {"llm", j.LLM}, {"description", setup.Clean(cmp.Or(j.Description, "-"))},
	} {
		t.Add(pair[0], pair[1])
	}
	if d := e.Definition; d != nil {
		if e.Team != nil {
			t.Add("members", setup.Clean(strings.Join(j.Members, ", ")))
			t.Add("mode", j.Mode)
			t.Add("lead", setup.Clean(cmp.Or(j.Lead, "-")))
			t.Add("isolation", j.Isolation)
		} else {
			t.Add("tools", setup.Clean(cmp.Or(strings.Join(d.Tools, ", "), "-")))
			t.Add("skills", setup.Clean(cmp.Or(strings.Join(d.Skills, ", "), "-")))
		}
		t.Add("confirmation", cmp.Or(d.Permission, "as the settings say"))
		if d.MaxIterations > 0 {
			t.Add("steps in a run", strconv.Itoa(d.MaxIterations))
		}
		if d.MaxBudget > 0 {
			t.Add("cost of a run", fmt.Sprintf("$%.4f", d.MaxBudget))
		}
		if d.MaxTokens > 0 {
			t.Add("tokens of a run", strconv.FormatInt(d.MaxTokens, 10))
		}
	}
	return t.WritePairs(o.Stdout)
}
