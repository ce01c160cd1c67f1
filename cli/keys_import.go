package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/setup"
)

type keysImportInput struct {
	*keysInput

	Names   []string
	Replace bool
	Remove  bool
}

func newKeysImport(a *App, shared *keysInput) *cobra.Command {
	in := keysImportInput{keysInput: shared}
	cmd := &cobra.Command{
		Use:   "import [PROFILE...]",
		Short: "Copy keys from profiles into the keyring",
		Long: long(`
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
		Example: examples("ohgw keys import", "ohgw keys import work --remove-from-profile"),
		Args:    noKeys,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return a.Setup().ProfileNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Names = args
			return a.keysImport(cmd.Context(), in)
		},
	}
	cmd.Flags().BoolVar(&in.Replace, "replace", false, "take the place of keys that are stored already")
	cmd.Flags().BoolVar(&in.Remove, "remove-from-profile", false, "take the keys out of the profiles")
	return cmd
}

func (a *App) keysImport(ctx context.Context, in keysImportInput) error {
	profiles, err := a.Setup().ProfileStore(in.LockTimeout)
	if err != nil {
		return err
	}
	if err := a.knownProfiles(ctx, in.Names); err != nil {
		return err
	}
	store, err := a.keyStore(in.flags)
	if err != nil {
		return err
	}
	if err := a.Setup().Reach(ctx, store); err != nil {
		return err
	}
	a.Setup().WarnCleartext(store)
	done, err := profiles.ImportKeys(ctx, store, profile.ImportOptions{Names: in.Names, Replace: in.Replace, Remove: in.Remove})
	if err != nil {
		return a.Setup().ProfileFault(ctx, err, "")
	}
	if slices.ContainsFunc(done, stored) {
		a.Setup().RememberStore(store)
	}
	if err := a.printImports(store, done); err != nil {
		return err
	}
	return importFault(ctx, done, store)
}

// stored tells whether an import changed what is stored.
func stored(i profile.Import) bool {
	return i.Action == profile.KeyCopied || i.Action == profile.KeyMoved
}

// knownProfiles refuses names of which there is no profile.
func (a *App) knownProfiles(ctx context.Context, names []string) error {
	known := a.Setup().ProfileNames()
	for _, name := range names {
		if !slices.Contains(known, name) {
			return a.Setup().ProfileFault(ctx, profile.ErrNotFound, name)
		}
	}
	return nil
}

func (a *App) printImports(store *setup.KeyStore, done []profile.Import) error {
	if a.json {
		return a.printJSON(map[string]any{"store": store.JSON(), "keys": done})
	}
	if len(done) == 0 {
		a.hint("There are no keys in the profiles.")
	}
	t := table{header: []string{"PROFILE", "SECRET", "ACTION", "PROBLEM"}}
	moved := false
	for _, i := range done {
		moved = moved || i.Action == profile.KeyMoved
		t.add(i.Profile, i.Field, string(i.Action), i.Problem)
	}
	if err := t.write(a.Stdout); err != nil {
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
