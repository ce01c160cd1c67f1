package tokens

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/token"
)

func newList(a *kit.App) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List tokens, without their values",
		Long: kit.Long(`
Lists the tokens: name, last characters, models, directories that a client may
choose for a conversation, creation time, expiry, the conversations that are
open to it (own or all), the lowest confirmation mode of its agents, OpenHands'
own API, and if a token has limits, what it has spent of them. If OHGW_API_KEYS
is set, its keys are listed instead, because a daemon with that variable accepts
no others.

In a pipe, each token is one line with tabs between the columns and times as in
RFC 3339. With --json, tokens is a list of objects with name, id, tail, models
(null: all), workspaces (null: none), all_conversations, confirm (null: any),
created, expires (null: never), expired, and budgets: a list of limits with kind
(usd or tokens), limit, period (null: in all), spent and renews (null: never).`, 0, fault.Failed, fault.Usage),
		Example:           kit.Examples("ohgw tokens list", "ohgw tokens list --json"),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runList(cmd.Context(), &listOptions{App: a})
		},
	}
}

// listOptions is what the command takes.
type listOptions struct {
	*kit.App
}

// runList runs the command.
func runList(_ context.Context, o *listOptions) error {
	store, err := o.Setup().Tokens()
	if err != nil {
		return err
	}
	tokens, err := store.List()
	if err != nil {
		return o.Setup().TokenFault(err, "")
	}
	if o.JSON {
		list := []tokenJSON{}
		for _, t := range tokens {
			list = append(list, describe(o.App, t))
		}
		return o.PrintJSON(map[string]any{"tokens": list})
	}
	t := kit.Table{Header: []string{"NAME", "VALUE", "MODELS", "DIRECTORIES", "MADE", "ENDS", "CONVERSATIONS", "CONFIRM", "NATIVE"}}
	limited := slices.ContainsFunc(tokens, func(t token.Token) bool { return len(t.Budgets) > 0 })
	if limited {
		t.Header = append(t.Header, "SPENT")
	}
	for _, tok := range tokens {
		cells := row(o.App, tok)
		if limited {
			cells = append(cells, spentCell(budgets(o.App, tok)))
		}
		t.Add(cells...)
	}
	if len(tokens) == 0 {
		o.Hint("There are no tokens. Make one with: ohgw tokens create NAME")
	}
	return t.Write(o.Stdout)
}

func row(a *kit.App, t token.Token) []string {
	models, made, ends := "all", "-", "never"
	if len(t.Models) > 0 {
		models = strings.Join(t.Models, ",")
	}
	dirs := "-"
	if len(t.Workspaces) > 0 {
		dirs = strings.Join(t.Workspaces, ",")
	}
	if !t.Created.IsZero() {
		made = a.TimeText(t.Created)
	}
	if !t.Expires.IsZero() {
		ends = a.TimeText(t.Expires)
		if t.Expired(a.Now()) {
			ends += " (over)"
		}
	}
	conversations, confirm, native := "own", "-", "-"
	if t.AllConversations {
		conversations = "all"
	}
	if t.Confirm != "" {
		confirm = t.Confirm
	}
	if t.MayUseNative() {
		native = "yes"
	}
	return []string{t.Name, "…" + t.Tail, models, dirs, made, ends, conversations, confirm, native}
}
