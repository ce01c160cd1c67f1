package shell

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/coder/websocket"

	"github.com/ohgw/ohgw/daemon/openhandsapi/socket"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/plainjson"
)

const (
	// maxWatchers is how many sockets there may be, as with an agent-server.
	maxWatchers = 50
	// maxBehind is how many events a socket may be behind before it is dropped.
	maxBehind = 256
)

// watcher is a socket that gets the events.
type watcher struct {
	queue chan event
	slow  chan struct{} // closed when the queue was full
}

// publish gives an event to all sockets, without waiting for any. There are none for the
// history of a place.
func (h *history) publish(e event) {
	s := h.shell
	if h != s.all {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watchers {
		select {
		case w.queue <- e:
		default:
			close(w.slow)
			delete(s.watchers, w)
		}
	}
}

// watch begins to collect events for a socket; nil if there are too many, or the shell
// is closed. Each needs unwatch.
func (s *Shell) watch() *watcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.watchers) >= maxWatchers {
		return nil
	}
	w := &watcher{queue: make(chan event, maxBehind), slow: make(chan struct{})}
	s.watchers[w] = struct{}{}
	s.wait.Add(1)
	return w
}

func (s *Shell) unwatch(w *watcher) {
	s.mu.Lock()
	delete(s.watchers, w)
	s.mu.Unlock()
	s.wait.Done()
}

// Socket answers /sockets/bash-events: all events from now on, those before them if
// asked for, and commands in the other direction.
func (s *Shell) Socket(w http.ResponseWriter, r *http.Request, admitted bool, let func(key string) bool) {
	resend, err := resends(r)
	if err != nil {
		wire.Fail(s.cfg.Logger, w, r, err)
		return
	}
	conn, err := socket.Accept(s.ctx, w, r)
	if err != nil {
		return // it was answered
	}
	defer func() { _ = conn.CloseNow() }()
	if !admitted && !socket.Introduced(s.ctx, conn, let) {
		return
	}
	watcher := s.watch()
	if watcher == nil {
		_ = conn.Close(socket.TryLater, "Too many bash event connections")
		return
	}
	defer s.unwatch(watcher)
	ctx, cancel := context.WithCancel(context.Background()) // the close frame is sent after the shell's end
	defer cancel()
	frames := make(chan []byte)
	go s.readFrames(ctx, cancel, conn, frames)
	s.serve(ctx, conn, watcher, frames, resend)
}

// resends reads the query. Without an upgrade, the answer is that of a handshake.
func resends(r *http.Request) (bool, error) {
	q := r.URL.Query()
	switch q.Get("resend_mode") {
	case "all":
		return true, nil
	case "":
	default:
		return false, wire.Refuse(http.StatusForbidden, "resend_mode must be \"all\".")
	}
	switch strings.ToLower(q.Get("resend_all")) {
	case "1", "true", "t", "yes", "y", "on":
		return true, nil
	}
	return false, nil
}

// readFrames starts the commands that come. What is wrong with a frame goes back.
func (s *Shell) readFrames(ctx context.Context, cancel context.CancelFunc, conn *websocket.Conn, answers chan<- []byte) {
	defer cancel()
	for {
		_, frame, err := conn.Read(ctx)
		if err != nil {
			return
		}
		answer := s.frame(frame)
		if answer == nil {
			continue
		}
		select {
		case answers <- answer:
		case <-ctx.Done():
			return
		}
	}
}

// frame starts the command of a frame; what it returns goes back.
func (s *Shell) frame(frame []byte) []byte {
	if isAuth(frame) {
		return nil
	}
	code, detail := "", ""
	if !json.Valid(frame) {
		code, detail = "JSONDecodeError", "the frame is not JSON"
	} else if q, err := readRequest(frame); err != nil {
		code, detail = "ValidationError", messages(err)
	} else if _, _, err := s.all.start(q); err != nil {
		code, detail = "RuntimeError", err.Error()
	} else {
		return nil
	}
	data, err := plainjson.Marshal(failure{header: headerAt(s.cfg.Now().UTC()), Code: code, Detail: detail, Kind: kindError})
	if err != nil {
		return nil
	}
	return data
}

// messages are those of all that is wrong with a frame.
func messages(err error) string {
	var texts []string
	if e, ok := errors.AsType[*pydantic.Error](err); ok {
		for _, fault := range e.Faults {
			texts = append(texts, fault.Msg)
		}
	}
	return strings.Join(texts, "; ")
}

// isAuth says that a frame has only the key that was asked for before.
func isAuth(frame []byte) bool {
	var fields map[string]json.RawMessage
	if _, ok := socket.AuthFrame(frame); !ok || json.Unmarshal(frame, &fields) != nil {
		return false
	}
	delete(fields, "type")
	delete(fields, "session_api_key")
	return len(fields) == 0
}

// serve writes the events until the socket or the shell ends.
func (s *Shell) serve(ctx context.Context, conn *websocket.Conn, w *watcher, frames <-chan []byte, resend bool) {
	sent := ""
	if resend {
		var err error
		if sent, err = s.resend(ctx, conn); err != nil {
			return
		}
	}
	for {
		var err error
		select {
		case e := <-w.queue:
			if e.name > sent { // it was not among those before
				err = send(ctx, conn, e.data)
			}
		case data := <-frames:
			err = send(ctx, conn, data)
		case <-w.slow:
			_ = conn.Close(socket.TryLater, "The client is too slow")
			return
		case <-s.ctx.Done():
			_ = conn.Close(socket.Restart, "The server is shutting down")
			return
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// resend sends the events that there are, and returns the name of the last.
func (s *Shell) resend(ctx context.Context, conn *websocket.Conn) (last string, err error) {
	q := query{limit: maxPageEvents}
	for s.ctx.Err() == nil {
		events, next, err := s.all.events.search(q)
		if err != nil {
			s.cfg.Logger.Error("the events of commands cannot be sent again", "err", err)
			_ = conn.Close(websocket.StatusInternalError, "The events cannot be read")
			return "", err
		}
		for _, e := range events {
			if err := send(ctx, conn, e.data); err != nil {
				return "", err
			}
			q.past = e.name
		}
		if next == "" {
			break
		}
	}
	return q.past, nil
}

func send(ctx context.Context, conn *websocket.Conn, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, socket.WriteTimeout)
	defer cancel()
	return conn.Write(ctx, websocket.MessageText, data)
}
