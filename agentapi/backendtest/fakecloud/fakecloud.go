// Package fakecloud is an app-server of OpenHands in this process, as OpenHands
// Cloud runs one: its conversations live in sandboxes, and each sandbox is an
// agent-server of package fakeserver. It has what a real one on one machine does
// not do by itself: sandboxes that fall asleep, wake at another address with
// another key, or are gone, limits of requests, and web pages in place of answers.
//
// Its sandboxes refuse to hear its own API key, and it those of its sandboxes: a client
// that sends one to the other fails the test.
//
// The contract suite of backendtest runs against it as against a real one.
package fakecloud

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
)

// Options say which server it is.
type Options struct {
	Key     string // the API key; "" wants none
	Hosted  bool   // takes the key as Bearer, and answers unknown paths with a web page
	Sandbox string // version of the agent-servers in the sandboxes; default "1.34.0"
	Confirm bool   // every action of an agent waits for a confirmation
	Grouped bool   // all conversations share a sandbox, as the settings of a server can have it
	Newer   bool   // conversations have a member that clients do not know
	// Model thinks for all conversations, in place of a chat completions API.
	Model fakeserver.Model
}

// Server is a fake app-server. Its methods may be called from any goroutine.
type Server struct {
	URL string

	t    testing.TB
	opts Options

	mu            sync.Mutex
	http          *http.Server
	serving       sync.WaitGroup
	profiles      map[string]fakeserver.Profile
	standard      string // the profile whose LLM is in the settings
	active        string
	conversations map[string]*conversation
	sandboxes     map[string]*sandbox
	tasks         map[string]*task
	steps         []string // that a start task goes through, one at each look
	failure       string   // why the next start fails
	faults        []*fault
	chaos         *chaos
	calls         []Call

	settling sync.Mutex // one start after the other makes its sandbox and its conversation
}

// Call is a request that the server got.
type Call struct {
	Method, Path string
	Header       http.Header
	Body         string
}

// New starts a server that lives until the test ends.
func New(t testing.TB, opts Options) *Server {
	t.Helper()
	if opts.Sandbox == "" {
		opts.Sandbox = "1.34.0"
	}
	s := &Server{
		t: t, opts: opts, profiles: map[string]fakeserver.Profile{}, conversations: map[string]*conversation{},
		sandboxes: map[string]*sandbox{}, tasks: map[string]*task{},
	}
	s.listen("127.0.0.1:0")
	t.Cleanup(s.down)
	return s
}

func (s *Server) listen(address string) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		s.t.Errorf("fakecloud: %v", err)
		return
	}
	server := &http.Server{Handler: s.watched(s.spoiled(s.routes())), ReadHeaderTimeout: 30 * time.Second}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.URL, s.http = "http://"+listener.Addr().String(), server
	s.serving.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.t.Errorf("fakecloud: %v", err)
		}
	})
}

func (s *Server) down() {
	s.mu.Lock()
	server := s.http
	s.mu.Unlock()
	_ = server.Close()
	s.serving.Wait()
}

// Kill ends the app-server and all sandboxes, without a word to anybody.
func (s *Server) Kill() {
	s.down()
	for _, b := range s.all() {
		b.agent.Kill()
	}
}

// Restart starts the app-server again at the same address. Its sandboxes are
// asleep, and wake at other addresses with other keys.
func (s *Server) Restart() {
	for _, b := range s.all() {
		s.mu.Lock()
		b.status, b.moves = paused, true
		s.mu.Unlock()
	}
	s.listen(s.URL[len("http://"):])
}

func (s *Server) all() []*sandbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*sandbox, 0, len(s.sandboxes))
	for _, b := range s.sandboxes {
		all = append(all, b)
	}
	return all
}

// SaveProfile stores an LLM profile of the account. The first one is also the LLM
// of its settings.
func (s *Server) SaveProfile(name string, p fakeserver.Profile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.profiles[name] = p
	if s.standard == "" {
		s.standard = name
	}
}

// Activate makes a profile the active one, and its LLM that of the settings.
func (s *Server) Activate(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.standard, s.active = name, name
}

// StartsThrough lets each start task show these states, one at each look, before
// it is READY.
func (s *Server) StartsThrough(states ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = states
}

// FailStart lets the next start end in ERROR, with a reason, and leave its sandbox
// behind.
func (s *Server) FailStart(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure = reason
}
