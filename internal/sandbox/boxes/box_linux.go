package boxes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/gitguard"
	"github.com/ohgw/ohgw/internal/sandbox/policy"
	"github.com/ohgw/ohgw/internal/sandbox/seccomp"
)

// box is the box of one conversation.
type box struct {
	cfg    Config
	policy policy.Policy

	mu      sync.Mutex
	runtime *runtime // nil before the first program, and after it died
	closed  bool
	unwatch func()
	ownTmp  bool        // Policy.Tmp is the box's own, and goes with it
	users   int         // of runtime, that start a program
	quiet   *time.Timer // ends runtime; nil if it stays
}

// defaultIdle is how long the process of a box stays without a program.
const defaultIdle = 10 * time.Second

// New makes a box. Its namespaces are made with the first program; an error of
// theirs is one of Start.
func New(cfg Config) (sandbox.Box, error) {
	if !seccomp.Supported {
		return nil, ErrUnsupported
	}
	p, guards, err := complete(cfg)
	if err != nil {
		return nil, err
	}
	if err := makeHome(&cfg.Policy); err != nil {
		return nil, err
	}
	b := &box{cfg: cfg, policy: p, unwatch: func() {}}
	if cfg.Level == sandbox.Reduced {
		if err := b.reduce(guards); err != nil {
			return nil, err
		}
		return b, nil
	}
	if len(guards.Watch) > 0 {
		if b.unwatch, err = startWatch(cfg, guards); err != nil {
			return nil, errors.Join(err, b.removeTmp())
		}
	}
	return b, nil
}

// complete adds to the policy what every box has, but for what is hidden.
func complete(cfg Config) (policy.Policy, gitguard.Guards, error) {
	p := cfg.Policy
	p.UID, p.GID = os.Geteuid(), os.Getegid()
	p.Write, p.Protect = slices.Clone(p.Write), slices.Clone(p.Protect)
	if err := p.Check(); err != nil {
		return p, gitguard.Guards{}, err
	}
	if cfg.GitOpen {
		return p, gitguard.Guards{}, nil
	}
	guards, err := gitguard.Find(p.Workspace)
	if err != nil {
		return p, guards, fmt.Errorf("guard the git directory of %s: %w", p.Workspace, err)
	}
	p.Write = append(p.Write, guards.Write...)
	p.Protect = append(p.Protect, guards.Protect...)
	return p, guards, p.Check()
}

// startWatch watches the git directories while the box lives.
func startWatch(cfg Config, guards gitguard.Guards) (stop func(), err error) {
	watcher := cfg.Watcher
	own := watcher == nil
	if own {
		if watcher, err = gitguard.NewWatcher(); err != nil {
			return nil, fmt.Errorf("watch the git directory: %w", err)
		}
	}
	removed := cfg.Removed
	if removed == nil {
		removed = func(string) {}
	}
	remove, err := watcher.Add(guards, removed)
	if err != nil {
		if own {
			_ = watcher.Close()
		}
		return nil, fmt.Errorf("watch the git directory: %w", err)
	}
	return func() {
		remove()
		if own {
			_ = watcher.Close()
		}
	}, nil
}

// Level is full or reduced.
func (b *box) Level() sandbox.Level {
	if b.policy.Reduced {
		return sandbox.Reduced
	}
	return sandbox.Full
}

// Start starts a program.
func (b *box) Start(ctx context.Context, p sandbox.Program) (sandbox.Process, error) {
	r, err := b.running(ctx)
	if err != nil {
		return nil, err
	}
	defer b.done()
	if b.policy.Reduced {
		p.Env = reducedEnviron(p.Env, &b.cfg.Policy, &b.policy)
	}
	started, err := r.start(ctx, p)
	if err != nil {
		return nil, err // not a process that is nil
	}
	return started, nil
}

// running returns the process with the namespaces, and starts it if there is none. It
// is not ended until done is called.
func (b *box) running(ctx context.Context) (*runtime, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, sandbox.ErrClosed
	}
	if b.runtime == nil || !b.runtime.alive() {
		b.end()
		r, err := startRuntime(ctx, &b.policy, &b.cfg)
		if err != nil && ctx.Err() == nil {
			err = &sandbox.UnavailableError{Err: err}
		}
		if err != nil {
			return nil, err
		}
		b.runtime = r
	}
	b.users++
	return b.runtime, nil
}

func (b *box) done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.users--
	b.watchIdle()
}

// watchIdle looks after a while whether anything runs in the box. At level reduced,
// processes cannot be counted.
func (b *box) watchIdle() {
	if b.policy.Tmp == "" || b.policy.Reduced || b.closed {
		return
	}
	idle := cmp.Or(b.cfg.Idle, defaultIdle)
	if b.quiet == nil {
		b.quiet = time.AfterFunc(idle, b.endIfIdle)
		return
	}
	b.quiet.Reset(idle)
}

// endIfIdle ends the process of the box if there is no other one. What was left in
// the background counts.
func (b *box) endIfIdle() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.runtime == nil || b.closed {
		return
	}
	if b.users > 0 || b.runtime.busy() {
		b.watchIdle()
		return
	}
	b.end()
}

// end ends the process of the box, and everything in it.
func (b *box) end() {
	if b.runtime != nil {
		b.runtime.close()
		b.runtime = nil
	}
}

// Close ends what runs in the box.
func (b *box) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	b.closed = true
	if b.quiet != nil {
		b.quiet.Stop()
	}
	b.end()
	// The watch is the last to end: a program may plant a file as its last act.
	b.unwatch()
	return b.removeTmp()
}
