package tokens

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/token"
	"github.com/ohgw/ohgw/setup"
)

// revokeOptions is what the command takes.
type revokeOptions struct {
	*kit.App

	flags kit.SettingFlags

	Name string
	Yes  bool
}

func newRevoke(a *kit.App, flags kit.SettingFlags) *cobra.Command {
	opts := revokeOptions{App: a, flags: flags}
	cmd := &cobra.Command{
		Use:   "revoke NAME",
		Short: "Revoke a token",
		Long: kit.Long(`
Revokes a token permanently, and removes the record of what it has spent. A
running daemon refuses its next request; answers in progress continue. The
command asks for confirmation; --yes skips the question.`,
			0, fault.Failed, fault.Usage, fault.Conflict),
		Example:           kit.Examples("ohgw tokens revoke ide", "ohgw tokens revoke ide --yes"),
		Args:              kit.ExactlyNames("the name"),
		ValidArgsFunction: completeTokens(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Name = args[0]
			return runRevoke(cmd.Context(), &opts)
		},
	}
	cmd.Flags().BoolVarP(&opts.Yes, "yes", "y", false, "do not ask for confirmation")
	return cmd
}

// runRevoke runs the command.
func runRevoke(ctx context.Context, o *revokeOptions) error {
	if err := nameArg(o.Name); err != nil {
		return err
	}
	store, values, err := stored(o.App, o.flags)
	if err != nil {
		return err
	}
	yes, err := o.Confirm(ctx, o.Yes, fmt.Sprintf("Revoke the token %q? Its clients lose access.", o.Name), "Nothing was changed.")
	if err != nil || !yes {
		return err
	}
	id := idOf(store, o.Name)
	if err := store.Revoke(ctx, o.Name); err != nil {
		return o.Setup().TokenFault(err, o.Name)
	}
	if err := forgetSpent(o.App, id); err != nil {
		o.Note("note: what the token %q has spent is still stored; ohgw serve removes it when it starts: %v", o.Name, err)
	}
	if o.Name == token.DefaultName {
		if err := store.Forget(ctx); err != nil {
			o.Note("note: its value, which is no longer accepted, is still stored: %s", setup.NotKeptText(ctx, err, values))
		}
	}
	if o.JSON {
		return o.PrintJSON(map[string]string{"revoked": o.Name})
	}
	o.Note("The token %q was revoked.", o.Name)
	return nil
}

// idOf returns the id of a token; "" if it cannot be found.
func idOf(store *token.Store, name string) string {
	list, err := store.List()
	if err != nil {
		return ""
	}
	for _, t := range list {
		if t.Name == name {
			return t.ID
		}
	}
	return ""
}

// forgetSpent removes what a token has spent.
func forgetSpent(a *kit.App, id string) error {
	ledger, err := a.Setup().Spending()
	if err != nil || id == "" {
		return err
	}
	return ledger.Forget(id)
}
