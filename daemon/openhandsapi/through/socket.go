package through

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/ohgw/ohgw/daemon/openhandsapi/socket"
	"github.com/ohgw/ohgw/internal/netcause"
)

const (
	// dialTimeout bounds the opening of the socket to the agent-server.
	dialTimeout = 10 * time.Second
	// maxDown bounds a frame of the agent-server, whose full state has the agent with
	// all its skills.
	maxDown = 256 << 20
)

// Socket passes on a WebSocket. let reports whether a key lets its client in; where
// admitted, the request had one already, and a frame with a key is passed over.
func (h *Handler) Socket(w http.ResponseWriter, r *http.Request, admitted bool, let func(key string) bool) {
	if refused(w, r) {
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	ends := context.AfterFunc(h.life, cancel) // until both sockets are there
	defer ends()
	if admitted {
		// The agent-server refuses a bad path or query here, with a status.
		server, status, err := h.dial(ctx, r)
		if err != nil {
			h.refuse(w, status, err)
			return
		}
		client, err := socket.Accept(h.life, w, r)
		if err != nil {
			_ = server.CloseNow()
			return
		}
		ends()
		h.join(r.Context(), client, server)
		return
	}
	client, err := socket.Accept(h.life, w, r)
	if err != nil {
		return // Accept has answered
	}
	if !socket.Introduced(ctx, client, let) {
		return
	}
	server, _, err := h.dial(ctx, r)
	if err != nil {
		h.log.Warn("the agent-server did not open a socket", "err", netcause.Of(err))
		_ = client.Close(websocket.StatusInternalError, "The agent-server does not answer")
		return
	}
	ends()
	h.join(r.Context(), client, server)
}

// dial opens the socket of the agent-server. The status is that of a refusal.
func (h *Handler) dial(ctx context.Context, r *http.Request) (*websocket.Conn, int, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	to := *h.cfg.Base
	to.User, to.Path, to.RawPath = nil, to.Path+r.URL.Path, ""
	to.RawQuery = withoutKey(r.URL.Query())
	header := http.Header{}
	h.sign(header)
	conn, resp, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(to.String(), "http"), &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: h.cfg.Transport, CheckRedirect: never}, HTTPHeader: header,
	})
	if err != nil {
		status := http.StatusBadGateway
		if resp != nil && resp.StatusCode >= http.StatusBadRequest {
			status = resp.StatusCode
		}
		return nil, status, err
	}
	conn.SetReadLimit(maxDown)
	return conn, 0, nil
}

// never follows no redirect: the key would go with it.
func never(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// refuse answers the request for a socket that the agent-server does not open.
func (h *Handler) refuse(w http.ResponseWriter, status int, err error) {
	if status == http.StatusBadGateway || status == http.StatusUnauthorized {
		h.log.Warn("the agent-server did not open a socket", "err", netcause.Of(err))
		WriteError(w, http.StatusBadGateway, "The agent-server does not answer; ohgw doctor finds out why.")
		return
	}
	WriteError(w, status, http.StatusText(status))
}

// join carries frames both ways until one side ends, and tells the other side how.
func (h *Handler) join(ctx context.Context, client, server *websocket.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { // ends with the client, whose end ends the other side
		_ = carry(ctx, server, client, isAuth) // The agent-server is told by the end alone.
		_ = server.CloseNow()
	})
	// A canceled read would end a connection without a word.
	told := make(chan struct{})
	running := context.AfterFunc(h.life, func() {
		defer close(told)
		_ = client.Close(socket.Restart, "ohgw is shutting down")
		_ = server.CloseNow()
	})
	end := carry(ctx, client, server, nil)
	if running() {
		_ = client.Close(end.Code, end.Reason) // It may have ended first.
	} else {
		<-told
	}
	_ = server.CloseNow()
}

// isAuth reports whether a frame of a client that was let in has its key: it must not
// get further.
func isAuth(frame []byte) bool {
	_, ok := socket.AuthFrame(frame)
	return ok
}

// carry copies frames from one socket to another, and returns how the first ended.
func carry(ctx context.Context, to, from *websocket.Conn, skip func(frame []byte) bool) websocket.CloseError {
	for {
		kind, frame, err := from.Read(ctx)
		if err != nil {
			return endOf(err)
		}
		if skip != nil && skip(frame) {
			continue
		}
		if err := write(ctx, to, kind, frame); err != nil {
			return websocket.CloseError{Code: websocket.StatusTryAgainLater, Reason: "The client reads too slowly"}
		}
	}
}

func write(ctx context.Context, to *websocket.Conn, kind websocket.MessageType, frame []byte) error {
	ctx, cancel := context.WithTimeout(ctx, socket.WriteTimeout)
	defer cancel()
	return to.Write(ctx, kind, frame)
}

// endOf is how a socket ended, in a form that can be sent.
func endOf(err error) websocket.CloseError {
	if c, ok := errors.AsType[websocket.CloseError](err); ok {
		switch c.Code {
		case websocket.StatusNoStatusRcvd, websocket.StatusAbnormalClosure, websocket.StatusTLSHandshake:
			return websocket.CloseError{Code: websocket.StatusNormalClosure}
		}
		return c
	}
	return websocket.CloseError{Code: socket.Restart, Reason: "The agent-server closed the connection"}
}
