package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/buildinfo"
	"github.com/ohgw/ohgw/internal/fault"
)

func newVersion(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show which build this is",
		Long: long(`
Shows version, commit, Go release and platform of this program. It asks
nobody; "ohgw status" shows the versions of the daemon and its backend.`, 0, fault.Usage),
		Example:           examples("ohgw version", "ohgw version --json"),
		Args:              none(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(*cobra.Command, []string) error { return a.version(buildinfo.Get()) },
	}
}

func (a *App) version(info buildinfo.Info) error {
	if a.json {
		return a.printJSON(info)
	}
	build := ""
	if info.Revision != "" {
		build = info.Revision[:min(12, len(info.Revision))]
		if info.Modified {
			build += " with changes"
		}
		build += ", "
	}
	return writeText(a.Stdout, fmt.Sprintf("ohgw %s (%s%s, %s)\n", info.Version, build, info.Go, info.Platform))
}
