package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// The default bounds of conversations that are open and not in use.
const (
	defaultIdle       = 30 * time.Minute
	defaultMaxIdle    = 100
	defaultIdleMemory = 128 << 20
)

// expect notes whether another turn of a conversation is expected.
func (b *Backend) expect(e *entry, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e.once = !more
}

// closeIdle closes conversations that are not in use: those for one turn at once, others
// after a while. If there are too many, it first closes the one that was unused for
// longest. Each is closed by a goroutine of its own: one that does not end keeps no other
// open.
func (b *Backend) closeIdle() {
	var closing sync.WaitGroup
	defer closing.Wait()
	for {
		select {
		case <-b.stop:
			return
		case <-b.sweep.C:
		case <-b.released:
		}
		for _, e := range b.surplus() {
			closing.Go(func() {
				if err := b.shut(e, true); err != nil {
					b.cfg.Log.Warn("close conversation", "conversation", e.id, "err", err)
				}
				b.mu.Lock()
				defer b.mu.Unlock()
				e.closing = false
			})
		}
	}
}

// surplus are the conversations that are to be closed. They are marked.
func (b *Backend) surplus() (list []*entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var kept []*entry
	var memory int64
	for _, e := range b.open {
		switch {
		case e.handles > 0 || e.closing:
		case e.once || b.cfg.Now().Sub(e.idle) >= b.cfg.Idle:
			list = append(list, e)
		default:
			kept = append(kept, e)
			memory += e.memory.Load()
		}
	}
	slices.SortFunc(kept, func(x, y *entry) int { return x.idle.Compare(y.idle) })
	for len(kept) > 0 && (len(kept) > b.cfg.MaxIdle || memory > b.cfg.IdleMemory) {
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
func (b *Backend) shut(e *entry, onlyIdle bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.conv == nil {
		return nil
	}
	if onlyIdle && b.used(e) {
		return nil
	}
	err := e.conv.Close()
	b.forget(e)
	return err
}

// used reports whether there is a handle on a conversation, or it has something to do. One
// whose goroutine does not answer is at work.
func (b *Backend) used(e *entry) bool {
	b.mu.Lock()
	handles := e.handles
	b.mu.Unlock()
	if handles > 0 {
		return true
	}
	if e.conv.Ended() {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), statusTime)
	defer cancel()
	working, err := e.conv.Working(ctx)
	return errors.Is(err, context.DeadlineExceeded) || err == nil && working
}
