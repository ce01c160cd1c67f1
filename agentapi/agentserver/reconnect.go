package agentserver

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/coder/websocket"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/internal/pause"
)

const (
	// reconnectFor is how long a stream tries to get its server back, counted
	// from the last frame, when nothing takes its connections.
	reconnectFor = 8 * time.Second
	// slowFor is how long it tries when something takes them and is silent: a
	// server that is busy is late, one that is dead refuses.
	slowFor    = 15 * time.Second
	firstDelay = 100 * time.Millisecond
	lastDelay  = time.Second
)

// reconnect gets a new socket and delivers what the log has got meanwhile. Its
// error is final.
func (s *stream) reconnect(ctx context.Context, cause error) error {
	b := s.conv.backend
	if s.sock != nil {
		s.heard = s.sock.lastHeard()
	}
	s.drop()
	s.source = s.source.after(cause)
	if s.lost.IsZero() {
		s.lost = b.now()
	}
	limited, cancel := context.WithTimeout(ctx, s.lost.Add(slowFor).Sub(b.now()))
	defer cancel()
	for {
		if !silent(cause) && b.now().Add(s.delay).Sub(s.lost) > reconnectFor {
			return s.giveUp(cause)
		}
		// The first attempt comes at once, unless this is not a first loss.
		if s.delay > 0 && pause.For(limited, s.delay) != nil {
			return s.giveUp(cause)
		}
		s.delay = min(max(2*s.delay, firstDelay), lastDelay)
		err := s.again(ctx, limited)
		if err == nil {
			return nil
		}
		if final := s.final(err); final != nil {
			return final
		}
		if limited.Err() == nil {
			cause = err
		}
	}
}

// silent reports whether something took a connection and did not answer in time.
func silent(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return timedOut(err) && (!ok || op.Op != "dial")
}

// again makes one attempt to get a socket within limited. What is fetched then
// takes the time that the reader of the stream takes.
func (s *stream) again(ctx, limited context.Context) error {
	c := s.conv
	info, err := c.backend.readInfo(limited)
	if err != nil {
		return err
	}
	restarted := info.startedAfter(c.backend.now(), s.heard)
	s.tried = c.backend.now()
	sock, err := s.dial(limited)
	if err != nil && !errors.Is(err, errNoUpgrade) {
		return err
	}
	s.sock, s.held, s.heldBytes, s.spilled = sock, nil, 0, false
	s.owed = c.backend.now()
	if !s.begun {
		return nil
	}
	if err := s.source.resume(ctx, restarted); err != nil {
		s.drop()
		return err
	}
	s.stale = false
	return nil
}

// errRestarted is the end of a stream whose run is gone with the server that ran it.
var errRestarted = &agentapi.Error{
	Kind: agentapi.ErrLost,
	Msg:  "The agent-server was restarted while the agent was working. The conversation is kept: send a new message to continue.",
}

func (s *stream) giveUp(cause error) error {
	if websocket.CloseStatus(cause) == websocket.StatusTryAgainLater && !s.begun {
		return &agentapi.Error{
			Kind: agentapi.ErrUnavailable, Err: cause,
			Msg: "Too many clients watch this conversation on the agent-server. Close some, or try again later.",
		}
	}
	if !s.begun {
		return s.conv.backend.unreachable(cause)
	}
	return &agentapi.Error{
		Kind: agentapi.ErrLost, Err: cause,
		Msg: "The connection to the agent-server was lost while the agent was working, and it no longer answers. Check the agent-server; it keeps the conversation.",
	}
}
