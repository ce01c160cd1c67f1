package shell_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/daemon/openhandsapi"
	"github.com/ohgw/ohgw/daemon/openhandsapi/shell"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// starter runs commands as the user; nowhere is a directory that is not there.
type starter struct{ box sandbox.Box }

const nowhere = "/nowhere"

func (s starter) Start(ctx context.Context, command, dir string, stdout, stderr *os.File) (shell.Process, error) {
	if dir == nowhere {
		return nil, errors.New("there is no directory " + dir)
	}
	return s.box.Start(ctx, sandbox.Program{
		Args: []string{"/bin/sh", "-c", command}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: dir, Files: []*os.File{nil, stdout, stderr},
	})
}

// world is the API over a shell.
type world struct {
	t   *testing.T
	dir string
	api *openhandsapi.Handler
}

func newWorld(t *testing.T, dir string, now func() time.Time) *world {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the commands are for a Unix shell")
	}
	box := sandbox.Outside(sandbox.Off, sandbox.Mark{})
	s := shell.New(shell.Config{Dir: dir, Starter: starter{box}, Now: now})
	w := &world{t: t, dir: dir, api: openhandsapi.New(openhandsapi.Config{Routes: s.Routes(), Sockets: map[string]openhandsapi.Sockets{"bash-events": s}})}
	t.Cleanup(func() {
		if err := errors.Join(w.api.Close(), box.Close()); err != nil {
			t.Error(err)
		}
	})
	return w
}

func usual(t *testing.T) *world {
	t.Helper()
	return newWorld(t, filepath.Join(t.TempDir(), "events"), time.Now)
}

// event has the fields of all kinds.
type event struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind"`
	Time      time.Time `json:"timestamp"`
	Line      string    `json:"command"`
	Dir       *string   `json:"cwd"`
	Timeout   int       `json:"timeout"`
	Command   string    `json:"command_id"`
	Order     int       `json:"order"`
	Exit      *int      `json:"exit_code"`
	Stdout    *string   `json:"stdout"`
	Stderr    *string   `json:"stderr"`
	ErrorCode string    `json:"code"`
}

