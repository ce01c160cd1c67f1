package acp

import (
	"context"
	"path/filepath"
	"strconv"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/internal/jsonrpc"
	"github.com/ohgw/ohgw/internal/truncate"
)

// maxEarlier bounds what of an earlier conversation is told, in items.
const maxEarlier = 1000

// codeNotFound is the protocol's code for something that is not there.
const codeNotFound = -32002

// loadSession continues a session of an earlier time, and tells what was said.
func (a *Agent) loadSession(ctx context.Context, p loadParams) (any, jsonrpc.Work, error) {
	return a.again(ctx, p, maxEarlier)
}

// resumeSession continues a session of an earlier time.
func (a *Agent) resumeSession(ctx context.Context, p loadParams) (any, jsonrpc.Work, error) {
	return a.again(ctx, p, 0)
}

// again makes a session of a conversation that is there, and tells at most its
// last n items. The conversation works where it did.
func (a *Agent) again(ctx context.Context, p loadParams, n int) (any, jsonrpc.Work, error) {
	if !filepath.IsAbs(p.Dir) {
		return nil, nil, errDir()
	}
	return nil, func() (any, error) {
		endpoint, err := a.open(ctx)
		if err != nil {
			return nil, a.problem(ctx, err)
		}
		history, ok := endpoint.(gateway.History)
		if !ok {
			return nil, jsonrpc.Errorf(jsonrpc.CodeUnknownMethod, "the gateway does not list conversations")
		}
		items, more, err := history.Earlier(ctx, p.Session, max(n, 1))
		if gateway.IsUnknown(err) {
			return nil, jsonrpc.Errorf(codeNotFound, "there is no conversation %q", truncate.Bytes(p.Session, 100, "…"))
		}
		if err != nil {
			return nil, a.problem(ctx, err)
		}
		s := &session{id: p.Session, dir: p.Dir}
		if err := a.choose(ctx, endpoint, s); err != nil {
			return nil, err
		}
		if err := a.add(s); err != nil {
			return nil, err
		}
		if n > 0 {
			err = (&turn{a: a, s: s}).replay(items, more)
		}
		return sessionResult{Modes: s.modeState(), Options: s.options()}, err
	}, nil
}

// closeSession ends a session and its run. The conversation stays.
func (a *Agent) closeSession(_ context.Context, p sessionParams) (any, jsonrpc.Work, error) {
	s, err := a.need(p.Session)
	if err != nil {
		return nil, nil, err
	}
	s.cancel()
	a.mu.Lock()
	delete(a.sessions, s.id)
	a.mu.Unlock()
	return struct{}{}, nil, nil
}

// replay tells the editor what was said and done before.
func (t *turn) replay(items []gateway.Item, more bool) error {
	if more {
		if err := t.think("Earlier messages are left out.\n"); err != nil {
			return err
		}
	}
	t.calls = make(map[string]gateway.Call)
	for _, item := range items {
		if err := t.replayed(item); err != nil {
			return err
		}
	}
	return nil
}

func (t *turn) replayed(item gateway.Item) error {
	text := chunk{Kind: "agent_message_chunk", Content: block{Type: "text", Text: item.Text + "\n\n"}}
	switch item.Kind {
	case gateway.Did:
		if item.Call == nil {
			return nil
		}
		return t.call(*item.Call)
	case gateway.Broke:
		text.Kind = "agent_thought_chunk"
	case gateway.Asked:
		text.Kind, text.Content.Text = "user_message_chunk", item.Text
		if item.Images > 0 {
			text.Content.Text += " [" + strconv.Itoa(item.Images) + " images]"
		}
	case gateway.Said, gateway.Answered:
	}
	return t.update(text)
}
