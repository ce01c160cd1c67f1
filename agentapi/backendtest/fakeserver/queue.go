package fakeserver

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/coder/websocket"

	"github.com/ohgw/ohgw/agentapi/event"
)

// subscriber is a socket as a conversation knows it. It is called with the
// conversation's mu held and must not wait.
type subscriber interface {
	// publish gets an event, with its number if it is in the log, else -1.
	publish(e event.Event, seq int)
	// progress gets what becomes of a text while the model writes it.
	progress(p progress)
}

// progress is a frame of the session socket about a text that the model writes.
type progress struct {
	Type    string `json:"type"` // item_started, delta, item_aborted
	ItemID  string `json:"item_id"`
	Attempt int    `json:"attempt"`
	Anchor  *int   `json:"anchor_seq,omitempty"`
	Order   *int   `json:"order,omitempty"`
	Kind    string `json:"kind,omitempty"`
	Content string `json:"content,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// outgoing is a frame that waits to be sent.
type outgoing struct {
	event event.Event // that a [FrameFault] is asked about; zero if there is none
	data  []byte
}

// queue are the frames of a socket.
type queue struct {
	most int // bytes that may wait; 0: no limit
	// full is called once, with the frame that is too much.
	full func()

	mu      sync.Mutex
	frames  []outgoing
	pending int
	wake    chan struct{} // holds one token while there may be something
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

func (q *queue) push(e event.Event, frame any) {
	data, err := json.Marshal(frame)
	if err != nil {
		panic(err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.most > 0 && q.pending+len(data) > q.most {
		q.full()
		return
	}
	q.pending += len(data)
	q.frames = append(q.frames, outgoing{e, data})
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *queue) pop() (outgoing, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.frames) == 0 {
		return outgoing{}, false
	}
	o := q.frames[0]
	q.frames = q.frames[1:]
	q.pending -= len(o.data)
	return o, true
}

// send writes the frames of a queue until the socket or ctx ends.
func (s *Server) send(ctx context.Context, q *queue, ws *websocket.Conn) {
	n := 0
	var late []outgoing
	for ctx.Err() == nil {
		o, ok := q.pop()
		if !ok {
			select {
			case <-q.wake:
			case <-ctx.Done():
				return
			}
			continue
		}
		n++
		switch s.faults.frame(n, o.event) {
		case Skip:
			continue
		case Late:
			late = append(late, o)
			continue
		case Break:
			_ = ws.CloseNow()
			return
		case Send:
		}
		frames := []outgoing{o}
		if _, ok := o.event.StatusUpdate(); ok {
			frames, late = append(frames, late...), nil
		}
		for _, o := range frames {
			// The end of ctx would break the connection, and it may still be closed properly.
			if ws.Write(context.WithoutCancel(ctx), websocket.MessageText, o.data) != nil {
				return
			}
		}
	}
}
