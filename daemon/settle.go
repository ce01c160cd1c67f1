package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/budget"
	"github.com/ohgw/ohgw/internal/pause"
)

// settleEvery is how often a run that goes on without a client is asked what it has used.
const settleEvery = 15 * time.Second

// settleRuns pays for the runs of tokens with limits that an earlier process has begun, and
// has not seen the end of: what they used meanwhile is in their conversations. It is called
// before the first request, whose run is not one of them.
func (d *Daemon) settleRuns() {
	err := d.core.Ledger.Each(func(id string) error {
		account, err := d.core.Ledger.Account(id)
		if err != nil {
			d.core.Logger.Error("cannot read what a token has spent; its requests are refused", "token_id", id, "err", err)
			return nil
		}
		for run, open := range account.Runs() {
			d.core.Go(func() { d.settle(account, run, open.Before) })
		}
		return nil
	})
	if err != nil {
		d.core.Logger.Error("cannot read what tokens have spent", "err", err)
	}
}

// settle pays for a run until it has ended, or another request goes on in its conversation,
// which pays for what came before.
func (d *Daemon) settle(account *budget.Account, run string, before budget.Amount) {
	for {
		if open, ok := account.Runs()[run]; !ok || open.Before != before {
			return
		}
		used, over, err := d.used(d.core.Life(), run)
		if err == nil {
			err = account.Pay(run, used.Minus(before))
		}
		if over {
			err = errors.Join(err, account.End(run))
		}
		if err != nil {
			d.core.Logger.Warn("cannot count what a run has used", "conversation_id", run, "err", err)
		}
		if over || pause.For(d.core.Life(), settleEvery) != nil {
			return
		}
	}
}

// used reads what a conversation has used, and whether nothing runs there. One that is gone
// has used nothing more.
func (d *Daemon) used(ctx context.Context, conversation string) (used budget.Amount, over bool, err error) {
	conv, err := d.cfg.Backend.Open(ctx, agentapi.OpenRequest{ID: conversation, Existing: true})
	if errors.Is(err, agentapi.ErrConversationNotFound) {
		return used, true, nil
	}
	if err != nil {
		return used, false, err
	}
	state, err := conv.State(ctx)
	if err = errors.Join(err, conv.Close()); err != nil {
		return used, false, err
	}
	u := turn.UsageOf(state.Stats)
	return budget.Amount{Cost: u.Cost, Tokens: u.PromptTokens + u.CompletionTokens}, state.Status != event.Running, nil
}
