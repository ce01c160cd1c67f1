// Package live serves the sockets of OpenHands' own API on which the events of a
// conversation come, and messages go to it: that of events, and that of the session,
// whose frames have the numbers of events.
//
// A conversation is watched once, whatever the number of its sockets. Each event is
// encoded once, and its bytes go to all of them.
package live

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/daemon/openhandsapi/socket"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
)

// The first parts of the sockets' paths behind /sockets/.
const (
	Name    = "events"
	Session = "session"
)

// Config is what the sockets need. Engine, Now and NewID are required.
type Config struct {
	Engine control.Engine
	Now    func() time.Time
	NewID  func() string
	// Ping is how often a client is asked whether it is there; 0: every 30 s.
	Ping time.Duration
	// Lag is by how many frames a socket may be behind before it is dropped; 0: 4096.
	Lag    int
	Logger *slog.Logger
}

// pingEvery is the time between two questions whether a client is there.
const pingEvery = 30 * time.Second

// Server answers the sockets. Make one with New, end it with Close.
type Server struct {
	cfg   Config
	life  context.Context
	close context.CancelFunc

	mu    sync.Mutex
	hubs  map[topic]*hub
	pumps sync.WaitGroup // of hubs and of sockets
}

// New makes a server.
func New(cfg Config) *Server {
	if cfg.Ping == 0 {
		cfg.Ping = pingEvery
	}
	if cfg.Lag == 0 {
		cfg.Lag = maxLag
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{cfg: cfg, hubs: make(map[topic]*hub)}
	s.life, s.close = context.WithCancel(context.Background())
	return s
}

// Close ends the sockets with the code for a restart.
func (s *Server) Close() error {
	s.mu.Lock()
	s.close()
	s.mu.Unlock()
	s.pumps.Wait()
	return nil
}

var (
	errClosing = errors.New("ohgw is shutting down")
	errSlow    = errors.New("the client reads too slowly")
)

// Socket implements native.Sockets.
func (s *Server) Socket(w http.ResponseWriter, r *http.Request, admitted bool, let func(key string) bool) {
	watch, err := readWatch(r)
	if err != nil {
		// What an agent-server answers to a handshake that it does not understand.
		wire.Fail(s.cfg.Logger, w, r, &wire.Error{Status: http.StatusForbidden, Err: err})
		return
	}
	s.mu.Lock()
	if s.life.Err() != nil {
		s.mu.Unlock()
		wire.Fail(s.cfg.Logger, w, r, &wire.Error{Status: http.StatusServiceUnavailable})
		return
	}
	s.pumps.Add(1)
	s.mu.Unlock()
	defer s.pumps.Done()
	conn, err := socket.AcceptShared(s.life, w, r)
	if err != nil {
		return // it has answered
	}
	defer func() { _ = conn.CloseNow() }() // after its end, in whatever way
	ctx, cancel := context.WithCancel(s.life)
	defer cancel()
	if !admitted && !socket.Introduced(ctx, conn.Conn, let) {
		return
	}
	if err := s.attend(ctx, conn, watch); !errors.Is(err, errGone) {
		code, reason := ending(err)
		_ = conn.Close(code, reason) // It may have ended first.
	}
}

// attend serves one socket until its end.
func (s *Server) attend(ctx context.Context, conn *socket.Conn, watch watch) error {
	h, err := s.join(ctx, watch.topic)
	if err != nil {
		return err
	}
	defer s.leave(h)
	c := &client{server: s, hub: h, conn: conn, own: make(chan []byte, maxOwn)}
	return c.serve(ctx, watch)
}

// ending is how a socket is closed.
func ending(err error) (websocket.StatusCode, string) {
	switch {
	case errors.Is(err, agentapi.ErrConversationNotFound):
		return socket.NotFound, "Conversation not found"
	case errors.Is(err, errSlow):
		return socket.TryLater, "The client reads too slowly"
	case errors.Is(err, agentapi.ErrBusy), errors.Is(err, agentapi.ErrRefused):
		return socket.TryLater, agentapi.PublicMessage(err, "The conversation cannot be opened")
	}
	return socket.Restart, "ohgw is shutting down"
}

// watch is what a client asks for.
type watch struct {
	topic
	after *int // the session's socket: the number in front of the first event; nil: none

	all   bool   // the whole log first
	since string // those events of the log that are not older; "": not set
}

func readWatch(r *http.Request) (watch, error) {
	kind, text, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/sockets/"), "/")
	id, err := wire.ParseID(text, "path", "conversation_id")
	if err != nil {
		return watch{}, err
	}
	if kind == Session {
		w := watch{topic: topic{id: id, session: true}}
		if r.URL.Query().Get("after_seq") != "" {
			after, err := wire.Int(r, "after_seq", 0, pydantic.Bounds{})
			w.after = &after
			return w, err
		}
		return w, nil
	}
	mode, err := wire.Choice(r, "resend_mode", "", "all", "since")
	if err != nil {
		return watch{}, err
	}
	after, err := wire.LocalTime(r, "after_timestamp")
	if err != nil {
		return watch{}, err
	}
	all, err := wire.Bool(r, "resend_all", false)
	if err != nil {
		return watch{}, err
	}
	w := watch{topic: topic{id: id}, all: mode == "all" || mode == "" && all}
	if mode == "since" {
		w.since = after
	}
	return w, nil
}
