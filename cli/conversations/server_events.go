package conversations

import (
	"context"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/setup/accounts"
)

// runServerEvents prints the stored events of a conversation on a server.
func runServerEvents(ctx context.Context, o *eventsOptions) error {
	acc, conv, err := o.Find(ctx, o.ID)
	if err != nil {
		return err
	}
	defer acc.Close()
	log := acc.Log(conv.ID)
	show := func(e account.Event) error { return o.showOn(conv, e) }
	if o.Last > 0 {
		events, err := log.Newest(ctx, o.Last, func(account.Event) bool { return true })
		if err != nil {
			return accounts.Fault(err, acc.Server)
		}
		for _, e := range events {
			if err := show(e); err != nil {
				return err
			}
		}
	}
	for again := o.Last == 0; ; again = true {
		if again {
			if err := log.Next(ctx, show); err != nil {
				return accounts.Fault(err, acc.Server)
			}
		}
		if !o.Follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(accounts.LogPause):
		}
	}
}

func (o *eventsOptions) showOn(conv account.Conversation, e account.Event) error {
	if conv.Version == account.V1 {
		return o.show(e.Raw)
	}
	at := "-"
	if !e.Time.IsZero() {
		at = e.Time.Format(time.DateTime)
	}
	return o.line(e.Raw, at, e.Source, e.Kind, e.Text)
}
