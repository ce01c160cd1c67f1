package agentserver

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
)

const (
	// streamBuffer is how many events wait for Next.
	streamBuffer = 64
	// anchorsKept is how many of the newest events are remembered to start a
	// search from: one that was delivered may be missing in the log, if the
	// server died before it was written.
	anchorsKept = 32
	// snapshotPatience is how long a snapshot may be late before the server is
	// asked over REST. It waits for a lock that a tool may hold for minutes.
	snapshotPatience = 2 * time.Second
	pollEvery        = time.Second
)

// stream is a watch: one goroutine that owns all the fields below, and hands
// out events in the order of the log.
//
// Registration of a socket happens some time after it was opened, and its
// first frame is the only sign of it. So what was missed is fetched from the
// log when that frame comes, before the frame itself is delivered.
type stream struct {
	conv   *conversation
	after  string // as given to Watch
	events chan event.Event
	err    error // valid once events is closed
	stop   context.CancelFunc
	wg     sync.WaitGroup

	sock    *socket       // nil while there is none to be had
	tried   time.Time     // when a socket was last asked for
	heard   time.Time     // when the server last gave a sign of life, before this socket
	lost    time.Time     // since when there is no frame; zero while all is well
	delay   time.Duration // before the next attempt to reconnect
	begun   bool          // the first full_state was delivered
	current bool          // nothing is missing between the log and the socket
	held    []event.Event // frames that came before begun
	// whole tells that deltas are delivered. After a gap they are not, until an
	// event says that the model begins a new text: one that was not fetched, or
	// the last one that was.
	whole   bool
	fetched string

	seen    map[string]struct{}
	told    int      // how many were seen when the last snapshot was delivered
	anchors []string // the newest last
	status  event.Status
	stamped string    // time stamp of the event that said status
	owed    time.Time // since when a snapshot is owed; zero: none is
	poller  poller
}

