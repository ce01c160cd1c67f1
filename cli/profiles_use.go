package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/fault"
)

func newProfilesUse(a *App, in *profilesInput) *cobra.Command {
	return &cobra.Command{
		Use:   "use NAME",
		Short: "Make a profile the active one",
		Long: long(`
Makes a profile the active one, the model "openhands" of the gateway. As the
agent-server does, it copies the profile into the settings of OpenHands: new
conversations there use it too.`, 0, fault.Failed, fault.Usage, fault.Conflict),
		Example:           examples("ohgw profiles use work", "ohgw profiles use work --json"),
		Args:              exactly("the name"),
		ValidArgsFunction: a.completeProfiles,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.profilesUse(cmd.Context(), in, args[0]) },
	}
}

func (a *App) profilesUse(ctx context.Context, in *profilesInput, name string) error {
	store, err := a.Setup().ProfileStore(in.LockTimeout)
	if err != nil {
		return err
	}
	done, err := store.Use(ctx, name, a.Now())
	if err != nil {
		return a.Setup().ProfileFault(ctx, err, name)
	}
	if a.json {
		return a.printJSON(done)
	}
	if !done.Changed {
		a.Note("The profile %q is active already.", done.Name)
		return nil
	}
	a.Note("The profile %q is active.", done.Name)
	return nil
}
