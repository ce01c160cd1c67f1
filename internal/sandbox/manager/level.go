package manager

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/escape"
	"github.com/ohgw/ohgw/internal/sandbox/probe"
)

// level is which sandbox there is for this process, and why no box may be used.
type level struct {
	proved chan struct{} // closed when this process has made a box of the level
	tested chan struct{} // closed when the attempts to break out were made
	prove  func()        // begins to prove it, if that is still to be done

	again sync.Mutex // held while the level is found again

	mu      sync.Mutex
	status  Status
	refusal error // why no box may be used
	held    bool  // a program has run in a box
}

func newLevel() level {
	return level{proved: make(chan struct{}), tested: make(chan struct{}), prove: func() {}}
}

// fixed says that there is nothing to prove or to test.
func (l *level) fixed(st Status) {
	l.set(st)
	close(l.proved)
	close(l.tested)
}

func (l *level) set(st Status) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status = st
}

// refuse says that no box may be used, if err is not nil.
func (l *level) refuse(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refusal = err
}

// hold says that a program has run in a box.
func (l *level) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = true
}

func (l *level) holds() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held
}

// now is the level as far as it is known.
func (l *level) now() (Status, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.status, l.refusal
}

// Status is which sandbox there is. Where another process has found it, Status waits
// until this one has made a box, too.
func (m *Manager) Status() Status {
	m.level.prove()
	<-m.level.proved
	st, _ := m.level.now()
	return st
}

// lacks is the error for a level below the minimum; nil if it is enough.
func (m *Manager) lacks(st Status) *LevelError {
	if st.Level == sandbox.Full || st.Level == sandbox.Reduced && m.cfg.Settings.Minimum != sandbox.Full {
		return nil
	}
	return &LevelError{Status: st, Minimum: m.cfg.Settings.Minimum}
}

// finding is a level, and how sure it is.
type finding struct {
	probe.Result

	proved bool // this process has made a box of it
	tested bool // the attempts to break out were refused
}

// first is the level at the start. What is decided at once is not decided by what
// another process has found.
func (m *Manager) first(ctx context.Context) (finding, error) {
	believed, known := m.believed()
	if known && m.cfg.Settings.Minimum != sandbox.Full && m.cfg.Scripted == "" {
		return finding{Result: believed, tested: true}, ctx.Err()
	}
	found := m.find(ctx)
	if err := ctx.Err(); err != nil {
		return finding{}, err
	}
	if known && found != believed {
		m.forget()
	}
	return finding{Result: found, proved: true, tested: known && found == believed}, nil
}

// begin does what a finding still needs, and does not wait for it. To make a box takes a
// processor for as long as the rest of a start takes: where another process has made one,
// this one does so when it is asked for its level or for a box.
func (m *Manager) begin(f finding) {
	switch {
	case !f.proved:
		m.level.set(Status(f.Result))
		m.level.prove = sync.OnceFunc(func() { m.wait.Go(m.prove) })
	case f.tested || !escape.Supported && m.cfg.Test == nil:
		m.level.fixed(Status(f.Result))
	default:
		m.level.set(Status(f.Result))
		close(m.level.proved)
		m.wait.Go(func() {
			defer close(m.level.tested)
			m.level.refuse(m.test(f.Result))
		})
	}
}

// prove makes a box in this process, where another one has found the level. What is not
// so here is found and tested again.
func (m *Manager) prove() {
	defer close(m.level.tested)
	found := m.find(m.ctx)
	if m.ctx.Err() != nil {
		close(m.level.proved)
		return
	}
	believed, _ := m.level.now()
	if Status(found) == believed {
		close(m.level.proved)
		return
	}
	m.change(found)
	close(m.level.proved)
}

// change takes another level than was found before, and tests it.
func (m *Manager) change(found probe.Result) {
	m.forget()
	before, _ := m.level.now()
	m.cfg.Log.Warn("the sandbox is not the one that was found before", "before", before.Level, "now", found.Level, "reason", found.Reason)
	var refusal error
	if lacking := m.lacks(Status(found)); lacking != nil {
		refusal = lacking
	} else {
		refusal = m.test(found)
	}
	m.level.mu.Lock()
	defer m.level.mu.Unlock()
	m.level.status, m.level.refusal = Status(found), refusal
}

// findAgain finds the level again, when a box could not be made of the one that was
// tried, and none was before. It reports whether there is another one now.
func (m *Manager) findAgain(tried sandbox.Level) bool {
	if m.level.holds() {
		return false
	}
	m.level.again.Lock()
	defer m.level.again.Unlock()
	if now, _ := m.level.now(); now.Level != tried {
		return true
	}
	m.forget()
	found := m.find(m.ctx)
	if m.ctx.Err() != nil || found.Level == tried {
		return false
	}
	m.change(found)
	return true
}

// test makes the attempts to break out. No box is given away before.
func (m *Manager) test(found probe.Result) error {
	attempts := m.cfg.Test
	if attempts == nil {
		attempts = func(ctx context.Context) ([]escape.Result, error) { return escape.Run(ctx, found.Level, m.cfg.User) }
	}
	results, err := attempts(m.ctx)
	if err != nil {
		return fmt.Errorf("the sandbox cannot be tested: %w", err)
	}
	for _, r := range results {
		if !r.Refused {
			m.cfg.Log.Error("the sandbox does not hold: no agent runs", "attempt", r.Name)
			return errors.New("the sandbox does not hold, an attempt succeeded: " + r.Name)
		}
	}
	m.remember(found)
	return nil
}
