package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/daemon/openhandsapi/socket"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
)

// syncFrame is the first one: which part of the log follows.
type syncFrame struct {
	Type    string `json:"type"`
	From    *int   `json:"from_seq,omitempty"`    // what the client has asked for
	Through *int   `json:"through_seq,omitempty"` // the last number; nil: the log is empty
}

// itemFrame says that a text begins (item_started), or that it will not be finished
// (item_aborted). The id is that of the event with the whole text.
type itemFrame struct {
	Type    string `json:"type"`
	Item    string `json:"item_id"`
	Attempt int    `json:"attempt"`
	Anchor  *int   `json:"anchor_seq,omitempty"` // the last number in front of it
	Reason  string `json:"reason,omitempty"`
}

// deltaFrame is a piece of a text.
type deltaFrame struct {
	Type    string `json:"type"`
	Item    string `json:"item_id"`
	Attempt int    `json:"attempt"`
	Order   int    `json:"order"` // from 0, in an attempt
	Kind    string `json:"kind"`  // text or reasoning
	Content string `json:"content"`
}

// errorFrame tells of a message that was not taken.
type errorFrame struct {
	Type   string `json:"type"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// durable is an event of the log, transient another one.
func durable(seq int, data []byte) []byte {
	return fmt.Appendf(nil, `{"type":"durable","seq":%d,"event":%s}`, seq, data)
}

func transient(data []byte) []byte { return fmt.Appendf(nil, `{"type":"transient","event":%s}`, data) }

// item is the text that the model writes.
type item struct {
	id      string // "" if it writes none
	attempt int
	said    bool // it has some text, beside what it thinks
	last    *int // the newest number of the log that was seen
}

// sessionFrames encodes an event for the session's socket.
func (s *Server) sessionFrames(h *hub, e event.Event) ([]frame, error) {
	if d, ok := e.Body.(*event.Delta); ok {
		return h.item.delta(d)
	}
	data, err := h.encode(h.life, e)
	if err != nil {
		return nil, err
	}
	var list []frame
	if reason := ended(e); reason != "" {
		if list, err = h.item.abort(reason); err != nil {
			return nil, err
		}
	}
	if !e.Persisted() {
		return append(list, frame{data: socket.Frame(transient(data))}), nil
	}
	seq, err := s.cfg.Engine.Number(h.life, h.id, e.ID)
	if err != nil {
		return nil, err
	}
	h.item.last = &seq
	if e.ID == h.item.id {
		h.item.id = ""
	}
	return append(list, frame{id: e.ID, seq: seq, data: socket.Frame(durable(seq, data))}), nil
}

// ended returns why no more is written, if an event says so.
func ended(e event.Event) string {
	u, ok := e.Body.(*event.StateUpdate)
	if !ok {
		return ""
	}
	status := strings.Trim(string(u.Value), `"`)
	if u.Key == event.KeyFullState {
		var state struct {
			Status string `json:"execution_status"`
		}
		_ = json.Unmarshal(u.Value, &state) // without a status it says nothing
		status = state.Status
	} else if u.Key != event.KeyStatus {
		return ""
	}
	switch event.Status(status) {
	case "", event.Running:
		return ""
	case event.Failed, event.Stuck:
		return "error"
	}
	return "cancelled"
}

// delta encodes the frames of a piece. A text that another one follows is given up. One
// that was begun before the first socket came has no beginning here, and the order of
// its pieces says how many are missing.
func (i *item) delta(d *event.Delta) ([]frame, error) {
	var list []frame
	if d.Item != i.id {
		var err error
		if list, err = i.abort("superseded"); err != nil {
			return nil, err
		}
	}
	if d.Item != i.id || d.Attempt != i.attempt {
		i.id, i.attempt, i.said = d.Item, d.Attempt, d.Order > 0
		if d.Order == 0 {
			begun, err := framed(itemFrame{Type: "item_started", Item: i.id, Attempt: i.attempt, Anchor: i.last})
			if err != nil {
				return nil, err
			}
			list = append(list, begun)
		}
	}
	out := deltaFrame{Type: "delta", Item: i.id, Attempt: i.attempt, Order: d.Order, Kind: "text"}
	switch {
	case d.ReasoningContent != nil:
		out.Kind, out.Content = "reasoning", *d.ReasoningContent
	case d.Content != nil:
		out.Content = *d.Content
		if !i.said && i.attempt > 1 {
			out.Content = strings.TrimPrefix(out.Content, "\n\n") // which parts it from the attempt before
		}
		i.said = true
	}
	f, err := framed(out)
	return append(list, f), err
}

// abort ends a text that no event will have.
func (i *item) abort(reason string) ([]frame, error) {
	if i.id == "" {
		return nil, nil
	}
	f, err := framed(itemFrame{Type: "item_aborted", Item: i.id, Attempt: i.attempt, Reason: reason})
	i.id = ""
	return []frame{f}, err
}

func framed(v any) (frame, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return frame{}, fmt.Errorf("encode a frame: %w", err)
	}
	return frame{data: socket.Frame(data)}, nil
}

// writeSession sends which events follow, these, the state, and then what comes.
func (c *client) writeSession(ctx context.Context, w watch) error {
	at := c.hub.tape.position() // everything before it is in the log by now
	page, err := c.server.cfg.Engine.Numbered(ctx, c.hub.id, 0, 0)
	if err != nil {
		return err
	}
	length, begin := page.Length, syncFrame{Type: "sync", From: w.after}
	if length > 0 {
		begin.Through = new(length - 1)
	}
	f, err := framed(begin)
	if err != nil {
		return err
	}
	if err := c.conn.Send(f.data); err != nil {
		return err
	}
	through := -1 // what was sent from the log; who wants none of it gets what is on the tape
	if w.after != nil {
		if err := errors.Join(c.replay(ctx, *w.after, length), c.tellLeftOut(page.LeftOut)); err != nil {
			return err
		}
		through = length - 1
	}
	e, err := c.stateNow(ctx)
	if err != nil {
		return err
	}
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode the state: %w", err)
	}
	if err := c.conn.Send(socket.Frame(transient(data))); err != nil {
		return err
	}
	return c.follow(ctx, at, func(f frame) bool { return f.id != "" && f.seq <= through })
}

// replay sends the events of the log behind a number.
func (c *client) replay(ctx context.Context, after, length int) error {
	if after >= length-1 {
		return nil
	}
	for from := max(after, -1) + 1; from < length; from += pageSize {
		page, err := c.server.cfg.Engine.Numbered(ctx, c.hub.id, from, min(pageSize, length-from))
		if err != nil {
			return err
		}
		frames := make([][]byte, len(page.Events))
		for i, one := range page.Events {
			frames[i] = socket.Frame(durable(one.Number, wire.WithoutNulls(one.Event)))
		}
		if err := c.conn.Send(frames...); err != nil {
			return err
		}
	}
	return nil
}
