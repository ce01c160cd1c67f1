//go:build e2e && linux

package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// spenders are the clients of one token with a budget.
type spenders struct {
	t   *testing.T
	key string

	after                     func()       // called after each answer
	next                      atomic.Int64 // request
	answered, refused, broken atomic.Int64
}

// The test: what a call of the LLM costs, and what the token may spend.
const (
	spendClients  = 16
	spendRequests = 1000
	spendRuns     = 8 // at the same time
	callCost      = 0.25
	spendLimit    = 100
)

// spend sends requests until all were sent, or the gateway is gone.
func (s *spenders) spend(g *gateway) {
	for i := s.next.Add(1); i <= spendRequests; i = s.next.Add(1) {
		body := chat(fmt.Sprintf(`%d [[tool think {"thought":"one"}]] then [[tool think {"thought":"two"}]] then [[finish done]]`, i), false)
		req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, g.URL+"/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			s.t.Error(err)
			return
		}
		req.Header.Set("Authorization", "Bearer "+s.key)
		req.Header.Set("Content-Type", "application/json")
		res, err := plain.Do(req)
		if err != nil {
			s.broken.Add(1)
			return
		}
		text, err := io.ReadAll(res.Body)
		switch closing := res.Body.Close(); {
		case err != nil || closing != nil:
			s.broken.Add(1)
			return
		case res.StatusCode == http.StatusOK:
			s.answered.Add(1)
			s.after()
		case res.StatusCode == http.StatusTooManyRequests && strings.Contains(string(text), "insufficient_quota"):
			s.refused.Add(1)
		default:
			s.t.Errorf("request %d: %s %s", i, res.Status, text)
		}
	}
}

// all lets all clients spend until they are done.
func (s *spenders) all(g *gateway) {
	var clients sync.WaitGroup
	for range spendClients {
		clients.Go(func() { s.spend(g) })
	}
	clients.Wait()
}

// What is paid is at most the budget and a step of each run at work, also of those that a
// kill has ended.
func TestABudgetHoldsOverAKill(t *testing.T) {
	t.Parallel()
	program, llm, home := plainProgram(t), llmtest.New(t), t.TempDir()
	scriptedProfile(t, home, llm.URL)
	profile := filepath.Join(home, ".openhands", "profiles", "scripted.json")
	text := fmt.Sprintf(`{"model":"openai/test","base_url":%q,"input_cost_per_token":%g,"output_cost_per_token":0}`, llm.URL, callCost/float64(llmtest.DefaultUsage().Prompt))
	if err := os.WriteFile(profile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	create := exec.CommandContext(t.Context(), program, "tokens", "create", "guest", "--budget", fmt.Sprint(spendLimit))
	create.Env = environment(home)
	key, err := create.Output()
	if err != nil {
		t.Fatal(err)
	}
	s := &spenders{t: t, key: strings.TrimSpace(string(key))}
	begin := func() *gateway {
		args := []string{"--backend", "embedded", "--sandbox", "off", "--key-store", "file", "--max-runs", fmt.Sprint(spendRuns)}
		return start(t, program, home, args, "OHGW_API_KEYS=", "OPENAI_API_KEY=sk-llm-test")
	}
	paid := func() float64 { return callCost * float64(len(llm.Requests())) }

	g := begin()
	var once sync.Once
	s.after = func() {
		if paid() >= spendLimit/2 {
			once.Do(func() {
				g.stopped = true
				_ = g.process.End(syscall.SIGKILL, patience)
			})
		}
	}
	s.all(g)
	before := paid()
	if before < spendLimit/2 || before > spendLimit || s.broken.Load() == 0 {
		t.Fatalf("%g were paid before the kill, and %d requests broke", before, s.broken.Load())
	}
	g, s.after = begin(), func() {}
	s.all(g)
	const most = spendLimit + 2*spendRuns*callCost // of those that were killed, and of the last ones
	t.Logf("%g paid before the kill, %g in all; %d answered, %d refused, %d broken", before, paid(), s.answered.Load(), s.refused.Load(), s.broken.Load())
	if sum := paid(); sum < spendLimit || sum > most {
		t.Errorf("%g were paid, want from %d to %g", sum, spendLimit, most)
	}
	list := exec.CommandContext(t.Context(), program, "tokens", "list")
	list.Env = environment(home)
	if out, err := list.Output(); err != nil || !strings.Contains(string(out), fmt.Sprintf(" of $%d\n", spendLimit)) {
		t.Errorf("the list of tokens: %s, %v", out, err)
	}
}
