package gate

import (
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/metrics"
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

// Purse is what the token of a client may spend. Nil: there is no limit. Its methods may be
// called at the same time.
type Purse struct {
	account *budget.Account
	client  Client
	now     func() time.Time
	log     *slog.Logger
	metrics *metrics.Metrics
}

// PurseOf opens what a client may spend. The error is one of the disk: what is spent could
// not be kept.
func (core *Core) PurseOf(client Client) (*Purse, error) {
	if len(client.Budgets) == 0 {
		return nil, nil
	}
	account, err := core.Ledger.Account(client.ID)
	if err != nil {
		return nil, unkept(err)
	}
	return core.purse(account, client), nil
}

func (core *Core) purse(account *budget.Account, client Client) *Purse {
	return &Purse{account: account, client: client, now: core.Now, log: core.Logger, metrics: core.Metrics}
}

// ClientByID finds the client whose token has an id: one without limits where [Tokens] do not
// know ids. The error is ErrUnknownKey where the token was revoked, or why it cannot be read.
func (core *Core) ClientByID(id string) (Client, error) {
	tokens, ok := core.Tokens.(KnownTokens)
	if !ok {
		return Client{}, nil
	}
	return tokens.ByID(id)
}

// SpentLimit returns why a run of a client may not go on, as a sentence; "" if it may.
func (core *Core) SpentLimit(account *budget.Account, client Client) string {
	return core.purse(account, client).spentLimit()
}

// unkept is the problem of a disk that does not keep what is spent.
func unkept(err error) *Problem {
	if p := storageProblem(err); p != nil {
		return p
	}
	return NewProblem(codeStorage, "What this API key spends cannot be stored, so nothing was started; the log of ohgw serve has the cause.", err)
}

// Check returns the problem of a budget that is used up, and counts it as a refusal.
func (p *Purse) Check() error {
	if p == nil {
		return nil
	}
	used, over := p.account.UsedUp(p.client.Budgets)
	if !over {
		return nil
	}
	p.metrics.LimitRefusal()
	problem := NewProblem(CodeQuota, p.sentence(used), nil)
	if !used.Renews.IsZero() {
		problem.Row.RetryAfter = int(math.Ceil(used.Renews.Sub(p.now()).Seconds()))
	}
	return problem
}

// spentLimit describes the budget that is used up; "" if there is one left.
func (p *Purse) spentLimit() string {
	if used, over := p.account.UsedUp(p.client.Budgets); over {
		return p.sentence(used)
	}
	return ""
}

// sentence describes a budget that is used up, and when it renews.
func (p *Purse) sentence(u budget.Used) string {
	said := "The API key \"" + p.client.Name + "\" has spent " + u.Spent(u.By)
	if u.Renews.IsZero() {
		return said + ", which does not renew; use another key."
	}
	return said + "; it renews at " + u.Renews.Format(time.RFC3339) + "."
}

// Add counts what was spent without a run.
func (p *Purse) Add(u turn.Usage) {
	if p == nil {
		return
	}
	p.report(p.account.Add(amountOf(u)))
}

func (p *Purse) report(err error) {
	if err != nil {
		p.log.Error("what a token has spent is known until ohgw ends only", "token", p.client.Name, "err", err)
	}
}

func amountOf(u turn.Usage) budget.Amount {
	return budget.Amount{Cost: u.Cost, Tokens: u.PromptTokens + u.CompletionTokens}
}

// BudgetOf returns what the run of a request may take, which p pays for; nil: there is no
// limit.
func (p *Purse) BudgetOf(o Options) *toll.Budget {
	if o.Budget == 0 && p == nil {
		return nil
	}
	inDollars := o.Budget > 0 || p != nil && slices.ContainsFunc(p.client.Budgets, func(r budget.Rule) bool { return r.Cost > 0 })
	return &toll.Budget{Payer: &payer{purse: p, limit: o.Budget}, InDollars: inDollars}
}

// payer pays for one run.
type payer struct {
	purse *Purse
	limit float64 // US dollars, of the request; 0: no limit

	mu    sync.Mutex
	run   string // "" before it begins
	took  budget.Amount
	ended bool
}

// Check implements [toll.Payer], as the following methods do.
func (m *payer) Check() error { return m.purse.Check() }

// Begin notes that the run begins.
func (m *payer) Begin(conversation string, before turn.Usage) error {
	m.Resume(conversation)
	if m.purse == nil {
		return nil
	}
	if err := m.purse.account.Begin(conversation, amountOf(before)); err != nil {
		return unkept(err)
	}
	return nil
}

// Resume takes up a run that has begun.
func (m *payer) Resume(conversation string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.run = conversation
}

// Took counts what the run has taken, and returns why it has to end. What comes late takes
// nothing back: a backend in this process and its events report the same.
func (m *payer) Took(cost float64, tokens int64) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended || m.run == "" {
		return ""
	}
	m.took = budget.Amount{Cost: max(m.took.Cost, cost), Tokens: max(m.took.Tokens, tokens)}
	if m.purse != nil {
		m.purse.report(m.purse.account.Pay(m.run, m.took))
	}
	if m.limit > 0 && m.took.Cost >= m.limit {
		return fmt.Sprintf("The run has cost %.4f of the %g US dollars that its request allows.", m.took.Cost, m.limit)
	}
	if m.purse == nil {
		return ""
	}
	return m.purse.spentLimit()
}

// End notes that the run has ended.
func (m *payer) End() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.purse != nil && m.run != "" && !m.ended {
		m.purse.report(m.purse.account.End(m.run))
	}
	m.ended = true
}
