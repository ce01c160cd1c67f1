//go:build e2e

package e2e_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/internal/uuid"
)

// countries are what is asked for in turn.
var countries = []string{
	"France", "Italy", "Spain", "Portugal", "Norway", "Sweden", "Finland", "Denmark", "Iceland", "Ireland",
	"Poland", "Austria", "Hungary", "Greece", "Turkey", "Egypt", "Kenya", "Ghana", "Morocco", "Japan",
	"China", "India", "Nepal", "Thailand", "Vietnam", "Peru", "Chile", "Brazil", "Cuba", "Canada",
}

// TestThreeTurnsWithALocalModel holds conversations in the contexts that people have who
// change no setting: every message is answered, no call is refused, and none exceeds the
// context by the server's own count. OHGW_TEST_LOCAL_TURNS is another number of turns.
func TestThreeTurnsWithALocalModel(t *testing.T) {
	turns := 3
	if n, err := strconv.Atoi(os.Getenv("OHGW_TEST_LOCAL_TURNS")); err == nil {
		turns = n
	}
	for _, tt := range []struct {
		model string
		ctx   int
	}{{"smollm2", 2048}, {"smollm2", 4096}, {"smollm2", 8192}, {"gemma3", 8192}} {
		t.Run(fmt.Sprintf("%s/%d", tt.model, tt.ctx), func(t *testing.T) {
			llama := watchRefusals(t, localModel(t, tt.model, tt.ctx))
			g := startLocal(t, t.TempDir(), llama.URL)
			id := uuid.New()
			about := strings.Repeat("I am planning a long journey with friends. ", tt.ctx/512) // fifty turns exceed the context
			for i := range turns {
				text := fmt.Sprintf("%sAnd what is the capital of %s?", about, countries[i%len(countries)])
				status, answer := g.askLocal(t, id, text)
				if status != http.StatusOK || answer.Choices[0].Message.Content == "" {
					t.Fatalf("turn %d: status %d, %+v", i+1, status, answer)
				}
				if i == 0 {
					t.Logf("the first answer: %q", answer.Choices[0].Message.Content)
				}
			}
			llama.check(t, turns, tt.ctx)
			t.Logf("%d turns in %d calls, the largest with %d of %d tokens; shortened %d times",
				turns, llama.calls, llama.largest, tt.ctx, condensed(t, g.State, id))
		})
	}
}

// check fails where a call was refused, or had more tokens than the context.
func (r *refusals) check(t *testing.T, turns, ctx int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.refused) > 0 || r.calls < turns {
		t.Errorf("%d of %d calls were refused: %v", len(r.refused), r.calls, r.refused)
	}
	if r.largest == 0 || r.largest > ctx {
		t.Errorf("the largest call had %d of %d tokens", r.largest, ctx)
	}
}

// counted reads what the server counted of a call out of its answer.
type counted struct {
	io.ReadCloser
	tail  bytes.Buffer
	close sync.Once
	count func(tokens int)
}

func (c *counted) Read(p []byte) (n int, err error) {
	n, err = c.ReadCloser.Read(p)
	c.tail.Write(p[:n])
	return n, err
}

func (c *counted) Close() error {
	c.close.Do(func() {
		for _, m := range totalTokens.FindAllSubmatch(c.tail.Bytes(), -1) {
			n, _ := strconv.Atoi(string(m[1]))
			c.count(n)
		}
	})
	return c.ReadCloser.Close()
}

var totalTokens = regexp.MustCompile(`"total_tokens":(\d+)`)
