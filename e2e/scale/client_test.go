//go:build e2e && unix

package scale_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// plain is a client that keeps no connection, so that each request is balanced.
var plain = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// mark begins the name of every message, which is in no log.
const mark = "aardvark-"

var isMark = regexp.MustCompile(mark + `\d+x`)

// mode is how a client shows gateways that a request comes again.
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
	hung              int   // attempts without an answer in their time
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
	refused  map[string]int // attempts without an answer, by their code
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

// stubborn is how long a client asks for its answer, and oneTry how long it waits for one.
const (
	stubborn = 2 * time.Minute
	oneTry   = 30 * time.Second
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
		if a.try == 0 && errors.Is(r.err, context.DeadlineExceeded) {
			o.hung++
		}
		b.mu.Lock()
		b.refused[r.code]++
		b.mu.Unlock()
		wait(ctx, time.Duration(50+rand.IntN(150))*time.Millisecond)
	}
	o.took = time.Since(began)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asks[a.mark], b.outcomes[a.mark] = a, o
	return o
}
