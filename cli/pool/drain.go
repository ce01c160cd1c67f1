package pool

import (
	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
)

func newDrain(a *kit.App, flags kit.SettingFlags) *cobra.Command {
	opts := options{App: a, flags: flags}
	return &cobra.Command{
		Use:   "drain NAME",
		Short: "Give an agent-server no new conversations",
		Long: kit.Long(`
Gives an agent-server no new conversations, until "ohgw pool up". Runs go on,
and the conversations that the server has continue there, so it must stay up for
as long as they are needed. The name may be given without its http://.

With --json, the output has server and state.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable),
		Example:           kit.Examples("ohgw pool drain http://10.0.0.7:8000", "ohgw pool drain a1.agents:8000 --json"),
		Args:              kit.Exactly("the name"),
		ValidArgsFunction: opts.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			return opts.set(cmd.Context(), args[0], true)
		},
	}
}
