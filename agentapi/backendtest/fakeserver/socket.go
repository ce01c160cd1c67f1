package fakeserver

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/ohgw/ohgw/agentapi/event"
)

// subscriber is a socket's queue of frames.
type subscriber struct {
	mu    sync.Mutex
	queue []event.Event
	wake  chan struct{} // holds one token while the queue may have something
}

func (s *subscriber) push(e event.Event) {
	s.mu.Lock()
	s.queue = append(s.queue, e)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *subscriber) pop() []event.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	queue := s.queue
	s.queue = nil
	return queue
}

const maxSubscribers = 50

// events is GET /sockets/events/{id}.
func (s *Server) events(l *life) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		key, early := r.Header[keyHeader]
		if early && !s.admits(key[0]) {
			http.Error(w, "", http.StatusForbidden)
			return
		}
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = ws.CloseNow() }()
		if !early && s.opts.Key != "" && !s.introduced(l.ctx, ws) {
			_ = ws.Close(4001, "Authentication failed")
			return
		}
		if pause(l.ctx, s.faults.subscribeDelay()) != nil {
			return
		}
		c := s.conversation(r.PathValue("id"))
		if c == nil {
			_ = ws.Close(4004, "Conversation not found")
			return
		}
		sub := &subscriber{wake: make(chan struct{}, 1)}
		if !c.subscribe(sub) {
			_ = ws.Close(websocket.StatusTryAgainLater, "Too many connections for this conversation")
			return
		}
		defer c.unsubscribe(sub)
		ctx, end := context.WithCancel(l.ctx)
		defer end()
		l.wg.Go(func() { attend(ctx, ws, end) })
		s.serve(ctx, c, sub, ws)
	}
}

// introduced waits for the key in the first message.
func (s *Server) introduced(ctx context.Context, ws *websocket.Conn) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, data, err := ws.Read(ctx)
	var auth struct {
		Type string `json:"type"`
		Key  string `json:"session_api_key"`
	}
	return err == nil && json.Unmarshal(data, &auth) == nil && auth.Type == "auth" && s.admits(auth.Key)
}

// attend reads what a client says, pings included, until it leaves. Nothing
// that ohgw says counts: a key too many is ignored.
func attend(ctx context.Context, ws *websocket.Conn, left func()) {
	defer left()
	for {
		if _, _, err := ws.Read(ctx); err != nil {
			return
		}
	}
}

func (c *conversation) subscribe(sub *subscriber) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.life == nil || len(c.subscribers) >= maxSubscribers {
		return false
	}
	c.subscribers[sub] = struct{}{}
	return true
}

func (c *conversation) unsubscribe(sub *subscriber) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.subscribers, sub)
}

// serve writes frames. The first snapshot is taken once the lock is free;
// what happens before is written all the same.
func (s *Server) serve(ctx context.Context, c *conversation, sub *subscriber, ws *websocket.Conn) {
	ready := make(chan struct{})
	c.mu.Lock()
	l := c.life
	c.mu.Unlock()
	if l == nil {
		return
	}
	l.wg.Go(func() {
		defer close(ready)
		if c.hold(ctx) != nil {
			return
		}
		defer c.release()
		c.mu.Lock()
		defer c.mu.Unlock()
		sub.push(c.snapshot())
	})
	defer func() { <-ready }()
	n := 0
	var late []event.Event
	for {
		select {
		case <-sub.wake:
		case <-ctx.Done():
			return
		}
		for _, e := range sub.pop() {
			n++
			switch s.faults.frame(n, e) {
			case Skip:
				continue
			case Late:
				late = append(late, e)
				continue
			case Break:
				_ = ws.CloseNow()
				return
			case Send:
			}
			frames := []event.Event{e}
			if _, ok := e.StatusUpdate(); ok {
				frames, late = append(frames, late...), nil
			}
			if !write(ctx, ws, frames) {
				return
			}
		}
	}
}

func write(ctx context.Context, ws *websocket.Conn, frames []event.Event) bool {
	for _, e := range frames {
		data, err := json.Marshal(e)
		if err != nil || ws.Write(ctx, websocket.MessageText, data) != nil {
			return false
		}
	}
	return true
}
