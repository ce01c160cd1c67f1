package manager

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	"github.com/ohgw/ohgw/internal/sandbox/grants"
	"github.com/ohgw/ohgw/internal/sandbox/policy"
	"github.com/ohgw/ohgw/internal/subpath"
)

// box is that of one conversation. The real one is made with the first program, because
// its policy is then as new as it can be, and a conversation that starts none pays for none.
type box struct {
	m        *Manager
	env      Env
	settings Settings      // for this workspace
	plan     policy.Policy // without what is found out with the first program
	network  *network

	mu    sync.Mutex
	inner sandbox.Box   // nil before the first program
	shown shown         // beyond the plan, in inner
	level sandbox.Level // of inner
	// started is the box of the newest program. Files may have opened a wider one since.
	started sandbox.Box
	// before are the boxes whose policy has become too narrow: what runs there goes
	// on until the conversation is closed.
	before []sandbox.Box
	closed bool
}

// shown is what grants show in a box beyond its plan.
type shown struct{ write, read []string }

func (s shown) same(other shown) bool {
	return slices.Equal(s.write, other.write) && slices.Equal(s.read, other.read)
}

// allowedSockets are the names and paths of the sockets that the user allows.
func (b *box) allowedSockets() []string {
	return append(grants.Targets(b.granted(), sandbox.Socket), b.settings.Sockets...)
}

// more is what grants show now. Sockets that do not exist are left out.
func (b *box) more() shown {
	list := b.granted()
	return shown{
		write: grants.Targets(list, sandbox.Write),
		read:  append(grants.Targets(list, sandbox.Read), b.m.sockets(b.allowedSockets())...),
	}
}

// Stale says that a program that starts now has other rights than the newest one that
// was started.
func (b *box) Stale() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.started != nil && (b.started != b.inner || !b.more().same(b.shown))
}

// inside makes a box that takes rights away.
func (m *Manager) inside(e Env) (sandbox.Box, error) {
	if e.Blocked == nil {
		e.Blocked = func(sandbox.Block) {}
	}
	if e.Progress == nil {
		e.Progress = func(string) {}
	}
	b := &box{m: m, env: e}
	var err error
	if b.plan, b.settings, err = m.plan(e.Workspace); err != nil {
		return nil, err
	}
	b.plan.Read = append(append(b.plan.Read, e.Read...), e.Shown...)
	if e.ReadOnly {
		b.plan.Read = append(b.plan.Read, b.plan.Workspace)
	}
	if b.network, err = m.newNetwork(b); err != nil {
		return nil, err
	}
	b.plan.Network = b.network != nil
	m.prepare(b.plan.Workspace, b.settings)
	if len(e.Read) > 0 {
		return b, b.plan.Check()
	}
	m.mu.Lock()
	m.open[e.Conversation] = b
	m.mu.Unlock()
	return b, nil
}

// plan makes the policy of a box as the settings for its workspace say, without what of
// the user's it shows and hides; see [box.with].
func (m *Manager) plan(workspace string) (policy.Policy, Settings, error) {
	p, err := boxes.Place(m.user(), workspace)
	if err != nil {
		return p, Settings{}, err
	}
	s := m.cfg.Settings.Of(p.Workspace)
	if s.Processes > 0 {
		p.Processes = s.Processes
	}
	p.Write = append(p.Write, s.Write...)
	p.Read = append(p.Read, s.Read...)
	p.Hide = append(p.Hide, s.Hide...)
	for _, at := range s.Protect {
		if _, ok := p.Tree(at); ok { // the others are read-only anyway
			p.Protect = append(p.Protect, at)
		}
	}
	return p, s, p.Check()
}

// user is whose programs the boxes are for.
func (m *Manager) user() boxes.User {
	u := m.cfg.User
	u.Private = private(u)
	return u
}

// Level is that of the manager.
func (b *box) Level() sandbox.Level { return b.m.Status().Level }

