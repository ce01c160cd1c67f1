package fakecloud

import (
	"bytes"
	"io"
	"net/http"
	"strings"
)

// fault replaces the answers to the next requests that match.
type fault struct {
	method, suffix string
	left           int
	do             func(w http.ResponseWriter, r *http.Request, next http.Handler)
}

// Fail answers the next n requests whose path ends with suffix with a status and a
// body.
func (s *Server) Fail(method, suffix string, n, status int, body string) {
	s.add(method, suffix, n, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		if status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "1")
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

// ShowPage answers the next n such requests with 200 and a web page.
func (s *Server) ShowPage(method, suffix string, n int) {
	s.add(method, suffix, n, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { page(w) })
}

// LoseAnswer handles the next n such requests, and breaks the connection in place
// of an answer.
func (s *Server) LoseAnswer(method, suffix string, n int) {
	s.add(method, suffix, n, func(_ http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(nowhere{}, r)
		panic(http.ErrAbortHandler)
	})
}

// Before calls do before each of the next n such requests is handled.
func (s *Server) Before(method, suffix string, n int, do func()) {
	s.add(method, suffix, n, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		do()
		next.ServeHTTP(w, r)
	})
}

func (s *Server) add(method, suffix string, n int, do func(http.ResponseWriter, *http.Request, http.Handler)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &fault{method, suffix, n, do})
}

// watched keeps what was asked, and lets go wrong what is to.
func (s *Server) watched(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if hears(r, sessionKey) {
			s.t.Errorf("fakecloud: %s %s has the key of a sandbox", r.Method, r.URL.Path)
		}
		var hit *fault
		s.mu.Lock()
		s.calls = append(s.calls, Call{r.Method, r.URL.Path, r.Header.Clone(), string(body)})
		for _, f := range s.faults {
			if f.left > 0 && r.Method == f.method && strings.HasSuffix(r.URL.Path, f.suffix) {
				f.left--
				hit = f
				break
			}
		}
		s.mu.Unlock()
		if hit != nil {
			hit.do(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Calls are the requests so far whose path ends with suffix.
func (s *Server) Calls(method, suffix string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var calls []Call
	for _, c := range s.calls {
		if c.Method == method && strings.HasSuffix(c.Path, suffix) {
			calls = append(calls, c)
		}
	}
	return calls
}

// nowhere is a ResponseWriter that drops what is written to it.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) WriteHeader(int)             {}
