package agentserver

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/agentserver/sequence"
	"github.com/ohgw/ohgw/agentapi/event"
)

const (
	// streamBuffer is how many events wait for Next.
	streamBuffer = 64
	// snapshotPatience is how long a snapshot may be late before the server is
	// asked over REST. It waits for a lock that a tool may hold for minutes.
	snapshotPatience = 2 * time.Second
	pollEvery        = time.Second
	// maxHeld and maxHeldBytes bound what is kept until the first snapshot comes.
	maxHeld      = 1000
	maxHeldBytes = 4 << 20
)

// stream is a watch: one goroutine that owns all the fields below, and hands
// out events in the order of the log.
type stream struct {
	conv   *conversation
	source source
	after  string // as given to Watch
	events chan event.Event
	err    error           // valid once events is closed
	done   <-chan struct{} // closed by stop
	stop   context.CancelFunc
	wg     sync.WaitGroup

	sock  *socket       // nil while there is none available
	tried time.Time     // when a socket was last asked for
	heard time.Time     // when the server last gave a sign of life, before this socket
	lost  time.Time     // since when there is no frame; zero while all is well
	delay time.Duration // before the next attempt to reconnect
	begun bool          // the first full_state was delivered
	held  []event.Event // that came before begun
	// heldBytes is the size of held; spilled reports that there were too many, and
	// none is kept.
	heldBytes int
	spilled   bool
	restarted bool // the server was: the next snapshot is the end
	stale     bool // a goal is over, and no snapshot has come on a new socket

	seen      sequence.Recent
	delivered int // events of the log
	told      int // how many of them when the last snapshot was delivered

	anchors []string // the newest last
	leaf    string   // the newest that is not a state update
	status  event.Status
	stamped string    // time stamp of the event that said status
	owed    time.Time // since when a snapshot is owed; zero: none is
	checked time.Time // when the conversation was last looked for, or heard of
	poller  poller
}

// Watch opens a stream. It returns once the socket is open, or is known not to
// be had.
func (c *conversation) Watch(ctx context.Context, after string) (agentapi.Stream, error) {
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &stream{conv: c, after: after, events: make(chan event.Event, streamBuffer), done: life.Done(), stop: stop}
	s.source = c.source(s)
	limited, cancel := context.WithTimeout(ctx, reconnectFor)
	defer cancel()
	var err error
	if s.sock, err = s.dial(limited); err != nil && !errors.Is(err, errNoUpgrade) {
		stop()
		return nil, c.backend.fault(ctx, "open its event stream", err)
	}
	now := c.backend.now()
	s.tried, s.heard, s.owed, s.checked = now, now, now, now
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

// final returns the error of a stream that cannot go on; nil if a new connection may
// help.
func (s *stream) final(err error) error {
	c := s.conv
	if unreadable, ok := errors.AsType[*unreadableError](err); ok {
		return &agentapi.Error{
			Kind: agentapi.ErrLost, Err: unreadable,
			Msg: "The agent-server sent an event that cannot be read; it may be newer than this ohgw. The conversation continues on the agent-server. Upgrade ohgw to follow it.",
		}
	}
	switch {
	case websocket.CloseStatus(err) == closeUnauthorized, answered(err) == http.StatusUnauthorized, answered(err) == http.StatusForbidden:
		return c.backend.unauthorized(err)
	case !s.begun && (websocket.CloseStatus(err) == closeUnknown || gone(err)):
		// Later it may be a server that was restarted and waits for the lease
		// of the one before it.
		return conversationNotFound(c.info.ID, err)
	case errors.Is(err, errNoAnchor):
		return &agentapi.Error{
			Kind: agentapi.ErrRefused, Err: err,
			Msg: "The conversation does not contain the event to resume from.",
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
	var frames <-chan frame
	if s.sock != nil {
		frames = s.sock.frames
	}
	for {
		select {
		case f, ok := <-frames:
			if !ok {
				return s.sock.err
			}
			s.lost, s.delay, s.checked = time.Time{}, 0, s.conv.backend.now()
			if err := errors.Join(s.source.frame(ctx, f), s.fresh()); err != nil {
				return err
			}
		case <-ticker.C:
			if err := s.tick(ctx); err != nil {
				return err
			}
			ticker.Reset(pollEvery) // from the answer on, however long it took
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// drop closes the socket, if there is one.
func (s *stream) drop() {
	if s.sock != nil {
		s.sock.close()
		s.sock = nil
	}
}

// source is one kind of socket, and how a stream goes on after a socket was lost.
// Each belongs to one stream.
type source interface {
	// dial opens a socket.
	dial(ctx context.Context) (*socket, error)
	// resume is called when a new socket has replaced a lost one, in a stream that has
	// begun. restarted reports that the server is not the one that it was.
	resume(ctx context.Context, restarted bool) error
	// after is the source that goes on where a socket of this one ended with err.
	after(err error) source
	// began is called when the stream delivers its first snapshot. whole reports that
	// no delta before it is missing.
	began(whole bool)
	// admits reports whether an event is to be delivered that came from the socket, or
	// with live false from the log.
	admits(e event.Event, live bool) bool
	// frame delivers what a frame brings.
	frame(ctx context.Context, f frame) error
}

// frame is one frame of a socket.
type frame struct {
	event event.Event   // zero if it has none
	note  *sessionFrame // what the session socket says beside the event; nil on the events socket
}

// readEvent reads a frame of the events socket.
func readEvent(data []byte) (f frame, err error) {
	err = json.Unmarshal(data, &f.event)
	return f, err
}

// source chooses the socket that the server has.
func (c *conversation) source(s *stream) source {
	if c.version >= sinceSession && !c.unnumbered.Load() {
		return &numbered{s: s}
	}
	return &reconciled{s: s}
}

// dial opens a socket of the source, or of the one that takes its place.
func (s *stream) dial(ctx context.Context) (*socket, error) {
	sock, err := s.source.dial(ctx)
	if next := s.source.after(err); next != s.source {
		s.source = next
		return s.source.dial(ctx)
	}
	return sock, err
}
