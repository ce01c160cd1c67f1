package gate_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/internal/budget"
)

// guestKey is the key of a token with a budget.
const guestKey = "guest-key-0123456789"

// guest gives guestKey limits.
func guest(t testing.TB, rules ...string) func(*daemon.Config) {
	t.Helper()
	client := gate.Client{ID: "guestid", Name: "guest"}
	for _, text := range rules {
		r, err := budget.ParseCostRule(text)
		if err != nil {
			t.Fatal(err)
		}
		client.Budgets = append(client.Budgets, r)
	}
	return func(c *daemon.Config) { c.Tokens = apitest.Rights{guestKey: client} }
}

// tokens gives guestKey a limit of tokens.
func tokens(text string) func(*daemon.Config) {
	r, err := budget.ParseTokensRule(text)
	if err != nil {
		panic(err)
	}
	return func(c *daemon.Config) {
		c.Tokens = apitest.Rights{guestKey: {ID: "guestid", Name: "guest", Budgets: []budget.Rule{r}}}
	}
}

func ask(g *apitest.Gateway, prompt string) apitest.Response {
	return g.By(guestKey, http.MethodPost, "/v1/chat/completions", apitest.Ask(prompt))
}

// wantQuota checks that a budget is used up, and renews after a time.
func wantQuota(t *testing.T, res apitest.Response, wait time.Duration) {
	t.Helper()
	e := apitest.Envelope(t, res, http.StatusTooManyRequests, "insufficient_quota", "")
	apitest.Equal(t, "the type", e["type"], any("insufficient_quota"))
	apitest.Equal(t, "X-Should-Retry", res.Header.Get("X-Should-Retry"), "false")
	want := ""
	if wait > 0 {
		want = strconv.Itoa(int(wait.Seconds()))
	}
	apitest.Equal(t, "Retry-After", res.Header.Get("Retry-After"), want)
}

func TestATokenSpendsItsBudgetAndGetsItAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // which begins on a midnight of UTC
		g := apitest.Serve(t, apitest.Script(daemontest.Spend(1), daemontest.Finish("done")), guest(t, "2.5/day", "1000/month"))
		for i := range 3 {
			apitest.Completed(t, ask(g, fmt.Sprint("go ", i)))
		}
		time.Sleep(time.Hour)
		wantQuota(t, ask(g, "more"), 23*time.Hour)
		wantQuota(t, g.By(guestKey, http.MethodPost, "/v1/responses", apitest.Input("more")), 23*time.Hour)
		wantQuota(t, g.By(guestKey, http.MethodPost, "/v1/chat/completions", apitest.Ask("more", apitest.Streamed)), 23*time.Hour)
		e := apitest.Envelope(t, ask(g, "more"), http.StatusTooManyRequests, "insufficient_quota", "")
		apitest.Contains(t, "the message", e["message"].(string), `The API key "guest" has spent 3.0000 of its 2.5 US dollars per day; it renews at 2000-01-02T00:00:00Z.`)
		apitest.Equal(t, "the number of runs", g.Backend.Runs(), 3)
		apitest.Completed(t, g.Chat(apitest.Ask("another token"))) // which has no budget

		if res := g.By(guestKey, http.MethodGet, "/v1/models", ""); res.Status != http.StatusOK {
			t.Errorf("the list of models: %d, want it without a budget, too", res.Status)
		}
		time.Sleep(23 * time.Hour)
		apitest.Completed(t, ask(g, "on the next day"))
	})
}

func TestARunEndsWithTheBudgetOfItsToken(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, spender(daemontest.Hang()), guest(t, "0.5"))
	apitest.Completed(t, g.Chat(apitest.Ask("go"), budgetHeader, "0.5")) // of a token without limits
	c := apitest.Completed(t, ask(g, "go"))
	apitest.Equal(t, "the finish reason", c.Choices[0].FinishReason, "length")
	apitest.Begins(t, "the answer", c.Text(), "So far.\n\n")
	apitest.Contains(t, "the answer", c.Text(), `The API key "guest" has spent 1.0000 of its 0.5 US dollars, which does not renew; use another key`)
	wantQuota(t, ask(g, "more"), 0)
	numbers := g.Do(http.MethodGet, "/metrics", "").Body
	apitest.Contains(t, "the metrics", numbers, "ohgw_limit_refusals_total 1\n")
	apitest.Contains(t, "the metrics", numbers, "ohgw_limit_cost_dollars_total 1\n")
}

func TestATokenIsLimitedInTokens(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Use(600), daemontest.Finish("done")), tokens("1k"))
	apitest.Completed(t, ask(g, "one"))
	apitest.Completed(t, ask(g, "two"))
	wantQuota(t, ask(g, "three"), 0)
}

