package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/daemon/openhandsapi/shape"
	"github.com/ohgw/ohgw/daemon/openhandsapi/socket"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
)

// topic is what sockets watch: a conversation in one of the two forms of frames.
type topic struct {
	id      string
	session bool
}

// hub is a conversation that sockets watch. It watches the conversation once for all of
// them, and encodes each event once.
type hub struct {
	topic
	engine control.Engine
	item   item          // of the session's socket; of the pump alone
	ready  chan struct{} // closed when what follows is set
	err    error         // why it could not be opened
	stream agentapi.Stream
	last   string // the newest event of the log that the stream has brought, or that was there before it
	tape   *tape

	mu    sync.Mutex
	conv  control.Conversation // as it is open now
	moved chan struct{}        // closed when it is opened again, or will not be
	over  bool                 // it will not be

	life  context.Context // ends with the last socket
	end   context.CancelFunc
	users int // guarded by the server's lock
}

// join finds the hub of a conversation, or opens it. Who gets one leaves it.
func (s *Server) join(ctx context.Context, t topic) (*hub, error) {
	s.mu.Lock()
	if s.life.Err() != nil {
		s.mu.Unlock()
		return nil, errClosing
	}
	h, found := s.hubs[t]
	if !found {
		h = &hub{topic: t, engine: s.cfg.Engine, ready: make(chan struct{}), moved: make(chan struct{}), tape: newTape(s.cfg.Lag)}
		h.life, h.end = context.WithCancel(s.life)
		s.hubs[t] = h
		s.pumps.Go(func() { s.serve(h) })
	}
	h.users++
	s.mu.Unlock()
	select {
	case <-h.ready:
	case <-ctx.Done():
		s.leave(h)
		return nil, ctx.Err()
	}
	if h.err != nil {
		s.leave(h)
		return nil, h.err
	}
	return h, nil
}

// leave lets go of a hub; the last one ends it.
func (s *Server) leave(h *hub) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.users--
	if h.users == 0 {
		h.end()
		s.forget(h)
	}
}

// forget makes the next socket begin with a new hub. The lock is held.
func (s *Server) forget(h *hub) {
	if s.hubs[h.topic] == h {
		delete(s.hubs, h.topic)
	}
}

// serve opens the conversation of a hub and turns its events into frames, until the
// last socket is gone or the conversation is.
func (s *Server) serve(h *hub) {
	defer h.end()
	h.err = s.open(h)
	close(h.ready)
	if h.err == nil {
		h.tape.end(s.follow(h))
		_ = h.stream.Close() // It was only read.
		h.move(nil)          // The conversation stays.
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(h)
}

func (s *Server) open(h *hub) error {
	conv, err := s.cfg.Engine.Open(h.life, h.id)
	if err != nil {
		return err
	}
	stream, err := conv.Watch(h.life, "")
	if err != nil {
		return errors.Join(err, conv.Close())
	}
	h.conv, h.stream = conv, stream
	// What comes between the two is on the stream, and becomes the last then.
	page, err := s.cfg.Engine.Search(h.life, h.id, control.EventQuery{Limit: 1, Newest: true})
	if err == nil && h.session {
		var all control.NumberedPage
		if all, err = s.cfg.Engine.Numbered(h.life, h.id, 0, 0); all.Length > 0 {
			h.item.last = new(all.Length - 1)
		}
	}
	if err != nil {
		return errors.Join(err, stream.Close(), conv.Close())
	}
	for _, raw := range page.Events {
		var e struct{ ID string }
		_ = json.Unmarshal(raw, &e) // one without an id has none after it
		h.last = e.ID
	}
	return nil
}

// follow puts the events of a conversation on the tape, also when it is closed and opened
// again meanwhile: a plugin that is loaded needs that. Its error is the end.
func (s *Server) follow(h *hub) error {
	for {
		seen, err := s.pump(h)
		if !seen || h.life.Err() != nil || !errors.Is(err, control.ErrReopened) {
			return err
		}
		if err := s.rejoin(h); err != nil {
			return err
		}
	}
}

// rejoin watches the conversation that was opened again, from the last event on that was
// seen of it.
func (s *Server) rejoin(h *hub) error {
	conv, err := s.cfg.Engine.Open(h.life, h.id)
	if err != nil {
		return err
	}
	after := h.last
	if after == "" {
		after = agentapi.FromStart
	}
	stream, err := conv.Watch(h.life, after)
	if err != nil {
		return errors.Join(err, conv.Close())
	}
	_ = h.stream.Close() // it has ended
	h.stream = stream
	h.move(conv)
	return nil
}

// move replaces the opening of the conversation that the hub follows; nil: it
// follows none.
func (h *hub) move(conv control.Conversation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = h.conv.Close() // Only its handle goes.
	if h.over = conv == nil; !h.over {
		h.conv = conv
	}
	close(h.moved)
	h.moved = make(chan struct{})
}

// current is the present opening of the conversation, and what is closed when another one
// takes its place; nil if none will.
func (h *hub) current() (conv control.Conversation, moved <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return h.conv, nil
	}
	return h.conv, h.moved
}

