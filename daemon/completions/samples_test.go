package completions_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

// samples are the clients of an evaluation: all send the same request.
type samples struct {
	t    *testing.T
	addr string

	mu            sync.Mutex
	conversations map[string]int
}

// outcome of one attempt of a sample.
type attempt struct {
	status       int
	conversation string
	whole        bool
}

// ask sends the request on a connection of its own, reads as the hints say, and
// closes the connection right after the last byte of the answer.
func (s *samples) ask(body string, retries int, slow time.Duration) attempt {
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Error(err)
		return attempt{}
	}
	defer conn.Close()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://"+s.addr+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		s.t.Error(err)
		return attempt{}
	}
	r.Header.Set("Authorization", "Bearer "+apitest.Key)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Stainless-Retry-Count", strconv.Itoa(retries))
	if err := r.Write(conn); err != nil {
		s.t.Error(err)
		return attempt{}
	}
	in := bufio.NewReaderSize(conn, 16)
	res, err := http.ReadResponse(in, r)
	if err != nil {
		s.t.Error(err)
		return attempt{}
	}
	got := attempt{status: res.StatusCode, conversation: res.Header.Get("X-OpenHands-ServerConversation-ID")}
	length, plain := res.ContentLength, res.ContentLength >= 0
	if !plain {
		// Not its end, which comes after the last frame: who has that leaves.
		res.Body = io.NopCloser(httputil.NewChunkedReader(in))
	}
	var text strings.Builder
	buf := make([]byte, 64)
	for {
		n, err := res.Body.Read(buf)
		text.Write(buf[:n])
		if plain && int64(text.Len()) == length || !plain && strings.HasSuffix(text.String(), "data: [DONE]\n\n") {
			got.whole = true
			return got
		}
		if err != nil {
			s.t.Errorf("the answer ends with %v: %q", err, text.String())
			return got
		}
		if slow > 0 {
			time.Sleep(slow)
		}
	}
}

// sample asks until it has its answer, as the SDKs do.
func (s *samples) sample(body string, slow time.Duration) {
	for retries := range 1000 { // a slow machine may need many
		got := s.ask(body, retries, slow)
		if got.status == http.StatusTooManyRequests {
			time.Sleep(min(time.Duration(5*(retries+1)), 100) * time.Millisecond)
			continue
		}
		if got.status != http.StatusOK || !got.whole {
			s.t.Errorf("the answer = %+v, want a whole one of status 200", got)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.conversations[got.conversation]++
		return
	}
	s.t.Error("refused a thousand times")
}

// A hundred identical requests whose clients stay until they have their answers
// are a hundred conversations, however they come.
func TestSamplesNeverShareARun(t *testing.T) {
	t.Parallel()
	const count = 100
	for name, tt := range map[string]struct {
		clients int           // at the same time
		pause   time.Duration // up to this before each request
		slow    time.Duration // up to this between the reads of every fourth client
		run     time.Duration // how long an agent takes, at most
		config  func(*daemon.Config)
	}{
		"one after the other":      {clients: 1},
		"a few at a time":          {clients: 4},
		"overlapping":              {clients: 16, pause: 3 * time.Millisecond, run: 3 * time.Millisecond},
		"some read slowly":         {clients: 16, pause: time.Millisecond, slow: time.Millisecond},
		"all at once":              {clients: count, run: time.Millisecond, config: func(c *daemon.Config) { c.MaxQueue = count }},
		"more than may wait":       {clients: count, run: 2 * time.Millisecond, config: func(c *daemon.Config) { c.MaxRuns, c.MaxQueue = 4, 8 }},
		"slower than their agents": {clients: 8, slow: 2 * time.Millisecond, config: func(c *daemon.Config) { c.MaxRuns = 2 }},
	} {
		for form, more := range map[string][]string{"plain": nil, "streamed": {apitest.Streamed}} {
			t.Run(name+", "+form, func(t *testing.T) {
				t.Parallel()
				b := daemontest.New("default")
				b.Script = func(string) []daemontest.Step {
					steps := []daemontest.Step{daemontest.Delta("The answer "), daemontest.Delta("is "), daemontest.Finish("The answer is 42.")}
					if tt.run > 0 {
						return append([]daemontest.Step{daemontest.Wait(rand.N(tt.run))}, steps...)
					}
					return steps
				}
				ln, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				change := tt.config
				if change == nil {
					change = func(*daemon.Config) {}
				}
				apitest.ServeOn(t, ln, b, change)
				s := &samples{t: t, addr: ln.Addr().String(), conversations: make(map[string]int)}
				next := make(chan int, count)
				for i := range count {
					next <- i
				}
				close(next)
				var wg sync.WaitGroup
				for client := range tt.clients {
					wg.Go(func() {
						rng := rand.New(rand.NewPCG(7, uint64(client)))
						for range next {
							if tt.pause > 0 {
								time.Sleep(time.Duration(rng.Int64N(int64(tt.pause))))
							}
							slow := tt.slow
							if client%4 != 0 {
								slow = 0
							}
							s.sample(apitest.Ask("How much is it?", more...), slow)
						}
					})
				}
				wg.Wait()
				if len(s.conversations) != count || b.Runs() != count {
					t.Errorf("%d conversations and %d runs, want %d: %s", len(s.conversations), b.Runs(), count, shared(s.conversations))
				}
			})
		}
	}
}

// shared names the conversations that several samples got.
func shared(conversations map[string]int) string {
	var list []string
	for id, n := range conversations {
		if n > 1 {
			list = append(list, fmt.Sprintf("%s %d times", id, n))
		}
	}
	return strings.Join(list, ", ")
}