func TestWhatATokenHasSpentOutlivesTheGateway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := apitest.Serve(t, apitest.Script(daemontest.Spend(1), daemontest.Finish("done")), apitest.StateIn(dir), guest(t, "1"))
	apitest.Completed(t, ask(g, "go"))
	if err := g.Stop(); err != nil {
		t.Error(err)
	}
	g = apitest.Serve(t, g.Backend, apitest.StateIn(dir), guest(t, "1"))
	wantQuota(t, ask(g, "more"), 0)
}

// An answer that there is already costs nothing.
func TestASpentTokenGetsTheAnswerOfItsKey(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Spend(1), daemontest.Finish("done")), guest(t, "1"))
	send := func(key, prompt string) apitest.Response {
		return g.By(guestKey, http.MethodPost, "/v1/chat/completions", apitest.Ask(prompt), "Idempotency-Key", key)
	}
	apitest.Completed(t, send("one", "go"))
	apitest.Equal(t, "the answer", apitest.Completed(t, send("one", "go")).Text(), "done")
	wantQuota(t, send("two", "more"), 0)
	apitest.Equal(t, "the number of runs", g.Backend.Runs(), 1)
}

// What is paid is at most the budget, and a step of each run that goes on.
func TestManyClientsOfOneTokenShareItsBudget(t *testing.T) {
	t.Parallel()
	const clients, requests, runs, step, limit = 16, 1000, 8, 0.25, 100.0
	synctest.Test(t, func(t *testing.T) {
		var paid atomic.Int64 // steps
		pay := func(r *daemontest.Run) bool {
			paid.Add(1)
			return daemontest.Spend(step)(r)
		}
		think := daemontest.Wait(time.Second)
		g := apitest.Serve(t, apitest.Script(think, pay, think, pay, think, pay, think, daemontest.Finish("done")), guest(t, "100/month"), func(c *daemon.Config) { c.MaxRuns, c.MaxQueue = runs, clients })
		var answered, refused atomic.Int64
		var wg sync.WaitGroup
		for client := range clients {
			wg.Go(func() {
				for i := client; i < requests; i += clients {
					switch res := ask(g, fmt.Sprint("request ", i)); res.Status {
					case http.StatusOK:
						answered.Add(1)
					case http.StatusTooManyRequests:
						refused.Add(1)
					default:
						t.Errorf("request %d: status %d: %s", i, res.Status, res.Body)
					}
				}
			})
		}
		wg.Wait()
		sum := step * float64(paid.Load())
		if sum < limit || sum > limit+runs*step {
			t.Errorf("%g were paid, want from %g to %g", sum, limit, limit+runs*step)
		}
		if n := answered.Load(); n < 130 || n+refused.Load() != requests {
			t.Errorf("%d requests were answered and %d refused, want %d", n, refused.Load(), requests)
		}
	})
}

// A run may go on at its backend while no gateway is there, and may end.
func TestWhatARunTookAfterACrashIsPaid(t *testing.T) {
	t.Parallel()
	const id = "6c1d0ad2-8f9b-4a25-a3e1-9a8d2f0a3b11"
	for name, tt := range map[string]struct {
		conversation string
		want         int
	}{
		"it has used the budget": {id, http.StatusTooManyRequests},
		"it is gone":             {"00000000-8f9b-4a25-a3e1-9a8d2f0a3b11", http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			g := apitest.Serve(t, apitest.Script(daemontest.Spend(3), daemontest.Finish("done")))
			apitest.Completed(t, g.Chat(apitest.Ask("go"), apitest.HeaderID, id))
			account, err := budget.NewLedger(dir, time.Now).Account("guestid")
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(account.Begin(tt.conversation, budget.Amount{}), account.Pay(tt.conversation, budget.Amount{Cost: 1})); err != nil {
				t.Fatal(err)
			}
			g = apitest.Serve(t, g.Backend, apitest.StateIn(dir), guest(t, "2.5"))
			apitest.Eventually(t, "the run is settled", func() bool {
				data, err := os.ReadFile(filepath.Join(dir, "spending", "guestid"))
				return err == nil && strings.Contains(string(data), `"ends":true`)
			})
			if res := ask(g, "more"); res.Status != tt.want {
				t.Errorf("status %d, want %d: %s", res.Status, tt.want, res.Body)
			}
		})
	}
}

