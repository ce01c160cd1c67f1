package acp

import (
	"context"
	"errors"
	"strings"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/internal/jsonrpc"
)

// The answers that a user can give about an action.
const (
	allowOnce   = "allow"
	allowAlways = "allow_always"
	rejectOnce  = "reject"
)

// maxAlways bounds an action that can be allowed for the session, in bytes: a
// longer one may not be shown in full.
const maxAlways = 4 << 10

// refusal is what the agent reads about an action that the user rejected.
const refusal = "I do not allow this action."

// permission asks the user about the actions that wait. The error is
// errCancelled where the user cancelled the prompt instead.
func (t *turn) permission(ctx context.Context, end gateway.Done) (gateway.Decision, error) {
	calls := t.waiting(end)
	if t.s.allows(calls) {
		return gateway.Accept, nil
	}
	options := []permissionOption{{allowOnce, "Allow", "allow_once"}}
	if lasting(calls) {
		options = append(options, permissionOption{allowAlways, "Always allow this in the session", "allow_always"})
	}
	options = append(options, permissionOption{rejectOnce, "Reject", "reject_once"})
	var answer permissionResult
	err := t.a.conn.Call(ctx, methodPermission, permissionParams{Session: t.s.id, Call: question(calls, t.s.dir), Options: options}, &answer)
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return "", jsonrpc.Errorf(jsonrpc.CodeInternal, "an action waits for a confirmation, and the editor cannot ask for it: %s", e.Message)
	}
	if err != nil {
		return "", err
	}
	switch answer.Outcome.Option {
	case allowAlways:
		t.s.allow(calls)
		return gateway.Accept, nil
	case allowOnce:
		return gateway.Accept, nil
	case rejectOnce:
		return gateway.Reject, nil
	}
	return "", errCancelled
}

// rejected tells the editor that the actions that waited will not be done.
func (t *turn) rejected() error {
	for _, id := range t.pending {
		c := t.calls[id]
		c.State = "rejected"
		if err := t.call(c); err != nil {
			return err
		}
	}
	return nil
}

// waiting are the actions that wait for the user. Those that the gateway did not
// describe are made of its list.
func (t *turn) waiting(end gateway.Done) []gateway.Call {
	var calls []gateway.Call
	for _, id := range t.pending {
		calls = append(calls, t.calls[id])
	}
	if len(calls) > 0 {
		return calls
	}
	for _, w := range end.Waiting {
		calls = append(calls, gateway.Call{ID: t.key, State: "waiting", Tool: w.Tool, Kind: "other", Line: w.Line})
	}
	return calls
}

// question describes the action that the user is asked about. Several are asked about
// together: the agent does all of them or none.
func question(calls []gateway.Call, dir string) toolCall {
	if len(calls) == 0 {
		return toolCall{ID: "unknown", Title: "An action of the agent", Status: statusPending}
	}
	u := describe(calls[0], dir)
	u.Status = statusPending
	var lines []string
	for _, c := range calls {
		if c.Input != "" && (len(calls) > 1 || c.Input != title(c)) {
			u.Content = append(u.Content, textContent(fenced(c.Input)))
		}
		lines = append(lines, title(c))
	}
	u.Title = strings.Join(lines, "; ")
	return u
}

// key names what a call does.
func key(c gateway.Call) string { return c.Tool + "\x00" + c.Line + "\x00" + c.Input }

// lasting reports whether calls can be allowed for the session.
func lasting(calls []gateway.Call) bool {
	for _, c := range calls {
		if len(key(c)) > maxAlways || c.Input == "" { // its line may be cut
			return false
		}
	}
	return len(calls) > 0
}

// allow remembers actions that the user always allows.
func (s *session) allow(calls []gateway.Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.allowed == nil {
		s.allowed = make(map[string]bool)
	}
	for _, c := range calls {
		s.allowed[key(c)] = true
	}
}

// allows reports whether the user has allowed all of these actions before.
func (s *session) allows(calls []gateway.Call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range calls {
		if !s.allowed[key(c)] {
			return false
		}
	}
	return len(calls) > 0
}
