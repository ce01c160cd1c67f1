package metrics

import (
	"net/http"
	"strconv"
	"time"
)

// Request is a request that was answered.
type Request struct {
	Route  string // as in the table of routes; "": unknown
	Method string // as the client sent it
	Status int
	Code   string // of the error; "" if there was none
	Took   time.Duration
}

// Request counts a request.
func (m *Metrics) Request(r Request) {
	route, method := r.Route, r.Method
	if route == "" {
		route = other
	}
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodOptions:
	default:
		method = other
	}
	m.requests.Add(1, method, route, strconv.Itoa(r.Status))
	m.duration.Observe(seconds(r.Took), route)
	if r.Code != "" {
		m.failures.Add(1, r.Code)
	}
}

// FirstByte notes when the answer of a run began; the form is "stream" or
// "plain".
func (m *Metrics) FirstByte(form string, after time.Duration) {
	m.firstByte.Observe(seconds(after), form)
}

// FirstText notes when a stream had its first text of the agent.
func (m *Metrics) FirstText(after time.Duration) { m.firstText.Observe(seconds(after)) }

// StreamOpens counts a stream that begins; call what it returns at its end.
func (m *Metrics) StreamOpens() (closes func()) {
	m.streams.Add(1)
	return func() { m.streams.Add(-1) }
}

// Repeat counts a request that an earlier run answered.
func (m *Metrics) Repeat() { m.repeats.Add(1) }

// BackendError counts a failure of the backend. The kinds are few and fixed.
func (m *Metrics) BackendError(kind string) { m.backend.Add(1, kind) }

// LimitRefusal counts a run or another call of an LLM that is refused because its token has
// spent its limit.
func (m *Metrics) LimitRefusal() { m.overLimit.Add(1) }

// Paid counts what is counted against the limits of a token.
func (m *Metrics) Paid(cost float64, tokens int64) {
	m.paidCost.Add(cost)
	m.paidTokens.Add(float64(tokens))
}

// Run is a run that is over.
type Run struct {
	Profile string
	Outcome string // one of a few fixed ones
	Waited  time.Duration
	Took    time.Duration
	// The tokens, and the cost in US dollars.
	Prompt, Completion, Cached, CacheWrite, Reasoning int64
	Cost                                              float64
}

// Run counts a run.
func (m *Metrics) Run(r Run) {
	profile := m.profile(r.Profile)
	m.runs.Add(1, r.Outcome, profile)
	m.runDuration.Observe(seconds(r.Took), r.Outcome)
	m.wait.Observe(seconds(r.Waited))
	m.cost.Add(r.Cost, profile)
	for kind, n := range map[string]int64{
		"prompt": r.Prompt, "completion": r.Completion, "cached": r.Cached, "cache_write": r.CacheWrite, "reasoning": r.Reasoning,
	} {
		m.tokens.Add(float64(n), kind, profile)
	}
}

// Housekeeping is a title, a list of tags or the like that was made without an
// agent.
type Housekeeping struct {
	Profile string
	Task    string // one of a few fixed ones
	By      string // "llm" or "rule"
	Took    time.Duration
	// The tokens, and the cost in US dollars.
	Prompt, Completion, Cached, CacheWrite, Reasoning int64
	Cost                                              float64
}

// Housekeeping counts a task of a chat UI.
func (m *Metrics) Housekeeping(h Housekeeping) {
	m.tasks.Add(1, h.By, h.Task)
	m.taskTime.Observe(seconds(h.Took), h.By)
	profile := m.profile(h.Profile)
	m.taskCost.Add(h.Cost, profile)
	for kind, n := range map[string]int64{
		"prompt": h.Prompt, "completion": h.Completion, "cached": h.Cached, "cache_write": h.CacheWrite, "reasoning": h.Reasoning,
	} {
		m.taskTokens.Add(float64(n), kind, profile)
	}
}
