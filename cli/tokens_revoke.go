package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/setup"
	"github.com/ohgw/ohgw/internal/token"
)

type tokensRevokeInput struct {
	flags settingFlags

	Name string
	Yes  bool
}

func newTokensRevoke(a *App, flags settingFlags) *cobra.Command {
	in := tokensRevokeInput{flags: flags}
	cmd := &cobra.Command{
		Use:   "revoke NAME",
		Short: "Remove a token, so that it opens nothing",
		Long: long(`
Removes a token for good. A running daemon refuses it from its next request on;
answers that it is giving already go on. It asks first; --yes answers that.`,
			0, fault.Failed, fault.Usage, fault.Conflict),
		Example:           examples("ohgw tokens revoke ide", "ohgw tokens revoke ide --yes"),
		Args:              exactly("the name"),
		ValidArgsFunction: a.completeTokens,
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Name = args[0]
			return a.tokensRevoke(cmd.Context(), in)
		},
	}
	cmd.Flags().BoolVarP(&in.Yes, "yes", "y", false, "do not ask")
	return cmd
}

func (a *App) tokensRevoke(ctx context.Context, in tokensRevokeInput) error {
	if err := nameArg(in.Name); err != nil {
		return err
	}
	store, values, err := a.storedTokens(in.flags)
	if err != nil {
		return err
	}
	if !in.Yes {
		yes, err := a.confirm(ctx, fmt.Sprintf("Revoke the token %q? Whoever uses it is locked out.", in.Name), "--yes")
		if err != nil {
			return err
		}
		if !yes {
			a.Note("Nothing was changed.")
			return nil
		}
	}
	if err := store.Revoke(ctx, in.Name); err != nil {
		return a.Setup().TokenFault(err, in.Name)
	}
	if in.Name == token.DefaultName {
		if err := store.Forget(ctx); err != nil {
			a.Note("note: its value, which opens nothing any more, is still kept: %s", setup.NotKeptText(ctx, err, values))
		}
	}
	if a.json {
		return a.printJSON(map[string]string{"revoked": in.Name})
	}
	a.Note("The token %q is revoked.", in.Name)
	return nil
}
