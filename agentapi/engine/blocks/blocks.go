// Package blocks keeps what the box of a conversation has refused: for the model, which gets
// it with the next observation, and for those who watch. It refuses nothing itself.
package blocks

import (
	"slices"
	"strings"
	"sync"
	"unicode"

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

// List is what the box of a conversation has refused: for the model, which is
// told with the next observation, and for those who watch. Its methods may be
// called at any time.
type List struct {
	mu      sync.Mutex
	running bool
	seen    []sandbox.Block // in this run, each once
	noted   []event.Block   // those of them that the model gets, or has
	untold  []event.Block   // those that it has not got
	unshown []event.Block   // what came between two runs, without a watcher
	explain func(path string) (sandbox.Block, bool)
}

// Begin begins a run, and gives what came since the last one.
func (l *List) Begin() (unshown []event.Block) {
	l.mu.Lock()
	defer l.mu.Unlock()
	unshown, l.unshown = l.unshown, nil
	l.running = true
	return unshown
}

// End ends a run.
func (l *List) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running, l.seen = false, nil
	l.noted = slices.Clone(l.untold)
}

// Add takes a refusal, and reports whether those who watch are to be told now.
func (l *List) Add(b sandbox.Block, e event.Block) (show bool) {
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

// Take returns what the model has not been told, and counts it as told.
func (l *List) Take() []event.Block {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.untold
	l.untold = nil
	return list
}

// ExplainBy says how to find out whether a path is refused.
func (l *List) ExplainBy(explain func(path string) (sandbox.Block, bool)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.explain = explain
}

// Explainer is what ExplainBy was given last; nil for nothing.
func (l *List) Explainer() func(string) (sandbox.Block, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.explain
}

// Text says what was refused, for the model. Later it says it to people, too.
func Text(list []event.Block) string {
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
