package llmtest

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server is a scripted LLM. Its methods may be used from any goroutine.
type Server struct {
	URL string // base URL for an OpenAI client: http://127.0.0.1:PORT/v1

	t        testing.TB // nil outside tests
	name     string     // random: ids of two servers may meet in a conversation
	http     *http.Server
	serving  sync.WaitGroup
	inFlight sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	key      string   // "" takes any
	models   []string // that it lists
	routes   []*route
	strict   bool // Reply was called: the script must fit exactly
	script   []Reply
	requests []*Request
	arrived  chan struct{} // closed and replaced with every request
	answers  int           // for ids
	failed   map[[sha256.Size]byte]int
}

// Match chooses requests. It must not call the server.
type Match func(*Request) bool

// Says matches requests whose newest user message contains text.
func Says(text string) Match {
	return func(r *Request) bool { return strings.Contains(r.UserText(), text) }
}

// Model matches requests for the model with that name.
func Model(name string) Match {
	return func(r *Request) bool { return r.Model == name }
}

type route struct {
	match   Match
	replies []Reply
}

// New starts a server on a free port of the loopback. When the test ends, the
// server closes, and replies that no client asked for fail the test.
func New(t testing.TB) *Server {
	t.Helper()
	s, err := start("127.0.0.1:0", t)
	if err != nil {
		t.Fatalf("llmtest: %v", err)
	}
	t.Cleanup(func() {
		s.Close()
		if left := len(s.script); left > 0 {
			t.Errorf("llmtest: %d scripted replies were never asked for", left)
		}
	})
	return s
}

// Start starts a server that belongs to no test, on a TCP address such as
// 127.0.0.1:0. Close ends it.
func Start(addr string) (*Server, error) { return start(addr, nil) }

func start(addr string, t testing.TB) (*Server, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("start scripted LLM: %w", err)
	}
	s := &Server{
		URL:     "http://" + listener.Addr().String() + "/v1",
		t:       t,
		name:    rand.Text()[:8],
		models:  []string{"test"},
		arrived: make(chan struct{}),
		failed:  map[[sha256.Size]byte]int{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.locked(s.chat))
	mux.HandleFunc("GET /v1/models", s.locked(s.listModels))
	mux.HandleFunc("GET /requests", s.listRequests)
	mux.HandleFunc("DELETE /requests", func(http.ResponseWriter, *http.Request) { s.Forget() })
	s.http = &http.Server{
		Handler:           s.counted(mux),
		ReadHeaderTimeout: patience,
	}
	s.serving.Go(func() { _ = s.http.Serve(listener) })
	return s, nil
}

// Close ends every answer, closes all connections and returns when no handler
// runs any more.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	_ = s.http.Close() // which ends the context of every request
	s.serving.Wait()
	s.inFlight.Wait()
}

// Reply appends replies to the script. From the first call on, every request
// that no On matches takes the next reply, and one past the end fails the test.
func (s *Server) Reply(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.strict = true
	s.script = append(s.script, replies...)
}

// On answers requests that match: the first one with the first reply and so
// on, the last reply for all that follow. Earlier calls of On go first.
func (s *Server) On(match Match, replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.routes = append(s.routes, &route{match, replies})
}

// Requests are the requests so far, in the order of their arrival.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Take returns the requests so far and drops them, so that a long test can count
// them in pieces.
func (s *Server) Take() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.requests
	s.requests = nil
	return taken
}

// Forget drops the requests that were kept: Requests and Await count from here
// on. What is scripted stays.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = nil
}

// Await waits until n requests have arrived and gives the n-th; its answer may
// not have begun. It fails the test if that takes half a minute.
func (s *Server) Await(t testing.TB, n int) *Request {
	t.Helper()
	deadline := time.After(patience)
	for {
		s.mu.Lock()
		requests, arrived := s.requests, s.arrived
		s.mu.Unlock()
		if len(requests) >= n {
			return requests[n-1]
		}
		select {
		case <-arrived:
		case <-deadline:
			t.Fatalf("llmtest: %d requests after %v, want %d", len(requests), patience, n)
		}
	}
}

