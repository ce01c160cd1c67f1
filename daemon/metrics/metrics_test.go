package metrics_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/ohgw/ohgw/daemon/metrics"
)

func newMetrics() *metrics.Metrics {
	return metrics.New(metrics.Config{
		Version: "1.2.3", Revision: "abc", Go: "go9", Runs: func() (int, int) { return 3, 4 },
		Servers: func() map[string]int { return map[string]int{"up": 2, "lost": 1} },
	})
}

func text(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	var b strings.Builder
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// everything lets each metric have a series.
func everything() *metrics.Metrics {
	m := newMetrics()
	m.Request(metrics.Request{Route: "/models", Method: "GET", Status: 200, Took: time.Millisecond})
	m.Request(metrics.Request{Route: "", Method: "BREW", Status: 404, Code: "unknown_url"})
	m.FirstByte("stream", 2*time.Millisecond)
	m.FirstText(time.Second)
	m.StreamOpens()
	m.Repeat()
	m.BackendError("lost")
	m.Housekeeping(metrics.Housekeeping{Profile: "fast", Task: "title", By: "llm", Took: time.Second, Prompt: 30, Completion: 4, Cost: 0.01})
	m.LimitRefusal()
	m.Paid(0.5, 700)
	m.Run(metrics.Run{
		Profile: "fast", Outcome: "finished", Waited: time.Second, Took: time.Minute,
		Prompt: 100, Completion: 20, Cached: 50, CacheWrite: 5, Reasoning: 7, Cost: 0.25,
	})
	return m
}

func TestEveryEventIsCounted(t *testing.T) {
	t.Parallel()
	got := text(t, everything())
	for _, want := range []string{
		`ohgw_build_info{go="go9",revision="abc",version="1.2.3"} 1`,
		`ohgw_requests_total{method="GET",route="/models",status="200"} 1`,
		`ohgw_requests_total{method="other",route="other",status="404"} 1`,
		`ohgw_request_errors_total{code="unknown_url"} 1`,
		`ohgw_request_duration_seconds_bucket{route="/models",le="0.01"} 1`,
		`ohgw_first_byte_seconds_bucket{form="stream",le="0.0025"} 1`,
		`ohgw_first_text_seconds_sum 1`,
		`ohgw_streams_open 1`,
		`ohgw_repeats_total 1`,
		`ohgw_runs_running 3`,
		`ohgw_runs_queued 4`,
		`ohgw_backend_errors_total{kind="lost"} 1`,
		`ohgw_runs_total{outcome="finished",profile="fast"} 1`,
		`ohgw_run_duration_seconds_sum{outcome="finished"} 60`,
		`ohgw_queue_wait_seconds_sum 1`,
		`ohgw_tokens_total{kind="prompt",profile="fast"} 100`,
		`ohgw_tokens_total{kind="completion",profile="fast"} 20`,
		`ohgw_tokens_total{kind="cached",profile="fast"} 50`,
		`ohgw_tokens_total{kind="cache_write",profile="fast"} 5`,
		`ohgw_tokens_total{kind="reasoning",profile="fast"} 7`,
		`ohgw_cost_dollars_total{profile="fast"} 0.25`,
		`ohgw_housekeeping_total{by="llm",task="title"} 1`,
		`ohgw_housekeeping_seconds_sum{by="llm"} 1`,
		`ohgw_housekeeping_tokens_total{kind="prompt",profile="fast"} 30`,
		`ohgw_housekeeping_cost_dollars_total{profile="fast"} 0.01`,
		`ohgw_limit_refusals_total 1`,
		`ohgw_limit_tokens_total 700`,
		`ohgw_limit_cost_dollars_total 0.5`,
		`ohgw_pool_servers{state="lost"} 1`,
		`ohgw_pool_servers{state="up"} 2`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no line %q", want)
		}
	}
}

func TestPrometheusReadsWhatIsWritten(t *testing.T) {
	t.Parallel()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text(t, everything())))
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range families {
		if f.GetHelp() == "" {
			t.Errorf("%s has no help", name)
		}
	}
	if families["go_goroutines"] == nil {
		t.Error("nothing about the process itself")
	}
}

func TestAClosedStreamIsNotOpen(t *testing.T) {
	t.Parallel()
	m := newMetrics()
	closes := m.StreamOpens()
	closes()
	if got := text(t, m); !strings.Contains(got, "ohgw_streams_open 0\n") {
		t.Error("the stream is still open")
	}
}

