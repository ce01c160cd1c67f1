// Package keys has the commands about stored LLM keys.
package keys

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/suggest"
	"github.com/ohgw/ohgw/setup"
)

// New makes the command "keys".
func New(a *kit.App) *cobra.Command {
	opts := options{App: a}
	cmd := &cobra.Command{
		Use:   "keys COMMAND",
		Short: "Store LLM keys in the system keyring",
		Long: `Stores LLM keys in the system keyring, and passes them to agents when they
start. Keys are neither in profiles nor in process lists.

A key is for one profile, or for a provider (provider:openai) and all of its
profiles. Order of precedence for a profile: its own stored key, the stored key
of its provider, the key in the profile, the provider's variable such as
OPENAI_API_KEY.

Without a keyring, use --key-store file: one private file, encrypted if
OH_SECRET_KEY is set. ohgw never chooses the file by itself.`,
		Example: kit.Examples("ohgw keys set work", "ohgw keys status"),
		Args:    kit.UnknownCommandOrKey,
		RunE:    kit.ShowHelp,
	}
	opts.flags = kit.AddSettingsTo(cmd, cmd.PersistentFlags(), config.KeySection)
	cmd.AddCommand(newSet(&opts), newList(&opts), newRemove(&opts), newImport(&opts), newStatus(&opts))
	return cmd
}

// options is what all commands about keys take.
type options struct {
	*kit.App

	flags kit.SettingFlags // which key store
}

// addField gives cmd the flag for secrets that are not API keys.
func addField(cmd *cobra.Command, field *string) {
	cmd.Flags().StringVar(field, "field", "", "a `secret` of AWS instead of the API key")
	kit.Complete(cmd, "field", setup.KeyFields()...)
}

func checkField(field string) error {
	if field != secret.APIKey && !slices.Contains(setup.KeyFields(), field) {
		return fault.NewUsage(fmt.Sprintf("--field cannot be %q", field), "use "+strings.Join(setup.KeyFields(), ", ")+", or remove --field for an API key")
	}
	return nil
}

// keyArgs wants names. Whatever comes after them is taken for a key, and is
// not said again.
func keyArgs(most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		for i, arg := range args {
			if i >= most || kit.LooksLikeKey(arg) {
				return fault.NewUsage("a key was given as an argument", "your shell's history has it now, and other users could see it: "+
					"create a new key at the provider, and pass it at the prompt, on stdin or with --file")
			}
		}
		if len(args) == 0 {
			return fault.NewUsage("NAME is missing", "see "+cmd.CommandPath()+" --help")
		}
		return nil
	}
}

var providerName = pattern.Of(`\A[a-z0-9][a-z0-9_.-]{0,63}\z`)

// keyEntry returns the entry that a name and the flag --field stand for. A profile
// need not be there.
func keyEntry(a *kit.App, name, field string) (secret.Entry, error) {
	if err := checkField(field); err != nil {
		return secret.Entry{}, err
	}
	store, err := a.Setup().ProfileStore(0)
	if err != nil {
		return secret.Entry{}, err
	}
	if provider, ok := strings.CutPrefix(name, setup.ProviderMark); ok {
		if !providerName().MatchString(provider) {
			return secret.Entry{}, fault.NewUsage(fmt.Sprintf("%q is not a valid provider name", provider), "use the first part of its model names, such as provider:anthropic")
		}
		return secret.ParseEntry(secret.ProviderEntry(provider, field)), nil
	}
	if !document.ValidName(name) {
		return secret.Entry{}, fault.NewUsage(fmt.Sprintf("%q is neither a profile nor a provider", name), "use the name of a profile, or provider:NAME such as provider:openai")
	}
	return secret.ParseEntry(secret.ProfileEntry(store.Base(), name, field)), nil
}

// knownEntry refuses names that nothing would ever look for.
func knownEntry(a *kit.App, e secret.Entry) error {
	if e.Provider != "" {
		known := setup.ProviderPrefixes()
		if slices.Contains(known, e.Provider) {
			return nil
		}
		if near := suggest.Nearest(e.Provider, known); near != "" {
			return fault.NewUsage(fmt.Sprintf("unknown provider %q", e.Provider), "did you mean provider:"+near+"?")
		}
		a.Note("note: unknown provider %q; its key is used for models %s/… without a base URL", e.Provider, e.Provider)
		return nil
	}
	names := a.Setup().ProfileNames()
	if slices.Contains(names, e.Profile) {
		return nil
	}
	hint := "ohgw profiles list shows the profiles"
	if near := suggest.Nearest(e.Profile, names); near != "" {
		hint = "did you mean " + near + "?"
	} else if slices.Contains(setup.ProviderPrefixes(), e.Profile) {
		hint = "for all profiles of that provider: provider:" + e.Profile
	}
	return fault.New(fmt.Sprintf("there is no profile %q", e.Profile), hint, nil)
}

// completeKeys offers what a key can be for.
func completeKeys(a *kit.App) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names := a.Setup().ProfileNames()
		for _, p := range setup.ProviderPrefixes() {
			names = append(names, setup.ProviderMark+p)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
