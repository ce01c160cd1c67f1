package acp

import (
	"context"
	"errors"
	"sync"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/internal/jsonrpc"
	"github.com/ohgw/ohgw/internal/truncate"
)

// errCancelled is the cause of a turn's end that the editor has asked for.
var errCancelled = errors.New("the editor cancelled the prompt")

// session is a conversation of the editor.
type session struct {
	id        string // of the conversation too
	dir       string // that the editor has open
	workspace string // that directory for the gateway; empty: its choice

	can choices

	mu    sync.Mutex
	model string
	mode  string // as the editor shows it
	// confirmation is the mode that the editor chose; empty: it chose none
	confirmation gateway.Confirmation
	stop         context.CancelCauseFunc // of the turn that runs, or nil
	allowed      map[string]bool         // actions that the user always allows; see key
	cost         *float64                // US dollars so far; nil if the cost is unknown
}

// add keeps a new session.
func (a *Agent) add(s *session) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.sessions) >= maxSessions {
		return jsonrpc.Errorf(jsonrpc.CodeInternal, "there are %d sessions already; restart the agent", maxSessions)
	}
	a.sessions[s.id] = s
	return nil
}

// find is a session, or nil.
func (a *Agent) find(id string) *session {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sessions[id]
}

// need is a session that a request names.
func (a *Agent) need(id string) (*session, error) {
	if s := a.find(id); s != nil {
		return s, nil
	}
	return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "there is no session %q", truncate.Bytes(id, 100, "…"))
}

// begin makes a turn the one that runs. end is for its end.
func (s *session) begin(ctx context.Context) (_ context.Context, end func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil {
		return nil, nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "a prompt of this session is running; cancel it or wait for its end")
	}
	ctx, s.stop = context.WithCancelCause(ctx)
	return ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stop(nil)
		s.stop = nil
	}, nil
}

// cancel ends the turn that runs, if there is one.
func (s *session) cancel() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil {
		s.stop(errCancelled)
	}
}
