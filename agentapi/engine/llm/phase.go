package llm

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/llm/window"
	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/agentapi/event"
)

// This file tells what a call waits for. A local server may load its model for minutes
// before the first call, and read a long prompt for minutes before the first word.

// loadingPause is the time between two questions to a server that loads its model. A
// question costs the server nothing.
const loadingPause = time.Second

// expect prepares a call for what its server is known to do: to load the model first, or
// to tell how it reads the prompt.
func (m *model) expect(c *wire.Call, w *wait) {
	c.Options.Progress = m.tellsProgress()
	if m.isCold() {
		w.loading()
	}
}

// tellsProgress reports whether the server can report how much of a prompt it has read.
// Only llama.cpp is asked to: others may refuse a member that they do not know.
func (m *model) tellsProgress() bool {
	return m.cfg.Windows != nil && m.route.style == chatStyle && m.cfg.Windows.Look(m.sizeKey()).Server == window.LlamaCpp
}

// isCold reports whether the server has said that it loads the model at the next call.
func (m *model) isCold() bool {
	return m.cfg.Windows != nil && m.cfg.Windows.Look(m.sizeKey()).Cold
}

// isLoading reports whether the server has said that it loads the model now.
func (m *model) isLoading() bool {
	return m.cfg.Windows != nil && m.cfg.Windows.Look(m.sizeKey()).Loading
}

// loadingLimit is how long a server may load its model.
func (m *model) loadingLimit() time.Duration {
	if limit := m.timeout(); limit > 0 {
		return limit
	}
	return maxCall
}

// isLoading reports whether a refusal says that the model is being loaded: llama.cpp's.
func isLoading(err error) bool {
	refusal, ok := errors.AsType[*wire.Failure](err)
	return ok && refusal.Status == http.StatusServiceUnavailable &&
		strings.HasPrefix(strings.ToLower(refusal.Message), "loading model")
}

// IsLoading reports whether an error of a call, or of [ListModels], says that the server
// loads the model now.
func IsLoading(err error) bool {
	failed, ok := errors.AsType[*Error](err)
	return ok && failed.Status == http.StatusServiceUnavailable && strings.Contains(failed.Error(), "Loading model")
}

// loaded makes a call, and makes it again as long as the server loads its model: at most
// as long as the profile lets a provider be silent. None of these is a failed attempt.
func (m *model) loaded(ctx context.Context, w *wait, call func() (*Response, error)) (*Response, error) {
	limit := m.loadingLimit()
	for waited := time.Duration(0); ; waited += loadingPause {
		resp, err := call()
		if !isLoading(err) || waited >= limit {
			if err == nil && m.isCold() {
				m.cfg.Windows.Warm(m.sizeKey())
			}
			return resp, err
		}
		w.loading()
		if err := sleep(ctx, loadingPause); err != nil {
			return nil, err
		}
	}
}

// wait passes the pieces of an answer on, and reports the phase until the first one comes.
type wait struct {
	out     *relay
	now     func() time.Time
	started time.Time // the request
	first   time.Time // the first piece of the answer
	told    event.Phase
}

// begin starts the clock of a new request.
func (w *wait) begin(now time.Time) { w.started, w.first = now, time.Time{} }

// loading says that the server loads the model.
func (w *wait) loading() { w.tell(event.Phase{Name: event.PhaseLoading}) }

// tell hands a phase on, if it is another one than the last, by a percent.
func (w *wait) tell(p event.Phase) {
	if p.Name == w.told.Name && p.Prompt == w.told.Prompt && percent(p) == percent(w.told) {
		return
	}
	w.told = p
	if w.out.onDelta != nil {
		w.out.onDelta(Delta{Phase: &p})
	}
}

// percent is how much of a prompt was read.
func percent(p event.Phase) int64 {
	const all = 100
	if p.Prompt <= 0 {
		return 0
	}
	return all * p.Read / p.Prompt
}

// deliver hands a piece of the answer on.
func (w *wait) deliver(d wire.Delta) {
	if p := d.Prompt; p != nil {
		if p.Tokens > 0 {
			w.tell(event.Phase{Name: event.PhaseReading, Prompt: p.Tokens, Read: max(0, min(p.Read, p.Tokens))})
		}
		return
	}
	if w.first.IsZero() {
		w.first = w.now()
		if w.told.Name == event.PhaseLoading || w.told.Name == event.PhaseReading {
			w.tell(event.Phase{Name: event.PhaseWriting})
		}
	}
	w.out.deliver(d)
}

// done says what the call took: as the server has measured, else from the outside.
func (w *wait) done(b *wire.Builder) {
	p := event.Phase{
		Name: event.PhaseDone, Prompt: b.Usage.PromptTokens,
		Read: b.Timings.Read, Written: b.Timings.Written, ReadSeconds: b.Timings.ReadSeconds, WriteSeconds: b.Timings.WriteSeconds,
	}
	if b.Timings == (wire.Timings{}) && !w.first.IsZero() {
		p.Read, p.ReadSeconds = max(0, b.Usage.PromptTokens-b.Usage.CacheReadTokens), w.first.Sub(w.started).Seconds()
		p.Written, p.WriteSeconds = b.Usage.CompletionTokens, w.now().Sub(w.first).Seconds()
	}
	w.tell(p)
}