// Environ is what programs get of the user's environment.
func (b *box) Environ(environ []string) []string {
	env := boxes.Environ(environ, &b.plan)
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if slices.Contains(b.settings.Pass, name) {
			env = append(env, entry)
		}
	}
	return env
}

// Start starts a program. If the first box of this process cannot be made, the level is
// found again.
func (b *box) Start(ctx context.Context, p sandbox.Program) (sandbox.Process, error) {
	level := b.Level()
	process, err := b.start(ctx, p)
	if _, none := errors.AsType[*sandbox.UnavailableError](err); none && ctx.Err() == nil && b.m.findAgain(level) {
		process, err = b.start(ctx, p)
	}
	if err == nil {
		b.m.level.hold()
	}
	return process, err
}

func (b *box) start(ctx context.Context, p sandbox.Program) (sandbox.Process, error) {
	inner, err := b.open()
	if err != nil {
		return nil, err
	}
	p.Dir = b.real(p.Dir)
	// Not with Environ: a socket may be allowed while the conversation is open.
	p.Env = append(b.m.socketVariables(b.allowedSockets()), p.Env...)
	if b.network != nil {
		p.Env = append(b.network.environ(ctx), p.Env...)
	}
	process, err := inner.Start(ctx, p)
	if err == nil {
		b.mu.Lock()
		b.started = inner
		b.mu.Unlock()
	}
	return process, err
}

// real is a path in the workspace without the symbolic link by which the
// conversation has it.
func (b *box) real(at string) string {
	if rel, ok := subpath.Rel(b.env.Workspace, at); ok {
		return filepath.Join(b.plan.Workspace, rel)
	}
	return at
}

// open returns the real box. It makes another one if the grants or the level have
// changed.
func (b *box) open() (sandbox.Box, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, sandbox.ErrClosed
	}
	level, err := b.m.level.now()
	if err != nil {
		return nil, &sandbox.UnavailableError{Err: err}
	}
	more := b.more()
	if b.inner != nil {
		if more.same(b.shown) && level.Level == b.level {
			return b.inner, nil
		}
		b.before, b.inner = append(b.before, b.inner), nil
	}
	inner, err := b.make(level.Level, more)
	if err != nil {
		return nil, &sandbox.UnavailableError{Err: err}
	}
	b.inner, b.shown, b.level = inner, more, level.Level
	return inner, nil
}

// with is the plan with what of the user's it shows and hides now, and with what grants
// show. A workspace that is read-only can be granted, too.
func (b *box) with(more shown) policy.Policy {
	p := boxes.Surround(b.m.user(), b.plan)
	p.Write, p.Read = append(slices.Clip(p.Write), more.write...), append(slices.Clip(p.Read), more.read...)
	if at := b.memory(); at != "" && b.env.ReadOnly {
		p.Read = append(p.Read, at)
	} else if at != "" {
		p.Write = append(p.Write, at)
	}
	if b.env.ReadOnly && slices.Contains(more.write, p.Workspace) {
		p.Read = slices.DeleteFunc(slices.Clone(p.Read), func(at string) bool { return at == p.Workspace })
	}
	return p
}

// memory is the directory of the user's notes, as long as it can be one: a box with another
// thing in its place could not be made.
func (b *box) memory() string {
	at := b.env.Memory
	info, err := os.Lstat(at)
	if at == "" || err != nil || !info.IsDir() || policy.OfSystem(at) || subpath.Within(at, b.plan.Workspace) {
		return ""
	}
	return at
}

