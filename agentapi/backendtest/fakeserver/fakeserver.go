// Package fakeserver is an agent-server in this process, for what a real one
// is too slow or too healthy for: thousands of turns, and faults. It speaks
// the part of the wire that ohgw needs, and the contract suite of backendtest
// runs against it as against a real one, so that it stays honest.
//
// Its agent has a system prompt, a terminal that knows echo, false and sleep,
// and the finish tool. Its model is whatever answers chat completions at the
// base URL of the LLM, or a function.
//
// It keeps everything in memory, as a real one does on disk: what is there
// survives [Server.Kill] and [Server.Restart].
package fakeserver

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/event"
)

// Options say which server it is.
type Options struct {
	Version     string // default "1.58.2"
	Key         string // session key; "" wants none
	NoSecretKey bool   // the server cannot encrypt secrets
	Elsewhere   bool   // the server does not read the files of this machine
	MaxRuns     int    // at the same time; default 10, as in the real one
	Backlog     int    // bytes that may wait for a session socket; default 16 MiB, as in the real one
	Frame       int    // bytes of a frame of a session socket; default 4 MiB, as in the real one
	// InMemory makes connections without a network, for use in a bubble of
	// testing/synctest: only [Server.Client] reaches the server then.
	InMemory bool
	// Model thinks for all conversations, in place of a chat completions API.
	Model Model
	// Around wraps what clients reach; nil leaves it as it is.
	Around func(http.Handler) http.Handler
}

// Profile is a stored LLM profile.
type Profile struct {
	Model, BaseURL, Key string
	// Connection is the id of a provider connection: then the profile itself
	// shows neither key nor base URL.
	Connection string
}

// Server is a fake agent-server. Its methods may be called from any goroutine.
type Server struct {
	URL string

	opts    Options
	version version
	faults  faults
	runs    runs
	agents  agentProfiles

	mu            sync.Mutex
	life          *life // nil while it is dead
	last          *life // the newest one, dead or not
	profiles      map[string]Profile
	active        string
	settings      settings
	conversations map[string]*conversation
	calls         []Call
}

// Call is a request that the server got.
type Call struct {
	Method, Path string
	Header       http.Header
	Body         string
}

// settings are what GET /api/settings answers.
type settings struct {
	Agent        map[string]any `json:"agent_settings"`
	Conversation map[string]any `json:"conversation_settings"`
}

// life is one process of the server: from a start to a kill.
type life struct {
	ctx     context.Context // ends with the process
	kill    context.CancelFunc
	started time.Time
	http    *http.Server
	net     *network
	wg      sync.WaitGroup // all that the process does

	mu   sync.Mutex
	dead bool
}

// counted lets the end of the process wait for the handlers that run.
func (l *life) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		if l.dead {
			l.mu.Unlock()
			panic(http.ErrAbortHandler)
		}
		l.wg.Add(1)
		l.mu.Unlock()
		defer l.wg.Done()
		next.ServeHTTP(w, r)
	})
}

// New starts a server that lives until the test ends.
func New(t testing.TB, opts Options) *Server {
	t.Helper()
	if opts.Version == "" {
		opts.Version = "1.58.2"
	}
	if opts.Model == nil {
		opts.Model = chatModel
	}
	if opts.Around == nil {
		opts.Around = func(h http.Handler) http.Handler { return h }
	}
	s := &Server{
		opts: opts, version: parseVersion(opts.Version), runs: runs{most: mostRuns(opts)},
		profiles: map[string]Profile{}, conversations: map[string]*conversation{},
		settings: settings{
			Agent: map[string]any{
				"schema_version": 9, "agent_kind": "openhands", "llm": map[string]any{"model": "gpt-5.5"},
				"tools": nil, "mcp_config": map[string]any{},
				"agent_context": map[string]any{"skills": []any{}, "system_message_suffix": nil, "secrets": nil},
				"condenser":     map[string]any{"enabled": true, "max_size": 240, "keep_first": 2},
			},
			Conversation: map[string]any{"schema_version": 1, "max_iterations": 500, "confirmation_mode": false, "security_analyzer": "llm"},
		},
	}
	s.agents.version, s.agents.byName = s.version, map[string]agentProfile{}
	if s.version < sinceToolsAlone {
		s.settings.Agent["schema_version"] = 5
		s.settings.Agent["enable_switch_llm_tool"], s.settings.Agent["enable_sub_agents"] = true, false
	}
	if s.version < 1031 {
		s.settings.Agent["tools"] = []any{} // which meant the default set
	}
	s.start(t, "127.0.0.1:0")
	t.Cleanup(func() {
		s.Kill()
		s.await()
	})
	return s
}

