package conversation

import (
	"context"
	"encoding/json"

	"github.com/ohgw/ohgw/agentapi/engine/blocks"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/watch"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/plainjson"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// live is for those who watch. It sends them the events of the log, and what they get
// beside it: retries, phases, progress, what a box has refused. The log does not have
// that: no other program knows such events, and an attempt that failed does not belong to
// what was said. Its methods may be called at any time.
type live struct {
	cfg      *Config
	id       string // of the conversation
	watchers watch.Watchers
	blocks   blocks.List
}

// send sends an event to those who watch.
func (l *live) send(e event.Event) { l.watchers.Publish(e) }

// unwatched reports whether there are no watchers.
func (l *live) unwatched() bool { return l.watchers.None() }

// open adds a watcher, which first gets the chunks.
func (l *live) open(chunks ...watch.Chunk) *watch.Stream { return l.watchers.Open(chunks...) }

// end ends the streams of all who watch with an error.
func (l *live) end(err error) { l.watchers.End(err) }

// beginRun publishes what the box has refused since the last run.
func (l *live) beginRun() {
	for _, b := range l.blocks.Begin() {
		l.update(event.KeyBlock, b)
	}
}

// endRun has what the box refuses from now on wait for the next run.
func (l *live) endRun() { l.blocks.End() }

// explainBy sets how to find out whether a path is refused.
func (l *live) explainBy(explain func(path string) (sandbox.Block, bool)) {
	l.blocks.ExplainBy(explain)
}

// event makes an event that is only published.
func (l *live) event(source string, body event.Body) event.Event {
	return event.New(l.cfg.NewID(), l.cfg.stamp(), source, "", body)
}

// publish sends an event to those who watch.
func (l *live) publish(source string, body event.Body) {
	l.send(l.event(source, body))
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
	if l.blocks.Add(block, e) {
		l.update(event.KeyBlock, e)
	}
}

// announcing publishes each repeated request of a model and the phases of a call, and hands everything
// else to next, which may be nil.
func (r *run) announcing(j *job, next func(llm.Delta)) func(llm.Delta) {
	return func(d llm.Delta) {
		if d.Retry != nil {
			retry := event.Retry{Attempt: d.Retry.Attempt, Of: d.Retry.Of, Seconds: d.Retry.Wait.Seconds(), Cause: r.cfg.Secrets.Mask(d.Retry.Cause)}
			j.post(func() { r.live.update(event.KeyRetry, retry) })
			return
		}
		if d.Phase != nil {
			p := *d.Phase
			j.post(func() { r.live.update(event.KeyPhase, p) })
			return
		}
		if next != nil {
			next(d)
		}
	}
}

// telling is a tool whose results say what the box refused meanwhile.
type telling struct {
	tool.Tool

	live *live
}

// Run runs the tool. Blocks that came while a call failed are noted in the next result.
// So are those of the last call, because the model does not read its result.
func (t telling) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	result, err := t.Tool.Run(ctx, call)
	if err != nil || ctx.Err() != nil || t.Definition().Name == finishTool {
		return result, err
	}
	list := t.live.refused(result.Observation)
	if len(list) == 0 {
		return result, nil
	}
	noted, err := tool.WithNote(result, blocks.Text(list))
	if err != nil {
		t.live.cfg.Log.Error("note what the sandbox refused", "conversation", t.live.id, "err", err)
		return result, nil
	}
	return noted, nil
}

// refused is what the box has refused that the model has not been told yet, with what the
// result of a command shows of it.
func (l *live) refused(observation json.RawMessage) []event.Block {
	if explain := l.blocks.Explainer(); explain != nil {
		for _, block := range blocks.Hints(observation, explain) {
			l.blocked(block)
		}
	}
	return l.blocks.Take()
}
