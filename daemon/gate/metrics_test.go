package gate_test

import (
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

func TestMetricsNeedAKeyUnlessTheyAreOpen(t *testing.T) {
	t.Parallel()
	closed := apitest.Serve(t, daemontest.New())
	apitest.Envelope(t, closed.Do(http.MethodGet, "/metrics", "", "Authorization", ""), http.StatusUnauthorized, "missing_api_key", "")
	apitest.Envelope(t, closed.Do(http.MethodGet, "/metrics", "", "Authorization", "Bearer wrong"), http.StatusUnauthorized, "invalid_api_key", "")
	apitest.Envelope(t, closed.Do(http.MethodGet, "/metrics", "", "Authorization", "Bearer "+apitest.LimitedKey), http.StatusForbidden, "forbidden_metrics", "")
	open := apitest.Serve(t, daemontest.New(), func(c *daemon.Config) { c.MetricsOpen = true })
	if res := open.Do(http.MethodGet, "/metrics", "", "Authorization", ""); res.Status != http.StatusOK {
		t.Errorf("status %d: %s", res.Status, res.Body)
	}
	apitest.Envelope(t, open.Do(http.MethodGet, "/metrics", "", "Host", "evil.example"), http.StatusForbidden, "forbidden_host", "")
}

func TestARunIsCountedWithItsTokens(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Delta("ok"), daemontest.Finish("ok")))
	apitest.Completed(t, g.Chat(apitest.Ask("one")))
	apitest.Parse(t, g.Chat(apitest.Ask("two", apitest.Streamed)))
	g.Do(http.MethodGet, "/v1/models/openhands_nobody", "")
	g.Do(http.MethodGet, "/wp-login.php", "")
	g.Scrape(
		`ohgw_runs_total{outcome="finished",profile="default"} 2`,
		`ohgw_tokens_total{kind="prompt",profile="default"} 200`,
		`ohgw_tokens_total{kind="completion",profile="default"} 40`,
		`ohgw_tokens_total{kind="cached",profile="default"} 80`,
		`ohgw_requests_total{method="POST",route="/chat/completions",status="200"} 2`,
		`ohgw_requests_total{method="GET",route="/models/{id...}",status="404"} 1`,
		`ohgw_requests_total{method="GET",route="other",status="404"} 1`,
		`ohgw_request_errors_total{code="model_not_found"} 1`,
		`ohgw_first_byte_seconds_count{form="stream"} 1`,
		`ohgw_first_byte_seconds_count{form="plain"} 1`,
		`ohgw_first_text_seconds_count 1`,
		`ohgw_runs_running 0`,
		`ohgw_build_info{go="`+runtime.Version()+`",revision="",version="9.9.9"} 1`,
	)
}

func TestTheQueueAndOpenStreamsAreSeen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		g := apitest.Serve(t, apitest.Script(daemontest.Until(gate), daemontest.Finish("ok")), func(c *daemon.Config) { c.MaxRuns = 1 })
		first, second := g.Send(g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("one", apitest.Streamed))), g.Send(g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("two", apitest.Streamed)))
		synctest.Wait()
		g.Scrape(`ohgw_runs_running 1`, `ohgw_runs_queued 1`, `ohgw_streams_open 2`)
		time.Sleep(3 * time.Second)
		close(gate)
		g.Finish(first)
		g.Finish(second)
		synctest.Wait()
		g.Scrape(
			`ohgw_runs_running 0`, `ohgw_runs_queued 0`, `ohgw_streams_open 0`,
			`ohgw_queue_wait_seconds_sum 3`, `ohgw_queue_wait_seconds_count 2`,
			`ohgw_run_duration_seconds_sum{outcome="finished"} 3`,
		)
	})
}