func TestNegativeFiguresAreNone(t *testing.T) {
	t.Parallel()
	m := newMetrics()
	m.Run(metrics.Run{Profile: "p", Outcome: "finished", Prompt: -5, Cost: -1, Took: -time.Second}) // a counter panics when it goes down
	if got := text(t, m); !strings.Contains(got, `ohgw_cost_dollars_total{profile="p"} 0`+"\n") || !strings.Contains(got, `ohgw_run_duration_seconds_sum{outcome="finished"} 0`+"\n") {
		t.Error("a negative figure was counted")
	}
}

func TestThousandsOfProfilesHaveAHundredSeries(t *testing.T) {
	t.Parallel()
	m := newMetrics()
	for i := range 5000 {
		m.Run(metrics.Run{Profile: fmt.Sprintf("p%d", i), Outcome: "finished"})
	}
	m.Run(metrics.Run{Profile: "p0", Outcome: "finished"}) // known ones keep their own
	got := text(t, m)
	if n := strings.Count(got, "ohgw_runs_total{"); n != 101 {
		t.Errorf("%d series, want 101", n)
	}
	for _, want := range []string{`profile="other"} 4900`, `profile="p0"} 2`} {
		if !strings.Contains(got, `ohgw_runs_total{outcome="finished",`+want+"\n") {
			t.Errorf("no run with %s", want)
		}
	}
}

// A dashboard that queries a metric that does not exist shows an empty panel,
// without a reason.
func TestTheDashboardAsksForWhatThereIs(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../docs/grafana-dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string `json:"title"`
			Targets []struct {
				Expr   string `json:"expr"`
				Legend string `json:"legendFormat"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err := json.Unmarshal(data, &board); err != nil {
		t.Fatal(err)
	}
	series := names(text(t, everything()))
	asked := map[string]bool{}
	metric := regexp.MustCompile(`\b(?:ohgw|go|process)_[a-z_]+`)
	label := regexp.MustCompile(`([a-z]+)\s*=~?\s*"|by \(([a-z, ]+)\)`)
	legend := regexp.MustCompile(`{{(\w+)}}`)
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			found := metric.FindAllString(target.Expr, -1)
			if len(found) == 0 {
				t.Errorf("%s: no metric in %s", p.Title, target.Expr)
				continue
			}
			for _, name := range found {
				asked[name] = true
				labels, ok := series[name]
				if !ok {
					t.Errorf("%s: there is no metric %s", p.Title, name)
					continue
				}
				var used []string
				for _, m := range label.FindAllStringSubmatch(target.Expr, -1) {
					used = append(used, m[1])
					used = append(used, strings.Split(m[2], ", ")...)
				}
				for _, m := range legend.FindAllStringSubmatch(target.Legend, -1) {
					used = append(used, m[1])
				}
				for _, l := range used {
					if l != "" && l != "instance" && !slices.Contains(labels, l) { // Prometheus adds the instance
						t.Errorf("%s: %s has no label %s", p.Title, name, l)
					}
				}
			}
		}
	}
	for name := range series {
		base := strings.TrimSuffix(strings.TrimSuffix(name, "_sum"), "_count")
		if strings.HasPrefix(name, "ohgw_") && !asked[base] && !asked[base+"_bucket"] {
			t.Errorf("no panel shows %s", name)
		}
	}
}

// names are the series of a text by name, with their labels.
func names(text string) map[string][]string {
	found := map[string][]string{}
	line := regexp.MustCompile(`^([a-z_]+)(?:{(.*)})? `)
	label := regexp.MustCompile(`(\w+)="`)
	for l := range strings.Lines(text) {
		m := line.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		found[m[1]] = append(found[m[1]], "")
		for _, name := range label.FindAllStringSubmatch(m[2], -1) {
			found[m[1]] = append(found[m[1]], name[1])
		}
	}
	return found
}

func TestEveryMetricIsDescribed(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	described := regexp.MustCompile("ohgw_[a-z_]+").FindAllString(string(page), -1)
	there := map[string]bool{}
	for name := range names(text(t, everything())) {
		if strings.HasPrefix(name, "ohgw_") && !strings.HasSuffix(name, "_sum") && !strings.HasSuffix(name, "_count") {
			there[strings.TrimSuffix(name, "_bucket")] = true
		}
	}
	for name := range there {
		if !slices.Contains(described, name) {
			t.Errorf("docs/metrics.md does not describe %s", name)
		}
	}
	for _, name := range described {
		if !there[name] {
			t.Errorf("docs/metrics.md describes %s, which does not exist", name)
		}
	}
}
