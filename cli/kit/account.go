package kit

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/setup/accounts"
)

// ServerNames lists the stored servers as a completion offers them.
func (a *App) ServerNames(flags SettingFlags) []string {
	s, err := a.Settings(flags)
	if err != nil {
		return nil
	}
	stored, err := a.Setup().Servers(s)
	if err != nil {
		return nil
	}
	list, _ := stored.Store.List() // Without a list there is nothing to offer.
	var names []string
	for _, s := range list.Servers {
		names = append(names, cobra.CompletionWithDesc(s.Name, s.URL))
	}
	return names
}

// AddServer gives all commands below cmd the flag --server: the name of a stored server.
func (a *App) AddServer(cmd *cobra.Command, name *string, flags SettingFlags, help string) {
	cmd.PersistentFlags().StringVar(name, "server", "", help)
	err := cmd.RegisterFlagCompletionFunc("server", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return a.ServerNames(flags), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic("cli: " + err.Error()) // The flag is not there: a mistake above.
	}
}

// OnServer is what a command about conversations on a server of OpenHands takes.
type OnServer struct {
	*App

	Flags  SettingFlags // of settings; nil: the command has none
	Server string       // the name of a stored server; "" is the default one
}

// Account opens the account on the server.
func (o *OnServer) Account(ctx context.Context) (accounts.Account, error) {
	s, err := o.Settings(o.Flags)
	if err != nil {
		return accounts.Account{}, err
	}
	return accounts.Open(ctx, o.Setup(), s, o.Server, o.Logger("text"))
}

// Find opens the account, and finds the conversation of an id, or of its beginning.
func (o *OnServer) Find(ctx context.Context, id string) (accounts.Account, account.Conversation, error) {
	acc, err := o.Account(ctx)
	if err != nil {
		return acc, account.Conversation{}, err
	}
	done := o.TellLate("waiting for " + acc.Server.Host() + ", up to 60 s")
	conv, err := acc.Find(ctx, id)
	done()
	if err != nil {
		acc.Close()
	}
	return acc, conv, accounts.Fault(err, acc.Server)
}

// mostCompleted is how many conversations a completion offers.
const mostCompleted = 50

// CompleteOn offers the newest conversations of an account.
func CompleteOn(open func(context.Context) (accounts.Account, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		acc, err := open(cmd.Context())
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer acc.Close()
		page, err := acc.List(cmd.Context(), account.ListQuery{Limit: mostCompleted})
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
