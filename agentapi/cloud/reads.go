package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/agentapi/event"
)

// stopTimeout bounds the interrupt before a conversation is removed.
const stopTimeout = 5 * time.Second

// Remove deletes a conversation, and its sandbox with all files unless another
// conversation uses it. Its run is interrupted first, for a sandbox that stays.
func (b *Backend) Remove(ctx context.Context, id string) error {
	known, found, err := b.look(ctx, id)
	switch {
	case err != nil:
		return err
	case !found:
		return conversationNotFound(id, nil)
	case known.State == account.StateRunning:
		b.stop(ctx, id)
	}
	err = b.account.Remove(ctx, id)
	if errors.Is(err, account.ErrNotFound) {
		return conversationNotFound(id, err)
	}
	return b.fault(ctx, "remove the conversation", err)
}

// stop interrupts the run of a conversation, if that can be done soon.
func (b *Backend) stop(ctx context.Context, id string) {
	limited, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	_, err := inside(limited, b, id, func(agent Agent) (struct{}, error) {
		conv, err := agent.Open(limited, agentapi.OpenRequest{ID: id, Existing: true})
		if err != nil {
			return struct{}{}, err
		}
		return struct{}{}, errors.Join(conv.Interrupt(limited), conv.Close())
	})
	if err != nil {
		b.log.DebugContext(ctx, "the run of a conversation was not interrupted before its removal", "conversation_id", id, "err", err)
	}
}

// inside asks the agent-server of a conversation whose sandbox runs.
func inside[T any](ctx context.Context, b *Backend, id string, ask func(Agent) (T, error)) (answer T, err error) {
	at, err := b.account.Runtime(ctx, id)
	if err != nil {
		return answer, err
	}
	agent, err := b.connect(at.Address, at.Key)
	if err != nil {
		return answer, err
	}
	answer, err = ask(agent)
	return answer, errors.Join(err, agent.Close())
}

// About describes a conversation. Its profile is known while its sandbox runs.
func (b *Backend) About(ctx context.Context, id string) (agentapi.About, error) {
	known, found, err := b.look(ctx, id)
	if err != nil {
		return agentapi.About{}, err
	}
	if !found {
		return agentapi.About{}, conversationNotFound(id, nil)
	}
	about := agentapi.About{ID: id, Created: known.Created, Title: known.Title}
	if known.State == account.StateRunning {
		within, err := inside(ctx, b, id, func(agent Agent) (agentapi.About, error) { return agent.About(ctx, id) })
		if err == nil {
			about.Profile = within.Profile
		}
	}
	return about, nil
}

const asleepNote = "The sandbox of the conversation is not running, so its MCP servers and skills are not known; send a message to wake it."

// Extensions lists the MCP servers and skills while the sandbox runs.
func (b *Backend) Extensions(ctx context.Context, id string) (agentapi.Extensions, error) {
	known, found, err := b.look(ctx, id)
	if err != nil {
		return agentapi.Extensions{}, err
	}
	if !found {
		return agentapi.Extensions{}, conversationNotFound(id, nil)
	}
	if known.State != account.StateRunning {
		return agentapi.Extensions{Note: asleepNote}, nil
	}
	x, err := inside(ctx, b, id, func(agent Agent) (agentapi.Extensions, error) { return agent.Extensions(ctx, id) })
	return x, b.told(b.fault(ctx, "describe the conversation", err))
}

// Events reads a page of the log: from the sandbox while it runs, else from what
// the app-server has stored.
func (b *Backend) Events(ctx context.Context, id string, q agentapi.EventQuery) (agentapi.EventPage, error) {
	known, found, err := b.look(ctx, id)
	if err != nil {
		return agentapi.EventPage{}, err
	}
	if !found {
		return agentapi.EventPage{}, conversationNotFound(id, nil)
	}
	if known.State == account.StateRunning {
		page, err := inside(ctx, b, id, func(agent Agent) (agentapi.EventPage, error) { return agent.Events(ctx, id, q) })
		if err == nil || !moved(err) {
			return page, b.fault(ctx, "list its events", err)
		}
	}
	return b.stored(ctx, id, q)
}

// stored reads a page of the stored events. Their pages are by numbers, and have
// what no log has; so they are read from their beginning, or end.
func (b *Backend) stored(ctx context.Context, id string, q agentapi.EventQuery) (agentapi.EventPage, error) {
	p := pager{q: q, begun: q.From == ""}
	ask := account.EventQuery{Newest: q.Newest}
	for {
		got, err := b.account.Events(ctx, id, ask)
		if err != nil {
			return agentapi.EventPage{}, b.fault(ctx, "list its stored events", err)
		}
		for _, stored := range got.Events {
			var e event.Event
			if err := json.Unmarshal(stored.Raw, &e); err != nil {
				b.log.WarnContext(ctx, "a stored event cannot be read", "conversation_id", id, "err", err)
				continue
			}
			if p.full(e) {
				return p.page, nil
			}
		}
		if got.Next == "" {
			break
		}
		ask.Page = got.Next
	}
	if !p.begun {
		return agentapi.EventPage{}, agentapi.UnknownEvent(q.From)
	}
	return p.page, nil
}

// pager picks a page out of stored events.
type pager struct {
	q     agentapi.EventQuery
	begun bool // the first event of the page was met
	page  agentapi.EventPage
}

// full takes an event, and reports whether the page ends before it.
func (p *pager) full(e event.Event) bool {
	if _, delta := e.Body.(*event.Delta); delta || isSnapshot(e) {
		return false
	}
	if p.begun = p.begun || e.ID == p.q.From; !p.begun {
		return false
	}
	if len(p.page.Events) == p.q.Size() {
		p.page.Next = e.ID
		return true
	}
	p.page.Events = append(p.page.Events, e)
	return false
}

func isSnapshot(e event.Event) bool {
	_, ok, _ := e.FullState()
	return ok
}
