package conversation

import (
	"context"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/truncate"
)

const (
	// maxBlocks is how many refusals of a run are told; the others are refused all
	// the same.
	maxBlocks = 64
	// maxTarget bounds a target in an observation, in characters.
	maxTarget = 300
)

// blocks are what the box of a conversation has refused: for the model, which is
// told with the next observation, and for those who watch. Its methods may be
// called at any time.
type blocks struct {
	mu      sync.Mutex
	running bool
	seen    []sandbox.Block // in this run, each once
	noted   []event.Block   // those of them that the model gets, or has
	untold  []event.Block   // those that it has not got
	unshown []event.Block   // what came between two runs, without a watcher
	explain func(path string) (sandbox.Block, bool)
}

// begin begins a run, and gives what came since the last one.
func (l *blocks) begin() (unshown []event.Block) {
	l.mu.Lock()
	defer l.mu.Unlock()
	unshown, l.unshown = l.unshown, nil
	l.running = true
	return unshown
}

// end ends a run.
func (l *blocks) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running, l.seen = false, nil
	l.noted = slices.Clone(l.untold)
}

// add takes a refusal, and reports whether those who watch are to be told now.
func (l *blocks) add(b sandbox.Block, e event.Block) (show bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := func(o sandbox.Block) bool { return o.Access == b.Access && o.Target == b.Target && o.Held == b.Held }
	if len(l.seen) >= maxBlocks || slices.ContainsFunc(l.seen, known) {
		return false
	}
	l.seen = append(l.seen, b)
	if !b.Held && !slices.ContainsFunc(l.noted, e.Same) { // what waits may be granted yet
		l.noted, l.untold = append(l.noted, e), append(l.untold, e)
	}
	if !b.Quiet && !l.running {
		l.unshown = append(l.unshown, e)
	}
	return !b.Quiet && l.running
}

// take is what the model has not been told, which it is now.
func (l *blocks) take() []event.Block {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.untold
	l.untold = nil
	return list
}

func (l *blocks) explainBy(explain func(path string) (sandbox.Block, bool)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.explain = explain
}

func (l *blocks) explainer() func(string) (sandbox.Block, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.explain
}

// Blocked tells the model and those who watch what a box has refused. A name or a
// path may have the value of a secret in it.
func (c *Conversation) Blocked(b sandbox.Block) { c.branch.live.blocked(b) }

// ExplainPaths says how to find out whether a path is refused.
func (c *Conversation) ExplainPaths(explain func(path string) (sandbox.Block, bool)) {
	c.door.blocks.explainBy(explain)
}

// telling is a tool whose results say what the box refused meanwhile.
type telling struct {
	tool.Tool

	b *branch
}

// Run runs the tool. Blocks that came while a call failed are noted in the next result.
// So are those of the last call, because the model does not read its result.
func (t telling) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	result, err := t.Tool.Run(ctx, call)
	if err != nil || ctx.Err() != nil || t.Definition().Name == finishTool {
		return result, err
	}
	if explain := t.b.door.blocks.explainer(); explain != nil {
		for _, block := range hints(result.Observation, explain) {
			t.b.live.blocked(block)
		}
	}
	list := t.b.door.blocks.take()
	if len(list) == 0 {
		return result, nil
	}
	noted, err := tool.WithNote(result, refusedText(list))
	if err != nil {
		t.b.cfg.Log.Error("note what the sandbox refused", "conversation", t.b.id, "err", err)
		return result, nil
	}
	return noted, nil
}

// refusedText says what was refused, for the model. Later it says it to people, too.
func refusedText(list []event.Block) string {
	lines := make([]event.Block, len(list))
	for i, b := range list {
		lines[i] = event.Block{Access: b.Access, Target: inLine(b.Target), Why: inLine(b.Why)}
	}
	return event.RefusedNote(lines)
}

// inLine is text in one line, of bounded length.
func inLine(text string) string {
	return truncate.Head(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text), maxTarget)
}