func text(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

func (w *world) do(method, path, body string, into any) int {
	w.t.Helper()
	res := httptest.NewRecorder()
	w.api.ServeHTTP(res, httptest.NewRequestWithContext(w.t.Context(), method, path, strings.NewReader(body)))
	if into != nil {
		if err := json.Unmarshal(res.Body.Bytes(), into); err != nil {
			w.t.Fatalf("%s %s: %v in %q", method, path, err, res.Body)
		}
	}
	return res.Code
}

func (w *world) execute(body string) event {
	w.t.Helper()
	var e event
	if status := w.do(http.MethodPost, "/api/bash/execute_bash_command", body, &e); status != http.StatusOK || e.Exit == nil {
		w.t.Fatalf("%s: status = %d, want 200, event = %+v", body, status, e)
	}
	return e
}

type page struct {
	Items []event
	Next  *string `json:"next_page_id"`
}

func (w *world) search(query string) page {
	w.t.Helper()
	var p page
	if status := w.do(http.MethodGet, "/api/bash/bash_events/search?"+query, "", &p); status != http.StatusOK {
		w.t.Fatalf("%s: status = %d, want 200", query, status)
	}
	return p
}

func TestCommands(t *testing.T) {
	t.Parallel()
	w := usual(t)
	dir := t.TempDir()
	quoted, err := json.Marshal(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		body           string
		code           int
		stdout, stderr string
	}{
		{`{"command":"echo out; echo err >&2; exit 3"}`, 3, "out\n", "err\n"},
		{`{"command":"pwd","cwd":` + string(quoted) + `}`, 0, dir + "\n", "null"},
		{`{"command":"true","timeout":"5"}`, 0, "null", "null"},
		{`{"command":"printf '\\377'"}`, 0, "\ufffd", "null"},
		{`{"command":"true","cwd":"` + nowhere + `"}`, -1, "null", "Error executing command: there is no directory " + nowhere},
		{`{"command":"echo before; sleep 100","timeout":0.0}`, -1, "", "null"},
	} {
		e := w.execute(tt.body)
		if tt.stdout == "" { // whether there was time for it is not sure
			tt.stdout = text(e.Stdout)
		}
		if *e.Exit != tt.code || text(e.Stdout) != tt.stdout || text(e.Stderr) != tt.stderr || e.Kind != "BashOutput" || e.Order != 0 {
			t.Errorf("%s: exit code = %d, stdout = %q, stderr = %q", tt.body, *e.Exit, text(e.Stdout), text(e.Stderr))
		}
		var command event
		if w.do(http.MethodGet, "/api/bash/bash_events/"+e.Command, "", &command); command.Kind != "BashCommand" || !command.Time.Before(e.Time) {
			t.Errorf("the command of the output: %+v", command)
		}
	}
}

func TestCommandsThatAreNone(t *testing.T) {
	t.Parallel()
	w := usual(t)
	for body, want := range map[string]string{
		`{"cmd":1}`: `[{"type":"missing","loc":["body","command"],"msg":"Field required","input":{"cmd":1}}]`,
		`{"command":1,"cwd":2,"timeout":"x"}`: `[{"type":"string_type","loc":["body","command"],"msg":"Input should be a valid string","input":1},` +
			`{"type":"string_type","loc":["body","cwd"],"msg":"Input should be a valid string","input":2},` +
			`{"type":"int_parsing","loc":["body","timeout"],"msg":"Input should be a valid integer, unable to parse string as an integer","input":"x"}]`,
		`[1]`: `[{"type":"model_attributes_type","loc":["body"],"msg":"Input should be a valid dictionary or object to extract fields from","input":[1]}]`,
		``:    `[{"type":"missing","loc":["body"],"msg":"Field required","input":null}]`,
	} {
		var got struct{ Detail json.RawMessage }
		if status := w.do(http.MethodPost, "/api/bash/start_bash_command", body, &got); status != http.StatusUnprocessableEntity || string(got.Detail) != want {
			t.Errorf("%s: status = %d, want 422, detail = %s", body, status, got.Detail)
		}
	}
	if _, err := os.Stat(w.dir); err == nil {
		t.Error("something was kept")
	}
}

// A program that has left the group of its command holds the output no longer than the
// time for the command.
func TestACommandEndsInTime(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/usr/bin/setsid"); err != nil {
		t.Skip("there is no setsid here")
	}
	e := usual(t).execute(`{"command":"echo here; setsid sleep 100 & wait","timeout":1}`)
	if *e.Exit != -1 || text(e.Stdout) != "here\n" {
		t.Errorf("the exit code = %d, stdout = %q", *e.Exit, text(e.Stdout))
	}
}

