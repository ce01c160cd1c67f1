package conversations

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/setup/agents"
	"github.com/ohgw/ohgw/internal/setup/cloud"
	"github.com/ohgw/ohgw/internal/uuid"
)

// livePatience is how long a follower waits for an event before it says what the
// status is.
const livePatience = time.Second

// openPatience is how long a sandbox that does not answer is tried, openPause the time
// between two tries.
const (
	openPatience = 5 * time.Second
	openPause    = 200 * time.Millisecond
)

// uuidOf is the id of a conversation as agent-servers write it.
func uuidOf(id string) string {
	if parsed, err := uuid.Parse(id); err == nil {
		return parsed
	}
	return id
}

// liveFollower reads what the agent-server of a conversation sends: by its socket,
// or else by asking it again and again. If the sandbox has moved, it goes on at the
// new place, behind the last event that it has read.
type liveFollower struct {
	place *place
	acc   cloud.Account
	id    string

	at     account.Runtime
	lib    agents.Library
	stream agentapi.Stream
	after  string // the id of the last event that was read

	status event.Status
	waits  bool // for a message: a status before it is that of a run before it
	owed   int  // so many snapshots are still to come that may be older than what follows
}

// goLive reaches the agent-server of a conversation that runs. It gets the key of
// the conversation, and no other. Nothing is followed yet.
func (p *place) goLive(ctx context.Context, acc cloud.Account, id string) (*liveFollower, error) {
	at, err := acc.Runtime(ctx, id)
	if err != nil {
		return nil, err
	}
	lib, err := agents.LibraryAt(at.Address, at.Key.Reveal(), p.Now, p.Logger("text"))
	if err != nil {
		return nil, err
	}
	return &liveFollower{place: p, acc: acc, id: uuidOf(id), at: at, lib: lib, after: agentapi.FromStart}, nil
}

// newest are the last things that were said and are wanted, the oldest first; 0 is
// all of them. What follows them is followed.
func (f *liveFollower) newest(ctx context.Context, last int, wanted func(said) bool) ([]said, error) {
	var found []said
	q := control.EventQuery{Limit: pageSize, Newest: true}
	for {
		page, err := f.lib.Search(ctx, f.id, q)
		if err != nil {
			return nil, err //nolint:wrapcheck // explain does
		}
		for _, raw := range page.Events {
			s := saidIn(raw)
			if f.after == agentapi.FromStart {
				f.after = s.ID
			}
			if wanted(s) && (last == 0 || len(found) < last) {
				found = append(found, s)
			}
		}
		if page.Next == "" || last > 0 && len(found) >= last {
			slices.Reverse(found)
			return found, nil
		}
		q.Page = page.Next
	}
}

// open begins to follow. A sandbox that goes at that moment is looked for, because
// the server may learn of it later.
func (f *liveFollower) open(ctx context.Context) error {
	for until := f.place.Now().Add(openPatience); ; {
		stream, err := f.lib.Watch(ctx, f.id, f.after)
		if err == nil {
			f.stream, f.owed = stream, 1
			return nil
		}
		if !isGone(err) || f.place.Now().After(until) {
			return err
		}
		if _, err := f.move(ctx); err != nil {
			return err
		}
		if err := transport.Sleep(ctx, openPause); err != nil {
			return err //nolint:wrapcheck // the context's
		}
	}
}

func (f *liveFollower) pause() time.Duration { return 0 }

func (f *liveFollower) close() { // Nothing was changed.
	if f.stream != nil {
		_ = f.stream.Close()
		f.stream = nil
	}
	_ = f.lib.Close()
}

// next waits for an event, but not for long.
func (f *liveFollower) next(ctx context.Context) ([]said, event.Status, error) {
	limited, cancel := context.WithTimeout(ctx, livePatience)
	defer cancel()
	e, err := f.stream.Next(limited)
	switch {
	case err == nil:
		return f.take(e), f.status, nil
	case ctx.Err() != nil:
		return nil, "", ctx.Err()
	case limited.Err() != nil:
		return nil, f.status, nil
	}
	return nil, f.status, f.again(ctx, err)
}

// take is what an event says.
func (f *liveFollower) take(e event.Event) []said {
	if state, ok, err := e.FullState(); ok {
		if f.owed--; err == nil && f.owed < 0 {
			f.is(state.Status)
		}
		return nil
	}
	if _, delta := e.Body.(*event.Delta); delta {
		return nil
	}
	if e.ID != "" {
		f.after = e.ID
	}
	if status, ok := e.StatusUpdate(); ok {
		f.is(status)
		return nil
	}
	s := saidBy(e)
	if s.Source == event.SourceUser && s.Text != "" {
		f.waits = false
	}
	return []said{s}
}

func (f *liveFollower) is(status event.Status) {
	if !f.waits {
		f.status = status
	}
}

// again goes on where the sandbox is now, after err. If it is where it was, or
// nowhere, that is the error.
func (f *liveFollower) again(ctx context.Context, err error) error {
	if !isGone(err) {
		return err
	}
	moved, lookErr := f.move(ctx)
	switch {
	case lookErr != nil:
		return lookErr
	case !moved:
		return &agentapi.Error{Kind: agentapi.ErrUnavailable, Msg: "the connection to the sandbox of the conversation was lost", Err: err}
	}
	return f.open(ctx)
}

// isGone reports whether an error is one of a sandbox that is no longer where it was.
func isGone(err error) bool {
	return errors.Is(err, agentapi.ErrLost) || errors.Is(err, agentapi.ErrUnavailable) || errors.Is(err, agentapi.ErrUnauthorized)
}

// move asks where the sandbox is now, and reports whether that is another place.
func (f *liveFollower) move(ctx context.Context) (moved bool, err error) {
	at, err := f.acc.Runtime(ctx, f.id)
	if err != nil || at.Address == f.at.Address && at.Key == f.at.Key {
		return false, err
	}
	lib, err := agents.LibraryAt(at.Address, at.Key.Reveal(), f.place.Now, f.place.Logger("text"))
	if err != nil {
		return false, err
	}
	f.close()
	f.at, f.lib = at, lib
	return true, nil
}

// followFault is a failure of a follower as a person should read it.
func followFault(err error, acc cloud.Account) error {
	if _, ofAgent := errors.AsType[*agentapi.Error](err); ofAgent {
		return explain(err)
	}
	return cloud.Fault(err, acc.Server)
}

// saidIn is what an event says to a person; most say nothing.
func saidIn(raw json.RawMessage) said {
	var e event.Event
	if json.Unmarshal(raw, &e) != nil {
		return said{ID: idOf(raw)} // It cannot be read by anybody.
	}
	return saidBy(e)
}

func saidBy(e event.Event) said {
	s := said{ID: e.ID, At: transport.ParseTime(e.Timestamp), Source: e.Source}
	switch b := e.Body.(type) {
	case *event.Message:
		s.Text = event.PlainText(b.LLMMessage.Content)
	case *event.Action:
		s.Text = event.PlainText(b.Thought)
		var action struct {
			Kind    string `json:"kind"`
			Message string `json:"message"`
		}
		if json.Unmarshal(b.Action, &action) == nil && action.Kind == "FinishAction" {
			s.Text, s.Final = action.Message, true
		}
	case *event.ConversationError:
		s.Text, s.Failed = b.Code+": "+b.Detail, true
	}
	return s
}
