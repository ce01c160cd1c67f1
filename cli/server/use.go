package server

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
)

func newUse(a *kit.App, flags kit.SettingFlags) *cobra.Command {
	opts := options{App: a, flags: flags}
	return &cobra.Command{
		Use:   "use NAME",
		Short: "Make a stored server the default one",
		Long: kit.Long(`
Makes a stored server the one that commands use without --server. With --json,
the output has default, its name.`, 0, fault.Failed, fault.Usage, fault.Conflict),
		Example:           kit.Examples("ohgw server use work", "ohgw server use cloud --json"),
		Args:              kit.ExactlyNames("the name"),
		ValidArgsFunction: completeNames(a, flags),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Name = args[0]
			return runUse(cmd.Context(), &opts)
		},
	}
}

// runUse runs the command.
func runUse(ctx context.Context, o *options) error {
	stored, err := o.open()
	if err != nil {
		return err
	}
	if err := stored.Store.Use(ctx, o.Name); err != nil {
		return err
	}
	if o.JSON {
		return o.PrintJSON(map[string]string{"default": o.Name})
	}
	o.Note("%s is the default server now.", o.Name)
	return nil
}