func TestLongOutputComesInOrderedEvents(t *testing.T) {
	t.Parallel()
	w := usual(t)
	const chars = 2<<20 + 5
	whole := w.execute(`{"command":"head -c 2097157 /dev/zero | tr '\\0' x; echo err >&2"}`)
	p := w.search("command_id__eq=" + whole.Command)
	last := p.Items[len(p.Items)-1]
	total := 0
	for i, e := range p.Items {
		total += len(text(e.Stdout))
		if e.Order != i || (e.Exit != nil) != (i == 2) {
			t.Errorf("event %d: %d, %v", i, e.Order, e.Exit)
		}
	}
	if len(p.Items) != 3 || total != chars || text(last.Stdout) != "xxxxx" {
		t.Errorf("%d events with %d characters, the last has %.10q", len(p.Items), total, text(last.Stdout))
	}
	if whole.ID != last.ID || len(text(whole.Stdout)) != chars || text(whole.Stderr) != "err\n" || *whole.Exit != 0 {
		t.Errorf("the answer has %d characters: %+v", len(text(whole.Stdout)), whole.Stderr)
	}
	if p := w.search("order__gt=1&limit=1&command_id__eq=" + last.Command); len(p.Items) != 1 || p.Items[0].ID != last.ID || p.Next != nil {
		t.Errorf("after order 1: %d events", len(p.Items))
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	w := newWorld(t, filepath.Join(t.TempDir(), "events"), func() time.Time { return at })
	var lines []string
	for _, name := range []string{"a", "b", "c"} {
		w.execute(`{"command":"echo ` + name + `"}`)
	}
	for query := "limit=4"; ; {
		p := w.search(query)
		for _, e := range p.Items {
			lines = append(lines, e.Line+text(e.Stdout))
		}
		if p.Next == nil {
			break
		}
		query = "limit=4&page_id=" + *p.Next
	}
	if diff := cmp.Diff([]string{"echo anull", "a\n", "echo bnull", "b\n", "echo cnull", "c\n"}, lines); diff != "" {
		t.Error(diff)
	}
	count := map[string]int{
		"": 6, "kind__eq=BashCommand": 3, "sort_order=TIMESTAMP_DESC&limit=5": 5, "timestamp__gte=2026-11-23T10:00:00.000002": 4,
		"timestamp__lt=2026-11-23T12:00:00.000002%2B02:00": 2, "timestamp__gte=2026-11-24": 0, "page_id=unknown": 6,
	}
	for query, want := range count {
		if p := w.search(query); len(p.Items) != want {
			t.Errorf("%s: %d events, want %d", query, len(p.Items), want)
		}
	}
	for _, query := range []string{"limit=0", "limit=101", "kind__eq=X", "sort_order=UP", "command_id__eq=z", "timestamp__lt=q", "order__gt=a"} {
		if status := w.do(http.MethodGet, "/api/bash/bash_events/search?"+query, "", nil); status != http.StatusUnprocessableEntity {
			t.Errorf("%s: status = %d, want 422", query, status)
		}
	}
}

func TestEventsAreKeptAndForgotten(t *testing.T) {
	t.Parallel()
	at := time.Now()
	now := func() time.Time { return at }
	dir := filepath.Join(t.TempDir(), "events")
	old := newWorld(t, dir, now).execute(`{"command":"echo kept"}`)
	if err := os.WriteFile(filepath.Join(dir, "notes"), []byte("the user's"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, dir, now) // as after a restart
	var some []*event
	if w.do(http.MethodGet, "/api/bash/bash_events/", `["`+old.ID+`","x",""]`, &some); len(some) != 3 || some[0] == nil || text(some[0].Stdout) != "kept\n" || some[1] != nil || some[2] != nil {
		t.Errorf("several: %+v", some)
	}
	if status := w.do(http.MethodGet, "/api/bash/bash_events/none", "", nil); status != http.StatusNotFound {
		t.Errorf("an unknown one: %d", status)
	}
	at = at.Add(8 * 24 * time.Hour)
	w.execute(`{"command":"true"}`)
	var cleared struct {
		Count int `json:"cleared_count"`
	}
	if w.do(http.MethodDelete, "/api/bash/bash_events", "", &cleared); cleared.Count != 2 {
		t.Errorf("%d events were left after a week, want those of the last command", cleared.Count)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != "notes" || len(w.search("").Items) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// dial opens the socket. Let lets the key "right" in.
func (w *world) dial(query string, admitted bool) *websocket.Conn {
	w.t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.api.Socket(rw, r, admitted, func(key string) bool { return key == "right" })
	}))
	w.t.Cleanup(server.Close)
	conn, _, err := websocket.Dial(w.t.Context(), "ws"+strings.TrimPrefix(server.URL, "http")+"/sockets/bash-events?"+query, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.CloseNow() })
	return conn
}

func (w *world) next(conn *websocket.Conn) event {
	w.t.Helper()
	_, frame, err := conn.Read(w.t.Context())
	var e event
	if err = errors.Join(err, json.Unmarshal(frame, &e)); err != nil {
		w.t.Fatal(err)
	}
	return e
}

