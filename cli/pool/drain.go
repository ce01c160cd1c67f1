package pool

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/pool/placement"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
)

func newDrain(a *kit.App, flags kit.SettingFlags) *cobra.Command {
	opts := options{App: a, flags: flags}
	return &cobra.Command{
		Use:   "drain NAME",
		Short: "Give an agent-server no new conversations",
		Long: kit.Long(`
Gives an agent-server no new conversations, at every gateway and until
"ohgw pool up". Runs go on, and the conversations that the server has continue
there, so it must stay up for as long as they are needed. The name may be given
without its http://.

With --json, the output has server and state.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable),
		Example:           kit.Examples("ohgw pool drain http://10.0.0.7:8000", "ohgw pool drain a1.agents:8000 --json"),
		Args:              kit.Exactly("the name"),
		ValidArgsFunction: opts.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			return opts.set(cmd.Context(), args[0], true)
		},
	}
}

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

// set drains a server, or ends that.
func (o *options) set(ctx context.Context, name string, drain bool) error {
	return o.with(ctx, patience, func(ctx context.Context, _ *config.Settings, n *notes) error {
		server, err := n.find(ctx, name)
		if err != nil {
			return err
		}
		if err := n.Drain(ctx, server.Name, drain); err != nil {
			return n.fault(err)
		}
		list, err := n.Servers(ctx)
		if err != nil {
			return n.fault(err)
		}
		if o.JSON {
			state := placement.Up
			if drain {
				state = placement.Drain
			}
			return o.PrintJSON(map[string]string{"server": server.Name, "state": string(state)})
		}
		if !drain {
			o.Note("%s gets new conversations.", server.Name)
			return nil
		}
		o.Note("%s gets no new conversations. Those that it has continue there.", server.Name)
		for _, s := range list {
			if s.State == placement.Up {
				return nil
			}
		}
		o.Note("warning: no agent-server of the pool gets new conversations now; end that with: ohgw pool up %s", fault.Word(server.Name))
		return nil
	})
}
