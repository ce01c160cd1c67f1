package hook

import (
	"sync"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/uuid"
)

// tag is the variable by which the programs of one run of a hook are found that have left
// its session.
const tag = "AI_AGENT_HOOK"

// newTag is the variable of another run of a hook.
func newTag() string { return tag + "=" + uuid.New() }

// together is how long the end of left programs waits for that of others: they are looked
// for among all processes.
const together = time.Second

// leftovers ends what hooks have left behind, when their time is over. The zero value has
// nothing to end.
type leftovers struct {
	mu     sync.Mutex
	timers map[string]*time.Timer // by tag
	due    []string
	sweep  *time.Timer
	closed bool
}

// watch ends the programs with a tag after a while, or with the conversation.
func (l *leftovers) watch(tag string, after time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	if l.timers == nil {
		l.timers = make(map[string]*time.Timer)
	}
	l.timers[tag] = time.AfterFunc(after, func() { l.expire(tag) })
}

// expire notes that the time of a hook is over.
func (l *leftovers) expire(tag string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	delete(l.timers, tag)
	if l.due = append(l.due, tag); len(l.due) == 1 {
		l.sweep = time.AfterFunc(together, l.end)
	}
}

// end ends the programs whose time is over.
func (l *leftovers) end() {
	l.mu.Lock()
	due := l.due
	l.due = nil
	l.mu.Unlock()
	sandbox.EndTagged(due...)
}

// close ends all of them.
func (l *leftovers) close() {
	l.mu.Lock()
	l.closed = true
	if l.sweep != nil {
		l.sweep.Stop()
	}
	for tag, timer := range l.timers {
		timer.Stop()
		l.due = append(l.due, tag)
	}
	l.mu.Unlock()
	l.end()
}