// make makes a real box.
func (b *box) make(level sandbox.Level, more shown) (sandbox.Box, error) {
	p := b.with(more)
	p.GitConfig = b.m.gitConfig()
	if b.env.Dir != "" {
		var err error
		if p.Tmp, err = makeDir(filepath.Join(b.env.Dir, "tmp")); err != nil {
			return nil, fmt.Errorf("make the sandbox's /tmp: %w", err)
		}
		seen, err := makeDir(filepath.Join(b.env.Dir, "observations"))
		if err != nil {
			return nil, fmt.Errorf("make the directory of observations: %w", err)
		}
		p.Read = append(slices.Clip(p.Read), seen)
	}
	return boxes.New(boxes.Config{
		Level: level, Policy: p, GitOpen: b.settings.GitOpen, Watcher: b.m.watcher, Removed: b.removed,
		Reserved: b.m.cfg.Reserved, Sought: b.sought(level), Refused: b.refused, Serve: b.network.serve,
	})
}

// sought are the ports that no program may listen on. At level full the ports are the
// box's own.
func (b *box) sought(level sandbox.Level) []uint16 {
	if b.m.cfg.Sought == nil || level == sandbox.Full {
		return nil
	}
	return b.m.cfg.Sought()
}

// removed tells about a file that would have redirected git.
func (b *box) removed(path string) {
	b.env.Blocked(sandbox.Block{
		Access: sandbox.Write, Target: path, Why: "git would have run programs by it, so it was removed or put back", Time: b.m.cfg.Now(),
	})
}

// refused tells about a connection by address.
func (b *box) refused(to netip.AddrPort) {
	b.env.Blocked(sandbox.Block{
		Access: sandbox.Network, Target: to.String(), Why: "connections are made by name, through the proxy", Time: b.m.cfg.Now(),
	})
}

// Files gives access to files with the rights of the programs that start now.
func (b *box) Files(dir string, confined bool) (sandbox.Files, error) {
	var of sandbox.Box
	open := func() (sandbox.Files, error) {
		inner, err := b.open()
		if err != nil {
			return nil, err
		}
		files, err := sandbox.FilesOf(inner, b.real(dir), confined)
		if err == nil {
			of = inner
		}
		return files, err
	}
	widened := func() bool {
		inner, err := b.open()
		return err != nil || inner != of
	}
	return sandbox.Late(dir, b.real(dir), open, widened), nil
}

// Close ends the programs.
func (b *box) Close() error {
	b.mu.Lock()
	all := b.before
	if b.inner != nil {
		all = append(all, b.inner)
	}
	b.closed, b.inner, b.started, b.before = true, nil, nil, nil
	b.mu.Unlock()
	var errs []error
	for _, inner := range all {
		errs = append(errs, inner.Close())
	}
	b.m.mu.Lock()
	if b.m.open[b.env.Conversation] == b {
		delete(b.m.open, b.env.Conversation)
	}
	b.m.mu.Unlock()
	return errors.Join(errs...)
}

// Explain says whether the policy refuses a path that a program has named; it is for
// words to people and the model, and decides nothing.
func (b *box) Explain(path string) (sandbox.Block, bool) {
	b.mu.Lock()
	more := b.shown
	b.mu.Unlock()
	p := b.with(more)
	whole, err := boxes.Complete(boxes.Config{Level: b.Level(), Policy: p, GitOpen: b.settings.GitOpen})
	if err != nil {
		return sandbox.Block{}, false
	}
	at := b.real(path)
	block := sandbox.Block{
		Access: sandbox.Write, Target: at, Why: "it is read-only in the sandbox", Allow: "write " + at,
		Time: b.m.cfg.Now(), Quiet: b.settings.OnBlock == Silent,
	}
	switch whole.Of(at).State {
	case policy.Writable, policy.Own:
		return sandbox.Block{}, false
	case policy.Hidden:
		block.Access, block.Why, block.Allow = sandbox.Read, "the sandbox does not show it", "read "+at
	case policy.Protected:
		block.Why, block.Allow = "git and editors run programs by it, so the sandbox keeps it as it is", ""
	case policy.ReadOnly:
	}
	// What cannot be granted has no command.
	if _, err := b.m.cfg.Grants.Canonical(grants.Grant{Access: block.Access, Target: at}); err != nil {
		block.Allow = ""
	}
	return block, true
}
