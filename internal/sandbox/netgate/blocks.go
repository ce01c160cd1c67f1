package netgate

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
)

// maxBlocks limits the refusals that are remembered. Later ones are refused all the
// same.
const maxBlocks = 256

// Block is a connection that was refused.
type Block struct {
	Name string    // the host, or what was sent as one
	Port uint16    // zero if it is not known
	Why  string    // a sentence without its full stop
	Time time.Time // of the first such refusal
}

// blocks are the refusals of one gate, each once.
type blocks struct {
	now    func() time.Time
	report func(Block)

	mu  sync.Mutex
	all []Block
}

func (b *blocks) add(name string, port uint16, why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	same := func(o Block) bool { return o.Name == name && o.Port == port && o.Why == why }
	block := Block{Name: name, Port: port, Why: why, Time: b.now()}
	if b.report != nil {
		b.report(block)
	}
	if len(b.all) < maxBlocks && !slices.ContainsFunc(b.all, same) {
		b.all = append(b.all, block)
	}
}

func (b *blocks) list() []Block {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.all)
}

// target is what a connection is for.
type target struct {
	host netpolicy.Host
	port uint16
}

// asks are the questions about hosts that are not on the list: one at a time for
// each target, and not again after a refusal.
type asks struct {
	mu      sync.Mutex
	pending map[target]*question
	refused map[target]bool
}

type question struct {
	done    chan struct{}
	allowed bool // after done
}

// ask holds a connection until its question is answered. Connections to the same
// target share one question. A confirmation is for the connections that wait.
func (g *Gate) ask(ctx context.Context, t target, why string) bool {
	if g.cfg.Ask == nil {
		return false
	}
	a := &g.asks
	a.mu.Lock()
	if a.pending == nil {
		a.pending, a.refused = map[target]*question{}, map[target]bool{}
	}
	if a.refused[t] || len(a.refused) >= maxBlocks {
		a.mu.Unlock()
		return false
	}
	q := a.pending[t]
	if q == nil {
		q = &question{done: make(chan struct{})}
		a.pending[t] = q
		g.wait.Go(func() { g.put(q, t, why) })
	}
	a.mu.Unlock()
	select {
	case <-q.done:
		return q.allowed
	case <-ctx.Done():
		return false
	}
}

// put puts one question.
func (g *Gate) put(q *question, t target, why string) {
	ctx, cancel := context.WithTimeout(g.ctx, askLimit)
	defer cancel()
	allowed := g.cfg.Ask(ctx, Block{Name: t.host.String(), Port: t.port, Why: why, Time: g.cfg.Now()}) && ctx.Err() == nil
	g.asks.mu.Lock()
	defer g.asks.mu.Unlock()
	delete(g.asks.pending, t)
	if !allowed {
		g.asks.refused[t] = true
	}
	q.allowed = allowed
	close(q.done)
}
