package fakecloud

import (
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
)

// chaos are faults by chance.
type chaos struct {
	foreign string

	mu     sync.Mutex
	random *rand.Rand
	burst  int // so many answers are 502 yet
	faults int
}

// Spoil replaces four of ten answers by a fault from now on, those of the sandboxes
// included, before or after the request is handled: an error of a proxy, also several in
// a row, a limit of requests with any Retry-After, a web page, a body that is cut off, a
// redirect to the URL foreign, or no answer at all. The seed chooses which.
func (s *Server) Spoil(seed uint64, foreign string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chaos = &chaos{foreign: foreign, random: rand.New(rand.NewPCG(seed, 1))}
}

// Spoiled is how many answers were faults since Spoil.
func (s *Server) Spoiled() int {
	c := s.disorder()
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.faults
}

// Starts is how often each conversation was started, by its id.
func (s *Server) Starts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	starts := map[string]int{}
	for _, t := range s.tasks {
		starts[t.conversation]++
	}
	return starts
}

func (s *Server) disorder() *chaos {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.chaos
}

// guarded is what clients reach of a sandbox.
func (s *Server) guarded(next http.Handler) http.Handler {
	spoiled := s.spoiled(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.opts.Key != "" && hears(r, s.opts.Key) {
			s.t.Errorf("fakecloud: %s %s of a sandbox has the key of the server", r.Method, r.URL.Path)
		}
		if r.Header.Get(fromServer) != "" { // The two do not fail each other.
			next.ServeHTTP(w, r)
			return
		}
		spoiled.ServeHTTP(w, r)
	})
}

// fromServer is the header of the app-server's own requests to a sandbox.
const fromServer = "X-Fakecloud"

// hears reports whether a request has a key in a header.
func hears(r *http.Request, key string) bool {
	for _, values := range r.Header {
		if strings.Contains(strings.Join(values, "\n"), key) {
			return true
		}
	}
	return false
}

func (s *Server) spoiled(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := s.disorder()
		if c == nil {
			next.ServeHTTP(w, r)
			return
		}
		fault, handled := c.next()
		if fault == 0 {
			next.ServeHTTP(w, r)
			return
		}
		if handled {
			next.ServeHTTP(nowhere{}, r)
		}
		c.fail(w, r, fault)
	})
}

// kinds is how many faults there are.
const kinds = 12

// next draws the next fault, 0 for none, and whether the request is handled before.
func (c *chaos) next() (fault int, handled bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	handled = c.random.IntN(2) == 0
	if c.burst > 0 {
		fault, c.burst = 2, c.burst-1
	} else if c.random.IntN(10) < 4 {
		fault = 1 + c.random.IntN(kinds)
	}
	if fault == 3 {
		c.burst = c.random.IntN(6)
	}
	if fault != 0 {
		c.faults++
	}
	return fault, handled
}

func (c *chaos) fail(w http.ResponseWriter, r *http.Request, fault int) {
	status, text := http.StatusBadGateway, "<html>bad gateway"
	h := w.Header()
	h.Set("Content-Type", "application/json")
	switch fault {
	case 1, 2, 3:
		h.Set("Content-Type", "text/html")
	case 4:
		status, text = http.StatusTooManyRequests, `{"message":"Too many requests"}`
	case 5:
		status, text = http.StatusTooManyRequests, `{"error":"Too many requests"}`
		h.Set("Retry-After", "3")
	case 6: // a clock of another century
		status, text = http.StatusTooManyRequests, `{}`
		h.Set("Date", "Mon, 01 Jan 1990 00:00:00 GMT")
		h.Set("Retry-After", "Mon, 01 Jan 1990 00:00:05 GMT")
	case 7:
		status, text = http.StatusTooManyRequests, `{}`
		h.Set("Retry-After", "Mon, 01 Jan 2199 00:00:00 GMT")
	case 8:
		page(w)
		return
	case 9: // more was announced
		h.Set("Content-Length", "1000")
		status, text = http.StatusOK, `{"items":[{"id":"`
	case 10:
		status, text = http.StatusOK, `{"id": "4e5f`
	case 11:
		h.Set("Location", c.foreign+r.URL.Path)
		status = []int{301, 302, 307, 308}[len(r.URL.Path)%4]
	default: // it hangs
		<-r.Context().Done()
		return
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}
