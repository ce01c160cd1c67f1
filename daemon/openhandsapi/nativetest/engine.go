// Package nativetest is an engine for tests of OpenHands' own API: its conversations
// are in memory, and its agent repeats what it is told.
package nativetest

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/uuid"
)

// Engine keeps conversations in memory. The zero Engine has none.
type Engine struct {
	mu    sync.Mutex
	list  []*Conversation // in the order in which they were made
	clock int             // seconds since Began; each event takes one

	// LeftOut is how many events of each conversation are behind a missing one.
	LeftOut int
}

var _ control.Engine = (*Engine)(nil)

// Began is when an engine is made.
var Began = time.Date(2026, 8, 22, 14, 0, 0, 0, time.UTC)

func (e *Engine) now() time.Time {
	e.clock++
	return Began.Add(time.Duration(e.clock) * time.Second)
}

func (e *Engine) stamp() string { return e.now().Format("2006-01-02T15:04:05.000000") }

// Start makes a conversation.
func (e *Engine) Start(_ context.Context, s control.Start) (control.Conversation, bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s.ID == "" {
		s.ID = uuid.New()
	}
	if c := e.find(s.ID); c != nil {
		return c, false, nil
	}
	if s.Profile == "unknown" {
		return nil, false, &agentapi.Error{Kind: agentapi.ErrProfileNotFound, Msg: "There is no profile unknown."}
	}
	at := e.now()
	c := &Conversation{Started: s, engine: e, id: s.ID, status: event.Idle, made: at, changed: at, tags: s.Tags, policy: s.Policy, analyzer: s.Analyzer}
	e.list = append(e.list, c)
	return c, true, nil
}

func (e *Engine) find(id string) *Conversation {
	for _, c := range e.list {
		if c.id == id {
			return c
		}
	}
	return nil
}

func notFound(id string) error {
	return &agentapi.Error{Kind: agentapi.ErrConversationNotFound, Msg: "There is no conversation " + id + "."}
}

// Get is a conversation of the engine, or an error.
func (e *Engine) Get(id string) (*Conversation, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.find(id); c != nil {
		return c, nil
	}
	return nil, notFound(id)
}

// Open is Get.
func (e *Engine) Open(_ context.Context, id string) (control.Conversation, error) { return e.Get(id) }

// Record is a conversation as it is now.
func (e *Engine) Record(ctx context.Context, id string) (control.Record, error) {
	c, err := e.Get(id)
	if err != nil {
		return control.Record{}, err
	}
	return c.Record(ctx)
}

// List is a page of the conversations.
func (e *Engine) List(ctx context.Context, q control.ListQuery) (control.ListPage, error) {
	e.mu.Lock()
	list := slices.Clone(e.list)
	e.mu.Unlock()
	list = slices.DeleteFunc(list, func(c *Conversation) bool { return q.Status != "" && c.Status() != q.Status })
	slices.SortFunc(list, func(a, b *Conversation) int {
		by := a.made.Compare(b.made)
		if strings.HasPrefix(q.Order, "UPDATED") {
			by = a.changed.Compare(b.changed)
		}
		if strings.HasSuffix(q.Order, "DESC") || q.Order == "" {
			by = -by
		}
		return cmp.Or(by, strings.Compare(a.id, b.id))
	})
	from := max(0, slices.IndexFunc(list, func(c *Conversation) bool { return c.id == q.From }))
	var page control.ListPage
	for i, c := range list[from:] {
		if i == q.Limit {
			page.Next = c.id
			break
		}
		r, err := c.Record(ctx)
		if err != nil {
			return page, err
		}
		page.Records = append(page.Records, r)
	}
	return page, nil
}

// Count is the number of conversations.
func (e *Engine) Count(ctx context.Context, status event.Status) (int, error) {
	page, err := e.List(ctx, control.ListQuery{Status: status, Limit: 1 << 30})
	return len(page.Records), err
}

// Children are those that were started with a parent.
func (e *Engine) Children(_ context.Context, ids ...string) (map[string][]string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	children := make(map[string][]string)
	for _, c := range e.list {
		if parent := c.Started.Parent; parent != "" && slices.Contains(ids, parent) {
			children[parent] = append(children[parent], c.id)
		}
	}
	return children, nil
}

