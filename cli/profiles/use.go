package profiles

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
)

func newUse(shared *options) *cobra.Command {
	return &cobra.Command{
		Use:   "use NAME",
		Short: "Activate a profile",
		Long: kit.Long(`
Activates a profile: it becomes the gateway's model "openhands". Like the
agent-server, the command also copies the profile into OpenHands' settings, so
new conversations in OpenHands use it, too.`, 0, fault.Failed, fault.Usage, fault.Conflict),
		Example:           kit.Examples("ohgw profiles use work", "ohgw profiles use work --json"),
		Args:              kit.Exactly("the name"),
		ValidArgsFunction: shared.CompleteProfiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runUse(cmd.Context(), &useOptions{options: shared, Name: args[0]})
		},
	}
}

// useOptions is what the command takes.
type useOptions struct {
	*options

	Name string
}

// runUse runs the command.
func runUse(ctx context.Context, o *useOptions) error {
	store, err := o.Setup().ProfileStore(o.LockTimeout)
	if err != nil {
		return err
	}
	done, err := store.Use(ctx, o.Name, o.Now())
	if err != nil {
		return o.Setup().ProfileFault(ctx, err, o.Name)
	}
	if o.JSON {
		return o.PrintJSON(done)
	}
	if !done.Changed {
		o.Note("The profile %q is already active.", done.Name)
		return nil
	}
	o.Note("The profile %q is active.", done.Name)
	return nil
}
