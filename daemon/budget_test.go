package daemon_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/daemontest"
	"github.com/ohgw/ohgw/internal/budget"
)

// limitedKeys are clients with the budgets of their keys.
type limitedKeys map[string][]budget.Rule

func (k limitedKeys) Check(presented string) (daemon.Client, error) {
	rules, ok := k[presented]
	if !ok {
		return daemon.Client{}, daemon.ErrUnknownKey
	}
	return daemon.Client{ID: "id-" + presented, Name: presented, Budgets: rules}, nil
}

func rule(t *testing.T, text string) budget.Rule {
	t.Helper()
	r, err := budget.ParseRule(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// spender is a gateway with keys that have budgets; each run takes 120 tokens.
func spender(t *testing.T, state string, now func() time.Time, keys limitedKeys, steps ...daemontest.Step) *gateway {
	t.Helper()
	b := daemontest.New("default")
	b.Script = func(string) []daemontest.Step {
		return append(append([]daemontest.Step{}, steps...), daemontest.Finish("All done."))
	}
	return serve(t, b, stateIn(state), func(c *daemon.Config) { c.Tokens, c.Now = keys, now })
}

func spend(g *gateway, who, text string, header ...string) response {
	g.t.Helper()
	body := fmt.Sprintf(`{"model":"openhands","messages":[{"role":"user","content":%q}]}`, text)
	return g.chat(body, append([]string{"Authorization", "Bearer " + who}, header...)...)
}

func TestATokenIsRefusedWhenItsBudgetIsUsedUp(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	var later atomic.Int64 // since noon; the gateway reads its clock in goroutines of its own
	now := func() time.Time { return noon.Add(time.Duration(later.Load())) }
	state := t.TempDir()
	keys := limitedKeys{"small": {rule(t, "200tokens/day")}, "once": {rule(t, "100tokens")}}
	g := spender(t, state, now, keys)
	for i := range 2 {
		if res := spend(g, "small", fmt.Sprint("go ", i)); res.status != http.StatusOK {
			t.Fatalf("%d %s", res.status, res.body)
		}
	}
	res := spend(g, "small", "go on")
	if res.status != http.StatusTooManyRequests || !strings.Contains(res.body, `"type":"insufficient_quota"`) || !strings.Contains(res.body, `"code":"insufficient_quota"`) ||
		!strings.Contains(res.body, "240 of its 200 tokens per day") || !strings.Contains(res.body, "2026-12-01T00:00:00Z") {
		t.Errorf("%d %s", res.status, res.body)
	}
	equal(t, "Retry-After", res.header.Get("Retry-After"), "43201")
	equal(t, "x-should-retry", res.header.Get("x-should-retry"), "false")
	stream := g.chat(`{"model":"openhands","stream":true,"messages":[{"role":"user","content":"x"}]}`, "Authorization", "Bearer small")
	responses := g.do(http.MethodPost, "/v1/responses", `{"model":"openhands","input":"x"}`, "Authorization", "Bearer small")
	if stream.status != http.StatusTooManyRequests || responses.status != http.StatusTooManyRequests {
		t.Errorf("%d, %d %s", stream.status, responses.status, responses.body)
	}
	if spend(g, "once", "go").status != http.StatusOK || !strings.Contains(spend(g, "once", "again").body, "It is not renewed") {
		t.Error("a budget without a period is renewed")
	}
	runs := g.backend.Runs()

	// A restart forgets nothing, and the next day renews the budget.
	if err := g.stop(); err != nil {
		t.Fatal(err)
	}
	g = spender(t, state, now, keys)
	if res := spend(g, "small", "after a restart"); res.status != http.StatusTooManyRequests || runs != 3 || g.backend.Runs() != 0 {
		t.Errorf("%d, %d runs", res.status, runs)
	}
	later.Store(int64(12 * time.Hour))
	if res := spend(g, "small", "the next day"); res.status != http.StatusOK {
		t.Errorf("%d %s", res.status, res.body)
	}
}

// TestParallelRunsSpendNoMoreThanIsInFlight starts more runs than the budget allows.
func TestParallelRunsSpendNoMoreThanIsInFlight(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	g := spender(t, state, time.Now, limitedKeys{"small": {rule(t, "1000tokens")}})
	var all sync.WaitGroup
	for i := range 24 {
		all.Go(func() { spend(g, "small", fmt.Sprint("go ", i)) })
	}
	all.Wait()
	spent, err := budget.NewLedger(filepath.Join(state, budget.Dir), time.Now).Spent("id-small")
	if err != nil || spent[budget.Total].Tokens != int64(120*g.backend.Runs()) || spent[budget.Total].Tokens < 1000 || spent[budget.Total].Tokens > 1000+8*120 {
		t.Errorf("%+v for %d runs, %v", spent, g.backend.Runs(), err)
	}
}

func TestSpendingThatCannotBeKeptStartsNothing(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	if err := os.WriteFile(filepath.Join(state, budget.Dir), nil, 0o600); err != nil { // where the directory should be
		t.Fatal(err)
	}
	g := spender(t, state, time.Now, limitedKeys{"small": {rule(t, "5/day")}})
	if res := spend(g, "small", "go"); res.status != http.StatusInsufficientStorage || g.backend.Runs() != 0 || strings.Contains(res.body, state) {
		t.Errorf("%d %s", res.status, res.body)
	}
}

func TestTheBudgetOfARequestIsChecked(t *testing.T) {
	t.Parallel()
	g := spender(t, t.TempDir(), time.Now, limitedKeys{"free": nil})
	for _, bad := range []string{"0", "-1", "five", "5/day", "1,2", "tokens"} {
		if res := spend(g, "free", "go", "X-OpenHands-Budget", bad); res.status != http.StatusBadRequest || !strings.Contains(res.body, "20000tokens") {
			t.Errorf("%q: %d %s", bad, res.status, res.body)
		}
	}
	if res := spend(g, "free", "go", "X-OpenHands-Budget", "$0.50, 20ktokens"); res.status != http.StatusOK {
		t.Errorf("%d %s", res.status, res.body)
	}
	if got := g.backend.Prompts()[0].Limit; got != (agentapi.Limit{Cost: 0.5, Tokens: 20000}) {
		t.Errorf("the limit is %+v", got)
	}
}

// TestARunThatReachesItsBudgetEndsWithWhatItHas has a backend that knows no limits: what
// it reports ends the run.
func TestARunThatReachesItsBudgetEndsWithWhatItHas(t *testing.T) {
	t.Parallel()
	for _, stream := range []string{"false", "true"} {
		g := spender(t, t.TempDir(), time.Now, limitedKeys{"free": nil}, daemontest.Say("So far."), daemontest.Spend(0.75), daemontest.Hang())
		res := g.chat(`{"model":"openhands","stream":`+stream+`,"messages":[{"role":"user","content":"go"}]}`, "Authorization", "Bearer free", "X-OpenHands-Budget", "0.50")
		for _, want := range []string{"So far.", `"finish_reason":"length"`, `"run_status":"budget_reached"`, "The run has cost 0.7500 of the 0.5 US dollars that the request allows"} {
			if res.status != http.StatusOK || !strings.Contains(res.body, want) {
				t.Errorf("stream %s: no %q in %d %s", stream, want, res.status, res.body)
			}
		}
		if stream == "false" {
			equal(t, "the status", res.header.Get("X-OpenHands-Run-Status"), "budget_reached")
		}
		if g.backend.Interrupts() == 0 {
			t.Error("the run was not interrupted")
		}
	}
}

// TestAResponseThatReachesItsBudgetIsIncomplete has what was said last, streamed or not.
func TestAResponseThatReachesItsBudgetIsIncomplete(t *testing.T) {
	t.Parallel()
	for _, streamed := range []bool{false, true} {
		g := spender(t, t.TempDir(), time.Now, limitedKeys{"free": nil}, daemontest.Say("So far."), daemontest.Spend(0.75), daemontest.Hang())
		res := g.respond(fmt.Sprintf(`{"model":"openhands","stream":%v,"input":"go"}`, streamed), "Authorization", "Bearer free", "X-OpenHands-Budget", "0.50")
		data := []byte(res.body)
		if streamed {
			events := eventsOf(t, res.body)
			last := events[len(events)-1]
			equal(t, "the last event", last.Type, "response.incomplete")
			data = last.Response
		}
		got := object(t, data)
		equal(t, "the status", got.Status, "incomplete")
		if want := "So far.\n\nThe run reached its limit. The run has cost 0.7500 of the 0.5 US dollars that the request allows. Send another message to this conversation to continue."; got.text() != want {
			t.Errorf("%q", got.text())
		}
		if !strings.Contains(string(data), `"run_status":"budget_reached"`) {
			t.Errorf("%s", data)
		}
	}
}
