package conversation

import (
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/plainjson"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// live is what those who watch get beside the log: retries, phases, progress, what a box has
// refused. The log does not have it: no other program knows such events, and an attempt that
// failed does not belong to what was said. Its methods may be called at any time.
type live struct {
	cfg  *Config
	id   string // of the conversation
	door *door
}

// event makes an event that is only published.
func (l *live) event(source string, body event.Body) event.Event {
	return event.New(l.cfg.NewID(), l.cfg.stamp(), source, "", body)
}

// publish sends an event to those who watch.
func (l *live) publish(source string, body event.Body) {
	l.door.watchers.Publish(l.event(source, body))
}

// update publishes a value under a key.
func (l *live) update(key string, value any) {
	data, err := plainjson.Marshal(value)
	if err != nil { // a number that JSON does not have
		l.cfg.Log.Error("encode an update for those who watch", "conversation", l.id, "key", key, "err", err)
		return
	}
	l.publish(event.SourceEnvironment, &event.StateUpdate{Key: key, Value: data})
}

// blocked notes what a box has refused, and publishes it during a run.
func (l *live) blocked(block sandbox.Block) {
	mask := l.cfg.Secrets.Mask
	e := event.Block{
		Access: string(block.Access), Target: mask(block.Target), Why: mask(block.Why), Allow: block.Allow, Held: block.Held,
	}
	if mask(block.Allow) != block.Allow {
		e.Allow = ""
	}
	if l.door.blocks.Add(block, e) {
		l.update(event.KeyBlock, e)
	}
}

// announcing publishes each repeated request of a model and the phases of a call, and hands everything
// else to next, which may be nil.
func (r *run) announcing(j *job, next func(llm.Delta)) func(llm.Delta) {
	return func(d llm.Delta) {
		if d.Retry != nil {
			retry := event.Retry{Attempt: d.Retry.Attempt, Of: d.Retry.Of, Seconds: d.Retry.Wait.Seconds(), Cause: r.cfg.Secrets.Mask(d.Retry.Cause)}
			j.post(func() { r.branch.live.update(event.KeyRetry, retry) })
			return
		}
		if d.Phase != nil {
			p := *d.Phase
			j.post(func() { r.branch.live.update(event.KeyPhase, p) })
			return
		}
		if next != nil {
			next(d)
		}
	}
}
