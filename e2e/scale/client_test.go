//go:build e2e && unix

package scale_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// plain is a client that keeps no connection, so that each request is balanced.
var plain = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// mark begins the name of every message, which is in no log.
const mark = "aardvark-"

var isMark = regexp.MustCompile(mark + `\d+x`)

// mode is how a client lets gateways know that a request comes again.
type mode string

const (
	keyed        mode = "Idempotency-Key"
	marked       mode = "marked retry"
	conversation mode = "conversation header" // and a marked retry
	chat         mode = "chat header"         // and a marked retry
)

var modes = []mode{keyed, marked, conversation, chat}

// ask is a message that a client wants answered, however often it has to ask.
type ask struct {
	mark, text, want, key, conversation, chat string
	mode                                      mode
	stream                                    bool
	first                                     string // URL of the first attempt; empty: the balancer's
	sure                                      bool   // it is asked for until there is an answer
	try                                       time.Duration
	token                                     string
}

// outcome is what a client has in the end.
type outcome struct {
	answer            string
	attempts          int
	conversation, run string
	err               error // there is no answer
	broken            int   // streams whose text had begun
	why               []string
	took              time.Duration
}

// books are those of the clients and of the LLM.
type books struct {
	llm *llmtest.Server

	mu       sync.Mutex
	made     int
	asks     map[string]ask
	outcomes map[string]outcome
	asked    map[string][]*asking
	open     []*asking      // those of them that have not ended
	refused  map[string]int // answers that were none, by their code
}

func newBooks(llm *llmtest.Server) *books {
	return &books{llm: llm, asks: map[string]ask{}, outcomes: map[string]outcome{}, asked: map[string][]*asking{}, refused: map[string]int{}}
}

// message makes a message of which there is no other. The agent does what script says,
// and then answers with its name.
func (b *books) message(m mode, script string) ask {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.made++
	a := ask{mark: mark + strconv.Itoa(b.made) + "x", mode: m, key: uuid.New(), sure: true}
	a.want = "the answer to " + a.mark
	a.text = a.mark + ". " + script + " [[say " + a.want + "]]"
	if n, slow := strings.CutPrefix(script, "[[slow "); slow {
		count, _, _ := strings.Cut(n, " ")
		words, _ := strconv.Atoi(count)
		a.want = llmtest.Slow(words, 0).Text + a.want
	}
	switch m {
	case conversation:
		a.conversation = uuid.New()
	case chat:
		a.chat = uuid.New()
	}
	b.asks[a.mark] = a
	return a
}

// stubborn is how long a client asks for its answer; pauses are between its attempts.
const (
	stubborn = 4 * time.Minute
	oneTry   = time.Minute
)

// send asks until there is an answer.
func (b *books) send(ctx context.Context, base string, a ask) (o outcome) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, stubborn)
	defer cancel()
	for {
		to := base
		if o.attempts == 0 && a.first != "" {
			to = a.first
		}
		r := post(ctx, to, a, o.attempts)
		o.attempts++
		o.conversation, o.run, o.answer = r.conversation, r.run, r.text
		if r.err != nil && len(o.why) < 8 {
			o.why = append(o.why, fmt.Sprintf("%v: %d %s %v", time.Since(began).Round(time.Millisecond), r.status, r.conversation, r.err))
		}
		if o.err = r.err; o.err == nil || !r.again || !a.sure && strings.HasPrefix(r.code, "agent_server_") || ctx.Err() != nil {
			break
		}
		if r.begun {
			o.broken++
		}
		b.mu.Lock()
		b.refused[r.code]++
		b.mu.Unlock()
		select {
		case <-time.After(time.Duration(50+rand.IntN(150)) * time.Millisecond):
		case <-ctx.Done():
		}
	}
	o.took = time.Since(began)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asks[a.mark], b.outcomes[a.mark] = a, o
	return o
}

// reply is what one attempt brought.
type reply struct {
	text, code, conversation, run string
	status                        int
	retryAfter                    string
	begun                         bool // text came
	firstByte                     time.Time
	err                           error
	again                         bool // another attempt may help
}

