package tokens

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/token"
	"github.com/ohgw/ohgw/setup"
)

func newShow(a *kit.App, flags kit.SettingFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "show default",
		Short: "Print the value of the default token",
		Long: kit.Long(`
Prints the value of the token "default". The first "ohgw serve" creates it and
keeps it in the key store: the system keyring, or the file with --key-store
file. Without a keyring, a private file in the state directory keeps the value.
The values of other tokens are not stored; if one is lost, create a new token.`, 0, fault.Failed, fault.Usage, fault.Credential),
		Example: kit.Examples("ohgw tokens show default", `export OPENAI_API_KEY="$(ohgw tokens show default)"`),
		Args:    kit.ExactlyNames("the name"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return []string{token.DefaultName}, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runShow(cmd.Context(), &showOptions{App: a, flags: flags, Name: args[0]})
		},
	}
}

// showOptions is what the command takes.
type showOptions struct {
	*kit.App

	flags kit.SettingFlags

	Name string
}

// runShow runs the command.
func runShow(ctx context.Context, o *showOptions) error {
	if err := nameArg(o.Name); err != nil {
		return err
	}
	if o.Name != token.DefaultName {
		if !slices.Contains(o.Setup().TokenNames(), o.Name) {
			return o.Setup().TokenFault(token.ErrNotFound, o.Name)
		}
		return &fault.Error{
			Msg:  fmt.Sprintf("the value of the token %q is not stored: it was shown only once", o.Name),
			Hint: fmt.Sprintf("create it again: ohgw tokens revoke %s --yes && ohgw tokens create %s", o.Name, o.Name),
			Code: fault.Credential,
		}
	}
	store, values, err := stored(o.App, o.flags)
	if err != nil {
		return err
	}
	defer o.TellLate(setup.KeyringSlow)()
	value, _, err := store.Default(ctx)
	if err != nil {
		return valueFault(ctx, o.App, err, values)
	}
	if o.JSON {
		return o.PrintJSON(map[string]string{"name": o.Name, "token": value.Reveal()})
	}
	return kit.WriteText(o.Stdout, value.Reveal()+"\n")
}

// valueFault says why there is no value to show: because of the tokens, or of
// the store that has it.
func valueFault(ctx context.Context, a *kit.App, err error, values *setup.KeyStore) error {
	for _, known := range []error{token.ErrNotFound, token.ErrNoValue, token.ErrNewer, fs.ErrPermission} {
		if errors.Is(err, known) {
			return a.Setup().TokenFault(err, token.DefaultName)
		}
	}
	return setup.KeyFault(ctx, err, values)
}