// Watch opens a stream. It returns once the socket is open, or is known not to
// be had.
func (c *conversation) Watch(ctx context.Context, after string) (agentapi.Stream, error) {
	limited, cancel := context.WithTimeout(ctx, reconnectFor)
	defer cancel()
	sock, err := c.dial(limited)
	if err != nil && !errors.Is(err, errNoUpgrade) {
		return nil, c.backend.fault(ctx, "open its event stream", err)
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &stream{
		conv: c, after: after, events: make(chan event.Event, streamBuffer), stop: stop,
		sock: sock, seen: map[string]struct{}{},
		tried: c.backend.now(), heard: c.backend.now(), owed: c.backend.now(),
	}
	if c.streams.Add(1) == 1 {
		c.newest.Store(nil)
	}
	s.wg.Go(func() {
		defer close(s.events)
		defer c.streams.Add(-1)
		s.err = s.run(life)
		s.drop()
	})
	return s, nil
}

// Next waits for the next event.
func (s *stream) Next(ctx context.Context) (event.Event, error) {
	select {
	case e, ok := <-s.events:
		if !ok {
			return event.Event{}, s.err
		}
		return e, nil
	case <-ctx.Done():
		return event.Event{}, ctx.Err()
	}
}

// Close ends the watch.
func (s *stream) Close() error {
	s.stop()
	s.wg.Wait()
	return nil
}

var errClosed = errors.New("stream closed")

func (s *stream) run(ctx context.Context) error {
	for {
		err := s.session(ctx)
		if ctx.Err() != nil {
			return errClosed
		}
		if final := s.final(err); final != nil {
			return final
		}
		s.conv.backend.log.Debug("event stream lost", "conversation_id", s.conv.info.ID, "err", err)
		if err := s.reconnect(ctx, err); err != nil {
			if ctx.Err() != nil {
				return errClosed
			}
			return err
		}
	}
}

// final is the error of a stream that cannot go on, nil if it can try.
func (s *stream) final(err error) error {
	c := s.conv
	if unreadable, ok := errors.AsType[*unreadableError](err); ok {
		return &agentapi.Error{
			Kind: agentapi.ErrLost, Err: unreadable,
			Msg: "The agent-server sent an event that cannot be read; it may be newer than this ohgw. The conversation goes on there.",
		}
	}
	switch {
	case websocket.CloseStatus(err) == closeUnauthorized:
		return c.backend.unauthorized(err)
	case !s.begun && (websocket.CloseStatus(err) == closeUnknown || gone(err)):
		// Later it may be a server that was restarted and waits for the lease
		// of the one before it.
		return conversationNotFound(c.info.ID, err)
	case errors.Is(err, errNoAnchor):
		return &agentapi.Error{
			Kind: agentapi.ErrRefused, Err: err,
			Msg: "The conversation does not hold the event to go on from.",
		}
	}
	if e, ok := errors.AsType[*agentapi.Error](err); ok {
		return e
	}
	return nil
}

// session delivers what comes until the socket ends.
func (s *stream) session(ctx context.Context) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	var frames <-chan event.Event
	if s.sock != nil {
		frames = s.sock.frames
	}
	for {
		select {
		case e, ok := <-frames:
			if !ok {
				return s.sock.err
			}
			s.lost, s.delay = time.Time{}, 0
			if err := s.frame(ctx, e); err != nil {
				return err
			}
		case <-ticker.C:
			if err := s.tick(ctx); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// frame delivers a frame of the socket, and before it what it shows to be
// missing.
func (s *stream) frame(ctx context.Context, e event.Event) error {
	state, snapshot, err := e.FullState()
	if err != nil {
		return &unreadableError{err}
	}
	switch {
	case !s.begun && snapshot:
		return s.begin(ctx, e, state)
	case !s.begun:
		s.held = append(s.held, e)
		return nil
	case !s.current:
		if err := s.catchUp(ctx, s.newestAnchors()); err != nil {
			return err
		}
		s.current = true
	case snapshot && s.incomplete(state):
		// The gap may be anywhere in what was watched.
		if err := s.catchUp(ctx, s.anchors[:1]); err != nil {
			return err
		}
	}
	if !snapshot {
		return s.live(ctx, e)
	}
	return s.tellUnlessOutdated(ctx, e)
}

// incomplete tells whether a snapshot shows, or may hide, that an event of a
// run that has ended is missing.
func (s *stream) incomplete(state event.State) bool {
	if state.Status == event.Running {
		return false
	}
	if s.conv.version < sinceLeaf {
		return true
	}
	_, seen := s.seen[state.LeafEventID]
	return !seen && state.LeafEventID != ""
}

// begin delivers the first snapshot, then what was asked for, then what came
// before the snapshot.
func (s *stream) begin(ctx context.Context, e event.Event, state event.State) error {
	if s.after == "" {
		anchor, err := s.conv.leaf(ctx, state)
		if err != nil {
			return err
		}
		s.anchors = []string{anchor}
		s.seen[anchor] = struct{}{}
		s.conv.newest.Store(&anchor)
		s.whole = state.Status != event.Running
	} else {
		anchor := s.after
		if anchor == agentapi.FromStart {
			anchor = ""
		}
		s.anchors = []string{anchor}
	}
	s.begun, s.current = true, true
	if err := s.tell(ctx, e); err != nil {
		return err
	}
	if s.after == "" {
		return s.release(ctx)
	}
	if err := s.catchUp(ctx, s.anchors); err != nil {
		return err
	}
	if err := s.release(ctx); err != nil {
		return err
	}
	return s.tellUnlessOutdated(ctx, e)
}

// release delivers the frames that were held back.
func (s *stream) release(ctx context.Context) error {
	held := s.held
	s.held = nil
	for _, e := range held {
		if err := s.live(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// catchUp delivers what the log has, after the first of anchors that is in
// it, and we have not.
func (s *stream) catchUp(ctx context.Context, anchors []string) error {
	return s.conv.after(ctx, anchors, func(e event.Event) error {
		if _, dup := s.seen[e.ID]; !dup && beginsText(e) {
			// The deltas of what comes before it may still be on their way.
			s.whole, s.fetched = false, e.ID
		}
		return s.deliver(ctx, e)
	})
}

func (s *stream) newestAnchors() []string {
	newest := slices.Clone(s.anchors)
	slices.Reverse(newest)
	return newest
}

// beginsText tells whether the model begins a new text after e.
func beginsText(e event.Event) bool {
	switch e.Body.(type) {
	case *event.Message, *event.Action, *event.Observation, *event.AgentError, *event.UserReject:
		return true
	default:
		return false
	}
}

// live delivers an event as it happens.
func (s *stream) live(ctx context.Context, e event.Event) error {
	switch e.Body.(type) {
	case *event.Delta:
		if !s.whole {
			return nil
		}
	case *event.ServerError:
		return nil // about something that another client sent
	}
	if _, dup := s.seen[e.ID]; beginsText(e) && (!dup || e.ID == s.fetched) {
		s.whole = true
	}
	if status, ok := e.StatusUpdate(); ok && status != event.Running {
		s.owed = s.conv.backend.now() // the end of a run, or a hook goes on with it
	}
	return s.deliver(ctx, e)
}

// deliver hands out an event, unless it has been.
func (s *stream) deliver(ctx context.Context, e event.Event) error {
	if e.Persisted() {
		if _, dup := s.seen[e.ID]; dup {
			return nil
		}
		s.seen[e.ID] = struct{}{}
		if len(s.anchors) > anchorsKept {
			// The first one stays: it is certainly in the log.
			s.anchors = append(s.anchors[:1], s.anchors[2:]...)
		}
		s.anchors = append(s.anchors, e.ID)
		s.conv.newest.Store(&e.ID)
		if status, ok := e.StatusUpdate(); ok {
			s.status, s.stamped = status, e.Timestamp
		}
	}
	return s.out(ctx, e)
}

// tell hands out a snapshot.
func (s *stream) tell(ctx context.Context, e event.Event) error {
	s.owed, s.told = time.Time{}, len(s.seen)
	return s.out(ctx, e)
}

// tellUnlessOutdated hands out a snapshot that is not older than the status
// that the log has: a slow one may arrive when the next run has begun. If a
// newer one does not come, the server is asked for it.
func (s *stream) tellUnlessOutdated(ctx context.Context, e event.Event) error {
	if s.stamped > e.Timestamp {
		s.owed = s.conv.backend.now()
		return nil
	}
	return s.tell(ctx, e)
}

func (s *stream) out(ctx context.Context, e event.Event) error {
	select {
	case s.events <- e:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// drop closes the socket, if there is one.
func (s *stream) drop() {
	if s.sock != nil {
		s.sock.close()
		s.sock = nil
	}
}