// LoadPlugin has the marketplaces' one plugin, known; busy is told that a run goes on.
func (e *Engine) LoadPlugin(_ context.Context, id, ref string) error {
	if _, err := e.Get(id); err != nil {
		return err
	}
	switch ref {
	case "known":
		return nil
	case "busy":
		return &agentapi.Error{Kind: agentapi.ErrBusy, Msg: "The agent is working."}
	case "":
		return &agentapi.Error{Kind: agentapi.ErrRefused, Msg: "Give plugin_ref."}
	}
	return &agentapi.Error{Kind: control.ErrNoPlugin, Msg: "Plugin '" + ref + "' not found"}
}

// Change sets the title and the tags.
func (e *Engine) Change(_ context.Context, id string, ch control.Change) error {
	c, err := e.Get(id)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if ch.Title != nil {
		c.title = *ch.Title
	}
	if ch.Tags != nil {
		c.tags = ch.Tags
	}
	return nil
}

// Remove deletes a conversation and ends its streams.
func (e *Engine) Remove(_ context.Context, id string) error {
	c, err := e.Get(id)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = slices.DeleteFunc(e.list, func(one *Conversation) bool { return one == c })
	for _, s := range c.streams {
		s.Fail(notFound(id))
	}
	return nil
}

// Rest ends the streams of all conversations.
func (e *Engine) Rest(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.list {
		for _, s := range c.streams {
			s.Fail(agentapi.ErrUnavailable)
		}
	}
	return nil
}

// Search is a page of a log.
func (e *Engine) Search(_ context.Context, id string, q control.EventQuery) (control.EventPage, error) {
	c, err := e.Get(id)
	if err != nil {
		return control.EventPage{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	list := c.matching(q.EventFilter)
	if q.Newest {
		slices.Reverse(list)
	}
	from := max(0, slices.IndexFunc(list, func(one event.Event) bool { return one.ID == q.Page }))
	page := control.EventPage{LeftOut: e.LeftOut}
	for i, one := range list[from:] {
		if i == q.Limit {
			page.Next = one.ID
			break
		}
		page.Events = append(page.Events, raw(one))
	}
	return page, nil
}

// CountEvents is the number of events.
func (e *Engine) CountEvents(_ context.Context, id string, f control.EventFilter) (int, error) {
	c, err := e.Get(id)
	if err != nil {
		return 0, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(c.matching(f)), nil
}

// Event is one event.
func (e *Engine) Event(_ context.Context, id, eventID string) (json.RawMessage, error) {
	c, err := e.Get(id)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, one := range c.log {
		if one.ID == eventID {
			return raw(one), nil
		}
	}
	return nil, control.ErrNoEvent
}

// Numbered are events of a log.
func (e *Engine) Numbered(_ context.Context, id string, from, limit int) (control.NumberedPage, error) {
	c, err := e.Get(id)
	if err != nil {
		return control.NumberedPage{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	page := control.NumberedPage{Length: len(c.log), LeftOut: e.LeftOut}
	for i := max(from, 0); i < min(from+limit, len(c.log)); i++ {
		page.Events = append(page.Events, control.Numbered{Number: i, Event: raw(c.log[i])})
	}
	return page, nil
}

// Number is the place of an event.
func (e *Engine) Number(_ context.Context, id, eventID string) (int, error) {
	c, err := e.Get(id)
	if err != nil {
		return 0, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if i := slices.IndexFunc(c.log, func(one event.Event) bool { return one.ID == eventID }); i >= 0 {
		return i, nil
	}
	return 0, control.ErrNoEvent
}

// Log is a directory that is not there.
func (e *Engine) Log(id string) (string, error) {
	_, err := e.Get(id)
	return "/nowhere/" + id, err
}

func raw(e event.Event) json.RawMessage {
	data, err := json.Marshal(e)
	if err != nil {
		return json.RawMessage("null")
	}
	return data
}

func (c *Conversation) matching(f control.EventFilter) []event.Event {
	return slices.DeleteFunc(slices.Clone(c.log), func(e event.Event) bool {
		kind := f.Kind[strings.LastIndexByte(f.Kind, '.')+1:]
		return kind != "" && e.Kind() != kind || f.Source != "" && e.Source != f.Source ||
			f.From != "" && e.Timestamp < f.From || f.Before != "" && e.Timestamp >= f.Before ||
			f.Body != "" && !strings.Contains(strings.ToLower(string(raw(e))), strings.ToLower(f.Body))
	})
}

// nextID is an id for an event.
func (c *Conversation) nextID() string { c.ids++; return "e" + strconv.Itoa(c.ids) }
