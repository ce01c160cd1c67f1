package fakeserver

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/uuid"
)

const maxSubscribers = 50

// socket lets a client in and serves it until it leaves. serve gets the context of
// the socket.
func (s *Server) socket(l *life, serve func(ctx context.Context, c *conversation, ws *websocket.Conn, r *http.Request)) http.HandlerFunc {
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
		if !early && s.opts.Key != "" && !s.admits(firstKey(l.ctx, ws)) {
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
		ctx, end := context.WithCancel(l.ctx)
		defer end()
		l.wg.Go(func() { attend(ctx, ws, end) })
		serve(ctx, c, ws, r)
	}
}

// firstKey waits for the key in the first message; "": there is no key in it.
func firstKey(ctx context.Context, ws *websocket.Conn) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, data, err := ws.Read(ctx)
	var auth struct {
		Type string `json:"type"`
		Key  string `json:"session_api_key"`
	}
	if err != nil || json.Unmarshal(data, &auth) != nil || auth.Type != "auth" {
		return ""
	}
	return auth.Key
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

// subscribe registers a socket, or closes it.
func (c *conversation) subscribe(sub subscriber, ws *websocket.Conn) bool {
	c.mu.Lock()
	room := c.life != nil && len(c.subscribers) < maxSubscribers
	if room {
		c.subscribers[sub] = struct{}{}
	}
	c.mu.Unlock()
	if !room {
		_ = ws.Close(websocket.StatusTryAgainLater, "Too many connections for this conversation")
	}
	return room
}

func (c *conversation) unsubscribe(sub subscriber) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.subscribers, sub)
}

// eventSubscriber is an events socket: its frames are the events themselves.
type eventSubscriber struct{ *queue }

func (s eventSubscriber) publish(e event.Event, _ int) { s.push(e, e) }

func (s eventSubscriber) progress(p progress) {
	if p.Type == typeDelta {
		e := p.event()
		s.push(e, e)
	}
}

// event is a delta as the events socket has it.
func (p progress) event() event.Event {
	return event.New(uuid.New(), stamp(), event.SourceAgent, "", &event.Delta{Content: &p.Content})
}

// events serves GET /sockets/events/{id}. The first snapshot is taken once the lock
// is free; what happens before is written all the same.
func (s *Server) events(ctx context.Context, c *conversation, ws *websocket.Conn, _ *http.Request) {
	sub := eventSubscriber{newQueue()}
	if !c.subscribe(sub, ws) {
		return
	}
	defer c.unsubscribe(sub)
	ctx, end := context.WithCancel(ctx)
	ready := make(chan struct{})
	defer func() { end(); <-ready }()
	c.mu.Lock()
	l := c.life
	c.mu.Unlock()
	if l == nil {
		close(ready)
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
		sub.publish(c.snapshot(), -1)
	})
	s.send(ctx, sub.queue, ws)
}
