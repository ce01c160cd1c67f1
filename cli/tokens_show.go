package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/token"
)

func newTokensShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show default",
		Short: "Print the value of the default token",
		Long: long(`
Prints the value of the token "default", which the first "ohgw serve" makes and
which is kept in a file that you alone can read. The values of other tokens are
not kept; make a new one when a value is lost.`, 0, fault.Failed, fault.Usage, fault.Credential),
		Example: examples("ohgw tokens show default", `export OPENAI_API_KEY="$(ohgw tokens show default)"`),
		Args:    exactly("the name"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return []string{token.DefaultName}, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.tokensShow(args[0]) },
	}
}

func (a *app) tokensShow(name string) error {
	if err := nameArg(name); err != nil {
		return err
	}
	if name != token.DefaultName {
		if !slices.Contains(a.tokenNames(), name) {
			return a.tokenFault(token.ErrNotFound, name)
		}
		return &fault.Error{
			Msg:  fmt.Sprintf("the value of the token %q is not kept: it was shown once", name),
			Hint: fmt.Sprintf("make it anew: ohgw tokens revoke %s --yes && ohgw tokens create %s", name, name),
			Code: fault.Credential,
		}
	}
	store, err := a.storedTokens()
	if err != nil {
		return err
	}
	value, err := store.Default()
	if err != nil {
		return a.tokenFault(err, name)
	}
	if a.json {
		return a.printJSON(map[string]string{"name": name, "token": value})
	}
	return writeText(a.Stdout, value+"\n")
}
