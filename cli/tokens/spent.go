package tokens

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/budget"
	"github.com/ohgw/ohgw/internal/token"
)

// budgetJSON is a limit of what a token may spend.
type budgetJSON struct {
	Kind   string     `json:"kind"` // usd, tokens
	Limit  float64    `json:"limit"`
	Period *string    `json:"period"` // null: in all
	Spent  float64    `json:"spent"`  // in the period that goes on
	Renews *time.Time `json:"renews"` // null: never
}

// budgets reads what a token has spent of its limits.
func budgets(a *kit.App, t token.Token) []budgetJSON {
	list := []budgetJSON{}
	if len(t.Budgets) == 0 {
		return list
	}
	spent, err := spentBy(a, t)
	if err != nil {
		a.Note("note: what the token %q has spent cannot be read: %v", t.Name, err)
	}
	for _, r := range t.Budgets {
		b := budgetJSON{Kind: "usd", Limit: r.Cost, Spent: spent[r.Period].Cost, Renews: kit.TimeOrNull(r.Renews(a.Now()))}
		if r.Tokens > 0 {
			b.Kind, b.Limit, b.Spent = "tokens", float64(r.Tokens), float64(spent[r.Period].Tokens)
		}
		if period := string(r.Period); r.Period != budget.Total {
			b.Period = &period
		}
		list = append(list, b)
	}
	return list
}

func spentBy(a *kit.App, t token.Token) (map[budget.Period]budget.Amount, error) {
	ledger, err := a.Setup().Spending()
	if err != nil {
		return nil, err
	}
	return ledger.Spent(t.ID)
}

// spentCell shows limits to people.
func spentCell(list []budgetJSON) string {
	texts := make([]string, 0, len(list))
	for _, b := range list {
		text := fmt.Sprintf("$%.2f of $%s", b.Spent, strconv.FormatFloat(b.Limit, 'f', -1, 64))
		if b.Kind == "tokens" {
			text = fmt.Sprintf("%.0f of %.0f tokens", b.Spent, b.Limit)
		}
		if b.Period != nil {
			text += "/" + *b.Period
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return "-"
	}
	return strings.Join(texts, ", ")
}
