package pool

import (
	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
)

func newUp(a *kit.App, flags kit.SettingFlags) *cobra.Command {
	opts := options{App: a, flags: flags}
	return &cobra.Command{
		Use:   "up NAME",
		Short: "Give an agent-server new conversations again",
		Long: kit.Long(`
Ends the draining of an agent-server: it gets new conversations again, as soon
as it answers.

With --json, the output has server and state.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable),
		Example:           kit.Examples("ohgw pool up http://10.0.0.7:8000", "ohgw pool up a1.agents:8000 --json"),
		Args:              kit.Exactly("the name"),
		ValidArgsFunction: opts.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			return opts.set(cmd.Context(), args[0], false)
		},
	}
}
