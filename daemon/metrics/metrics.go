// Package metrics counts what the daemon does, for Prometheus.
//
// The daemon reports here what happened, in the daemon's own words; the metrics
// themselves are kept and written by [series]. Invariants: no label has a value
// that a client can choose (unknown routes, methods and codes are "other"); the
// number of profiles that have series of their own is bounded; nothing has a
// word of a prompt, a key or a path.
package metrics

import (
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ohgw/ohgw/daemon/metrics/process"
	"github.com/ohgw/ohgw/daemon/metrics/series"
)

// ContentType is the form of what [Metrics.Write] writes.
const ContentType = series.ContentType

const (
	// maxProfiles is how many profiles have series of their own, about 15 each;
	// what comes later is counted as "other".
	maxProfiles = 100
	other       = "other"
)

// Config is what does not happen but is.
type Config struct {
	Version, Revision, Go string // of the build
	// Runs reports how many runs go on and how many requests wait for one. It
	// is called for each scrape.
	Runs func() (running, queued int)
	// Servers reports how many agent-servers of a pool are in each state. It is called for
	// each scrape. Nil: there is no pool.
	Servers func() map[string]int
}

// Metrics counts. Make one with New; its methods are for many goroutines.
type Metrics struct {
	set series.Set

	requests    *series.Counter
	duration    *series.Histogram
	failures    *series.Counter
	firstByte   *series.Histogram
	firstText   *series.Histogram
	streams     *series.Gauge
	repeats     *series.Counter
	runs        *series.Counter
	runDuration *series.Histogram
	wait        *series.Histogram
	tokens      *series.Counter
	cost        *series.Counter
	backend     *series.Counter
	tasks       *series.Counter
	taskTime    *series.Histogram
	taskTokens  *series.Counter
	taskCost    *series.Counter
	overLimit   *series.Counter
	paidTokens  *series.Counter
	paidCost    *series.Counter

	mu       sync.Mutex
	profiles map[string]struct{} // that have series of their own
}

// Buckets, in seconds. A request to an agent is over in a moment or in an hour.
var (
	shortBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
	longBuckets  = []float64{.01, .05, .1, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600}
)

// New makes the metrics. Labels are named in the order of the alphabet.
func New(cfg Config) *Metrics {
	m := &Metrics{profiles: make(map[string]struct{})}
	s := &m.set
	m.requests = s.Counter("ohgw_requests_total", "Requests answered, by route, method and status.", "method", "route", "status")
	m.duration = s.Histogram("ohgw_request_duration_seconds", "Time from the first line of a request to the last byte of its answer.", longBuckets, "route")
	m.failures = s.Counter("ohgw_request_errors_total", "Requests that ended in an error, by its code.", "code")
	m.firstByte = s.Histogram("ohgw_first_byte_seconds",
		"Time from the first line of a chat request to the first byte of its answer; in a stream, that byte confirms that the request was accepted.", shortBuckets, "form")
	m.firstText = s.Histogram("ohgw_first_text_seconds", "Time from the first line of a streamed chat request to the first text of the agent.", longBuckets)
	m.streams = s.Gauge("ohgw_streams_open", "Response streams that are open now.")
	m.repeats = s.Counter("ohgw_repeats_total", "Requests answered from an earlier run instead of a new one.")
	m.runs = s.Counter("ohgw_runs_total", "Finished agent runs, by profile and outcome.", "outcome", "profile")
	m.runDuration = s.Histogram("ohgw_run_duration_seconds", "Time from the start of a run to its end, by outcome; without the time in the queue.", longBuckets, "outcome")
	m.wait = s.Histogram("ohgw_queue_wait_seconds", "Time a run waited for its conversation and for a free slot.", longBuckets)
	m.tokens = s.Counter("ohgw_tokens_total",
		"Tokens of runs, by profile and kind. The prompt and completion counts include cached, cache_write and reasoning tokens.", "kind", "profile")
	m.cost = s.Counter("ohgw_cost_dollars_total", "Cost of runs in US dollars as computed by the backend, by profile.", "profile")
	m.backend = s.Counter("ohgw_backend_errors_total", "Backend failures, by kind.", "kind")
	m.tasks = s.Counter("ohgw_housekeeping_total", "Titles, tags and similar housekeeping texts made for chat UIs without an agent, by task and source.", "by", "task")
	m.taskTime = s.Histogram("ohgw_housekeeping_seconds", "Duration of housekeeping tasks, by source.", shortBuckets, "by")
	m.taskTokens = s.Counter("ohgw_housekeeping_tokens_total", "Tokens of housekeeping calls, by profile and kind; not included in the tokens of runs.", "kind", "profile")
	m.taskCost = s.Counter("ohgw_housekeeping_cost_dollars_total", "Cost of housekeeping calls in US dollars, by profile.", "profile")
	m.overLimit = s.Counter("ohgw_limit_refusals_total", "Runs and other LLM calls refused because their token has spent its limit of money or tokens.")
	m.paidTokens = s.Counter("ohgw_limit_tokens_total", "LLM tokens counted against the limits of tokens.")
	m.paidCost = s.Counter("ohgw_limit_cost_dollars_total", "US dollars counted against the limits of tokens.")

	build := s.Gauge("ohgw_build_info", "Always 1; the labels identify the build.", "go", "revision", "version")
	build.Add(1, cfg.Go, cfg.Revision, cfg.Version)
	s.Add(func() []series.Family {
		running, queued := cfg.Runs()
		return []series.Family{
			series.One(series.KindGauge, "ohgw_runs_running", "Agent runs in progress.", float64(running)),
			series.One(series.KindGauge, "ohgw_runs_queued", "Requests waiting for a run now.", float64(queued)),
		}
	})
	if cfg.Servers != nil {
		s.Add(func() []series.Family { return []series.Family{servers(cfg.Servers())} })
	}
	s.Add(process.Families)
	return m
}

// servers is the agent-servers of a pool as a metric.
func servers(states map[string]int) series.Family {
	f := series.Family{Kind: series.KindGauge, Name: "ohgw_pool_servers", Help: "Agent-servers of the pool, by state."}
	for _, state := range slices.Sorted(maps.Keys(states)) {
		f.Samples = append(f.Samples, series.Sample{Labels: []series.Label{{Name: "state", Value: state}}, Value: float64(states[state])})
	}
	return f
}

// Write writes all metrics as text.
func (m *Metrics) Write(w io.Writer) error { return m.set.Write(w) }

// profile returns the label of a profile. The names are the user's, and there may be
// thousands.
func (m *Metrics) profile(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.profiles[name]; !known && len(m.profiles) == maxProfiles {
		return other
	}
	m.profiles[name] = struct{}{}
	return name
}

// seconds is never negative: the clock of a machine may be set back.
func seconds(d time.Duration) float64 { return max(0, d.Seconds()) }
