// Package metrics counts what the daemon does, for Prometheus.
//
// It is the only package that knows Prometheus: the daemon tells it what
// happened in the daemon's own words. Everything is kept in a registry of its
// own. Invariants: no label has a value that a client can choose (unknown
// routes, methods and codes are "other"); the number of profiles that have
// series of their own is bounded; nothing has a word of a prompt, a key or a
// path.
package metrics

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"
)

// ContentType is the form of what [Metrics.Write] writes.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

const (
	// maxProfiles is how many profiles have series of their own, about 15 each;
	// what comes later is counted as "other".
	maxProfiles = 100
	other       = "other"
)

// Config is what does not happen but is.
type Config struct {
	Version, Revision, Go string // of the build
	// Runs tells how many runs go on and how many requests wait for one. It
	// is called for each scrape.
	Runs func() (running, queued int)
}

// Metrics counts. Make one with New; its methods are for many goroutines.
type Metrics struct {
	registry *prometheus.Registry

	requests    *prometheus.CounterVec
	duration    *prometheus.HistogramVec
	failures    *prometheus.CounterVec
	firstByte   *prometheus.HistogramVec
	firstText   prometheus.Histogram
	streams     prometheus.Gauge
	repeats     prometheus.Counter
	runs        *prometheus.CounterVec
	runDuration *prometheus.HistogramVec
	wait        prometheus.Histogram
	tokens      *prometheus.CounterVec
	cost        *prometheus.CounterVec
	backend     *prometheus.CounterVec
	tasks       *prometheus.CounterVec
	taskTime    *prometheus.HistogramVec
	taskTokens  *prometheus.CounterVec
	taskCost    *prometheus.CounterVec

	mu       sync.Mutex
	profiles map[string]struct{} // that have series of their own
}

// Buckets, in seconds. A request to an agent is over in a moment or in an hour.
var (
	shortBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
	longBuckets  = []float64{.01, .05, .1, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600}
)

// New makes the registry.
func New(cfg Config) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: counters("requests_total", "Requests answered, by route, method and status.", "route", "method", "status"),
		duration: histograms("request_duration_seconds", "From the first line of a request to the last byte of its answer.", longBuckets, "route"),
		failures: counters("request_errors_total", "Requests that ended in an error, by its code.", "code"),
		firstByte: histograms("first_byte_seconds", "From the first line of a chat request to the first byte of its answer; in a stream that says that the request was taken.",
			shortBuckets, "form"),
		firstText: histogram("first_text_seconds", "From the first line of a streamed chat request to the first text of the agent.", longBuckets),
		streams:   prometheus.NewGauge(prometheus.GaugeOpts{Name: name("streams_open"), Help: "Streams that clients read now."}),
		repeats:   prometheus.NewCounter(prometheus.CounterOpts{Name: name("repeats_total"), Help: "Requests that were answered by an earlier run instead of a new one."}),
		runs:      counters("runs_total", "Runs of agents that are over, by profile and outcome.", "profile", "outcome"),
		runDuration: histograms("run_duration_seconds", "From the start of a run to its end, by outcome; without the time in the queue.",
			longBuckets, "outcome"),
		wait:    histogram("queue_wait_seconds", "How long a run waited for its conversation and for its place among the running ones.", longBuckets),
		tokens:  counters("tokens_total", "Tokens of runs, by profile and kind. Cached, cache_write and reasoning tokens are among the prompt and completion ones.", "profile", "kind"),
		cost:    counters("cost_dollars_total", "Cost of runs as the backend reckons it, in US dollars, by profile.", "profile"),
		backend: counters("backend_errors_total", "Failures of the backend, by kind.", "kind"),

		tasks:    counters("housekeeping_total", "Titles, tags and the like that were made for chat UIs without an agent, by task and by who made them.", "task", "by"),
		taskTime: histograms("housekeeping_seconds", "How long that took, by who made them.", shortBuckets, "by"),
		taskTokens: counters("housekeeping_tokens_total", "Tokens of that, by profile and kind; they are not among those of runs.",
			"profile", "kind"),
		taskCost: counters("housekeeping_cost_dollars_total", "Cost of that, in US dollars, by profile.", "profile"),

		profiles: make(map[string]struct{}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: name("build_info"), Help: "Always 1; the labels say which build this is.",
		ConstLabels: prometheus.Labels{"version": cfg.Version, "revision": cfg.Revision, "go": cfg.Go},
	})
	build.Set(1)
	m.registry.MustRegister(
		m.requests, m.duration, m.failures, m.firstByte, m.firstText, m.streams, m.repeats,
		m.runs, m.runDuration, m.wait, m.tokens, m.cost, m.backend, build,
		m.tasks, m.taskTime, m.taskTokens, m.taskCost,
		gauge("runs_running", "Runs that go on now.", func() int { n, _ := cfg.Runs(); return n }),
		gauge("runs_queued", "Requests that wait for a run now.", func() int { _, n := cfg.Runs(); return n }),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// Write writes all metrics as text.
func (m *Metrics) Write(w io.Writer) error {
	families, err := m.registry.Gather()
	if err != nil {
		return fmt.Errorf("gather metrics: %w", err)
	}
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(w, f); err != nil {
			return fmt.Errorf("write metrics: %w", err)
		}
	}
	return nil
}

// profile is the label of a profile. The names are the user's, and there may
// be thousands.
func (m *Metrics) profile(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.profiles[name]; !known && len(m.profiles) == maxProfiles {
		return other
	}
	m.profiles[name] = struct{}{}
	return name
}

func name(s string) string { return "ohgw_" + s }

func counters(n, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name(n), Help: help}, labels)
}

func histograms(n, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name(n), Help: help, Buckets: buckets}, labels)
}

func histogram(n, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name(n), Help: help, Buckets: buckets})
}

func gauge(n, help string, value func() int) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name(n), Help: help}, func() float64 { return float64(value()) })
}

// seconds is never negative: the clock of a machine may be set back.
func seconds(d time.Duration) float64 { return max(0, d.Seconds()) }