func TestEndsOfRunsAreToldApart(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		steps  []daemontest.Step
		header []string
		want   []string
	}{
		"error":                    {steps: []daemontest.Step{daemontest.Fail("LLMAuthenticationError", "no")}, want: []string{`ohgw_request_errors_total{code="llm_error"} 1`}},
		"stuck":                    {steps: []daemontest.Step{daemontest.End("stuck")}, want: []string{`ohgw_request_errors_total{code="run_stuck"} 1`}},
		"paused":                   {steps: []daemontest.Step{daemontest.End("paused")}},
		"timeout":                  {steps: []daemontest.Step{daemontest.Hang()}, header: []string{"X-OpenHands-Timeout", "1"}, want: []string{`ohgw_request_errors_total{code="run_timeout"} 1`}},
		"waiting_for_confirmation": {steps: []daemontest.Step{daemontest.Confirm("rm -r x")}},
	}
	for outcome, tt := range tests {
		t.Run(outcome, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := apitest.Serve(t, apitest.Script(tt.steps...))
				g.Chat(apitest.Ask("go"), tt.header...)
				g.Scrape(append(tt.want, `ohgw_runs_total{outcome="`+outcome+`",profile="default"} 1`)...)
			})
		})
	}
}

func TestARunWithoutAClientIsAbandoned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := apitest.Serve(t, apitest.Script(daemontest.Hang()))
		g.Send(g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("go", apitest.Streamed))).Body.Close()
		time.Sleep(time.Minute)
		synctest.Wait()
		g.Scrape(`ohgw_runs_total{outcome="abandoned",profile="default"} 1`, `ohgw_streams_open 0`)
	})
}

func TestFailuresOfTheBackendAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := apitest.Script(daemontest.Say("so far"), daemontest.Vanish())
		g := apitest.Serve(t, b)
		g.Chat(apitest.Ask("one"))
		b.FailOpen(&agentapi.Error{Kind: agentapi.ErrUnauthorized, Msg: "The agent-server refuses the key."})
		g.Chat(apitest.Ask("two"))
		b.FailOpen(&agentapi.Error{Kind: agentapi.ErrConversationNotFound, Msg: "There is no such conversation."}) // no failure of the backend
		g.Chat(apitest.Ask("three"))
		synctest.Wait()
		g.Scrape(
			`ohgw_backend_errors_total{kind="lost"} 1`, `ohgw_backend_errors_total{kind="unauthorized"} 1`,
			`ohgw_runs_total{outcome="not_started",profile="default"} 2`,
		)
		if res := g.Do(http.MethodGet, "/metrics", ""); strings.Contains(res.Body, `kind="unknown"`) {
			t.Error("an answer about the request is counted as a failure of the backend")
		}
		b.SetDown(&agentapi.Error{Kind: agentapi.ErrUnavailable, Msg: "The agent-server does not answer."})
		time.Sleep(3 * time.Second)
		g.Do(http.MethodGet, "/readyz", "")
		synctest.Wait()
		g.Scrape(`ohgw_backend_errors_total{kind="unavailable"} 1`)
	})
}

func TestAnAnswerFromMemoryIsARepeatAndNoRun(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Finish("ok")))
	for range 3 {
		apitest.Completed(t, g.Chat(apitest.Ask("one"), "Idempotency-Key", "k"))
	}
	g.Scrape(`ohgw_runs_total{outcome="finished",profile="default"} 1`, `ohgw_repeats_total 2`, `ohgw_tokens_total{kind="prompt",profile="default"} 100`)
}

// An answer from the record of an earlier process is not a run of this one.
func TestAnAnswerFromARecordIsNoRun(t *testing.T) {
	t.Parallel()
	state, b := t.TempDir(), apitest.Script(daemontest.Finish("ok"))
	keep := func(c *daemon.Config) { c.StateDir = state }
	g := apitest.Serve(t, b, keep)
	apitest.Completed(t, g.Chat(apitest.Ask("one"), "Idempotency-Key", "k"))
	if err := g.Stop(); err != nil {
		t.Fatal(err)
	}
	g = apitest.Serve(t, b, keep)
	apitest.Completed(t, g.Chat(apitest.Ask("one"), "Idempotency-Key", "k"))
	res := g.Do(http.MethodGet, "/metrics", "")
	if strings.Contains(res.Body, "ohgw_runs_total{") {
		t.Error("the answer was counted as a run")
	}
}
