package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/setup"
)

type profilesRemoveInput struct {
	*profilesInput

	Name string
	Yes  bool
}

func newProfilesRemove(a *App, shared *profilesInput) *cobra.Command {
	in := profilesRemoveInput{profilesInput: shared}
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a profile",
		Long: long(`
Removes a profile, the key in it and the keys that are stored for it. One that
agent profiles use stays. It asks before it does; --yes answers that.`, 0, fault.Failed, fault.Usage, fault.Partly, fault.Conflict),
		Example:           examples("ohgw profiles remove old", "ohgw profiles remove old --yes"),
		Args:              exactly("the name"),
		ValidArgsFunction: a.completeProfiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Name = args[0]
			return a.profilesRemove(cmd.Context(), in)
		},
	}
	cmd.Flags().BoolVarP(&in.Yes, "yes", "y", false, "do not ask")
	return cmd
}

func (a *App) profilesRemove(ctx context.Context, in profilesRemoveInput) error {
	store, err := a.Setup().ProfileStore(in.LockTimeout)
	if err != nil {
		return err
	}
	if !in.Yes {
		yes, err := a.confirm(ctx, fmt.Sprintf("Remove the profile %q and its keys?", in.Name), "--yes")
		if err != nil {
			return err
		}
		if !yes {
			a.Note("Nothing was removed.")
			return nil
		}
	}
	done, err := store.Remove(ctx, in.Name)
	if err != nil {
		return a.Setup().ProfileFault(ctx, err, in.Name)
	}
	keys, err := a.keyStore(in.flags)
	if err == nil {
		_, err = store.RemoveKeys(ctx, keys, done.Name)
	}
	if err != nil {
		return keysLeft(ctx, err, keys, fmt.Sprintf("the profile %q is removed, the keys stored for it are not", done.Name), "ohgw keys remove "+done.Name)
	}
	if a.json {
		return a.printJSON(done)
	}
	a.Note("The profile %q is removed.", done.Name)
	if done.Active {
		a.Note("It was the active one; ohgw profiles use NAME chooses another.")
	}
	return nil
}

// keysLeft says that a change of a profile did not reach its stored keys.
func keysLeft(ctx context.Context, err error, store *setup.KeyStore, msg, hint string) error {
	if ctx.Err() != nil {
		return err
	}
	if store != nil {
		err = setup.KeyFault(ctx, err, store)
	}
	return &fault.Error{Msg: msg, Hint: hint, Code: fault.Partly, Err: err}
}
