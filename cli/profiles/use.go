package profiles

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
)

func newUse(shared *options) *cobra.Command {
	opts := useOptions{options: shared}
	cmd := &cobra.Command{
		Use:   "use NAME",
		Short: "Activate a profile",
		Long: kit.Long(`
Activates a profile: it becomes the gateway's model "openhands". Like the
agent-server, the command also copies the profile into OpenHands' settings, so
new conversations in OpenHands use it, too.

An encrypted key is copied with it. A key in clear text is encrypted if
OpenHands encrypts its files with OH_SECRET_KEY; otherwise it stays in the
profile only, unless the settings already contain one in clear text. OpenHands
without ohgw then has no key for its conversations; --copy-key copies the key in
clear text. With --json, left lists the secrets that were not copied.
`, 0, fault.Failed, fault.Usage, fault.Conflict),
		Example:           kit.Examples("ohgw profiles use work", "ohgw profiles use work --json"),
		Args:              kit.ExactlyNames("the name"),
		ValidArgsFunction: shared.CompleteProfiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Name = args[0]
			return runUse(cmd.Context(), &opts)
		},
	}
	cmd.Flags().BoolVar(&opts.CopyKey, "copy-key", false, "copy the key into OpenHands' settings even in clear text")
	return cmd
}

// useOptions is what the command takes.
type useOptions struct {
	*options

	Name    string
	CopyKey bool
}

// runUse runs the command.
func runUse(ctx context.Context, o *useOptions) error {
	store, err := o.Setup().ProfileStore(o.LockTimeout)
	if err != nil {
		return err
	}
	use := store.Use
	if o.CopyKey {
		use = store.UseWithKey
	}
	done, err := use(ctx, o.Name, o.Now())
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
	if len(done.Left) > 0 {
		o.Note("Its key was not copied into OpenHands' settings, where it would be in clear text. ohgw does not need it there.\n"+
			"If OpenHands runs this profile without ohgw: ohgw profiles use %s --copy-key", done.Name)
	}
	return nil
}
