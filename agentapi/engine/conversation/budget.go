package conversation

import (
	"fmt"

	"github.com/ohgw/ohgw/agentapi"
)

// budget is the limit of what this run may take, its sub-agents included, once that is
// reached; nil before.
func (c *Conversation) budget() error {
	cost, tokens := c.stats.cost()-c.costBefore, c.stats.tokens()-c.tokensBefore
	for _, l := range []struct {
		agentapi.Limit

		whose string
	}{
		{agentapi.Limit{Cost: c.cfg.MaxRunCost, Tokens: c.cfg.MaxRunTokens}, "its agent may spend in one run"},
		{c.limit, "the request allows"},
	} {
		if l.Cost > 0 && cost >= l.Cost {
			return &limitError{agentapi.CodeBudget, fmt.Sprintf("The run has cost %.2f of the %.2f US dollars that %s; send another message to continue.", cost, l.Cost, l.whose)}
		}
		if l.Tokens > 0 && tokens >= l.Tokens {
			return &limitError{agentapi.CodeBudget, fmt.Sprintf("The run has used %d of the %d tokens that %s; send another message to continue.", tokens, l.Tokens, l.whose)}
		}
	}
	return nil
}

// checkBudget ends the run if its sub-agents have reached a limit of it.
func (c *Conversation) checkBudget() {
	if c.job == nil || c.stopping {
		return
	}
	if c.over = c.budget(); c.over != nil {
		c.stop()
	}
}

// overBudget ends a run whose sub-agents were stopped by a limit of it.
func (c *Conversation) overBudget(was int) error {
	c.stopping = false
	if err := c.repair(stopped); err != nil {
		return err
	}
	if err := c.updateStats(was); err != nil {
		return err
	}
	c.refuseInbox()
	return c.over
}
