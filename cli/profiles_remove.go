package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/fault"
)

type profilesRemoveInput struct {
	*profilesInput

	Name string
	Yes  bool
}

func newProfilesRemove(a *app, shared *profilesInput) *cobra.Command {
	in := profilesRemoveInput{profilesInput: shared}
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a profile",
		Long: long(`
Removes a profile and the key in it. One that agent profiles use stays. It asks
before it does; --yes answers that.`, 0, fault.Failed, fault.Usage, fault.Conflict),
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

func (a *app) profilesRemove(ctx context.Context, in profilesRemoveInput) error {
	store, err := a.profileStore(in.profilesInput)
	if err != nil {
		return err
	}
	if !in.Yes {
		yes, err := a.confirm(ctx, fmt.Sprintf("Remove the profile %q with the key in it?", in.Name), "--yes")
		if err != nil {
			return err
		}
		if !yes {
			a.note("Nothing was removed.")
			return nil
		}
	}
	done, err := store.Remove(ctx, in.Name)
	if err != nil {
		return a.profileFault(ctx, err, in.Name)
	}
	if a.json {
		return a.printJSON(done)
	}
	a.note("The profile %q is removed.", done.Name)
	if done.Active {
		a.note("It was the active one; ohgw profiles use NAME chooses another.")
	}
	return nil
}
