package boxes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

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
	ownTmp  bool // Policy.Tmp is the box's own, and goes with it
}

// New makes a box. Its namespaces are made with the first program; an error of
// theirs is one of Start.
func New(cfg Config) (sandbox.Box, error) {
	if !seccomp.Supported {
		return nil, ErrUnsupported
	}
	p, watch, err := complete(cfg)
	if err != nil {
		return nil, err
	}
	b := &box{cfg: cfg, policy: p, unwatch: func() {}}
	if cfg.Level == sandbox.Reduced {
		if err := b.reduce(); err != nil {
			return nil, err
		}
	}
	if len(watch) > 0 {
		if b.unwatch, err = startWatch(cfg, watch); err != nil {
			return nil, errors.Join(err, b.removeTmp())
		}
	}
	return b, nil
}

// complete adds to the policy what every box has.
func complete(cfg Config) (policy.Policy, []string, error) {
	p := cfg.Policy
	p.UID, p.GID = os.Geteuid(), os.Getegid()
	p.Write, p.Protect = slices.Clone(p.Write), slices.Clone(p.Protect)
	if err := p.Check(); err != nil {
		return p, nil, err
	}
	p.Hide = append(slices.Clone(p.Hide), hidden(&p, os.Geteuid() == 0)...)
	if cfg.GitOpen {
		return p, nil, nil
	}
	guards, err := gitguard.Find(p.Workspace)
	if err != nil {
		return p, nil, fmt.Errorf("guard the git directory of %s: %w", p.Workspace, err)
	}
	p.Write = append(p.Write, guards.Write...)
	p.Protect = append(p.Protect, guards.Protect...)
	return p, guards.Watch, p.Check()
}

// startWatch watches the git directories while the box lives.
func startWatch(cfg Config, dirs []string) (stop func(), err error) {
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
	remove, err := watcher.Add(dirs, removed)
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
	if b.policy.Reduced {
		p.Env = reducedEnviron(p.Env, &b.cfg.Policy, &b.policy)
	}
	return r.start(ctx, p)
}

// running is the process with the namespaces, started if there is none.
func (b *box) running(ctx context.Context) (*runtime, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, sandbox.ErrClosed
	}
	if b.runtime != nil && b.runtime.alive() {
		return b.runtime, nil
	}
	if b.runtime != nil {
		b.runtime.close()
		b.runtime = nil
	}
	r, err := startRuntime(ctx, &b.policy, &b.cfg)
	if err != nil {
		return nil, err
	}
	b.runtime = r
	return r, nil
}

// Close ends what runs in the box.
func (b *box) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	b.closed = true
	if b.runtime != nil {
		b.runtime.close()
	}
	// The watch is the last to end: a program may plant a file as its last act.
	b.unwatch()
	return b.removeTmp()
}
