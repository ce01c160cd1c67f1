package agentserver

import (
	"context"

	"github.com/ohgw/ohgw/agentapi/event"
)

// reconciled is the events socket, which has no numbers. Registration of a socket
// happens some time after it was opened, and its first frame is the only sign of
// it. So what was missed is fetched from the log when that frame comes, before the
// frame itself is delivered.
type reconciled struct {
	s       *stream
	current bool // nothing is missing between the log and the socket
	// whole reports that deltas are delivered. After a gap they are not, until an
	// event says that the model begins a new text: one that was not fetched, or
	// the last one that was.
	whole   bool
	fetched string
}

func (r *reconciled) dial(ctx context.Context) (*socket, error) {
	return r.s.conv.dial(ctx, "/sockets/events/", nil, readEvent)
}

func (r *reconciled) after(error) source { return r }

func (r *reconciled) began(whole bool) { r.current, r.whole = true, whole }

// resume delivers what the log has got meanwhile: a snapshot may be late.
func (r *reconciled) resume(ctx context.Context, restarted bool) error {
	s := r.s
	r.current, r.whole = false, false
	if err := s.catchUp(ctx, s.newestAnchors()); err != nil || !restarted {
		return err
	}
	// The run is gone with the server that ran it.
	info, err := s.conv.describe(ctx)
	if err != nil {
		return err
	}
	s.restarted = true
	return s.deliverSnapshot(snapshot(info, s.conv.backend.now()))
}

// frame delivers a frame of the socket, and before it what it shows to be
// missing.
func (r *reconciled) frame(ctx context.Context, f frame) error {
	s, e := r.s, f.event
	state, snapshot, err := e.FullState()
	if err != nil {
		return &unreadableError{err}
	}
	switch {
	case !s.begun && snapshot:
		return s.begin(ctx, e, state)
	case !s.begun:
		return s.hold(e)
	case !r.current:
		if err := s.catchUp(ctx, s.newestAnchors()); err != nil {
			return err
		}
		r.current = true
	case snapshot && s.incomplete(state):
		// The gap may be anywhere in what was watched.
		if err := s.catchUp(ctx, s.anchors[:1]); err != nil {
			return err
		}
	}
	if !snapshot {
		return s.handleLive(e)
	}
	return s.deliverUnlessOutdated(e)
}

func (r *reconciled) admits(e event.Event, live bool) bool {
	switch {
	case !live:
		if !r.s.has(e) && beginsText(e) {
			// The deltas of what comes before it may still be on their way.
			r.whole, r.fetched = false, e.ID
		}
	case beginsText(e):
		r.whole = r.whole || !r.s.has(e) || e.ID == r.fetched
	default:
		_, delta := e.Body.(*event.Delta)
		return !delta || r.whole
	}
	return true
}
