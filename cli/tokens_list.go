package cli

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/token"
)

func newTokensList(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List tokens, without their values",
		Long: long(`
Lists the tokens: name, the end of the value, models, when it was made, when it
ends. With OHGW_API_KEYS set, it lists those instead: a daemon with that
variable takes no others.

Piped, it prints one token a line, with tabs between the columns and times as in
RFC 3339. With --json, tokens is a list of objects with name, id, tail, models
(null: all), created, expires (null: never) and expired.`, 0, fault.Failed, fault.Usage),
		Example:           examples("ohgw tokens list", "ohgw tokens list --json"),
		Args:              none(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(*cobra.Command, []string) error { return a.tokensList() },
	}
}

func (a *App) tokensList() error {
	store, err := a.Setup().Tokens()
	if err != nil {
		return err
	}
	tokens, err := store.List()
	if err != nil {
		return a.Setup().TokenFault(err, "")
	}
	if a.json {
		list := []tokenJSON{}
		for _, t := range tokens {
			list = append(list, a.tokenJSON(t))
		}
		return a.printJSON(map[string]any{"tokens": list})
	}
	t := table{header: []string{"NAME", "VALUE", "MODELS", "MADE", "ENDS"}}
	for _, tok := range tokens {
		t.add(a.tokenRow(tok)...)
	}
	if len(tokens) == 0 {
		a.hint("There are no tokens. Make one with: ohgw tokens create NAME")
	}
	return t.write(a.Stdout)
}

func (a *App) tokenRow(t token.Token) []string {
	models, made, ends := "all", "-", "never"
	if len(t.Models) > 0 {
		models = strings.Join(t.Models, ",")
	}
	if !t.Created.IsZero() {
		made = a.timeText(t.Created)
	}
	if !t.Expires.IsZero() {
		ends = a.timeText(t.Expires)
		if t.Expired(a.Now()) {
			ends += " (over)"
		}
	}
	return []string{t.Name, "…" + t.Tail, models, made, ends}
}

// timeText is t for a table: for people, in their time zone, to the minute.
func (a *App) timeText(t time.Time) string {
	if a.Stdout.TTY() {
		return t.In(a.Now().Location()).Format("2006-01-02 15:04")
	}
	return t.UTC().Format(time.RFC3339)
}
