package fakeserver

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi/event"
)

// faults are what is to go wrong.
type faults struct {
	mu        sync.Mutex
	latency   time.Duration
	requests  []*requestFault
	frames    FrameFault
	subscribe time.Duration
}

// FrameFault decides what becomes of the n-th frame, counted from 1, of a
// socket. It must not call the server.
type FrameFault func(n int, e event.Event) Fate

// Fate is what becomes of a frame.
type Fate int

// The fates of a frame.
const (
	Send  Fate = iota
	Skip       // it never leaves the server
	Late       // it is sent after the status update that follows it
	Break      // the connection breaks in its place
)

// requestFault replaces the answers to the next requests that match.
type requestFault struct {
	method, suffix string
	left           int
	do             func(w http.ResponseWriter, r *http.Request, next http.Handler)
}

// SetLatency delays the answer to every request.
func (s *Server) SetLatency(d time.Duration) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.latency = d
}

// SlowSubscribe lets a socket wait between its opening and its registration.
func (s *Server) SlowSubscribe(d time.Duration) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.subscribe = d
}

// OnFrame puts f in charge of all frames; nil sends them all.
func (s *Server) OnFrame(f FrameFault) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.frames = f
}

// Fail answers the next n requests whose path ends with suffix with a status
// and a body.
func (s *Server) Fail(method, suffix string, n, status int, body string) {
	s.faults.add(method, suffix, n, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

// LoseAnswer handles the next n such requests, and breaks the connection in
// place of an answer.
func (s *Server) LoseAnswer(method, suffix string, n int) {
	s.faults.add(method, suffix, n, func(_ http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(&nowhere{}, r)
		panic(http.ErrAbortHandler)
	})
}

// Mask handles the next n such requests, and answers something else.
func (s *Server) Mask(method, suffix string, n, status int, body string) {
	s.faults.add(method, suffix, n, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(&nowhere{}, r)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

// LoseRequest reads the next n such requests, and breaks the connection
// without having handled them.
func (s *Server) LoseRequest(method, suffix string, n int) {
	s.faults.add(method, suffix, n, func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body)
		panic(http.ErrAbortHandler)
	})
}

// Before calls do before each of the next n such requests is handled.
func (s *Server) Before(method, suffix string, n int, do func()) {
	s.faults.add(method, suffix, n, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		do()
		next.ServeHTTP(w, r)
	})
}

// Heal takes back every fault.
func (s *Server) Heal() {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.latency, s.faults.subscribe, s.faults.requests, s.faults.frames = 0, 0, nil, nil
}

func (f *faults) add(method, suffix string, n int, do func(http.ResponseWriter, *http.Request, http.Handler)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, &requestFault{method, suffix, n, do})
}

func (f *faults) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		latency := f.latency
		var fault *requestFault
		for _, candidate := range f.requests {
			if candidate.left != 0 && r.Method == candidate.method && strings.HasSuffix(r.URL.Path, candidate.suffix) {
				candidate.left--
				fault = candidate
				break
			}
		}
		f.mu.Unlock()
		if pause(r.Context(), latency) != nil {
			return
		}
		if fault != nil {
			fault.do(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (f *faults) frame(n int, e event.Event) Fate {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.frames == nil {
		return Send
	}
	return f.frames(n, e)
}

func (f *faults) subscribeDelay() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.subscribe
}

// nowhere is a ResponseWriter that drops what is written to it.
type nowhere struct{ header http.Header }

func (n *nowhere) Header() http.Header {
	if n.header == nil {
		n.header = http.Header{}
	}
	return n.header
}
func (n *nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n *nowhere) WriteHeader(int)             {}

// record keeps what was asked.
func (s *Server) record(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.mu.Lock()
		s.calls = append(s.calls, Call{r.Method, r.URL.Path, r.Header.Clone(), string(body)})
		s.mu.Unlock()
		next.ServeHTTP(w, r)
	})
}

// LoseEvents drops the last n events of a log, as a machine that loses its power may,
// while the server is dead.
func (s *Server) LoseEvents(id string, n int) {
	c := s.conversation(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.log[len(c.log)-n:] {
		delete(c.places, e.ID)
	}
	c.log = c.log[:len(c.log)-n]
	c.leaf = ""
	for _, e := range c.log {
		if _, update := e.Body.(*event.StateUpdate); !update {
			c.leaf = e.ID
		}
	}
}
