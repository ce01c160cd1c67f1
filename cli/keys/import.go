package keys

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/setup"
)

// importOptions is what the command takes.
type importOptions struct {
	*options

	Names   []string
	Replace bool
	Remove  bool
}

func newImport(a *kit.App, shared *options) *cobra.Command {
	opts := importOptions{options: shared}
	cmd := &cobra.Command{
		Use:   "import [PROFILE...]",
		Short: "Copy keys from profiles into the keyring",
		Long: kit.Long(`
Copies the keys that are written in profiles, all or these, into the store of
keys. Encrypted ones are decrypted with the secret of OpenHands (OH_SECRET_KEY,
OH_SECRET_KEY_PATH and where else OpenHands has it). A key that the store has
already stays, unless --replace is given. What is stored is read back.

The profiles keep their keys: an agent-server that is used without ohgw needs
them there. --remove-from-profile takes them out; agents get their keys from
ohgw only then. Backups of those files may still hold them.

It ends with 3 when a key could not be imported. With --json, keys is a list of
objects with profile, field, entry, action (copied, moved, already, differs,
skipped), secret_source and problem.`, 0, fault.Failed, fault.Usage, fault.Partly, fault.Credential, fault.Conflict),
		Example: kit.Examples("ohgw keys import", "ohgw keys import work --remove-from-profile"),
		Args:    kit.NoKeys,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return a.Setup().ProfileNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Names = args
			return runImport(cmd.Context(), &opts)
		},
	}
	cmd.Flags().BoolVar(&opts.Replace, "replace", false, "take the place of keys that are stored already")
	cmd.Flags().BoolVar(&opts.Remove, "remove-from-profile", false, "take the keys out of the profiles")
	return cmd
}

// runImport runs the command.
func runImport(ctx context.Context, o *importOptions) error {
	profiles, err := o.Setup().ProfileStore(0)
	if err != nil {
		return err
	}
	if err := knownProfiles(ctx, o.App, o.Names); err != nil {
		return err
	}
	store, err := o.KeyStore(o.flags)
	if err != nil {
		return err
	}
	if err := o.Setup().Reach(ctx, store); err != nil {
		return err
	}
	o.Setup().WarnCleartext(store)
	done, err := profiles.ImportKeys(ctx, store, profile.ImportOptions{Names: o.Names, Replace: o.Replace, Remove: o.Remove})
	if err != nil {
		return o.Setup().ProfileFault(ctx, err, "")
	}
	if slices.ContainsFunc(done, stored) {
		o.Setup().RememberStore(store)
	}
	if err := printImports(o.App, store, done); err != nil {
		return err
	}
	return importFault(ctx, done, store)
}

// stored tells whether an import changed what is stored.
func stored(i profile.Import) bool {
	return i.Action == profile.KeyCopied || i.Action == profile.KeyMoved
}

// knownProfiles refuses names of which there is no profile.
func knownProfiles(ctx context.Context, a *kit.App, names []string) error {
	known := a.Setup().ProfileNames()
	for _, name := range names {
		if !slices.Contains(known, name) {
			return a.Setup().ProfileFault(ctx, profile.ErrNotFound, name)
		}
	}
	return nil
}

func printImports(a *kit.App, store *setup.KeyStore, done []profile.Import) error {
	if a.JSON {
		return a.PrintJSON(map[string]any{"store": store.JSON(), "keys": done})
	}
	if len(done) == 0 {
		a.Hint("There are no keys in the profiles.")
	}
	t := kit.Table{Header: []string{"PROFILE", "SECRET", "ACTION", "PROBLEM"}}
	moved := false
	for _, i := range done {
		moved = moved || i.Action == profile.KeyMoved
		t.Add(i.Profile, i.Field, string(i.Action), i.Problem)
	}
	if err := t.Write(a.Stdout); err != nil {
		return err
	}
	if moved {
		a.Note("Backups of those profiles may still hold the keys. An agent-server gets them from ohgw only from now on.")
	}
	return nil
}

// importFault says that keys were not imported.
func importFault(ctx context.Context, done []profile.Import, store *setup.KeyStore) error {
	differs, skipped := false, false
	for _, i := range done {
		differs = differs || i.Action == profile.KeyDiffers
		skipped = skipped || i.Action == profile.KeySkipped
		if fault.CodeOf(setup.KeyFault(ctx, i.Err, store)) == fault.Credential && !slices.ContainsFunc(done, stored) {
			return setup.KeyFault(ctx, i.Err, store)
		}
	}
	switch {
	case skipped:
		return &fault.Error{Msg: "some keys were not imported", Hint: "the reasons are listed; a wrong secret: set OH_SECRET_KEY to that of OpenHands", Code: fault.Partly}
	case differs:
		return &fault.Error{Msg: "some profiles have another key than the one that is stored, which stays", Hint: "give --replace to take those of the profiles", Code: fault.Partly}
	}
	return nil
}