// A run that outlived its gateway is interrupted by the next one when its token has spent its
// limit, and goes on if there is something left.
func TestARunThatOutlivedACrashIsInterruptedAtTheLimit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rule  string
		after time.Duration
		want  int
	}{
		"the limit is reached":       {"2.5", time.Second, 1},
		"the limit is reached later": {"3.5", time.Minute, 1},
		"there is something left":    {"4.5", time.Minute, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const id = "6c1d0ad2-8f9b-4a25-a3e1-9a8d2f0a3b11"
				dir := t.TempDir()
				b := apitest.Script(daemontest.Spend(3), daemontest.Wait(30*time.Second), daemontest.Spend(1), daemontest.Hang())
				first := apitest.Serve(t, b)
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				r := first.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("go", apitest.Streamed)).WithContext(ctx)
				r.Header.Set(apitest.HeaderID, id)
				r.Header.Set("X-OpenHands-On-Disconnect", "detach")
				res := first.Send(r)
				defer res.Body.Close()
				time.Sleep(time.Second)
				account, err := budget.NewLedger(dir, time.Now).Account("guestid")
				if err != nil {
					t.Fatal(err)
				}
				if err := account.Begin(id, budget.Amount{}); err != nil {
					t.Fatal(err)
				}
				apitest.Serve(t, b, apitest.StateIn(dir), guest(t, tt.rule))
				time.Sleep(tt.after)
				synctest.Wait()
				apitest.Equal(t, "the number of interrupts", b.Interrupts(), tt.want)
			})
		})
	}
}

// A gateway removes what tokens have spent that were revoked.
func TestWhatARevokedTokenHasSpentIsForgotten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, id := range []string{"guestid", "revoked"} {
		account, err := budget.NewLedger(dir, time.Now).Account(id)
		if err == nil {
			err = account.Add(budget.Amount{Cost: 1})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	apitest.Serve(t, apitest.Script(), apitest.StateIn(dir), guest(t, "5"))
	left, err := os.ReadDir(filepath.Join(dir, "spending"))
	if err != nil || len(left) != 1 || left[0].Name() != "guestid" {
		t.Errorf("the records %v are left, %v; want that of guestid", left, err)
	}
}

func TestASpentTokenDoesNotCondense(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Spend(1), daemontest.Finish("done"))
	b.Condense = func(context.Context) (agentapi.Condensed, error) {
		t.Error("a spent token had a conversation summarized")
		return agentapi.Condensed{}, nil
	}
	g := apitest.Serve(t, b, guest(t, "1"))
	const id = "6c1d0ad2-8f9b-4a25-a3e1-9a8d2f0a3b11"
	apitest.Completed(t, g.By(guestKey, http.MethodPost, "/v1/chat/completions", apitest.Ask("go"), apitest.HeaderID, id))
	wantQuota(t, g.By(guestKey, http.MethodPost, "/v1/conversations/"+id+"/condense", ""), 0)
}

// A token pays for its summaries, also for those that fail.
func TestATokenPaysForItsSummaries(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Spend(1), daemontest.Finish("done"))
	failure := error(nil)
	b.Condense = func(context.Context) (agentapi.Condensed, error) { return agentapi.Condensed{Done: true}, failure }
	b.Condensing = 0.25
	g := apitest.Serve(t, b, guest(t, "1.5"))
	const id = "6c1d0ad2-8f9b-4a25-a3e1-9a8d2f0a3b11"
	apitest.Completed(t, g.By(guestKey, http.MethodPost, "/v1/chat/completions", apitest.Ask("go"), apitest.HeaderID, id))
	condense := func() apitest.Response {
		return g.By(guestKey, http.MethodPost, "/v1/conversations/"+id+"/condense", "")
	}
	apitest.Equal(t, "the status of a summary", condense().Status, http.StatusOK)
	failure = &agentapi.Error{Kind: agentapi.ErrRefused, Msg: "The summary is empty."}
	apitest.Equal(t, "the status of a summary that fails", condense().Status, http.StatusBadGateway)
	wantQuota(t, condense(), 0)
	wantQuota(t, ask(g, "more"), 0)
}

// A repeat may get an answer that there is. One that begins a run gets the same error.
func TestASpentTokenIsRefusedForARepeatToo(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Spend(1), daemontest.Finish("done")), guest(t, "1"))
	apitest.Completed(t, ask(g, "go"))
	repeat := []string{"X-Stainless-Retry-Count", "1"}
	wantQuota(t, g.By(guestKey, http.MethodPost, "/v1/chat/completions", apitest.Ask("more"), repeat...), 0)
	f := g.By(guestKey, http.MethodPost, "/v1/chat/completions", apitest.Ask("more", apitest.Streamed), repeat...)
	apitest.Contains(t, "the stream", f.Body, "insufficient_quota")
	apitest.Equal(t, "the number of runs", g.Backend.Runs(), 1)
}
