package conversations

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/setup/agents"
	"github.com/ohgw/ohgw/internal/setup/cloud"
)

// place is where the conversations of a command are: with a backend of this machine,
// or on a server of OpenHands.
type place struct {
	*kit.App

	flags  kit.SettingFlags
	Server string // the name of a stored server
}

// cloudBackend is the setting "backend" that means the default server.
const cloudBackend = "cloud"

// remote reports whether the conversations are on a server of OpenHands.
func (p *place) remote() (bool, error) {
	s, err := p.Settings(p.flags)
	if err != nil {
		return false, err
	}
	if p.Server != "" && s.Origin("agent_server.url").Kind == config.FromFlag {
		return false, fault.NewUsage("--server cannot be used with --agent-server", "use one of them")
	}
	return p.Server != "" || s.Backend == cloudBackend, nil
}

// open opens the conversations of the backend that the settings choose.
func (p *place) open(ctx context.Context) (agents.Library, error) {
	s, err := p.Settings(p.flags)
	if err != nil {
		return agents.Library{}, err
	}
	if p.Server != "" || s.Backend == cloudBackend {
		return agents.Library{}, fault.NewUsage("this command is not for conversations on OpenHands Cloud", "use trajectory or download instead, or remove --server")
	}
	return agents.OpenLibrary(ctx, p.Setup(), s, p.Logger("text"))
}

// account opens the account on the server. Commands that no backend of this machine
// has use the default server.
func (p *place) account(ctx context.Context) (cloud.Account, error) {
	s, err := p.Settings(p.flags)
	if err != nil {
		return cloud.Account{}, err
	}
	if origin := s.Origin("backend"); p.Server == "" && origin.Kind == config.FromFlag && s.Backend != cloudBackend {
		return cloud.Account{}, fault.NewUsage("this command is for conversations on OpenHands Cloud, not for --backend "+s.Backend, "name a server with --server; ohgw server list shows them")
	}
	return cloud.Open(ctx, p.Setup(), s, p.Server, p.Logger("text"))
}

// find is the conversation of an id, or of its beginning, on the server.
func (o *oneOptions) find(ctx context.Context) (cloud.Account, account.Conversation, error) {
	acc, err := o.account(ctx)
	if err != nil {
		return acc, account.Conversation{}, err
	}
	done := o.TellLate("waiting for " + acc.Server.Host() + ", up to 60 s")
	conv, err := acc.Find(ctx, o.ID)
	done()
	if err != nil {
		acc.Close()
		return acc, conv, cloud.Fault(err, acc.Server)
	}
	return acc, conv, nil
}

// localOnly refuses flags of servers for a backend of this machine.
func localOnly(flags map[string]bool) error {
	for name, given := range flags {
		if given {
			return fault.NewUsage(fmt.Sprintf("--%s is for conversations on OpenHands Cloud", name), "name a server with --server, or remove --"+name)
		}
	}
	return nil
}

// serverNames offers the stored servers.
func (p *place) serverNames(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	s, err := p.Settings(p.flags)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	stored, err := p.Setup().Servers(s)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, _ := stored.Store.List() // Without a list there is nothing to offer.
	var names []string
	for _, s := range list.Servers {
		names = append(names, cobra.CompletionWithDesc(s.Name, s.URL))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeRemote offers the newest conversations of the server.
func completeRemote(p *place) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		acc, err := p.account(cmd.Context())
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer acc.Close()
		page, err := acc.List(cmd.Context(), account.ListQuery{Limit: 50})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var offered []string
		for _, c := range page.Conversations {
			offered = append(offered, cobra.CompletionWithDesc(c.ID, c.Title))
		}
		return offered, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}