// post makes one attempt.
func post(ctx context.Context, base string, a ask, attempt int) (r reply) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(a.try, oneTry))
	defer cancel()
	body, err := json.Marshal(map[string]any{"model": "openhands_scripted", "stream": a.stream, "messages": []any{map[string]any{"role": "user", "content": a.text}}})
	if err != nil {
		return reply{err: err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/chat/completions", strings.NewReader(string(body)))
	if err != nil {
		return reply{err: err}
	}
	req.Header.Set("Authorization", "Bearer "+cmp.Or(a.token, gatewayKey))
	req.Header.Set("Content-Type", "application/json")
	if a.mode == keyed {
		req.Header.Set("Idempotency-Key", a.key)
	} else {
		req.Header.Set("X-Stainless-Retry-Count", strconv.Itoa(attempt))
	}
	if a.conversation != "" {
		req.Header.Set("X-OpenHands-ServerConversation-ID", a.conversation)
	}
	if a.chat != "" {
		req.Header.Set("X-OpenWebUI-Chat-Id", a.chat)
	}
	res, err := plain.Do(req)
	if err != nil {
		return reply{err: err, code: "no connection", again: true}
	}
	defer res.Body.Close()
	r = reply{status: res.StatusCode, retryAfter: res.Header.Get("Retry-After"), conversation: res.Header.Get("X-OpenHands-ServerConversation-ID"), run: res.Header.Get("X-OpenHands-Run-Status")}
	if a.stream && res.StatusCode == http.StatusOK {
		r.readStream(res.Body)
	} else {
		r.readWhole(res.Body)
	}
	if r.err == nil && r.text != a.want {
		r.err = fmt.Errorf("the answer is %q", r.text)
	}
	return r
}

type apiError struct{ Code, Message string }

// failed notes an error of the API: one that another attempt may not meet, or an end.
func (r *reply) failed(e *apiError) {
	r.code, r.err = e.Code, fmt.Errorf("%d %s: %s", r.status, e.Code, e.Message)
	r.again = e.Code == "not_ready" || e.Code == "queue_full" || e.Code == "conversation_busy" || strings.HasPrefix(e.Code, "agent_server_") || r.status == http.StatusServiceUnavailable
}

func (r *reply) readWhole(body io.Reader) {
	var in struct {
		Error   *apiError
		Choices []struct{ Message struct{ Content string } }
	}
	data, err := io.ReadAll(body)
	if err == nil {
		err = json.Unmarshal(data, &in)
	}
	switch {
	case err != nil:
		r.err, r.code, r.again = err, "cut off", true
	case in.Error != nil:
		r.failed(in.Error)
	case len(in.Choices) == 1:
		r.text = in.Choices[0].Message.Content
	default:
		r.err = fmt.Errorf("%d without an answer: %s", r.status, data)
	}
}

func (r *reply) readStream(body io.Reader) {
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if r.firstByte.IsZero() {
			r.firstByte = time.Now()
		}
		if data == "[DONE]" {
			return
		}
		var in struct {
			Error   *apiError
			Choices []struct{ Delta struct{ Content string } }
		}
		if err := json.Unmarshal([]byte(data), &in); err != nil {
			r.err = fmt.Errorf("a frame: %w", err)
			return
		}
		if in.Error != nil {
			r.failed(in.Error)
			return
		}
		for _, c := range in.Choices {
			r.text += c.Delta.Content
			r.begun = r.begun || c.Delta.Content != ""
		}
	}
	r.err, r.code, r.again = errors.New("the stream is cut off"), "cut off", true
}

// asking is a request to the LLM.
type asking struct {
	of             string // the message
	started, ended time.Time
	open           *llmtest.Request // nil: it has ended
}

// collect takes the LLM's requests into the books, and lets go of those that ended.
func (b *books) collect() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.llm.Take() {
		if marks := isMark.FindAllString(r.UserText(), -1); len(marks) > 0 {
			q := &asking{of: marks[len(marks)-1], started: r.Started, open: r}
			b.asked[q.of] = append(b.asked[q.of], q)
			b.open = append(b.open, q)
		}
	}
	b.open = slices.DeleteFunc(b.open, func(q *asking) bool {
		if q.open.Outcome() == llmtest.Open {
			return false
		}
		q.ended, q.open = q.open.Ended(), nil
		return true
	})
}

// close compares the books: what was asked for until there was an answer has one, of
// one run. It reports how many runs were double.
func (b *books) close(tb testing.TB) (double, lost int) {
	tb.Helper()
	b.collect()
	b.mu.Lock()
	defer b.mu.Unlock()
	var attempts int
	var slowest time.Duration
	byMode := map[mode]int{}
	for name, a := range b.asks {
		o, ended := b.outcomes[name]
		attempts += o.attempts
		slowest = max(slowest, o.took)
		byMode[a.mode]++
		n := len(b.asked[name])
		if n > 1 {
			double++
			tb.Logf("double: %s (%s) ran %d times, the last time in %s; its client was told %q", name, a.mode, n, o.conversation, o.why)
		}
		switch {
		case !ended:
			lost++
			tb.Errorf("%s (%s): its client hangs", name, a.mode)
		case a.sure && (o.err != nil || o.answer != a.want || o.run != "" && o.run != "finished"):
			lost++
			tb.Errorf("lost: %s (%s): after %d attempts and %v: %v %q %s", name, a.mode, o.attempts, o.took, o.err, o.answer, o.run)
		case o.err == nil && n == 0:
			tb.Errorf("%s (%s): answered without a run", name, a.mode)
		}
	}
	tb.Logf("%d messages in %d attempts (%s), the slowest took %v; refused: %s", len(b.asks), attempts, counts(byMode), slowest.Round(time.Millisecond), counts(b.refused))
	b.asks, b.outcomes, b.asked, b.refused = map[string]ask{}, map[string]outcome{}, map[string][]*asking{}, map[string]int{}
	return double, lost
}

// counts is a map in one line.
func counts[K ~string](m map[K]int) string {
	var said []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		said = append(said, fmt.Sprintf("%s %d", k, m[k]))
	}
	return strings.Join(said, ", ")
}
