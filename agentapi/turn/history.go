package turn

import (
	"context"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Item is something that was said or done in a conversation, as it is read later.
type Item struct {
	ItemRef

	Kind ItemKind
	Text string // what was said; why a turn failed
	// Images are those of a message of the user: data URLs or http(s) URLs.
	Images []string
	Call   *Call // of ItemCall

	open openCall
}

// ItemRef is the place of an item in a conversation. The zero ItemRef refers to nothing.
type ItemRef struct {
	Event string // the id of the event
	Part  Part
}

// Part tells the items of one event apart, in their order.
type Part int

// The parts of an event.
const (
	PartReasoning Part = iota - 2 // what the agent thought
	PartBefore                    // what the agent said before the call, or the answer, of the same event
	PartSelf                      // the message, the answer, the call or the failure
)

// ItemKind is the kind of an item.
type ItemKind int

// The kinds of items.
const (
	ItemUser      ItemKind = iota // a message of the user
	ItemSaid                      // what the agent said on the way
	ItemAnswer                    // an answer of the agent
	ItemCall                      // a tool call, with its result if it has one
	ItemFailure                   // the reason why a turn failed, or that it was stopped
	ItemReasoning                 // what the agent thought
)

// ItemQuery selects items of a conversation.
type ItemQuery struct {
	After ItemRef // the item before the first one that is wanted
	// Inclusive asks for all items of the event of After, too.
	Inclusive bool
	Newest    bool // from the newest towards the oldest
	Limit     int  // the most items
	// Details asks for calls and failures, too.
	Details bool
}

const (
	// maxScan is how many events are looked at for one page, unless there is no
	// item among them.
	maxScan = 2000
	// maxAhead is how many events are looked at for the results of calls that
	// have none on their page.
	maxAhead = 200
)

// Items reads a page of what was said and done, a page of the log at a time: no
// more than those is kept. more reports that there may be more items behind it.
func Items(ctx context.Context, b agentapi.Backend, conversation string, q ItemQuery) (items []Item, more bool, err error) {
	l := itemList{q: q, calls: make(map[string]int), results: make(map[string]event.Event)}
	from := q.After.Event
	for scanned := 0; ; {
		page, err := b.Events(ctx, conversation, agentapi.EventQuery{From: from, Newest: q.Newest})
		if err != nil {
			return nil, false, err
		}
		for _, e := range page.Events {
			if l.add(e); len(l.items) > q.Limit {
				break
			}
		}
		scanned += len(page.Events)
		from = page.Next
		if more = len(l.items) > q.Limit; more || from == "" {
			break
		}
		if more = scanned >= maxScan && len(l.items) > 0; more {
			break
		}
	}
	l.items = l.items[:min(len(l.items), q.Limit)]
	return l.items, more, l.complete(ctx, b, conversation)
}

// itemList is a page that is being filled.
type itemList struct {
	q     ItemQuery
	items []Item
	// calls are those of items without a result, and results those whose call was
	// not seen yet, both by the id of the call.
	calls   map[string]int
	results map[string]event.Event
}

// add takes in the next event.
func (l *itemList) add(e event.Event) {
	if l.q.Details {
		if id := resultID(e); id != "" {
			l.result(id, e)
			return
		}
	}
	for _, item := range itemsOf(e, l.q) {
		if item.Call != nil {
			l.calls[item.open.action.ToolCallID] = len(l.items)
		}
		l.items = append(l.items, item)
		if item.Call == nil {
			continue
		}
		if result, ok := l.results[item.open.action.ToolCallID]; ok {
			delete(l.results, item.open.action.ToolCallID)
			l.result(item.open.action.ToolCallID, result)
		}
	}
}

// result completes the call of an id. Towards the beginning of the log, results
// come before their calls.
func (l *itemList) result(id string, e event.Event) {
	i, ok := l.calls[id]
	if !ok {
		if l.q.Newest {
			l.results[id] = e
		}
		return
	}
	delete(l.calls, id)
	if i >= len(l.items) {
		return
	}
	item := &l.items[i]
	res := resultOf(e, item.open)
	input := item.Call.Input
	item.Call = res.call()
	item.Call.Input = input
}

// complete looks for the results of the calls that have none: behind the page,
// or nowhere.
func (l *itemList) complete(ctx context.Context, b agentapi.Backend, conversation string) error {
	clear(l.results)
	first := -1 // the oldest
	for id, i := range l.calls {
		if i >= len(l.items) { // cut off
			delete(l.calls, id)
		} else if first < 0 || i < first != l.q.Newest {
			first = i
		}
	}
	if first < 0 {
		return nil
	}
	state, from := CallRunning, l.items[first].Event
	left := leftCalls{list: l}
	for ahead := 0; len(l.calls) > 0 && from != ""; {
		page, err := b.Events(ctx, conversation, agentapi.EventQuery{From: from})
		if err != nil {
			return err
		}
		for _, e := range page.Events {
			if id := resultID(e); id != "" {
				l.result(id, e)
				clear(l.results)
			}
			left.see(e)
			state = stateAfter(e, state)
		}
		from = page.Next
		if ahead += len(page.Events); ahead >= maxAhead && from != "" {
			state, from = CallInterrupted, ""
		}
	}
	for _, i := range l.calls {
		l.items[i].Call.State = state
	}
	return nil
}

// leftCalls finds the calls that later turns have left behind. What those are doing
// says nothing about them: an agent does what is left to do first, or never.
type leftCalls struct {
	list *itemList
	seen []string // calls since the last end of a turn
	left []string // calls before it
}

// see takes in the next event of the log.
func (c *leftCalls) see(e event.Event) {
	status, _ := e.StatusUpdate()
	m, said := e.Body.(*event.Message)
	a, acts := e.Body.(*event.Action)
	switch {
	case said && isQuestion(e, m), status != "" && status != event.Running && status != event.Waiting:
		c.left, c.seen = append(c.left, c.seen...), nil
	case acts, said && e.Source == event.SourceAgent:
		for _, id := range c.left {
			if i, open := c.list.calls[id]; open {
				c.list.items[i].Call.State = CallInterrupted
				delete(c.list.calls, id)
			}
		}
		c.left = nil
	}
	if acts {
		c.seen = append(c.seen, a.ToolCallID)
	}
}

// stateAfter returns the state of a call without a result when e has come.
func stateAfter(e event.Event, state CallState) CallState {
	switch e.Body.(type) {
	case *event.Interrupt, *event.Pause, *event.ConversationError:
		return CallInterrupted
	case *event.Message:
		return CallInterrupted
	}
	switch status, _ := e.StatusUpdate(); status {
	case "":
		return state
	case event.Running:
		return CallRunning
	case event.Waiting:
		return CallWaiting
	default:
		return CallInterrupted
	}
}

// resultID is the id of the call that an event is the result of; empty for
// other events.
func resultID(e event.Event) string {
	switch b := e.Body.(type) {
	case *event.Observation:
		return b.ToolCallID
	case *event.AgentError:
		return b.ToolCallID
	case *event.UserReject:
		return b.ToolCallID
	}
	return ""
}

// itemsOf are the items of an event, as far as they are wanted and in the order
// in which they are wanted.
func itemsOf(e event.Event, q ItemQuery) []Item {
	all := everything(e, q.Details)
	if q.Newest {
		slices.Reverse(all)
	}
	if e.ID != q.After.Event || q.Inclusive {
		return all
	}
	// The item itself may not be among them: it was listed with other details.
	return slices.DeleteFunc(all, func(item Item) bool {
		return item.Part == q.After.Part || item.Part < q.After.Part != q.Newest
	})
}

func everything(e event.Event, details bool) (items []Item) {
	ref := ItemRef{Event: e.ID}
	if thought := reasoningOf(e); thought != "" {
		items = append(items, Item{ItemRef: ItemRef{e.ID, PartReasoning}, Kind: ItemReasoning, Text: thought})
	}
	for _, s := range sayings(e) {
		switch {
		case strings.TrimSpace(s.text) == "":
		case s.final:
			items = append(items, Item{ItemRef: ref, Kind: ItemAnswer, Text: s.text})
		default:
			items = append(items, Item{ItemRef: ItemRef{e.ID, PartBefore}, Kind: ItemSaid, Text: s.text})
		}
	}
	switch b := e.Body.(type) {
	case *event.Message:
		if isQuestion(e, b) {
			items = append(items, question(ref, b))
		}
	case *event.Action:
		if _, finish := finishMessage(b); details && !finish {
			items = append(items, Item{
				ItemRef: ref, Kind: ItemCall, Call: begun(e.ID, b), open: openCall{id: e.ID, began: e.Timestamp, action: b},
			})
		}
	case *event.ConversationError:
		if details {
			items = append(items, Item{ItemRef: ref, Kind: ItemFailure, Text: causeOf(b).Detail})
		}
	case *event.Interrupt:
		if details {
			items = append(items, Item{ItemRef: ref, Kind: ItemFailure, Text: stoppedText})
		}
	}
	return items
}

// stoppedText stands where a run was stopped.
const stoppedText = "The run was stopped here."

// isQuestion reports whether a message is one of the user.
func isQuestion(e event.Event, m *event.Message) bool {
	return e.Source == event.SourceUser && m.LLMMessage.Role == "user"
}

func question(ref ItemRef, m *event.Message) Item {
	item := Item{ItemRef: ref, Kind: ItemUser}
	var texts []event.Content
	for _, c := range m.LLMMessage.Content {
		if item.Images = append(item.Images, c.ImageURLs...); c.Type == event.TypeText {
			texts = append(texts, c)
		}
	}
	item.Text = event.PlainText(texts)
	return item
}