func (s *Server) start(t testing.TB, addr string) {
	t.Helper()
	n, err := listen(addr, s.opts.InMemory)
	if err != nil {
		t.Fatalf("fakeserver: %v", err)
	}
	ctx, kill := context.WithCancel(context.Background())
	l := &life{ctx: ctx, kill: kill, started: time.Now(), net: n}
	l.http = &http.Server{
		Handler:     l.counted(s.opts.Around(s.faults.wrap(s.record(s.routes(l))))),
		BaseContext: func(net.Listener) context.Context { return ctx },
		// The time after which a real one closes an idle connection.
		IdleTimeout:       5 * time.Second,
		ReadHeaderTimeout: 30 * time.Second,
	}
	s.URL = "http://" + n.addr
	s.mu.Lock()
	s.life, s.last = l, l
	conversations := s.all()
	s.mu.Unlock()
	for _, c := range conversations {
		c.recover(l)
	}
	l.wg.Go(func() { _ = l.http.Serve(n) })
}

// all is called with mu held.
func (s *Server) all() []*conversation {
	all := make([]*conversation, 0, len(s.conversations))
	for _, c := range s.conversations {
		all = append(all, c)
	}
	return all
}

// Kill ends the server as kill -9 does: without a word to its clients.
func (s *Server) Kill() {
	s.mu.Lock()
	l := s.life
	s.life = nil
	conversations := s.all()
	s.mu.Unlock()
	if l == nil {
		return
	}
	for _, c := range conversations {
		c.die()
	}
	l.mu.Lock()
	l.dead = true
	l.mu.Unlock()
	l.kill()
	l.net.destroy()
	_ = l.http.Close()
}

// await waits until nothing of the newest process is left.
func (s *Server) await() {
	s.mu.Lock()
	l := s.last
	s.mu.Unlock()
	l.wg.Wait()
}

// Restart starts the server that was killed, at the same address.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.await()
	s.start(t, s.URL[len("http://"):])
}

// Move starts the server that was killed, at another address and with another key.
func (s *Server) Move(t testing.TB, key string) {
	t.Helper()
	s.await()
	s.mu.Lock()
	s.opts.Key = key
	s.mu.Unlock()
	s.start(t, "127.0.0.1:0")
}

// Freeze stops the server as SIGSTOP does: connections stay and carry nothing.
// Thaw lets it go on.
func (s *Server) Freeze() { s.network().freeze() }

// Thaw lets a frozen server go on.
func (s *Server) Thaw() { s.network().thaw() }

// Cut breaks all connections. The server lives on and takes new ones.
func (s *Server) Cut() { s.network().cut() }

func (s *Server) network() *network {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last.net
}

// Client makes an HTTP client for the server. It follows what was said of
// InMemory.
func (s *Server) Client() *http.Client {
	transport := &http.Transport{IdleConnTimeout: 4 * time.Second, MaxIdleConnsPerHost: 32}
	if s.opts.InMemory {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			s.mu.Lock()
			l := s.life
			s.mu.Unlock()
			if l == nil {
				return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
			}
			return l.net.dial(ctx)
		}
	}
	return &http.Client{Transport: transport}
}

// SaveProfile stores an LLM profile.
func (s *Server) SaveProfile(name string, p Profile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.profiles[name] = p
}

// SaveAgent stores an agent profile, and makes it the active one.
func (s *Server) SaveAgent(name string, fields map[string]any) { s.agents.activate(name, fields) }

// Activate makes a profile the active one.
func (s *Server) Activate(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active = name
}

// Configure changes the settings.
func (s *Server) Configure(change func(agent, conversation map[string]any)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.settings.Agent, s.settings.Conversation)
}

// Calls are the requests so far whose path ends with suffix.
func (s *Server) Calls(method, suffix string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var calls []Call
	for _, c := range s.calls {
		if c.Method == method && len(c.Path) >= len(suffix) && c.Path[len(c.Path)-len(suffix):] == suffix {
			calls = append(calls, c)
		}
	}
	return calls
}

// Forget drops the requests that were kept, for long benchmarks.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = nil
}

// Conversations are the ids of the conversations that there are, in order.
func (s *Server) Conversations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]string, 0, len(s.conversations))
	for id := range s.conversations {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Log is the log of a conversation.
func (s *Server) Log(id string) []event.Event {
	c := s.conversation(id)
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.log)
}

func (s *Server) conversation(id string) *conversation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conversations[id]
}
