package conversations

import (
	"context"
	"errors"
	"slices"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/clientitems"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/run"
)

// itemLister makes a page of the items of a conversation: those of its agent, and
// those of clients, each after the item of the agent that was the last one when it
// was added.
type itemLister struct {
	api    *API
	access run.Access
	id     string
	q      itemQuery
	rec    *clientitems.Record // nil: clients added nothing

	data []any
	ids  []string
	more bool

	after map[string][]*clientitems.Item // by the event that they come after, in order
	event string                         // whose items come now
}

// list makes the page.
func (l *itemLister) list(ctx context.Context) error {
	l.data, l.ids = []any{}, []string{}
	start := l.sort()
	q := turn.ItemQuery{Newest: l.q.Desc, Details: l.q.details}
	switch {
	case start != nil:
		q.After, q.Inclusive = turn.ItemRef{Event: l.place(start)}, l.q.Desc
		l.clients(q.After.Event, start)
		switch {
		case q.After.Event == "" && l.q.Desc:
			return nil // nothing is before them
		case l.q.Desc:
			l.event = q.After.Event // else its items of clients would come again
		}
	case l.q.After != "":
		q.After = itemRef(l.q.After)
		l.event = q.After.Event
	case !l.q.Desc:
		l.clients("", nil)
	}
	err := l.agents(ctx, q)
	if !errors.Is(err, agentapi.ErrConversationNotFound) || !unused(l.rec) {
		return err
	}
	switch { // no agent has it yet
	case l.q.After != "" && start == nil:
		return agentapi.UnknownEvent(l.q.After)
	case l.q.Desc && start == nil:
		l.clients("", nil)
	}
	return nil
}

// sort puts the items of clients where they come, and gives the one that the page
// comes after; nil: it comes after none of them.
func (l *itemLister) sort() (start *clientitems.Item) {
	l.after = make(map[string][]*clientitems.Item)
	if l.rec == nil {
		return nil
	}
	for i := range l.rec.Items {
		item := &l.rec.Items[i]
		if item.ID == l.q.After {
			start = item
		}
		if !item.Taken || item == start {
			l.after[l.place(item)] = append(l.after[l.place(item)], item)
		}
	}
	return start
}

func (l *itemLister) place(item *clientitems.Item) string {
	if l.q.details {
		return item.AfterAll
	}
	return item.After
}

// full reports whether the page has one item too many, and takes it away.
func (l *itemLister) full() bool {
	if len(l.data) <= l.q.Limit {
		return l.more
	}
	l.data, l.ids, l.more = l.data[:l.q.Limit], l.ids[:l.q.Limit], true
	return true
}

// clients lists the items of clients after an event, or of those the ones behind
// one of them.
func (l *itemLister) clients(event string, behind *clientitems.Item) {
	list := slices.Clone(l.after[event])
	if l.q.Desc {
		slices.Reverse(list)
	}
	if behind != nil {
		list = list[slices.Index(list, behind)+1:]
	}
	for _, item := range list {
		if l.full() {
			return
		}
		if !item.Taken {
			l.data, l.ids = append(l.data, item.Data), append(l.ids, item.ID)
		}
	}
	l.full()
}

// agents lists the items of the agent from a place on, with those of clients
// between them.
func (l *itemLister) agents(ctx context.Context, q turn.ItemQuery) error {
	for !l.full() {
		q.Limit = l.q.Limit + 1 - len(l.data)
		page, err := l.api.core.Runs.Items(ctx, l.access, l.id, q)
		if err != nil {
			return err
		}
		for _, item := range page.Items {
			l.reach(item.Event)
			wire, name := wireItem(spoken(item, l.rec), l.q.images)
			if l.full() {
				return nil
			}
			if l.rec == nil || !l.rec.Hidden[name] {
				l.data, l.ids = append(l.data, wire), append(l.ids, name)
			}
			q.After, q.Inclusive = item.ItemRef, false
		}
		switch {
		case !page.More:
			l.end()
			return nil
		case len(page.Items) < q.Limit && len(l.data) > 0: // enough was looked at
			l.more = true
			l.full()
			return nil
		}
	}
	return nil
}

// reach lists the items of clients that come before the items of an event.
func (l *itemLister) reach(event string) {
	if event == l.event {
		return
	}
	before := event // the newest first
	if !l.q.Desc {
		before = l.event
	}
	l.event = event
	if before != "" {
		l.clients(before, nil)
	}
}

// end lists the items of clients that come after all of the agent's.
func (l *itemLister) end() {
	if l.q.Desc {
		l.clients("", nil)
		return
	}
	if l.event != "" {
		l.clients(l.event, nil)
	}
}

// spoken is an item of the agent without the messages of clients that were told
// with it: they are listed themselves.
func spoken(item turn.Item, rec *clientitems.Record) turn.Item {
	if rec != nil && item.Kind == turn.ItemUser {
		item.Text = openai.WithoutAdded(item.Text)
	}
	return item
}
