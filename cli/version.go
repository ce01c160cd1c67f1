package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/buildinfo"
	"github.com/ohgw/ohgw/internal/fault"
)

func newVersion(a *kit.App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show version and build",
		Long: kit.Long(`
Shows version, commit, Go release and platform of this program. It makes no
request; "ohgw status" shows the versions of the daemon and its backend.`, 0, fault.Usage),
		Example:           kit.Examples("ohgw version", "ohgw version --json"),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(*cobra.Command, []string) error { return printVersion(a, buildinfo.Get()) },
	}
}

func printVersion(a *kit.App, info buildinfo.Info) error {
	if a.JSON {
		return a.PrintJSON(info)
	}
	build := ""
	if info.Revision != "" {
		build = info.Revision[:min(12, len(info.Revision))]
		if info.Modified {
			build += " with changes"
		}
		build += ", "
	}
	return kit.WriteText(a.Stdout, fmt.Sprintf("ohgw %s (%s%s, %s)\n", info.Version, build, info.Go, info.Platform))
}
