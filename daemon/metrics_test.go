package daemon_test

import (
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

// scrape reads the metrics and misses the lines that are not there.
func (g *gateway) scrape(want ...string) {
	g.t.Helper()
	res := g.do(http.MethodGet, "/metrics", "")
	if res.status != http.StatusOK || !strings.HasPrefix(res.header.Get("Content-Type"), "text/plain; version=0.0.4") {
		g.t.Fatalf("status %d, %s", res.status, res.header.Get("Content-Type"))
	}
	for _, line := range want {
		if !strings.Contains(res.body, line+"\n") {
			name, _, _ := strings.Cut(line, "{")
			var near []string
			for l := range strings.Lines(res.body) {
				if strings.HasPrefix(l, name) && !strings.Contains(l, "_bucket") {
					near = append(near, l)
				}
			}
			g.t.Errorf("no line %s, but\n%s", line, strings.Join(near, ""))
		}
	}
}

func TestMetricsNeedAKeyUnlessTheyAreOpen(t *testing.T) {
	t.Parallel()
	closed := serve(t, daemontest.New())
	envelope(t, closed.do(http.MethodGet, "/metrics", "", "Authorization", ""), http.StatusUnauthorized, "missing_api_key", "")
	envelope(t, closed.do(http.MethodGet, "/metrics", "", "Authorization", "Bearer wrong"), http.StatusUnauthorized, "invalid_api_key", "")
	envelope(t, closed.do(http.MethodGet, "/metrics", "", "Authorization", "Bearer "+limitedKey), http.StatusForbidden, "forbidden_metrics", "")
	open := serve(t, daemontest.New(), func(c *daemon.Config) { c.MetricsOpen = true })
	if res := open.do(http.MethodGet, "/metrics", "", "Authorization", ""); res.status != http.StatusOK {
		t.Errorf("status %d: %s", res.status, res.body)
	}
	envelope(t, open.do(http.MethodGet, "/metrics", "", "Host", "evil.example"), http.StatusForbidden, "forbidden_host", "")
}

func TestARunIsCountedWithItsTokens(t *testing.T) {
	t.Parallel()
	g := serve(t, script(daemontest.Delta("ok"), daemontest.Finish("ok")))
	completed(t, g.chat(ask("one")))
	parse(t, g.chat(ask("two", streamed)))
	g.do(http.MethodGet, "/v1/models/openhands_nobody", "")
	g.do(http.MethodGet, "/wp-login.php", "")
	g.scrape(
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
		g := serve(t, script(daemontest.Until(gate), daemontest.Finish("ok")), func(c *daemon.Config) { c.MaxRuns = 1 })
		first, second := g.send(g.request(http.MethodPost, "/v1/chat/completions", ask("one", streamed))), g.send(g.request(http.MethodPost, "/v1/chat/completions", ask("two", streamed)))
		synctest.Wait()
		g.scrape(`ohgw_runs_running 1`, `ohgw_runs_queued 1`, `ohgw_streams_open 2`)
		time.Sleep(3 * time.Second)
		close(gate)
		g.finish(first)
		g.finish(second)
		synctest.Wait()
		g.scrape(
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
				g := serve(t, script(tt.steps...))
				g.chat(ask("go"), tt.header...)
				g.scrape(append(tt.want, `ohgw_runs_total{outcome="`+outcome+`",profile="default"} 1`)...)
			})
		})
	}
}

func TestARunWithoutAClientIsAbandoned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := serve(t, script(daemontest.Hang()))
		g.send(g.request(http.MethodPost, "/v1/chat/completions", ask("go", streamed))).Body.Close()
		time.Sleep(time.Minute)
		synctest.Wait()
		g.scrape(`ohgw_runs_total{outcome="abandoned",profile="default"} 1`, `ohgw_streams_open 0`)
	})
}

func TestFailuresOfTheBackendAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := script(daemontest.Say("so far"), daemontest.Vanish())
		g := serve(t, b)
		g.chat(ask("one"))
		b.FailOpen(&agentapi.Error{Kind: agentapi.ErrUnauthorized, Msg: "The agent-server refuses the key."})
		g.chat(ask("two"))
		b.FailOpen(&agentapi.Error{Kind: agentapi.ErrConversationNotFound, Msg: "There is no such conversation."}) // no failure of the backend
		g.chat(ask("three"))
		synctest.Wait()
		g.scrape(
			`ohgw_backend_errors_total{kind="lost"} 1`, `ohgw_backend_errors_total{kind="unauthorized"} 1`,
			`ohgw_runs_total{outcome="not_started",profile="default"} 2`,
		)
		if res := g.do(http.MethodGet, "/metrics", ""); strings.Contains(res.body, `kind="unknown"`) {
			t.Error("an answer about the request is counted as a failure of the backend")
		}
		b.SetDown(&agentapi.Error{Kind: agentapi.ErrUnavailable, Msg: "The agent-server does not answer."})
		time.Sleep(3 * time.Second)
		g.do(http.MethodGet, "/readyz", "")
		synctest.Wait()
		g.scrape(`ohgw_backend_errors_total{kind="unavailable"} 1`)
	})
}

func TestAnAnswerFromMemoryIsARepeatAndNoRun(t *testing.T) {
	t.Parallel()
	g := serve(t, script(daemontest.Finish("ok")))
	for range 3 {
		completed(t, g.chat(ask("one"), "Idempotency-Key", "k"))
	}
	g.scrape(`ohgw_runs_total{outcome="finished",profile="default"} 1`, `ohgw_repeats_total 2`, `ohgw_tokens_total{kind="prompt",profile="default"} 100`)
}

// An answer from the record of an earlier process is not a run of this one.
func TestAnAnswerFromARecordIsNoRun(t *testing.T) {
	t.Parallel()
	state, b := t.TempDir(), script(daemontest.Finish("ok"))
	keep := func(c *daemon.Config) { c.StateDir = state }
	g := serve(t, b, keep)
	completed(t, g.chat(ask("one"), "Idempotency-Key", "k"))
	if err := g.stop(); err != nil {
		t.Fatal(err)
	}
	g = serve(t, b, keep)
	completed(t, g.chat(ask("one"), "Idempotency-Key", "k"))
	res := g.do(http.MethodGet, "/metrics", "")
	if strings.Contains(res.body, "ohgw_runs_total{") {
		t.Error("the answer was counted as a run")
	}
}
