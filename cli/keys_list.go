package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/setup"
)

func newKeysList(a *App, in *keysInput) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List stored keys, without their values",
		Long: long(`
Lists what is stored: what each key is for, which secret it is, its end, and
what is wrong. Keys are never shown. When the keyring is locked, the names are
listed all the same and it ends with 4.

Piped, it prints one key a line with tabs between the columns. With --json, keys
is a list of objects with name, profile, base_id, provider, field, tail and
problem.`, 0, fault.Failed, fault.Usage, fault.Credential),
		Example:           examples("ohgw keys list", "ohgw keys list --json"),
		Args:              none(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return a.keysList(cmd.Context(), in) },
	}
}

// keyJSON is a stored key in a list.
type keyJSON struct {
	secret.Entry

	Tail    string `json:"tail"`
	Problem string `json:"problem,omitempty"`
}

func (a *App) keysList(ctx context.Context, in *keysInput) error {
	store, err := a.keyStore(in.flags)
	if err != nil {
		return err
	}
	names, err := store.List(ctx)
	if err != nil {
		return setup.KeyFault(ctx, err, store)
	}
	names = keysOfLLMs(names)
	var failed error
	if len(names) > 0 {
		failed = a.Setup().Reach(ctx, store)
	}
	keys := []keyJSON{}
	for _, name := range names {
		key := keyJSON{Entry: secret.ParseEntry(name), Problem: "not readable now"}
		if failed == nil {
			v, err := store.Get(ctx, name)
			key.Tail, key.Problem = v.Tail(), keyProblem(err)
			if err != nil && !errors.Is(err, secret.ErrNotFound) {
				failed = setup.KeyFault(ctx, err, store)
			}
		}
		keys = append(keys, key)
	}
	if err := a.printKeys(in, store, keys); err != nil {
		return err
	}
	return failed
}

// keyProblem is why a stored key cannot be used, in a few words.
func keyProblem(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, secret.ErrNotFound):
		return "it was removed by another program"
	}
	return err.Error()
}

func (a *App) printKeys(in *keysInput, store *setup.KeyStore, keys []keyJSON) error {
	if a.json {
		return a.printJSON(map[string]any{"store": store.JSON(), "keys": keys})
	}
	if len(keys) == 0 {
		a.hint("No keys are stored in the %s. Store one with: ohgw keys set NAME", store)
	}
	profiles, err := a.Setup().ProfileStore(in.LockTimeout)
	if err != nil {
		return err
	}
	t := table{header: []string{"FOR", "SECRET", "ENDS", "PROBLEM"}}
	for _, k := range keys {
		t.add(entryName(k.Entry, profiles.Base()), setup.FieldName(k.Field), "…"+k.Tail, k.Problem)
	}
	return t.write(a.Stdout)
}

// entryName is an entry as keys set takes it, as far as it can be.
func entryName(e secret.Entry, base string) string {
	switch {
	case e.Provider != "":
		return setup.ProviderMark + e.Provider
	case e.Profile != "" && e.BaseID == secret.BaseID(base):
		return e.Profile
	}
	return e.Name // of another store of profiles
}
