package daemon

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/metrics"
	"github.com/ohgw/ohgw/daemon/run"
)

// showMetrics answers GET /metrics. It works while the daemon drains, too.
// They tell of all profiles and of what they cost: a token that may use some
// models only does not see them.
func (d *Daemon) showMetrics() handler {
	return func(x *exchange, r *http.Request) error {
		if !d.cfg.MetricsOpen {
			client, err := d.identify(r)
			if err != nil {
				return err
			}
			x.client = client
			if len(client.Models) > 0 {
				return newProblem(codeForbiddenMetrics, "A token limited to some models may not read the metrics; use a token for all models.", nil)
			}
		}
		var text bytes.Buffer
		if err := d.metrics.Write(&text); err != nil {
			return newProblem(codeInternal, "The metrics cannot be collected; the log of ohgw serve has the cause.", err)
		}
		return x.writeText(metrics.ContentType, text.Bytes())
	}
}

// counts is what goes on now.
func (d *Daemon) counts() (running, queued int) {
	s := d.runs.Stats()
	return s.Running, s.Queued
}

// named notes which route answers.
func named(route string, next handler) handler {
	return func(x *exchange, r *http.Request) error {
		x.seen.route = route
		return next(x, r)
	}
}

// sighting is what the metrics want to know of a request.
type sighting struct {
	route    string    // as in the table of routes; "": none of them
	code     string    // of the error that it ended in; "": none
	answer   string    // a run's: "stream" or "plain"; "": none of a run
	answered time.Time // when the answer began; zero until then
	told     time.Time // when a stream had its first text of the agent; zero until then, and in other answers
}

// The forms of an answer.
const (
	answerStream = "stream"
	answerWhole  = "plain"
)

// count counts a request that is over.
func (x *exchange) count(r *http.Request) {
	m, seen := x.d.metrics, x.seen
	m.Request(metrics.Request{Route: seen.route, Method: r.Method, Status: x.status, Code: seen.code, Took: x.d.cfg.Now().Sub(x.began)})
	if seen.answer != "" && !seen.answered.IsZero() {
		m.FirstByte(seen.answer, seen.answered.Sub(x.began))
	}
	if !seen.told.IsZero() {
		m.FirstText(seen.told.Sub(x.began))
	}
}

// firstText notes when the agent's first text was there.
func (x *exchange) firstText() {
	if x.seen.told.IsZero() {
		x.seen.told = x.d.cfg.Now()
	}
}

// The outcomes of runs beyond the statuses of the header X-OpenHands-Run-Status.
const (
	outcomeAbandoned  = "abandoned"   // no client was there any more
	outcomeNotStarted = "not_started" // the backend refused, or was not there
)

// ended counts a run that is over.
func (d *Daemon) ended(e run.Ended) {
	u := e.Result.Usage
	d.metrics.Run(metrics.Run{
		Profile: e.Profile, Outcome: outcome(e), Waited: e.Waited, Took: e.Took,
		Prompt: u.PromptTokens, Completion: u.CompletionTokens, Cached: u.CachedTokens, CacheWrite: u.CacheWriteTokens, Reasoning: u.ReasoningTokens,
		Cost: u.Cost,
	})
	lost := e.Err == nil && e.Result.Cause != nil && e.Result.Cause.Kind == turn.CauseLost
	switch {
	case lost:
		d.backendFailed(agentapi.ErrLost)
	case e.Err != nil:
		d.backendFailed(e.Err)
	}
}

// outcome is how a run ended, in a word.
func outcome(e run.Ended) string {
	switch {
	case e.Left:
		return outcomeAbandoned
	case !e.Started:
		return outcomeNotStarted
	}
	return statusOr(endingOf(e.Result, e.Err).status)
}

// backendFailed counts a failure of the backend, if err is one. What it says
// about a request, such as that there is no such profile, is none.
func (d *Daemon) backendFailed(err error) {
	for _, known := range [...]struct {
		err  error
		kind string
	}{
		{agentapi.ErrUnavailable, "unavailable"},
		{agentapi.ErrUnauthorized, "unauthorized"},
		{agentapi.ErrRefused, "refused"},
		{agentapi.ErrUncertain, "uncertain"},
		{agentapi.ErrLost, "lost"},
	} {
		if errors.Is(err, known.err) {
			d.metrics.BackendError(known.kind)
			return
		}
	}
	if _, told := errors.AsType[*agentapi.Error](err); !told && !errors.Is(err, context.Canceled) && !ours(err) {
		d.metrics.BackendError("unknown")
	}
}

// ours reports whether a run ended because the gateway wanted it.
func ours(err error) bool {
	_, late := errors.AsType[*run.TimeoutError](err)
	return late || errors.Is(err, run.ErrInterrupted) || errors.Is(err, run.ErrDraining) || errors.Is(err, run.ErrRecord) ||
		errors.Is(err, run.ErrAbandoned) || errors.Is(err, run.ErrStopped)
}