func TestTheSocket(t *testing.T) {
	t.Parallel()
	w := usual(t)
	before := w.execute(`{"command":"echo before"}`)
	conn := w.dial("resend_mode=all", false)
	say := func(frame string) {
		if err := conn.Write(t.Context(), websocket.MessageText, []byte(frame)); err != nil {
			t.Fatal(err)
		}
	}
	say(`{"type":"auth","session_api_key":"right"}`)
	if a, b := w.next(conn), w.next(conn); a.ID != before.Command || b.ID != before.ID {
		t.Errorf("what was before: %+v %+v", a, b)
	}
	say(`{"type":"auth","session_api_key":"right"}`) // has no effect
	say(`{"command":1}`)
	if e := w.next(conn); e.Kind != "BashError" || e.ErrorCode != "ValidationError" {
		t.Errorf("a frame that is no command: %+v", e)
	}
	say(`{`)
	if e := w.next(conn); e.ErrorCode != "JSONDecodeError" {
		t.Errorf("a frame that is not JSON: %+v", e)
	}
	say(`{"command":"echo $((6*7))","timeout":60}`)
	if c, o := w.next(conn), w.next(conn); c.Timeout != 60 || o.Command != c.ID || text(o.Stdout) != "42\n" {
		t.Errorf("a command: %+v %+v", c, o)
	}
	go func() { _ = w.api.Close() }()
	if _, _, err := conn.Read(t.Context()); websocket.CloseStatus(err) != 1012 {
		t.Errorf("the end: %v", err)
	}
}

func TestTheSocketIsForThoseWithAKey(t *testing.T) {
	t.Parallel()
	w := usual(t)
	conn := w.dial("", false)
	if err := conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"auth","session_api_key":"wrong"}`)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := conn.Read(t.Context()); websocket.CloseStatus(err) != 4001 {
		t.Errorf("the error of the closed WebSocket: %v, want 4001", err)
	}
	res := httptest.NewRecorder()
	u := url.URL{Path: "/sockets/bash-events", RawQuery: "resend_mode=some"}
	w.api.Socket(res, httptest.NewRequestWithContext(t.Context(), http.MethodGet, u.String(), nil), true, nil)
	if res.Code != http.StatusForbidden {
		t.Errorf("a bad query: %d", res.Code)
	}
}

func TestTheEndStopsCommands(t *testing.T) {
	t.Parallel()
	w := usual(t)
	conn := w.dial("", true)
	var started event
	w.do(http.MethodPost, "/api/bash/start_bash_command", `{"command":"sleep 100"}`, &started)
	if e := w.next(conn); e.ID != started.ID {
		t.Fatalf("the socket is behind: %+v", e)
	}
	conn.CloseRead(t.Context()) // it answers the close frame
	if err := w.api.Close(); err != nil {
		t.Fatal(err)
	}
	var after struct{ Exception string }
	if status := w.do(http.MethodPost, "/api/bash/start_bash_command", `{"command":"true"}`, &after); status != http.StatusServiceUnavailable {
		t.Errorf("after the end: %d %s", status, after.Exception)
	}
	if p := w.search("command_id__eq=" + started.ID); len(p.Items) != 1 || *p.Items[0].Exit != -1 {
		t.Errorf("the output: %+v", p.Items)
	}
}

// A command is ended by its id, and the others go on.
func TestACommandIsStopped(t *testing.T) {
	t.Parallel()
	w := usual(t)
	var one, other event
	if code := w.do(http.MethodPost, "/api/bash/start_bash_command", `{"command":"echo begun; sleep 1000"}`, &one); code != http.StatusOK {
		t.Fatalf("the start: %d", code)
	}
	w.do(http.MethodPost, "/api/bash/start_bash_command", `{"command":"sleep 1000"}`, &other)
	path := func(id string) string { return "/api/bash/bash_commands/" + id + "/stop" }
	for range 2 { // one that has ended is fine, too
		if code := w.do(http.MethodPost, path(one.ID), "", nil); code != http.StatusOK {
			t.Errorf("stopped: %d", code)
		}
	}
	outputs := func(id string) (last event, n int) {
		p := w.search("kind__eq=BashOutput&command_id__eq=" + id)
		for _, e := range p.Items {
			last = e
		}
		return last, len(p.Items)
	}
	if last, _ := outputs(one.ID); last.Exit == nil || *last.Exit != -1 {
		t.Errorf("the last output: %+v", last)
	}
	if last, n := outputs(other.ID); n != 0 {
		t.Errorf("the other command has ended: %+v", last)
	}
	for id, want := range map[string]int{"7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11": http.StatusNotFound, "x": http.StatusUnprocessableEntity} {
		if code := w.do(http.MethodPost, path(id), "", nil); code != want {
			t.Errorf("%s: status = %d, want %d", id, code, want)
		}
	}
}
