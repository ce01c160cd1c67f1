package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/budget"
)

// headerBudget is what a request may cost.
const headerBudget = "X-OpenHands-Budget"

// codeQuota is OpenAI's code for a key whose budget is used up.
const codeQuota = "insufficient_quota"

// readBudget is the limit that a request names.
func readBudget(h http.Header) (budget.Amount, error) {
	v := strings.TrimSpace(h.Get(headerBudget))
	if v == "" {
		return budget.Amount{}, nil
	}
	a, err := budget.ParseAmount(v)
	if err != nil || len(h.Values(headerBudget)) > 1 {
		return a, badHeader(headerBudget, "US dollars such as 0.50, tokens such as 20000tokens, or both with a comma")
	}
	return a, nil
}

// purse is the budget of a client's token. Nil: it has none. Its methods may be called
// at the same time.
type purse struct {
	account *budget.Account
	rules   []budget.Rule
	name    string // of the token
	counted bool   // what is added is counted elsewhere
	now     func() time.Time
	log     *slog.Logger
}

// purseOf opens the budget of a client. Where it cannot be kept, nothing may be spent.
func (d *Daemon) purseOf(client Client) (*purse, error) {
	if len(client.Budgets) == 0 {
		return nil, nil
	}
	account, err := d.ledger.Account(client.ID)
	if err != nil {
		if p := storageProblem(err); p != nil {
			return nil, p
		}
		return nil, newProblem(codeStorage, "What this API key has spent cannot be kept on the disk of ohgw serve, so nothing was started; its log names the file.", err)
	}
	return &purse{account: account, rules: client.Budgets, name: client.Name, now: d.cfg.Now, log: d.cfg.Logger}, nil
}

// ofRun is the budget for what belongs to a run, which several gateways count by its end.
func (p *purse) ofRun() *purse {
	if p == nil || p.account.CountsRuns() {
		return p
	}
	own := *p
	own.counted = true
	return &own
}

// refresh reads again what was spent, where others spend, too.
func (p *purse) refresh() {
	if err := p.account.Refresh(); err != nil { // what is known counts
		p.log.Debug("cannot read what a token has spent", "token", p.name, "err", err)
	}
}

// charge finds the budget that a call is at the cost of.
func (d *Daemon) charge(client Client, c *call) (err error) {
	if c.pays, err = d.purseOf(client); err != nil || c.options.retry || c.options.key != "" {
		return err // a repeat may get an answer that is there already
	}
	return c.pays.check()
}

// check is the problem of a budget that is used up.
func (p *purse) check() error {
	if p == nil {
		return nil
	}
	used, over := p.account.UsedUp(p.rules)
	if !over {
		return nil
	}
	found := newProblem(codeQuota, "You exceeded your current quota: the API key \""+p.name+"\" has spent "+spentText(used)+". "+p.renewal(used), nil)
	if !used.Renews.IsZero() {
		found.row.retryAfter = max(1, int(used.Renews.Sub(p.now()).Seconds()+1))
	}
	return found
}

// spentText is what was spent of a rule.
func spentText(u budget.Used) string {
	period := ""
	if u.Period != budget.Total {
		period = " per " + u.Period
	}
	if u.Cost > 0 {
		return fmt.Sprintf("%.4f of its %g US dollars%s", u.Spent.Cost, u.Cost, period)
	}
	return fmt.Sprintf("%d of its %d tokens%s", u.Spent.Tokens, u.Tokens, period)
}

func (p *purse) renewal(u budget.Used) string {
	if u.Renews.IsZero() {
		return "It is not renewed; create another key: ohgw tokens create NAME --budget AMOUNT/PERIOD."
	}
	return "It renews at " + u.Renews.Format(time.RFC3339) + "."
}

// add counts what was spent.
func (p *purse) add(spent budget.Amount) {
	if p == nil || spent.IsZero() || p.counted {
		return
	}
	if err := p.account.Add(spent); err != nil {
		p.log.Error("what a token has spent is only known until ohgw ends", "token", p.name, "err", err)
	}
}

// ask asks an LLM without an agent, at the cost of a budget.
func (d *Daemon) ask(ctx context.Context, pays *purse, p Prompt) (Completion, error) {
	if err := pays.check(); err != nil {
		return Completion{}, err
	}
	answer, err := d.cfg.Complete(ctx, p)
	pays.add(amountOf(answer.Usage))
	return answer, err
}

func amountOf(u turn.Usage) budget.Amount {
	return budget.Amount{Cost: u.Cost, Tokens: u.PromptTokens + u.CompletionTokens}
}

// meter counts what one run takes. One goroutine uses it at a time.
type meter struct {
	*purse

	limit budget.Amount // of the request
	model string
	last  budget.Amount
	told  bool // that the price is not known
}

// left is what the run may take when it begins.
func (m *meter) left() agentapi.Limit {
	left := agentapi.Limit(m.limit)
	if m.purse == nil {
		return left
	}
	rest := m.account.Left(m.rules)
	if rest.Cost > 0 && (left.Cost == 0 || rest.Cost < left.Cost) {
		left.Cost = rest.Cost
	}
	if rest.Tokens > 0 && (left.Tokens == 0 || rest.Tokens < left.Tokens) {
		left.Tokens = rest.Tokens
	}
	return left
}

// over counts what the run took so far, and says why it has to end.
func (m *meter) over(u turn.Usage) (reason, note string) {
	now := amountOf(u)
	if m.purse != nil {
		m.refresh()
		m.add(budget.Amount{Cost: max(0, now.Cost-m.last.Cost), Tokens: max(0, now.Tokens-m.last.Tokens)})
	}
	m.last = now
	if m.inDollars() && now.Cost == 0 && now.Tokens > 0 && !m.told {
		m.told = true
		note = "The price of " + m.model + " is not known: a budget in US dollars does not limit it, one in tokens does"
	}
	switch {
	case m.limit.Cost > 0 && now.Cost >= m.limit.Cost:
		return fmt.Sprintf("The run has cost %.4f of the %g US dollars that the request allows.", now.Cost, m.limit.Cost), note
	case m.limit.Tokens > 0 && now.Tokens >= m.limit.Tokens:
		return fmt.Sprintf("The run has used %d of the %d tokens that the request allows.", now.Tokens, m.limit.Tokens), note
	case m.purse == nil:
		return "", note
	}
	if used, over := m.account.UsedUp(m.rules); over {
		return "The API key \"" + m.name + "\" has spent " + spentText(used) + ". " + m.renewal(used), note
	}
	return "", note
}

func (m *meter) inDollars() bool {
	if m.limit.Cost > 0 {
		return true
	}
	if m.purse != nil {
		for _, r := range m.rules {
			if r.Cost > 0 {
				return true
			}
		}
	}
	return false
}

// spendingDir is where a daemon keeps what tokens have spent.
func spendingDir(state string) string {
	if state == "" {
		return ""
	}
	return filepath.Join(state, budget.Dir)
}
