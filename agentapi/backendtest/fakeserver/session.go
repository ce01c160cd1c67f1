package fakeserver

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"sync"

	"github.com/coder/websocket"

	"github.com/ohgw/ohgw/agentapi/event"
)

// sinceSession is the version from which on the session socket has deltas.
const sinceSession = 1047

// The bounds of the session socket, in bytes.
const (
	maxSessionFrame   = 4 << 20
	maxSessionPending = 4 * maxSessionFrame
)

const (
	typeStarted = "item_started"
	typeDelta   = "delta"
	typeAborted = "item_aborted"
)

// session is a session socket. Events that come before the replay has ended wait;
// progress does not.
type session struct {
	*queue
	drop  func(reason string)
	frame int // the bytes of the largest one

	mu     sync.Mutex
	live   bool
	buffer []numberedEvent
}

type numberedEvent struct {
	event event.Event
	seq   int // -1: not in the log
}

func (s *session) publish(e event.Event, seq int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.live {
		s.buffer = append(s.buffer, numberedEvent{e, seq})
		return
	}
	s.emit(e, seq)
}

func (s *session) emit(e event.Event, seq int) {
	frame := object{"type": "durable", "seq": seq, "event": e}
	if seq < 0 {
		frame = object{"type": "transient", "event": e}
	}
	if data, err := e.MarshalJSON(); err == nil && len(data) > s.frame-len(`{"type":"durable","seq":,"event":}`)-len(strconv.Itoa(seq)) {
		s.drop("frame_too_large")
		return
	}
	s.push(e, frame)
}

func (s *session) progress(p progress) {
	var e event.Event
	if p.Type == typeDelta {
		e = p.event()
	}
	s.push(e, p)
}

// goLive sends what has waited, but for what was replayed, and then what comes.
func (s *session) goLive(replayed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.buffer {
		if b.seq < 0 || b.seq > replayed {
			s.emit(b.event, b.seq)
		}
	}
	s.buffer, s.live = nil, true
}

// session serves GET /sockets/session/{id}. As in the real one, nothing is sent
// before the snapshot could be taken, and the snapshot comes after the replay.
func (s *Server) session(ctx context.Context, c *conversation, ws *websocket.Conn, r *http.Request) {
	ctx, end := context.WithCancelCause(ctx)
	sub := &session{queue: newQueue(), frame: cmp.Or(s.opts.Frame, maxSessionFrame), drop: func(reason string) { end(dropped(reason)) }}
	sub.most, sub.full = cmp.Or(s.opts.Backlog, maxSessionPending), func() { sub.drop("slow_consumer") }
	if !c.subscribe(sub, ws) {
		end(nil)
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { c.replay(ctx, sub, r.URL.Query().Get("after_seq")) })
	s.send(ctx, sub.queue, ws)
	end(nil)
	c.unsubscribe(sub)
	wg.Wait()
	if reason, ok := context.Cause(ctx).(dropped); ok { //nolint:errorlint // it is never wrapped
		_ = ws.Close(websocket.StatusTryAgainLater, string(reason))
	}
}

// dropped is the reason for which the server closes a socket.
type dropped string

func (d dropped) Error() string { return string(d) }

// replay sends what a new socket asks for.
func (c *conversation) replay(ctx context.Context, sub *session, afterSeq string) {
	if c.hold(ctx) != nil {
		return
	}
	c.mu.Lock()
	sub.publish(c.snapshot(), -1)
	log := c.log[:len(c.log):len(c.log)]
	c.mu.Unlock()
	c.release()
	sync := object{"type": "sync"}
	replayed := -1
	after, err := strconv.Atoi(afterSeq)
	if err == nil {
		sync["from_seq"], replayed = after, len(log)-1
	}
	if len(log) > 0 {
		sync["through_seq"] = len(log) - 1
	}
	sub.push(event.Event{}, sync)
	for seq := max(after+1, 0); err == nil && seq < len(log); seq++ {
		sub.emit(log[seq], seq)
	}
	sub.goLive(replayed)
}
