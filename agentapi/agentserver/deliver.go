package agentserver

import (
	"context"
	"slices"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
)

// anchorsKept is how many of the newest events are remembered to start a
// search from: one that was delivered may be missing in the log, if the server
// died before it was written.
const anchorsKept = 32

// incomplete reports whether a snapshot shows, or may hide, that an event of a
// run that has ended is missing.
func (s *stream) incomplete(state event.State) bool {
	if state.Status == event.Running {
		return false
	}
	if s.conv.version < sinceLeaf {
		return true
	}
	return !s.seen.Has(state.LeafEventID) && state.LeafEventID != ""
}

// begin delivers the first snapshot, then what was asked for, then what came
// before the snapshot.
func (s *stream) begin(ctx context.Context, e event.Event, state event.State) error {
	live := false
	if s.after == "" {
		anchor, err := s.conv.leaf(ctx, state)
		if err != nil {
			return err
		}
		s.anchors, s.leaf = []string{anchor}, anchor
		if !s.awaits(anchor) {
			s.seen.Add(anchor)
		}
		s.conv.newest.Store(&anchor)
		live = state.Status != event.Running
	} else {
		anchor := s.after
		if anchor == agentapi.FromStart {
			anchor = ""
		}
		s.anchors = []string{anchor}
	}
	s.begun = true
	s.source.began(live)
	if err := s.deliverSnapshot(e); err != nil {
		return err
	}
	if s.spilled {
		return s.fill(ctx, e)
	}
	if s.after == "" {
		return s.release()
	}
	if err := s.catchUp(ctx, s.anchors); err != nil {
		return err
	}
	if err := s.release(); err != nil {
		return err
	}
	return s.deliverUnlessOutdated(e)
}

// fill delivers the events before the snapshot e if not all of them were kept: it
// reads them from the log, from the first event that came.
func (s *stream) fill(ctx context.Context, e event.Event) error {
	anchors := s.anchors
	if first := s.firstHeld(); s.after == "" && first != nil {
		anchors = []string{first.ID}
		if err := s.release(); err != nil {
			return err
		}
	}
	s.held, s.spilled = nil, false
	if err := s.catchUp(ctx, anchors); err != nil {
		return err
	}
	s.source.began(false) // deltas are missing
	return s.deliverUnlessOutdated(e)
}

// awaits reports whether the event with that id is, or may have been, among
// those that came before the first snapshot.
func (s *stream) awaits(id string) bool {
	return s.spilled || slices.ContainsFunc(s.held, func(e event.Event) bool { return e.ID == id })
}

// hold keeps a frame that came before the first snapshot. Of too many only the
// first event of the log is kept: the log has those after it.
func (s *stream) hold(e event.Event) error {
	data, err := e.MarshalJSON()
	if err != nil {
		return &unreadableError{err}
	}
	s.heldBytes += len(data)
	s.spilled = s.spilled || len(s.held) >= maxHeld || s.heldBytes > maxHeldBytes
	s.held = append(s.held, e)
	if s.spilled {
		first := s.firstHeld()
		s.held, s.heldBytes = nil, 0
		if first != nil {
			s.held = []event.Event{*first}
		}
	}
	return nil
}

// firstHeld is the first event of the log among those that are kept.
func (s *stream) firstHeld() *event.Event {
	for _, e := range s.held {
		if e.Persisted() {
			return &e
		}
	}
	return nil
}

// release delivers the frames that were held back.
func (s *stream) release() error {
	held := s.held
	s.held, s.heldBytes = nil, 0
	for _, e := range held {
		if err := s.handleLive(e); err != nil {
			return err
		}
	}
	return nil
}

// catchUp delivers what the log has, after the first of anchors that is in
// it, and we have not.
func (s *stream) catchUp(ctx context.Context, anchors []string) error {
	return s.conv.after(ctx, anchors, func(e event.Event) error {
		if !s.source.admits(e, false) {
			return nil
		}
		return s.deliver(e)
	})
}

func (s *stream) newestAnchors() []string {
	newest := slices.Clone(s.anchors)
	slices.Reverse(newest)
	return newest
}

// beginsText reports whether the model begins a new text after e.
func beginsText(e event.Event) bool {
	switch e.Body.(type) {
	case *event.Message, *event.Action, *event.Observation, *event.AgentError, *event.UserReject:
		return true
	default:
		return false
	}
}

// handleLive delivers an event as it happens.
func (s *stream) handleLive(e event.Event) error {
	if _, foreign := e.Body.(*event.ServerError); foreign || !s.source.admits(e, true) {
		return nil // the first is about something that another client sent
	}
	if status, ok := e.StatusUpdate(); ok && status != event.Running {
		s.owed = s.conv.backend.now() // the run has ended, or a hook continues it
	}
	return s.deliver(e)
}

// deliver hands out an event, unless it has been.
func (s *stream) deliver(e event.Event) error {
	if !e.Persisted() {
		return s.out(e)
	}
	if s.has(e) {
		return nil
	}
	if anchor, forgot := s.seen.Add(e.ID); forgot {
		s.anchors[0] = anchor // the server has long written it down
	}
	s.delivered++
	if len(s.anchors) > anchorsKept {
		// The first one stays: it is certainly in the log.
		s.anchors = append(s.anchors[:1], s.anchors[2:]...)
	}
	s.anchors = append(s.anchors, e.ID)
	s.conv.newest.Store(&e.ID)
	if status, ok := e.StatusUpdate(); ok {
		s.status, s.stamped = status, e.Timestamp
		s.conv.running.Store(status == event.Running)
	}
	if _, update := e.Body.(*event.StateUpdate); !update {
		s.leaf = e.ID
	} else if g, ok := e.Goal(); ok {
		s.heardGoal(g)
	}
	return s.out(e)
}

// has reports whether an event was delivered.
func (s *stream) has(e event.Event) bool { return s.seen.Has(e.ID) }

// deliverSnapshot hands out a snapshot.
func (s *stream) deliverSnapshot(e event.Event) error {
	s.owed, s.told = time.Time{}, s.delivered
	if err := s.out(e); err != nil || !s.restarted {
		return err
	}
	return errRestarted
}

// deliverUnlessOutdated hands out a snapshot that is not older than the status
// that the log has: a slow one may arrive when the next run has begun. If a
// newer one does not come, the server is asked for it.
func (s *stream) deliverUnlessOutdated(e event.Event) error {
	if s.stamped > e.Timestamp {
		s.owed = s.conv.backend.now()
		return nil
	}
	return s.deliverSnapshot(e)
}

// out hands out e. It gives up with the stream only: what was marked as
// delivered must be.
func (s *stream) out(e event.Event) error {
	select {
	case s.events <- e:
		return nil
	case <-s.done:
		return errClosed
	}
}
