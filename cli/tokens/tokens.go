// Package tokens has the commands about the keys that clients call with.
package tokens

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/token"
	"github.com/ohgw/ohgw/setup"
)

// New makes the command "tokens".
func New(a *kit.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tokens COMMAND",
		Short: "Manage the tokens that clients use as API keys",
		Long: `Manages the gateway's tokens, which OpenAI clients use as API keys.

A token may be limited to models and to a time. Only a hash is stored, so the
value is shown once. The exception is the token "default", which the first "ohgw
serve" creates: its value is in the key store (see ohgw help keys), or without a
keyring in a private file, where the commands of ohgw find it. A running daemon applies every change to its next
request.

OHGW_API_KEYS replaces all tokens of a daemon that was started with it.`,
		Example: kit.Examples("ohgw tokens create ide --model openhands_claude --expires 30d", "ohgw tokens list"),
		Args:    kit.UnknownCommandOrKey,
		RunE:    kit.ShowHelp,
	}
	flags := kit.AddSettingsTo(cmd, cmd.PersistentFlags(), config.KeySection)
	cmd.AddCommand(newCreate(a, flags), newList(a), newRevoke(a, flags), newShow(a, flags))
	return cmd
}

// stored is tokenStore for commands that change what is stored: it says
// when that does not count.
func stored(a *kit.App, flags kit.SettingFlags) (*token.Store, *setup.KeyStore, error) {
	s, err := a.Settings(flags)
	if err != nil {
		return nil, nil, err
	}
	if len(token.SplitKeys(a.Getenv("OHGW_API_KEYS"))) > 0 {
		a.Note("note: OHGW_API_KEYS is set; a daemon started with it accepts only those keys")
	}
	return a.Setup().TokenStore(s)
}

// tokenJSON is a token in JSON. Models is null for a token without a limit.
type tokenJSON struct {
	Name    string       `json:"name"`
	ID      string       `json:"id"`
	Tail    string       `json:"tail"`
	Models  []string     `json:"models"`
	ChatBy  []string     `json:"chat_by,omitempty"`
	Places  []string     `json:"workspaces"`
	All     bool         `json:"all_conversations"`
	Confirm *string      `json:"confirm"`
	Native  bool         `json:"native"`
	Budgets []budgetJSON `json:"budgets"`
	Created *time.Time   `json:"created"`
	Expires *time.Time   `json:"expires"`
	Expired bool         `json:"expired"`
}

func describe(a *kit.App, t token.Token) tokenJSON {
	var confirm *string
	if t.Confirm != "" {
		confirm = &t.Confirm
	}
	return tokenJSON{
		All: t.AllConversations, Budgets: budgets(a, t), Confirm: confirm, Native: t.MayUseNative(),
		Name: t.Name, ID: t.ID, Tail: t.Tail, Models: t.Models, ChatBy: t.ChatBy, Places: t.Workspaces,
		Created: kit.TimeOrNull(t.Created), Expires: kit.TimeOrNull(t.Expires), Expired: t.Expired(a.Now()),
	}
}

// completeTokens offers the names of the stored tokens.
func completeTokens(a *kit.App) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.Setup().TokenNames(), cobra.ShellCompDirectiveNoFileComp
	}
}

// nameArg refuses a token's value where its name is wanted.
func nameArg(name string) error {
	if token.LooksLikeValue(name) {
		return fault.NewUsage("this is the value of a token, not its name", "ohgw tokens list shows the names; revoke a token whose value others may have seen")
	}
	return nil
}
