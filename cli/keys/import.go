package keys

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/setup"
)

// importOptions is what the command takes.
type importOptions struct {
	*options

	Names   []string
	Replace bool
	Remove  bool
}

func newImport(shared *options) *cobra.Command {
	opts := importOptions{options: shared}
	cmd := &cobra.Command{
		Use:   "import [PROFILE...]",
		Short: "Copy keys from profiles into the keyring",
		Long: kit.Long(`
Copies the keys found in profiles, all or the given ones, into the key store.
Encrypted keys are decrypted with OpenHands' secret (OH_SECRET_KEY,
OH_SECRET_KEY_PATH, and OpenHands' other places). A key that is stored already
is kept unless --replace is given. Each stored key is read back.

The profiles keep their keys, because an agent-server without ohgw needs them
there. --remove-from-profile removes them, also from the copy of the active
profile in OpenHands' settings; agents then get their keys from ohgw only. Files
that still contain one of the keys, such as backups, are listed.

The exit code is 3 if a key could not be imported. With --json, keys is a list
of objects with profile, path, field, entry, action (copied, moved, already,
differs, skipped), secret_source and problem, and still_in is a list of paths.`, 0, fault.Failed, fault.Usage, fault.Partly, fault.Credential, fault.Conflict),
		Example: kit.Examples("ohgw keys import", "ohgw keys import work --remove-from-profile"),
		Args:    kit.Names,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return shared.Setup().ProfileNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Names = args
			return runImport(cmd.Context(), &opts)
		},
	}
	cmd.Flags().BoolVar(&opts.Replace, "replace", false, "overwrite keys that are stored already")
	cmd.Flags().BoolVar(&opts.Remove, "remove-from-profile", false, "remove the keys from the profiles")
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
	done, err := profiles.ImportKeys(ctx, store, profile.ImportOptions{Names: o.Names, Replace: o.Replace, Remove: o.Remove, Bind: o.Setup().FindKeys(ctx, store).Bind})
	if err != nil {
		return o.Setup().ProfileFault(ctx, err, "")
	}
	if slices.ContainsFunc(done, stored) {
		o.Setup().RememberStore(store)
	}
	if err := printImports(ctx, o.App, profiles, store, done); err != nil {
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

func printImports(ctx context.Context, a *kit.App, profiles *profile.Store, store *setup.KeyStore, done []profile.Import) error {
	left := stillIn(ctx, a, profiles, store, done)
	if a.JSON {
		return a.PrintJSON(map[string]any{"store": store.JSON(), "keys": done, "still_in": left})
	}
	if len(done) == 0 {
		a.Hint("No profile contains a key.")
	}
	t := kit.Table{Header: []string{"PROFILE", "SECRET", "ACTION", "PROBLEM"}}
	moved := false
	for _, i := range done {
		moved = moved || i.Action == profile.KeyMoved
		what := i.Field
		if filepath.Dir(i.Path) == profiles.Base() { // the settings' copy
			what += " in " + filepath.Base(i.Path)
		}
		t.Add(i.Profile, what, string(i.Action), i.Problem)
	}
	if err := t.Write(a.Stdout); err != nil {
		return err
	}
	if moved {
		a.Note("From now on an agent-server gets these keys from ohgw only.")
	}
	tellCopies(a, profiles, left, false)
	return nil
}

// stillIn finds the files that contain a key in clear text that was moved.
func stillIn(ctx context.Context, a *kit.App, profiles *profile.Store, store *setup.KeyStore, done []profile.Import) []string {
	left := []string{}
	looked := map[string]bool{}
	for _, i := range done {
		if i.Action != profile.KeyMoved || looked[i.Entry] {
			continue
		}
		looked[i.Entry] = true
		if key, err := store.Get(ctx, i.Entry); err == nil {
			left = append(left, copiesOf(ctx, a, profiles, key)...)
		}
	}
	slices.Sort(left)
	return slices.Compact(left)
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
		return &fault.Error{Msg: "some keys were not imported", Hint: "the reasons are listed; where the secret is wrong, set OH_SECRET_KEY to the one that OpenHands uses", Code: fault.Partly}
	case differs:
		return &fault.Error{Msg: "some profiles hold a different key; the stored key was kept", Hint: "pass --replace to store the profiles' keys instead", Code: fault.Partly}
	}
	return nil
}
