package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi/event"
)

// The default bounds of conversations that are open and not in use.
const (
	defaultIdle       = 30 * time.Minute
	defaultMaxIdle    = 100
	defaultIdleMemory = 128 << 20
)

// closeIdle closes conversations that are not in use: those for one turn at once, others
// after a while. If there are too many, it first closes the one that was unused for
// longest. Each is closed by a goroutine of its own: one that does not end keeps no other
// open.
func (t *table) closeIdle() {
	var closing sync.WaitGroup
	defer closing.Wait()
	for {
		select {
		case <-t.stop:
			return
		case <-t.sweep.C:
		case <-t.released:
		}
		for _, e := range t.surplus() {
			closing.Go(func() {
				if err := t.shut(e, true); err != nil {
					t.cfg.Log.Warn("close conversation", "conversation", e.id, "err", err)
				}
				t.mu.Lock()
				defer t.mu.Unlock()
				e.closing = false
			})
		}
	}
}

// surplus marks the conversations that are to be closed, and returns them.
func (t *table) surplus() (list []*entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var kept []*entry
	var memory int64
	for _, e := range t.open {
		switch {
		case e.handles > 0 || e.closing:
		case e.once || t.cfg.Now().Sub(e.idle) >= t.cfg.Idle:
			list = append(list, e)
		default:
			kept = append(kept, e)
			memory += e.memory.Load()
		}
	}
	slices.SortFunc(kept, func(x, y *entry) int { return x.idle.Compare(y.idle) })
	for len(kept) > 0 && (len(kept) > t.cfg.MaxIdle || memory > t.cfg.IdleMemory) {
		memory -= kept[0].memory.Load()
		list, kept = append(list, kept[0]), kept[1:]
	}
	for _, e := range list {
		e.closing = true
	}
	return list
}

// statusTime is how long the goroutine of an idle conversation may take to answer.
const statusTime = time.Second

// shut closes a conversation; with onlyIdle, only if it is still not in use.
func (t *table) shut(e *entry, onlyIdle bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.now == nil {
		return nil
	}
	if onlyIdle && t.used(e) {
		return nil
	}
	err := e.now.conv.Close()
	t.forget(e)
	return err
}

// used reports whether there is a handle on a conversation, or it has something to do. One
// whose goroutine does not answer is at work.
func (t *table) used(e *entry) bool {
	t.mu.Lock()
	handles := e.handles
	t.mu.Unlock()
	if handles > 0 {
		return true
	}
	if e.now.conv.Ended() {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), statusTime)
	defer cancel()
	working, err := e.now.conv.Working(ctx)
	return errors.Is(err, context.DeadlineExceeded) || err == nil && working
}

// rest closes a conversation after the end of its run.
func (t *table) rest(ctx context.Context, e *entry) error {
	if conv := t.Live(e.id); conv != nil {
		status, err := conv.Status(ctx)
		if err == nil && status == event.Running {
			err = conv.Halt(ctx)
		}
		if err != nil && ctx.Err() != nil {
			return err
		}
	}
	return t.shut(e, false) // One that does not answer is ended like those at the end of the process.
}

// close interrupts all runs and closes all conversations. None is opened afterwards.
func (t *table) close() error {
	t.mu.Lock()
	closed := t.closed
	t.closed = true
	t.mu.Unlock()
	if closed {
		return nil
	}
	close(t.stop)
	t.sweep.Stop()
	t.tidy.Wait()
	return t.each(func(e *entry) error { return t.shut(e, false) })
}

// each calls f for all entries at once, and returns their errors.
func (t *table) each(f func(*entry) error) error {
	t.mu.Lock()
	entries := make([]*entry, 0, len(t.open))
	for _, e := range t.open {
		entries = append(entries, e)
	}
	t.mu.Unlock()
	errs := make([]error, len(entries))
	var all sync.WaitGroup
	for i, e := range entries {
		all.Go(func() { errs[i] = f(e) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// expect notes whether another turn of a conversation is expected.
func (t *table) expect(e *entry, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.once = !more
}
