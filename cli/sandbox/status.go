package sandbox

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/probe"
)

func newStatus(a *kit.App) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show which sandbox this machine can have",
		Long: kit.Long(`
Makes a sandbox, runs a program in it, and shows the level: "full" stands for
namespaces, Landlock and seccomp, "reduced" for Landlock and seccomp alone, and
"off" means that there is none. If the level could be better, the command says
why it is not, and what to do.

With --json the output has level, landlock (the ABI, 0 without it), reason and
fix. In a pipe, each line is a name and a value separated by a tab.`, 0, fault.Failed, fault.Usage),
		Example:           kit.Examples("ohgw sandbox status", "ohgw sandbox status --json"),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runStatus(cmd.Context(), &statusOptions{App: a}) },
	}
}

// statusOptions is what the command takes.
type statusOptions struct{ *kit.App }

// statusJSON is what this machine can have.
type statusJSON struct {
	Level    sandbox.Level `json:"level"`
	Landlock int           `json:"landlock"`
	Reason   string        `json:"reason"`
	Fix      string        `json:"fix"`
}

// runStatus runs the command.
func runStatus(ctx context.Context, o *statusOptions) error {
	var prober probe.Prober
	r := prober.Ask(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if o.JSON {
		return o.PrintJSON(statusJSON(r))
	}
	var t kit.Table
	t.Add("level", string(r.Level))
	landlock := "not available"
	if r.Landlock > 0 {
		landlock = "ABI " + strconv.Itoa(r.Landlock)
	}
	t.Add("landlock", landlock)
	if r.Reason != "" {
		t.Add("reason", r.Reason)
		t.Add("fix", r.Fix)
	}
	return t.WritePairs(o.Stdout)
}
