package library

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/uuid"
)

// Search is a page of the log. A page that begins with an event that is not there
// begins with the first one.
func (lib *Library) Search(ctx context.Context, id string, q control.EventQuery) (control.EventPage, error) {
	log, err := lib.log(ctx, id)
	if err != nil {
		return control.EventPage{}, err
	}
	page := control.EventPage{LeftOut: log.Beyond()}
	page.Events, page.Next, err = log.Search(ctx, store.Query{From: q.Page, Newest: q.Newest, Limit: q.Limit, Filter: matching(q.EventFilter)})
	return page, err
}

// CountEvents is the number of events that a filter lets through.
func (lib *Library) CountEvents(ctx context.Context, id string, f control.EventFilter) (int, error) {
	log, err := lib.log(ctx, id)
	if err != nil {
		return 0, err
	}
	return log.Count(ctx, matching(f))
}

// Event is one event of the log, as it is stored.
func (lib *Library) Event(ctx context.Context, id, eventID string) (json.RawMessage, error) {
	log, err := lib.log(ctx, id)
	if err != nil {
		return nil, err
	}
	raw, err := log.Raw(eventID)
	if errors.Is(err, store.ErrNoEvent) {
		return nil, noEvent(eventID)
	}
	return raw, agentapi.InProcess(lib.opening.Explain(ctx, id, err))
}

// Numbered are events of the log with their numbers.
func (lib *Library) Numbered(ctx context.Context, id string, from, limit int) (control.NumberedPage, error) {
	log, err := lib.log(ctx, id)
	if err != nil {
		return control.NumberedPage{}, err
	}
	page := control.NumberedPage{Length: log.Len(), LeftOut: log.Beyond()}
	for _, one := range log.From(from, limit) {
		page.Events = append(page.Events, control.Numbered{Number: one.Number, Event: one.Raw})
	}
	return page, nil
}

// Number is the place of an event in the log.
func (lib *Library) Number(ctx context.Context, id, eventID string) (int, error) {
	log, err := lib.log(ctx, id)
	if err != nil {
		return 0, err
	}
	n, err := log.Number(eventID)
	if errors.Is(err, store.ErrNoEvent) {
		return 0, noEvent(eventID)
	}
	return n, err
}

func noEvent(id string) error {
	return agentapi.InProcess(apierr.Refused(fmt.Sprintf("The conversation has no event %q.", id), control.ErrNoEvent))
}

// log is the log of a conversation: that of its goroutine while it is open here.
func (lib *Library) log(ctx context.Context, id string) (store.Log, error) {
	if canonical, err := uuid.Parse(id); err != nil || canonical != id {
		return store.Log{}, apierr.NotFound(id)
	}
	if conv := lib.cfg.Open.Live(id); conv != nil {
		ctx, cancel := context.WithTimeout(ctx, liveTime)
		defer cancel()
		if log, err := conv.Log(ctx); err == nil {
			return log, nil
		}
	}
	log, err := lib.cfg.Logs.Of(id)
	return log, agentapi.InProcess(lib.opening.Explain(ctx, id, err))
}

// matching makes the filter of the store; nil for one that lets all through.
func matching(f control.EventFilter) *store.Filter {
	if f == (control.EventFilter{}) {
		return nil
	}
	kind, message := f.Kind[strings.LastIndexByte(f.Kind, '.')+1:], (&event.Message{}).Kind()
	found := &store.Filter{Head: func(head event.Head) bool {
		switch {
		case kind != "" && head.Kind != kind,
			f.Source != "" && head.Source != f.Source,
			f.From != "" && head.Timestamp < f.From,
			f.Before != "" && head.Timestamp >= f.Before,
			f.Body != "" && head.Kind != message:
			return false
		}
		return true
	}}
	if f.Body != "" {
		body := strings.ToLower(f.Body)
		words := plainWords(body)
		found.Body = func(raw []byte) bool { return mayHave(raw, words) && saysBody(raw, body) }
	}
	return found
}

// plainWords are the parts of a text in lower case that JSON has as they are.
func plainWords(text string) (words [][]byte) {
	for _, w := range strings.FieldsFunc(text, func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') }) {
		words = append(words, []byte(w))
	}
	return words
}

// mayHave reports whether words in lower case may be in an event: the decoder need not
// look at the others.
func mayHave(raw []byte, words [][]byte) bool {
	if bytes.Contains(raw, []byte(`\u00`)) {
		return true
	}
	lower := bytes.ToLower(raw)
	return !slices.ContainsFunc(words, func(w []byte) bool { return !bytes.Contains(lower, w) })
}

// saysBody reports whether a message has a text, in lower case, in what it says, in
// what belongs to it or in the thoughts of the model.
func saysBody(raw []byte, text string) bool {
	var e event.Event
	if e.UnmarshalJSON(raw) != nil {
		return false
	}
	m, ok := e.Body.(*event.Message)
	if !ok {
		return false
	}
	var said []string
	for _, item := range m.LLMMessage.Content {
		said = append(said, item.Text)
	}
	for _, item := range m.ExtendedContent {
		said = append(said, item.Text)
	}
	said = append(said, m.LLMMessage.ReasoningContent)
	return strings.Contains(strings.ToLower(strings.Join(said, " ")), text)
}
