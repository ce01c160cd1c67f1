package manager

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// patience is how long programs of a box wait for package managers before those who
// watch are told.
const patience = 2 * time.Second

// pending are the presets that programs of a box wait for.
type pending struct {
	mu      sync.Mutex
	presets []string
	idle    chan struct{} // closed when there are none any more
}

// waitFor begins a wait, which done ends.
func (n *network) waitFor(preset string) (done func()) {
	p := &n.pending
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.presets) == 0 {
		idle := make(chan struct{})
		p.idle = idle
		n.box.m.wait.Go(func() { n.tellLate(idle) })
	}
	p.presets = append(p.presets, preset)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		at := slices.Index(p.presets, preset)
		if p.presets = slices.Delete(p.presets, at, at+1); len(p.presets) == 0 {
			close(p.idle)
		}
	}
}

// tellLate reports what the caller waits for, if that takes long.
func (n *network) tellLate(idle <-chan struct{}) {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-idle:
		return
	case <-n.box.m.ctx.Done():
		return
	case <-late.C:
	}
	n.pending.mu.Lock()
	names := slices.Compact(slices.Sorted(slices.Values(n.pending.presets)))
	n.pending.mu.Unlock()
	if len(names) > 0 {
		n.box.env.Progress("waiting for package managers to list the hosts they use: @" + strings.Join(names, " @"))
	}
}
