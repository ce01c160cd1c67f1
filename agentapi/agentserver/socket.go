package agentserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/ohgw/ohgw/internal/netcause"
)

const (
	// maxFrame bounds a frame: a full_state holds the agent with all its skills.
	maxFrame = 256 << 20
	// frameBuffer is how many frames wait for the stream while it delivers one.
	frameBuffer = 16

	pingEvery   = 10 * time.Second
	pingTimeout = 20 * time.Second
)

// The close codes of the server.
const (
	closeUnauthorized websocket.StatusCode = 4001
	closeUnknown      websocket.StatusCode = 4004
)

// socket is one WebSocket to the events of a conversation.
type socket struct {
	frames <-chan frame // closed when the socket has ended
	err    error        // why it has; valid once frames is closed

	decode func([]byte) (frame, error)
	conn   *websocket.Conn
	heard  atomic.Int64 // when the server last gave a sign of life, in Unix ns
	now    func() time.Time
	stop   context.CancelFunc
	wg     sync.WaitGroup
}

// errNoUpgrade is a handshake that was answered by something that speaks HTTP
// but not WebSocket, such as a proxy.
var errNoUpgrade = errors.New("server refused the WebSocket upgrade")

// dial opens a socket at a path, to which the conversation is appended. An answer
// other than an upgrade is an *answerError, wrapped in errNoUpgrade where the server
// itself would not have said it.
func (c *conversation) dial(ctx context.Context, path string, query url.Values, decode func([]byte) (frame, error)) (*socket, error) {
	b := c.backend
	header := http.Header{}
	if c.version < sinceFirstMessage {
		b.client.sign(header)
	}
	address := b.client.url(path+url.PathEscape(c.info.ID), query)
	conn, res, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(address, "http"), &websocket.DialOptions{
		HTTPClient: b.client.fresh, HTTPHeader: header,
	})
	if err != nil {
		return nil, dialError(res, err)
	}
	if err := c.introduce(ctx, conn); err != nil {
		_ = conn.CloseNow()
		return nil, fmt.Errorf("open socket: %w", err)
	}
	conn.SetReadLimit(maxFrame)
	// The socket outlives the call: it is ended by close.
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	frames := make(chan frame, frameBuffer)
	s := &socket{frames: frames, decode: decode, conn: conn, now: b.now, stop: stop}
	s.sign()
	s.wg.Go(func() {
		defer close(frames)
		s.err = s.read(life, frames)
		stop()
	})
	s.wg.Go(func() { s.ping(life) })
	return s, nil
}

// introduce sends the key. In a header it would earn a warning in the server's
// log each time; a wrong one is told by a close code.
func (c *conversation) introduce(ctx context.Context, conn *websocket.Conn) error {
	key := c.backend.client.key()
	if key == "" || c.version < sinceFirstMessage {
		return nil
	}
	auth, err := json.Marshal(map[string]string{"type": "auth", "session_api_key": key})
	if err != nil {
		return err
	}
	return conn.Write(ctx, websocket.MessageText, auth)
}

func dialError(res *http.Response, err error) error {
	if res == nil {
		return fmt.Errorf("open socket: %w", netcause.Of(err))
	}
	if res.StatusCode == http.StatusSwitchingProtocols {
		return fmt.Errorf("open socket: %w", err)
	}
	answer := &answerError{status: res.StatusCode}
	if res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden || res.StatusCode == http.StatusServiceUnavailable {
		return fmt.Errorf("open socket: %w", answer)
	}
	return fmt.Errorf("%w: %w", errNoUpgrade, answer)
}

// read hands on frames until the socket ends.
func (s *socket) read(ctx context.Context, frames chan<- frame) error {
	for {
		_, data, err := s.conn.Read(ctx)
		if err != nil {
			return fmt.Errorf("read socket: %w", err)
		}
		s.sign()
		f, err := s.decode(data)
		if err != nil {
			return &unreadableError{err}
		}
		select {
		case frames <- f:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ping notices a server that is there and does nothing any more.
func (s *socket) ping(ctx context.Context) {
	ticker := time.NewTicker(pingEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		limited, cancel := context.WithTimeout(ctx, pingTimeout)
		err := s.conn.Ping(limited)
		cancel()
		if err != nil {
			_ = s.conn.CloseNow() // read fails then
			return
		}
		s.sign()
	}
}

func (s *socket) sign() { s.heard.Store(s.now().UnixNano()) }

// lastHeard is when the server last gave a sign of life.
func (s *socket) lastHeard() time.Time { return time.Unix(0, s.heard.Load()) }

// close ends the socket and returns when nothing of it is left.
func (s *socket) close() {
	s.stop()
	_ = s.conn.CloseNow()
	s.wg.Wait()
}
