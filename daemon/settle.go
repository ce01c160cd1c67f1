package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/internal/budget"
	"github.com/ohgw/ohgw/internal/pause"
)

// settleEvery is how often a run that goes on without a client is asked what it has used.
const settleEvery = 15 * time.Second

// settleRuns pays for the runs of tokens with limits that an earlier process has begun, and
// has not seen the end of: what they used meanwhile is in their conversations. It is called
// before the first request, whose run is not one of them. What revoked tokens have spent is
// forgotten.
func (d *Daemon) settleRuns() {
	err := d.core.Ledger.Each(func(id string) error {
		client, err := d.core.ClientByID(id)
		if errors.Is(err, gate.ErrUnknownKey) {
			if err := d.core.Ledger.Forget(id); err != nil {
				d.core.Logger.Warn("cannot remove what a revoked token has spent", "token_id", id, "err", err)
			}
			return nil
		}
		account, err := d.core.Ledger.Account(id)
		if err != nil {
			d.core.Logger.Error("cannot read what a token has spent; its requests are refused", "token_id", id, "err", err)
			return nil
		}
		for run, open := range account.Runs() {
			l := leftRun{daemon: d, account: account, client: client, conversation: run, before: open.Before}
			d.core.Go(l.settle)
		}
		return nil
	})
	if err != nil {
		d.core.Logger.Error("cannot read what tokens have spent", "err", err)
	}
}

// leftRun is a run that an earlier process has begun and has not seen the end of.
type leftRun struct {
	daemon       *Daemon
	account      *budget.Account
	client       gate.Client // without limits if it is not known
	conversation string
	before       budget.Amount // what the conversation had used when the run began
}

// settle pays for the run until it has ended, or another request goes on in its conversation,
// which pays for what came before.
func (l *leftRun) settle() {
	core := l.daemon.core
	for {
		if open, ok := l.account.Runs()[l.conversation]; !ok || open.Before != l.before {
			return
		}
		over, err := l.pay(core.Life())
		if over {
			err = errors.Join(err, l.account.End(l.conversation))
		}
		if err != nil {
			core.Logger.Warn("cannot count what a run has used", "conversation_id", l.conversation, "err", err)
		}
		if over || pause.For(core.Life(), settleEvery) != nil {
			return
		}
	}
}

// pay pays for what the run has used, and interrupts it if its token has spent its limit. It
// reports whether nothing runs any more. A conversation that is gone has used nothing more.
func (l *leftRun) pay(ctx context.Context) (over bool, err error) {
	core := l.daemon.core
	conv, err := l.daemon.cfg.Backend.Open(ctx, agentapi.OpenRequest{ID: l.conversation, Existing: true})
	if errors.Is(err, agentapi.ErrConversationNotFound) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, conv.Close()) }()
	state, err := conv.State(ctx)
	if err != nil {
		return false, err
	}
	u := turn.UsageOf(state.Stats)
	used := budget.Amount{Cost: u.Cost, Tokens: u.PromptTokens + u.CompletionTokens}
	err = l.account.Pay(l.conversation, used.Minus(l.before))
	if state.Status != event.Running {
		return true, err
	}
	if why := core.SpentLimit(l.account, l.client); why != "" {
		core.Logger.Warn("interrupting a run that an earlier ohgw has begun", "conversation_id", l.conversation, "why", why)
		err = errors.Join(err, conv.Interrupt(ctx))
	}
	return false, err
}
