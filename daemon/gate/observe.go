package gate

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/metrics"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/internal/rescue"
)

// ReadsMetrics lets only clients pass that may read the metrics; with MetricsOpen
// everybody. Metrics are about all profiles and what they cost: a token that may use some
// models only does not see them.
func (core *Core) ReadsMetrics(next Handler) Handler {
	return func(x *Exchange, r *http.Request) error {
		if core.MetricsOpen {
			return next(x, r)
		}
		client, err := core.Identify(r)
		if err != nil {
			return err
		}
		x.Client = client
		if len(client.Models) > 0 {
			return NewProblem(codeForbiddenMetrics, "A token limited to some models may not read the metrics; use a token for all models.", nil)
		}
		return next(x, r)
	}
}

// ShowMetrics answers GET /metrics. It works while the daemon drains, too.
func (core *Core) ShowMetrics() Handler {
	return func(x *Exchange, _ *http.Request) error {
		var text bytes.Buffer
		if err := core.Metrics.Write(&text); err != nil {
			return NewProblem(CodeInternal, "The metrics cannot be collected; the log of ohgw serve has the cause.", err)
		}
		return x.WriteText(metrics.ContentType, text.Bytes())
	}
}

// Named notes which route answers.
func Named(route string, next Handler) Handler {
	return func(x *Exchange, r *http.Request) error {
		x.Seen.Route = route
		return next(x, r)
	}
}

// sighting is what the metrics want to know of a request.
type sighting struct {
	Route    string    // as in the table of routes; "": none of them
	Code     string    // of the error that it ended in; "": none
	Answer   string    // a run's: "stream" or "plain"; "": none of a run
	Answered time.Time // when the answer began; zero until then
	Told     time.Time // when a stream had its first text of the agent; zero until then, and in other answers
}

// The forms of an answer.
const (
	AnswerStream = "stream"
	AnswerWhole  = "plain"
)

// count counts a request that is over.
func (x *Exchange) count(r *http.Request) {
	m, seen := x.Core.Metrics, x.Seen
	m.Request(metrics.Request{Route: seen.Route, Method: r.Method, Status: x.Status, Code: seen.Code, Took: x.Core.Now().Sub(x.began)})
	if seen.Answer != "" && !seen.Answered.IsZero() {
		m.FirstByte(seen.Answer, seen.Answered.Sub(x.began))
	}
	if !seen.Told.IsZero() {
		m.FirstText(seen.Told.Sub(x.began))
	}
}

// FirstText notes when the agent's first text was there.
func (x *Exchange) FirstText() {
	if x.Seen.Told.IsZero() {
		x.Seen.Told = x.Core.Now()
	}
}

// BackendFailed counts a failure of the backend, if err is one. What the
// backend says about a request, such as that the profile does not exist, is not
// a failure.
func (core *Core) BackendFailed(err error) {
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
			core.Metrics.BackendError(known.kind)
			return
		}
	}
	if _, told := errors.AsType[*agentapi.Error](err); !told && !errors.Is(err, context.Canceled) && !ours(err) {
		core.Metrics.BackendError("unknown")
	}
}

// ours reports whether a run ended because the gateway wanted it.
func ours(err error) bool {
	_, late := errors.AsType[*run.TimeoutError](err)
	return late || errors.Is(err, run.ErrInterrupted) || errors.Is(err, run.ErrDraining) || errors.Is(err, run.ErrRecord) ||
		errors.Is(err, run.ErrAbandoned) || errors.Is(err, run.ErrStopped) ||
		errors.Is(err, run.ErrReleased) || errors.Is(err, run.ErrTakenOver) || errors.Is(err, run.ErrLedger) || errors.Is(err, ledger.ErrAway)
}

// QuestionFailed counts a question to the backend that failed, and logs a panic in it.
func (core *Core) QuestionFailed(err error) {
	if p := rescue.Of(err); p != nil {
		core.Logger.Error("panic", "panic", p.Error(), "stack", p.Stack())
	}
	core.BackendFailed(err)
}