// counted lets Close wait for the handlers that run.
func (s *Server) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return
		}
		s.inFlight.Add(1)
		s.mu.Unlock()
		defer s.inFlight.Done()
		next.ServeHTTP(w, r)
	})
}

// Models sets the models that the server lists. It answers for any.
func (s *Server) Models(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.models = names
}

// RequireKey refuses requests with another key, as a provider does.
func (s *Server) RequireKey(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = key
}

func (s *Server) locked(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		key := s.key
		s.mu.Unlock()
		if key != "" && r.Header.Get("Authorization") != "Bearer "+key {
			_ = writeFailure(w, Fail(http.StatusUnauthorized, "Incorrect API key provided."))
			return
		}
		next(w, r)
	}
}

var errBroken = errors.New("the script breaks the answer off")

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client left while it was asking
	}
	req, err := parseChat(r.Header, body)
	if err != nil {
		s.complain(err)
		_ = writeFailure(w, Fail(http.StatusBadRequest, err.Error())) // the test has the complaint
		return
	}
	reply, id := s.take(req)
	err = writeChat(r.Context(), w, req, reply, id)
	switch {
	case err == nil:
		req.end(Answered)
	case errors.Is(err, errBroken) || s.isClosed():
		req.end(Broken)
		panic(http.ErrAbortHandler)
	default:
		req.end(ClientLeft)
	}
}

// madeID begins the ids of calls that a script gives none.
const madeID = "call-"

// take keeps the request and chooses its reply.
func (s *Server) take(req *Request) (Reply, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, req)
	close(s.arrived)
	s.arrived = make(chan struct{})
	s.answers++
	id := fmt.Sprintf("%s-%d", s.name, s.answers)
	reply := s.choose(req)
	for i := range reply.Calls {
		if reply.Calls[i].ID == "" {
			reply.Calls[i].ID = fmt.Sprintf("%s%s-%d", madeID, id, i+1)
		}
	}
	return reply, "chatcmpl-" + id
}

// choose takes the next reply: of a route, of the script, or the one that the message
// asks for. The caller holds mu.
func (s *Server) choose(req *Request) Reply {
	for _, route := range s.routes {
		if route.match(req) {
			return pop(&route.replies, 1)
		}
	}
	if !s.strict {
		return s.directed(req)
	}
	if len(s.script) == 0 {
		err := fmt.Errorf("the request is past the end of the script; its newest message: %.200q", req.Last().Text)
		s.complain(err)
		return Fail(http.StatusInternalServerError, "llmtest: "+err.Error())
	}
	return pop(&s.script, 0)
}

// pop takes the first of replies, of which the last keep stay for ever.
func pop(replies *[]Reply, keep int) Reply {
	var first Reply
	if len(*replies) > 0 {
		first = (*replies)[0]
	}
	if len(*replies) > keep {
		*replies = (*replies)[1:]
	}
	first.Calls = slices.Clone(first.Calls)
	return first
}

// directed makes the reply that the newest user message asks for. The caller holds
// mu.
func (s *Server) directed(req *Request) Reply {
	replies, err := Script(req.UserText())
	if err != nil {
		s.complain(err)
		return Fail(http.StatusBadRequest, "llmtest: "+err.Error())
	}
	if len(replies) == 0 {
		return Text(fmt.Sprintf("You said: %.200s", req.UserText()))
	}
	asked := sha256.Sum256(req.messages)
	at := after(replies, req.step()) + s.failed[asked]
	reply := Text("done")
	switch last := replies[len(replies)-1]; {
	case at < len(replies):
		reply = replies[at]
	case last.fails():
		reply = last
	}
	if reply.fails() {
		s.failed[asked]++
	} else {
		delete(s.failed, asked)
	}
	return reply
}

// after is the index behind so many replies that succeeded, those between them
// that failed included.
func after(replies []Reply, succeeded int) int {
	for i, r := range replies {
		if succeeded == 0 {
			return i
		}
		if !r.fails() {
			succeeded--
		}
	}
	return len(replies) + succeeded
}

func (s *Server) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// complain fails the test, if there is one, for what no script can mean.
func (s *Server) complain(err error) {
	if s.t != nil {
		s.t.Errorf("llmtest: %v", err)
	}
}
