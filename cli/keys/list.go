package keys

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/setup"
)

func newList(opts *options) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List stored keys, without their values",
		Long: kit.Long(`
Lists the stored keys: what each key is for, which secret it is, its last
characters, and problems. Keys are never shown. If the keyring is locked, the
names are still listed and the exit code is 4.

In a pipe, each key is one line with tabs between the columns. With --json, keys
is a list of objects with name, profile, base_id, provider, field, tail and
problem.`, 0, fault.Failed, fault.Usage, fault.Credential),
		Example:           kit.Examples("ohgw keys list", "ohgw keys list --json"),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runList(cmd.Context(), opts) },
	}
}

// keyJSON is a stored key in a list.
type keyJSON struct {
	secret.Entry

	Tail    string `json:"tail"`
	Problem string `json:"problem,omitempty"`
}

// runList runs the command.
func runList(ctx context.Context, o *options) error {
	store, err := o.KeyStore(o.flags)
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
		failed = o.Setup().Reach(ctx, store)
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
	if err := printKeys(o, store, keys); err != nil {
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
		return "another program removed it"
	}
	return err.Error()
}

func printKeys(o *options, store *setup.KeyStore, keys []keyJSON) error {
	if o.JSON {
		return o.PrintJSON(map[string]any{"store": store.JSON(), "keys": keys})
	}
	if len(keys) == 0 {
		o.Hint("No keys are stored in the %s. Store one with: ohgw keys set NAME", store)
	}
	profiles, err := o.Setup().ProfileStore(0)
	if err != nil {
		return err
	}
	t := kit.Table{Header: []string{"FOR", "SECRET", "ENDS", "PROBLEM"}}
	for _, k := range keys {
		t.Add(entryName(k.Entry, profiles.Base()), setup.FieldName(k.Field), "…"+k.Tail, k.Problem)
	}
	return t.Write(o.Stdout)
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
