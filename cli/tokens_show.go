package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/setup"
	"github.com/ohgw/ohgw/internal/token"
)

func newTokensShow(a *App, flags settingFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "show default",
		Short: "Print the value of the default token",
		Long: long(`
Prints the value of the token "default", which the first "ohgw serve" makes and
which is kept in the store of keys: the keyring of the system, or the file that
--key-store file chose. The values of other tokens are not kept; make a new one
when a value is lost.

An older ohgw kept the value in a file of its own. It is moved from there when
it is needed.`, 0, fault.Failed, fault.Usage, fault.Credential),
		Example: examples("ohgw tokens show default", `export OPENAI_API_KEY="$(ohgw tokens show default)"`),
		Args:    exactly("the name"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return []string{token.DefaultName}, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.tokensShow(cmd.Context(), flags, args[0]) },
	}
}

func (a *App) tokensShow(ctx context.Context, flags settingFlags, name string) error {
	if err := nameArg(name); err != nil {
		return err
	}
	if name != token.DefaultName {
		if !slices.Contains(a.Setup().TokenNames(), name) {
			return a.Setup().TokenFault(token.ErrNotFound, name)
		}
		return &fault.Error{
			Msg:  fmt.Sprintf("the value of the token %q is not kept: it was shown once", name),
			Hint: fmt.Sprintf("make it anew: ohgw tokens revoke %s --yes && ohgw tokens create %s", name, name),
			Code: fault.Credential,
		}
	}
	store, values, err := a.storedTokens(flags)
	if err != nil {
		return err
	}
	defer a.TellLate(setup.KeyringSlow)()
	a.Setup().MoveOldToken(ctx, store, values)
	value, _, err := store.Default(ctx)
	if err != nil {
		return a.valueFault(ctx, err, values)
	}
	if a.json {
		return a.printJSON(map[string]string{"name": name, "token": value.Reveal()})
	}
	return writeText(a.Stdout, value.Reveal()+"\n")
}

// valueFault says why there is no value to show: because of the tokens, or of
// the store that has it.
func (a *App) valueFault(ctx context.Context, err error, values *setup.KeyStore) error {
	for _, known := range []error{token.ErrNotFound, token.ErrNoValue, token.ErrNewer, fs.ErrPermission} {
		if errors.Is(err, known) {
			return a.Setup().TokenFault(err, token.DefaultName)
		}
	}
	return setup.KeyFault(ctx, err, values)
}
