//go:build e2e && soak

package soak_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// turn is one message to an agent and what its client knows of it. The text of
// the message has the mark, the agent's command writes it to the ledger, and the
// answer repeats it.
type turn struct {
	mark, kind string
	most       int  // how often the turn may run
	acked      bool // the client got the whole answer
	plain      bool // the LLM has no habit in it: one final reply for each run
}

// books are those of the clients and of the LLM.
type books struct {
	llm    *llmtest.Server
	ledger string // the file of the commands

	mu       sync.Mutex
	turns    map[string]*turn
	outcomes map[string]int // by kind and outcome
	problems []string
	pending  []*llmtest.Request
	requests int
	finals   map[string]int    // by mark: final replies that the LLM wrote whole
	asked    map[string][]byte // by mark: the last request, of turns that are checked for it
}

func newBooks(llm *llmtest.Server, ledger string) *books {
	return &books{
		llm: llm, ledger: ledger, turns: map[string]*turn{}, outcomes: map[string]int{},
		finals: map[string]int{}, asked: map[string][]byte{},
	}
}

// add opens the account of a turn that may run so often.
func (b *books) add(kind string, most int) *turn {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := &turn{mark: fmt.Sprintf("<soak-%d>", len(b.turns)+1), kind: kind, most: most, plain: true}
	b.turns[t.mark] = t
	return t
}

// count is how many turns there are.
func (b *books) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.turns)
}

// note counts an outcome of a kind of turn.
func (b *books) note(kind, outcome string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.outcomes[kind+": "+outcome]++
}

// problem keeps what no turn may do.
func (b *books) problem(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = append(b.problems, fmt.Sprintf(format, args...))
}

// watch keeps the last request to the LLM for a turn.
func (b *books) watch(t *turn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked[t.mark] = nil
}

func (b *books) request(t *turn) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked[t.mark]
}

var isMark = regexp.MustCompile(`<soak-\d+>`)

// collect takes the LLM's requests into the books.
func (b *books) collect() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pending = append(b.pending, b.llm.Take()...)
	b.pending = slices.DeleteFunc(b.pending, func(r *llmtest.Request) bool {
		outcome := r.Outcome()
		if outcome == llmtest.Open {
			return false
		}
		b.requests++
		marks := isMark.FindAllString(r.UserText(), -1)
		if len(marks) == 0 {
			return true
		}
		mark := marks[len(marks)-1]
		if _, watched := b.asked[mark]; watched {
			b.asked[mark] = r.Body
		}
		if outcome == llmtest.Answered && r.Last().Role == "tool" {
			b.finals[mark]++
		}
		return true
	})
}

// close compares the books.
func (b *books) close(t *testing.T) {
	t.Helper()
	b.collect()
	data, err := os.ReadFile(b.ledger)
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]int{}
	for line := range strings.Lines(string(data)) {
		ran[strings.TrimSpace(line)]++
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var acked, runs int
	for _, turn := range b.turns {
		runs += ran[turn.mark]
		switch n := ran[turn.mark]; {
		case n > turn.most:
			t.Errorf("%s %s: it ran %d times, %d at most", turn.kind, turn.mark, n, turn.most)
		case turn.acked && n == 0 && turn.most > 0:
			t.Errorf("%s %s: its client got the answer, but its command never ran", turn.kind, turn.mark)
		}
		if n := b.finals[turn.mark]; turn.plain && n > turn.most {
			t.Errorf("%s %s: the LLM gave %d final replies, %d at most", turn.kind, turn.mark, n, turn.most)
		}
		if turn.acked {
			acked++
			if b.finals[turn.mark] == 0 {
				t.Errorf("%s %s: its client got the answer, but the LLM gave no final reply", turn.kind, turn.mark)
			}
		}
	}
	for _, problem := range b.problems {
		t.Error(problem)
	}
	for _, outcome := range slices.Sorted(maps.Keys(b.outcomes)) {
		t.Logf("%-44s %6d", outcome, b.outcomes[outcome])
	}
	t.Logf("%d turns, %d answered whole, %d commands run, %d requests to the LLM", len(b.turns), acked, runs, b.requests)
	if acked < len(b.turns)/4 {
		t.Errorf("only %d of %d turns were answered: the soak shows nothing", acked, len(b.turns))
	}
}

// shows reports whether the request to the LLM holds what the turn said.
func shows(body []byte, t *turn) bool {
	// JSON may escape the mark's brackets.
	inner := strings.Trim(t.mark, "<>")
	return bytes.Contains(body, []byte("<"+inner+">")) || bytes.Contains(body, []byte(`\u003c`+inner+`\u003e`))
}
