package conversation

import (
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/plainjson"
)

// announcing publishes each repeated request of a model and the phases of a call, and hands everything
// else to next, which may be nil.
func (r *run) announcing(j *job, next func(llm.Delta)) func(llm.Delta) {
	return func(d llm.Delta) {
		if d.Retry != nil {
			retry := event.Retry{Attempt: d.Retry.Attempt, Of: d.Retry.Of, Seconds: d.Retry.Wait.Seconds(), Cause: r.cfg.Secrets.Mask(d.Retry.Cause)}
			j.post(func() { r.branch.publishRetry(retry) })
			return
		}
		if d.Phase != nil {
			p := *d.Phase
			j.post(func() { r.branch.publishPhase(p) })
			return
		}
		if next != nil {
			next(d)
		}
	}
}

// publishRetry sends a retry to the watchers. It is not written to the log: an attempt
// that failed does not belong to what was said.
func (b *branch) publishRetry(r event.Retry) {
	value, err := plainjson.Marshal(r)
	if err != nil { // a number that JSON does not have
		b.cfg.Log.Error("encode retry", "conversation", b.id, "err", err)
		return
	}
	b.door.watchers.publish(b.unstored(event.SourceEnvironment, &event.StateUpdate{Key: event.KeyRetry, Value: value}))
}

// publishPhase sends to the watchers what the run is waiting for.
func (b *branch) publishPhase(p event.Phase) {
	value, err := plainjson.Marshal(p)
	if err != nil { // a number that JSON does not have
		b.cfg.Log.Error("encode phase", "conversation", b.id, "err", err)
		return
	}
	b.door.watchers.publish(b.unstored(event.SourceEnvironment, &event.StateUpdate{Key: event.KeyPhase, Value: value}))
}
