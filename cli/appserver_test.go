package cli_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// The conversations of a fake app-server: one that runs, one that sleeps, one whose
// sandbox is gone. The ids of the first two begin with digits only.
const (
	awakeID    = "11112222333344445555666677778888"
	asleepID   = "11119999333344445555666677778888"
	archivedID = "abcdef00333344445555666677778888"
)

// appServer is an app-server of OpenHands as its recordings show it, in V0 or V1, with
// the runtime of its conversations at another address.
type appServer struct {
	v0      bool
	runtime string

	mu      sync.Mutex
	awake   map[string]bool
	removed map[string]bool
	said    map[string][]string
	changed map[string]object // what requests have set of a conversation
	fault   string            // a body for every request about conversations; "429 BODY"
	token   int               // how often a login is pending
}

// The keys that it takes.
const (
	appKey     = "app-key-of-the-scripts"
	runtimeKey = "runtime-key-of-the-scripts"
)

// appserver v0|v1 [conversations=N]
//
// Starts a fake app-server and sets CLOUD to its URL and CLOUD_KEY to its key. The
// runtime of its conversations refuses that key.
func cmdAppServer(ts *testscript.TestScript, _ bool, args []string) {
	s := &appServer{v0: args[0] == "v0", awake: map[string]bool{awakeID: true}, removed: map[string]bool{}, said: map[string][]string{}, changed: map[string]object{}}
	app, runtime := httptest.NewUnstartedServer(s.routes()), httptest.NewUnstartedServer(s.runtimeRoutes(ts))
	s.runtime = "http://" + runtime.Listener.Addr().String() // before a handler can read it
	app.Start()
	ts.Defer(app.Close)
	runtime.Start()
	ts.Defer(runtime.Close)
	ts.Setenv("CLOUD", app.URL)
	ts.Setenv("CLOUD_KEY", appKey)
}

type object = map[string]any

func say(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (s *appServer) routes() http.Handler {
	open := http.NewServeMux()
	open.HandleFunc("POST /fault", s.setFault)
	open.HandleFunc("POST /oauth/device/authorize", func(w http.ResponseWriter, _ *http.Request) {
		say(w, 200, object{
			"device_code": "dc", "user_code": "TEAPOT42", "expires_in": 600, "interval": 1,
			"verification_uri": "/oauth/device/verify", "verification_uri_complete": "/oauth/device/verify?user_code=TEAPOT42",
		})
	})
	open.HandleFunc("POST /oauth/device/token", s.issue)
	mux := http.NewServeMux()
	if s.v0 {
		s.routesV0(mux)
	} else {
		open.HandleFunc("GET /api/v1/web-client/config", func(w http.ResponseWriter, _ *http.Request) { say(w, 200, object{"app_mode": "oss"}) })
		s.routesV1(mux)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { say(w, 404, object{"detail": "Not Found"}) })
	open.Handle("/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("X-Session-Api-Key")
		if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
			key = bearer
		}
		s.mu.Lock()
		status, body, broken := strings.Cut(s.fault, " ")
		s.mu.Unlock()
		switch {
		case broken:
			code, _ := strconv.Atoi(status)
			kind := "application/json"
			if strings.HasPrefix(body, "<") {
				kind = "text/html"
			}
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		case key != appKey:
			say(w, 401, object{"detail": "Unauthorized"})
		default:
			mux.ServeHTTP(w, r)
		}
	}))
	return open
}

// setFault makes every answer the body of this request: "STATUS BODY".
func (s *appServer) setFault(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	var fault struct{ Status, Body string }
	_ = json.Unmarshal(text, &fault)
	s.fault = ""
	if fault.Status != "" {
		s.fault = fault.Status + " " + fault.Body
	}
	say(w, 200, true)
}

// issue answers once that the login waits, and then with the key.
func (s *appServer) issue(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token++
	switch {
	case r.PostFormValue("device_code") != "dc":
		say(w, 400, object{"error": "invalid_grant", "error_description": "no such code"})
	case s.token == 1:
		say(w, 400, object{"error": "authorization_pending", "error_description": "wait"})
	case s.token == 3:
		say(w, 400, object{"error": "access_denied", "error_description": "no"})
	default:
		say(w, 200, object{"access_token": appKey, "token_type": "Bearer", "expires_in": nil})
	}
}

// ids are the conversations that are there.
func (s *appServer) ids() []string {
	var list []string
	for _, id := range []string{awakeID, asleepID, archivedID} {
		if !s.removed[id] {
			list = append(list, id)
		}
	}
	return list
}

func (s *appServer) has(id string) bool {
	id = strings.ReplaceAll(id, "-", "")
	return strings.Contains(strings.Join(s.ids(), " "), id) && len(id) == 32
}

// events are the events of a conversation, in the form of its version.
func (s *appServer) events(id string) []object {
	texts := append([]string{"make a file"}, s.said[id]...)
	var list []object
	for _, text := range texts {
		n := len(list)
		at := fmt.Sprintf("2031-02-03T04:05:%02d.789012", n)
		if s.v0 {
			list = append(list,
				object{"id": n, "timestamp": at, "source": "user", "action": "message", "message": text, "args": object{"content": text}},
				object{"id": n + 1, "timestamp": at, "source": "agent", "action": "finish", "message": "", "args": object{"final_thought": "done: " + text}})
			continue
		}
		list = append(list,
			object{"id": fmt.Sprintf("e%d", n), "kind": "MessageEvent", "timestamp": at, "source": "user", "llm_message": object{"role": "user", "content": []object{{"type": "text", "text": text}}}},
			failedOr(text, object{
				"id": fmt.Sprintf("e%d", n+1), "kind": "ActionEvent", "timestamp": at, "source": "agent", "tool_name": "finish", "tool_call_id": "c", "llm_response_id": "r", "thought": []object{},
				"tool_call": object{"id": "c", "name": "finish", "arguments": "{}", "origin": "completion"}, "action": object{"kind": "FinishAction", "message": "done: " + text},
			}))
	}
	return list
}

// fails reports whether the run of a message fails.
func fails(text string) bool { return strings.Contains(text, "fail") }

// failedOr is the last event of a run.
func failedOr(text string, finished object) object {
	if !fails(text) {
		return finished
	}
	return object{"id": finished["id"], "kind": "ConversationErrorEvent", "timestamp": finished["timestamp"], "source": "environment", "code": "LLMAuthenticationError", "detail": "no credit left"}
}

// archive is a zip archive with names and texts in turn.
func archive(parts ...string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(parts); i += 2 {
		f, err := z.Create(parts[i])
		if err == nil {
			_, err = io.WriteString(f, parts[i+1])
		}
		if err != nil {
			panic(err)
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}