// add puts a message of a client into the conversation. One that comes while the
// conversation is closed waits until it is open again.
func (h *hub) add(ctx context.Context, m control.Message) error {
	for {
		conv, moved := h.current()
		err := conv.Append(ctx, m, true)
		if moved == nil || !errors.Is(err, control.ErrReopened) {
			return err
		}
		select {
		case <-moved:
		case <-h.life.Done():
			return err
		}
	}
}

// pump puts the events of a stream on the tape. Its error is the end of the stream; seen
// says that it has brought the state, with which it begins.
func (s *Server) pump(h *hub) (seen bool, err error) {
	for ; ; seen = true {
		e, err := h.stream.Next(h.life)
		if err != nil {
			return seen, err
		}
		if e.Persisted() {
			h.last = e.ID
		}
		if !seen || own(e) {
			continue // the first is the state, of which each socket gets its own
		}
		frames, err := s.frames(h, e)
		if err != nil {
			s.cfg.Logger.Error("an event for sockets", "conversation", h.id, "event", e.ID, "err", err)
			continue
		}
		for _, f := range frames {
			h.tape.add(f)
		}
	}
}

// frames are what an event is to the sockets of a hub.
func (s *Server) frames(h *hub, e event.Event) ([]frame, error) {
	if h.session {
		return s.sessionFrames(h, e)
	}
	data, err := h.encode(h.life, e)
	if err != nil {
		return nil, err
	}
	f := frame{data: socket.Frame(data)}
	if e.Persisted() {
		f.id = e.ID
	}
	return []frame{f}, nil
}

// ownPrefix begins the keys of what only ohgw's own clients understand.
const ownPrefix = "ohgw."

func own(e event.Event) bool {
	u, ok := e.Body.(*event.StateUpdate)
	return ok && strings.HasPrefix(u.Key, ownPrefix)
}

// encode is an event as clients get it. The state at the end of a run has all that
// OpenHands has in it.
func (h *hub) encode(ctx context.Context, e event.Event) ([]byte, error) {
	if u, ok := e.Body.(*event.StateUpdate); ok && u.Key == event.KeyFullState {
		value, err := h.state(ctx, u.Value)
		if err != nil {
			return nil, err
		}
		e = event.New(e.ID, e.Timestamp, e.Source, "", &event.StateUpdate{Key: event.KeyFullState, Value: value})
	}
	data, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode an event: %w", err)
	}
	return shape.Listed(data), nil
}

// fill gives the agent and the statistics of a state the members that OpenHands has.
func fill(state map[string]json.RawMessage) error {
	var agent map[string]any
	d := json.NewDecoder(bytes.NewReader(state["agent"]))
	d.UseNumber() // 8.0 stays 8.0
	if d.Decode(&agent) == nil && agent != nil {
		if err := shape.Agent(agent); err != nil {
			return fmt.Errorf("fill the agent in: %w", err)
		}
		data, err := json.Marshal(agent)
		if err != nil {
			return fmt.Errorf("encode the agent: %w", err)
		}
		state["agent"] = data
	}
	if len(state["stats"]) > 0 {
		stats, err := shape.Stats(state["stats"])
		if err != nil {
			return fmt.Errorf("fill the statistics in: %w", err)
		}
		state["stats"] = stats
	}
	return nil
}

// state reads the state of the conversation, with those members as they are in at, which
// change from run to run.
func (h *hub) state(ctx context.Context, at json.RawMessage) (json.RawMessage, error) {
	conv, _ := h.current()
	record, err := conv.Record(ctx)
	if errors.Is(err, control.ErrReopened) {
		record, err = h.engine.Record(ctx, h.id)
	}
	if err != nil {
		return nil, fmt.Errorf("read the state: %w", err)
	}
	var state, then map[string]json.RawMessage
	if err := json.Unmarshal(record.State, &state); err != nil {
		return nil, fmt.Errorf("decode the state: %w", err)
	}
	if len(at) > 0 {
		if err := json.Unmarshal(at, &then); err != nil {
			return nil, fmt.Errorf("decode the state of an event: %w", err)
		}
	}
	for _, name := range []string{"execution_status", "last_user_message_id", "leaf_event_id"} {
		if v, ok := then[name]; ok {
			state[name] = v
		}
	}
	if err := fill(state); err != nil {
		return nil, err
	}
	for name, v := range state {
		if string(v) == "null" {
			delete(state, name)
		} else {
			state[name] = wire.WithoutNulls(v)
		}
	}
	value, err := json.Marshal(state)
	if err != nil {
		return nil, fmt.Errorf("encode the state: %w", err)
	}
	return value, nil
}
