// Package socket opens the WebSockets of OpenHands' own API: who is let in, and by
// which of the three forms of its key.
package socket

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/coder/websocket"
)

// KeyParameter is the query that carries a key: the oldest of the three forms.
const KeyParameter = "session_api_key"

const (
	// authTimeout is how long a client may take to send its key, as with an
	// agent-server.
	authTimeout = 10 * time.Second
	// maxAuth bounds the frame with a key, in bytes.
	maxAuth = 8 << 10
	// maxUp bounds a frame of a client, in bytes.
	maxUp = 16 << 20
)

// The close codes of an agent-server.
const (
	Unauthorized websocket.StatusCode = 4001
	NotFound     websocket.StatusCode = 4004
	Restart      websocket.StatusCode = 1012
	TryLater     websocket.StatusCode = 1013
)

// WriteTimeout is how long one frame may take to reach its reader.
const WriteTimeout = 30 * time.Second

// KeyOf is the key in the query of a socket; empty if it has none.
func KeyOf(r *http.Request) string { return r.URL.Query().Get(KeyParameter) }

// Accept takes the socket of a client, whose connection ends soon after life does. Its
// origin was checked with the request.
func Accept(life context.Context, w http.ResponseWriter, r *http.Request) (*websocket.Conn, error) {
	return accept(limited{w, life}, r)
}

func accept(w http.ResponseWriter, r *http.Request) (*websocket.Conn, error) {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return nil, fmt.Errorf("accept socket: %w", err)
	}
	conn.SetReadLimit(maxUp)
	return conn, nil
}

// Introduced reads the first frame, which must be a key that lets its client in. The
// socket is closed with 4001 if it is not.
func Introduced(ctx context.Context, client *websocket.Conn, let func(key string) bool) bool {
	ctx, cancel := context.WithTimeout(ctx, authTimeout)
	defer cancel()
	_, frame, err := client.Read(ctx)
	if err == nil && len(frame) <= maxAuth {
		if key, ok := AuthFrame(frame); ok && let(key) {
			return true
		}
	}
	_ = client.Close(Unauthorized, "Authentication failed")
	return false
}

// AuthFrame reads {"type":"auth","session_api_key":"…"}.
func AuthFrame(frame []byte) (key string, ok bool) {
	var auth struct {
		Type string `json:"type"`
		Key  string `json:"session_api_key"`
	}
	if json.Unmarshal(frame, &auth) != nil || auth.Type != "auth" {
		return "", false
	}
	return auth.Key, true
}
