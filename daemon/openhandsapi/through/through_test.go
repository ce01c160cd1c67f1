package through_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ohgw/ohgw/daemon/openhandsapi/socket"
	"github.com/ohgw/ohgw/daemon/openhandsapi/through"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	serverKey = "server-key-0123456789"
	clientKey = "client-key-0123456789"
)

// server is an agent-server that says what it got.
func server(t *testing.T, h http.HandlerFunc) *url.URL {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// gateway is a handler in front of an agent-server. Sockets let clientKey in.
func gateway(t *testing.T, base *url.URL) (string, *through.Handler) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	h := through.New(through.Config{Base: base, Key: func() string { return serverKey }, Transport: transport})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/sockets/") {
			h.ServeHTTP(w, r)
			return
		}
		key := socket.KeyOf(r)
		h.Socket(w, r, key == clientKey, func(key string) bool { return key == clientKey })
	}))
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		s.Close()
	})
	return s.URL, h
}

// got is what reached the agent-server.
type got struct {
	Method, URI, Key, Auth, Cookie, Origin, Body, Expose string
}

func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	w.Header().Set("Set-Cookie", "oh_workspace_session_key="+serverKey)
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	h := r.Header
	_ = json.NewEncoder(w).Encode(got{
		r.Method, r.RequestURI, h.Get("X-Session-API-Key"), h.Get("Authorization") + h.Get("X-Api-Key") + h.Get("Api-Key"), h.Get("Cookie"),
		h.Get("Origin"), string(body), h.Get("X-Expose-Secrets"),
	})
}

