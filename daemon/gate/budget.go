package gate

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/ohgw/ohgw/daemon/run/toll"
	"github.com/ohgw/ohgw/internal/budget"
)

// budgetHeader reads what the run of a request may cost, in US dollars; 0: no limit.
func budgetHeader(h http.Header) (float64, error) {
	values := h.Values(HeaderBudget)
	if len(values) == 0 || len(values) == 1 && strings.TrimSpace(values[0]) == "" {
		return 0, nil
	}
	cost, err := budget.ParseCost(strings.TrimSpace(values[0]))
	if err != nil || len(values) > 1 {
		return 0, badHeader(HeaderBudget, "US dollars greater than 0, such as 0.50")
	}
	return cost, nil
}

// BudgetOf returns what the run of a request may take; nil: there is no limit.
func (core *Core) BudgetOf(o Options) *toll.Budget {
	if o.Budget == 0 {
		return nil
	}
	return &toll.Budget{Meter: &meter{limit: o.Budget}, InDollars: true}
}

// meter limits one run.
type meter struct {
	limit float64 // US dollars, of the request; 0: no limit

	mu   sync.Mutex
	took budget.Amount
}

// Took implements [agentapi.Meter]. What comes late takes nothing back: a backend in this
// process and its events report the same.
func (m *meter) Took(cost float64, tokens int64) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.took = budget.Amount{Cost: max(m.took.Cost, cost), Tokens: max(m.took.Tokens, tokens)}
	if m.limit > 0 && m.took.Cost >= m.limit {
		return fmt.Sprintf("The run has cost %.4f of the %g US dollars that its request allows.", m.took.Cost, m.limit)
	}
	return ""
}
