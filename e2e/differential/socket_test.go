//go:build e2e

package differential_test

import (
	"context"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// question is a frame that no server understands. Its answer comes behind everything
// that the server has to say until then, so nothing has to be waited for by time.
const question = `{}`

// listener reads one socket of a side.
type listener struct {
	t      *testing.T
	side   *side
	conn   *websocket.Conn
	answer any   // to the question; nil until it was asked
	heard  []any // without the answers, and without what is not fixed in time
	closed bool
}

// socket opens a socket, sends what stands behind its path, and gives the frames until
// the end of what that has begun, or how the socket was closed.
func (s *side) socket(t *testing.T, rest string) any {
	t.Helper()
	path, send, _ := strings.Cut(s.fill(rest), " ")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	header := http.Header{}
	if word, more, _ := strings.Cut(send, " "); strings.HasPrefix(send, "@") {
		name, value, _ := strings.Cut(word[1:], ":")
		header.Set(name, value)
		send = more
	}
	conn, resp, err := websocket.Dial(ctx, strings.Replace(s.url, "http", "ws", 1)+path, &websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		if resp == nil {
			t.Fatalf("%s: socket %s: %v", s.name, path, err)
		}
		return map[string]any{"handshake": float64(resp.StatusCode)}
	}
	defer func() { _ = conn.CloseNow() }() // It was only read.
	conn.SetReadLimit(64 << 20)
	l := &listener{t: t, side: s, conn: conn, heard: []any{}}
	if len(header) == 0 && send != "" { // the first frame says who the client is
		l.send(ctx, send)
		send = ""
	}
	l.ask(ctx)
	if send != "" {
		l.send(ctx, send)
		if over := end(send); over != nil {
			l.until(ctx, over)
		}
		l.ask(ctx)
	}
	return l.heard
}

// end says with which frame ends what a frame has begun, or is nil if it begins nothing.
func end(sent string) func(frame map[string]any) bool {
	switch {
	case strings.Contains(sent, `"role":"user"`): // a run
		return func(frame map[string]any) bool {
			state, _ := frame["value"].(map[string]any)
			status, _ := state["execution_status"].(string)
			return frame["key"] == "full_state" && status != "running"
		}
	case strings.Contains(sent, `"command"`):
		return func(frame map[string]any) bool { return frame["kind"] == "BashOutput" && frame["exit_code"] != nil }
	}
	return nil
}

func (l *listener) send(ctx context.Context, text string) {
	_ = l.conn.Write(ctx, websocket.MessageText, []byte(text)) // a socket that was closed says so when it is read
}

// ask sends the question and hears everything in front of its answer.
func (l *listener) ask(ctx context.Context) {
	l.t.Helper()
	l.send(ctx, question)
	l.until(ctx, func(frame map[string]any) bool {
		if kind := frame["kind"]; l.answer == nil && (kind == "ServerErrorEvent" || kind == "BashError") {
			l.answer = frame
		}
		return reflect.DeepEqual(l.answer, any(frame))
	})
}

// until hears what comes, with the frame for which over is true, or with how the socket
// was closed.
func (l *listener) until(ctx context.Context, over func(frame map[string]any) bool) {
	l.t.Helper()
	for !l.closed {
		_, data, err := l.conn.Read(ctx)
		if err != nil {
			if ctx.Err() != nil {
				l.t.Fatalf("%s: nothing more comes on a socket behind %s", l.side.name, kinds(l.heard))
			}
			l.closed = true
			l.heard = append(l.heard, closing(err))
			return
		}
		frame := normalized(string(data), l.side.known())
		o, _ := frame.(map[string]any)
		done := over(o)
		if !untimed(frame) && !reflect.DeepEqual(l.answer, frame) {
			l.heard = append(l.heard, frame)
		}
		if done {
			return
		}
	}
}

// closing is how a socket was closed.
func closing(err error) any {
	if code := websocket.CloseStatus(err); code != -1 {
		return map[string]any{"closed": float64(code)}
	}
	return map[string]any{"closed": "without a code"}
}