// A server may begin its answer before it has read the end of the request.
func TestAnAnswerMayBeginBeforeTheRequestHasEnded(t *testing.T) {
	t.Parallel()
	at, _ := gateway(t, server(t, func(w http.ResponseWriter, r *http.Request) {
		body := http.NewResponseController(w)
		if err := body.EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		for range 3 {
			piece := make([]byte, 1)
			if _, err := io.ReadFull(r.Body, piece); err != nil {
				return
			}
			_, _ = w.Write(piece)
			_ = body.Flush()
		}
	}))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // without an end the test would wait for one
	defer cancel()
	request, send := io.Pipe()
	defer send.Close()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at+"/api/bash/execute_bash_command", request)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = send.Write([]byte("1")) }()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer := make([]byte, 1)
	for _, want := range []string{"1", "2", "3"} {
		if want != "1" {
			if _, err := send.Write([]byte(want)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := io.ReadFull(resp.Body, answer); err != nil || string(answer) != want {
			t.Fatalf("the answer goes on with %q, %v; want %q", answer, err, want)
		}
	}
	if err := send.Close(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) > 0 {
		t.Errorf("the end of the answer: %q, %v", rest, err)
	}
}

func TestARequestReachesTheServerWithItsKeyAlone(t *testing.T) {
	t.Parallel()
	at, _ := gateway(t, server(t, echo))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, at+"/api/conversations/a%2Fb?x=1&session_api_key="+clientKey, strings.NewReader(`{"title":"t"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"X-Session-API-Key", "X-Api-Key", "Api-Key"} {
		req.Header.Set(name, clientKey)
	}
	req.Header.Set("Authorization", "Bearer "+clientKey)
	req.Header.Set("Cookie", "a=b")
	req.Header.Set("Origin", "https://chat.example.org")
	req.Header.Set("X-Expose-Secrets", "encrypted")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // It was only read.
	var reached got
	if err := json.NewDecoder(resp.Body).Decode(&reached); err != nil {
		t.Fatal(err)
	}
	want := got{Method: http.MethodPatch, URI: "/api/conversations/a%2Fb?x=1", Key: serverKey, Body: `{"title":"t"}`, Expose: "encrypted"}
	if diff := cmp.Diff(want, reached); diff != "" {
		t.Error(diff)
	}
	if resp.StatusCode != http.StatusCreated {
		t.Errorf("status %d, want the server's 201", resp.StatusCode)
	}
	for _, name := range []string{"Set-Cookie", "Access-Control-Allow-Origin"} {
		if v := resp.Header.Get(name); v != "" {
			t.Errorf("the client got %s of the agent-server", name)
		}
	}
}

// failure is the answer to a request, in the form of the agent-server.
func failure(t *testing.T, at, path string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // It was only read.
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(text))
}

func TestFailuresHaveTheServersForm(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	base, err := url.Parse(gone.URL)
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	at, _ := gateway(t, base)
	for path, want := range map[string]struct {
		status int
		body   string
	}{
		"/api/settings": {http.StatusBadGateway, `{"detail":"Internal Server Error","exception":"502: The agent-server does not answer; ohgw doctor finds out why."}`},
		"/api/auth/workspace-session": {
			http.StatusNotImplemented,
			`{"detail":"Internal Server Error","exception":"501: ohgw has no workspace sessions; send X-Session-API-Key with each request."}`,
		},
		"/api/file/%2e%2e/../v1/models": {http.StatusBadRequest, `{"detail":"The path must not contain \"..\"."}`},
	} {
		if status, body := failure(t, at, path); status != want.status || body != want.body {
			t.Errorf("%s: status = %d, body = %s, want %d %s", path, status, body, want.status, want.body)
		}
	}
}

// talk is a socket of an agent-server: it says its key and its query, then repeats
// what it is told, and ends with 4004 when told "unknown".
func talk(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/bad") {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	ctx := r.Context()
	if conn.Write(ctx, websocket.MessageText, []byte(r.Header.Get("X-Session-API-Key")+" "+r.URL.RawQuery)) != nil {
		return
	}
	for {
		kind, frame, err := conn.Read(ctx)
		if err != nil {
			return
		}
		if string(frame) == "unknown" {
			_ = conn.Close(4004, "Conversation not found")
			return
		}
		if conn.Write(ctx, kind, frame) != nil {
			return
		}
	}
}

// dial opens a socket; the error of the answer is what is tested.
func dial(t *testing.T, at, path string) (*websocket.Conn, int) {
	t.Helper()
	conn, resp, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(at, "http")+path, nil)
	if err != nil && resp == nil {
		t.Fatal(err)
	}
	if err == nil {
		t.Cleanup(func() { _ = conn.CloseNow() })
	}
	return conn, resp.StatusCode
}

func say(t *testing.T, conn *websocket.Conn, text string) {
	t.Helper()
	if err := conn.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, conn *websocket.Conn, want string) {
	t.Helper()
	_, frame, err := conn.Read(t.Context())
	if err != nil || string(frame) != want {
		t.Fatalf("heard %q, %v; want %q", frame, err, want)
	}
}

func closedWith(t *testing.T, conn *websocket.Conn, want websocket.StatusCode) {
	t.Helper()
	_, frame, err := conn.Read(context.WithoutCancel(t.Context()))
	if code := websocket.CloseStatus(err); code != want {
		t.Errorf("closed with %d (%v, %q), want %d", code, err, frame, want)
	}
}

const auth = `{"type":"auth","session_api_key":"` + clientKey + `"}`

func TestASocketInEachFormOfKey(t *testing.T) {
	t.Parallel()
	at, _ := gateway(t, server(t, talk))
	for name, open := range map[string]func() *websocket.Conn{
		"query": func() *websocket.Conn {
			conn, _ := dial(t, at, "/sockets/events/x?resend_mode=all&session_api_key="+clientKey)
			return conn
		},
		"first frame": func() *websocket.Conn {
			conn, _ := dial(t, at, "/sockets/events/x?resend_mode=all")
			say(t, conn, auth)
			return conn
		},
	} {
		t.Run(name, func(t *testing.T) {
			conn := open()
			hear(t, conn, serverKey+" resend_mode=all")
			say(t, conn, auth) // one too many, which must not get further
			say(t, conn, "hello")
			hear(t, conn, "hello")
			say(t, conn, "unknown")
			closedWith(t, conn, 4004)
		})
	}
}

func TestASocketThatIsRefused(t *testing.T) {
	t.Parallel()
	at, _ := gateway(t, server(t, talk))
	for _, frame := range []string{`{"type":"auth","session_api_key":"wrong"}`, "hello", `{"type":"auth"}`, strings.Repeat(" ", 9<<10) + auth} {
		conn, _ := dial(t, at, "/sockets/events/x")
		say(t, conn, frame)
		closedWith(t, conn, 4001)
	}
	if _, status := dial(t, at, "/sockets/events/bad?session_api_key="+clientKey); status != http.StatusForbidden {
		t.Errorf("status %d of a bad path, want the server's 403", status)
	}
	for _, path := range []string{"/sockets/events/%2e%2e", "/sockets/%2e%2e/events/x?session_api_key=" + clientKey} {
		if _, status := dial(t, at, path); status != http.StatusBadRequest {
			t.Errorf("%s: status = %d, want 400", path, status)
		}
	}
}

func TestSocketsEndWithARestart(t *testing.T) {
	t.Parallel()
	at, h := gateway(t, server(t, talk))
	conn, _ := dial(t, at, "/sockets/events/x?session_api_key="+clientKey)
	hear(t, conn, serverKey+" ")
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	closedWith(t, conn, 1012)
}

func TestASocketOfAServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	base, err := url.Parse(gone.URL)
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	at, _ := gateway(t, base)
	if _, status := dial(t, at, "/sockets/events/x?session_api_key="+clientKey); status != http.StatusBadGateway {
		t.Errorf("status %d, want 502", status)
	}
	conn, _ := dial(t, at, "/sockets/events/x")
	say(t, conn, auth)
	closedWith(t, conn, websocket.StatusInternalError)
}

func TestAServerThatDiesEndsItsSockets(t *testing.T) {
	t.Parallel()
	at, _ := gateway(t, server(t, func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		_ = conn.CloseNow()
	}))
	conn, _ := dial(t, at, "/sockets/events/x?session_api_key="+clientKey)
	closedWith(t, conn, 1012)
}

func TestAGetThatMeetsATornFileIsMadeAgain(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	at, _ := gateway(t, server(t, func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		if strings.HasSuffix(r.URL.Path, "/broken") || n < 3 {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, `{"detail":"Internal Server Error","exception":"`+strings.TrimPrefix(r.URL.Path, "/api/")+`"}`)
			return
		}
		_, _ = io.WriteString(w, "whole")
	}))
	for _, tt := range []struct {
		method, path string
		status       int
		asked        int64
	}{
		{http.MethodGet, "/api/json_invalid", http.StatusOK, 3},
		{http.MethodGet, "/api/broken", http.StatusInternalServerError, 1},
		{http.MethodPost, "/api/json_invalid/broken", http.StatusInternalServerError, 1},
		{http.MethodGet, "/api/json_invalid/broken", http.StatusInternalServerError, 11},
	} {
		asked.Store(0)
		req, err := http.NewRequestWithContext(t.Context(), tt.method, at+tt.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close() // It was only read.
		if resp.StatusCode != tt.status || asked.Load() != tt.asked || err != nil || len(body) == 0 {
			t.Errorf("%s %s: %d after %d requests, want %d after %d (%q, %v)", tt.method, tt.path, resp.StatusCode, asked.Load(), tt.status, tt.asked, body, err)
		}
	}
}
