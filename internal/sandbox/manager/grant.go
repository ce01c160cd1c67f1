package manager

import (
	"context"
	"net"
	"strconv"
	"sync"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/grants"
	"github.com/ohgw/ohgw/internal/sandbox/netgate"
	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
)

// Scope is how far an answer reaches.
type Scope string

// The scopes of an answer.
const (
	Once         Scope = "once"         // what waits now, or the next such access
	Conversation Scope = "conversation" // in the same conversation
	Workspace    Scope = "workspace"    // all conversations in the same directory
	No           Scope = "no"           // what waits is refused
)

// Answer is what the user said about something that was refused.
type Answer struct {
	Access sandbox.Access
	Target string
	Scope  Scope
}

// Answer takes what the user said about what the box of a conversation refused. A
// target that can never be allowed is a [grants.InvalidError].
func (m *Manager) Answer(ctx context.Context, e Env, a Answer) error {
	target := grants.Grant{Access: a.Access, Target: a.Target}
	switch a.Scope {
	case Conversation:
		target.Conversation = e.Conversation
	case Workspace:
		at, err := directory(e.Workspace)
		if err != nil {
			return err
		}
		target.Workspace = at
	case Once, No:
	}
	target, err := m.cfg.Grants.Canonical(target)
	if err != nil {
		return err
	}
	if a.Scope == Conversation || a.Scope == Workspace {
		_, _, err = m.cfg.Grants.Add(ctx, target)
		return err
	}
	if a.Access != sandbox.Network {
		return &OnceError{Access: a.Access}
	}
	m.mu.Lock()
	open := m.open[e.Conversation]
	m.mu.Unlock()
	if open != nil && open.network != nil {
		open.network.answers.add(target.Target, a.Scope == Once)
	}
	return nil
}

// OnceError says that an access of that kind cannot be allowed a single time.
type OnceError struct{ Access sandbox.Access }

func (e *OnceError) Error() string {
	return "access of the kind " + string(e.Access) + " cannot be allowed once; allow it for the conversation"
}

// granted are the grants for this box. A file that cannot be read grants nothing.
func (b *box) granted() []grants.Grant {
	if b.m.cfg.Grants == nil {
		return nil
	}
	list, err := b.m.cfg.Grants.For(b.plan.Workspace, b.env.Conversation)
	if err != nil {
		b.m.cfg.Log.Warn("the grants of the sandbox are not used", "err", err)
		return nil
	}
	return list
}

// answers are those of the user that are not stored.
type answers struct {
	mu      sync.Mutex
	once    map[string]bool // by the target of a grant; false is a refusal
	changed chan struct{}   // closed at the next answer
}

func (a *answers) add(target string, allow bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.once == nil {
		a.once = map[string]bool{}
	}
	a.once[target] = allow
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
}

// take returns the answer for a host and port, which counts once, or the channel that
// is closed with the next answer.
func (a *answers) take(h netpolicy.Host, port uint16) (allow, known bool, changed <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for target, allow := range a.once {
		if matches(target, h, port) {
			delete(a.once, target)
			return allow, true, nil
		}
	}
	if a.changed == nil {
		a.changed = make(chan struct{})
	}
	return false, false, a.changed
}

// matches says whether a grant of the network is for a host and port.
func matches(target string, h netpolicy.Host, port uint16) bool {
	e, err := netpolicy.ParseGrant(target)
	return err == nil && e.Covers(h, port)
}

// granted says whether the user has allowed a host since the box was made. An answer
// that was given beforehand counts once.
func (n *network) granted(h netpolicy.Host, port uint16) bool {
	if n.stored(h, port) {
		return true
	}
	allow, known, _ := n.answers.take(h, port)
	return known && allow
}

func (n *network) stored(h netpolicy.Host, port uint16) bool {
	for _, g := range n.box.granted() {
		if g.Access == sandbox.Network && matches(g.Target, h, port) {
			return true
		}
	}
	return false
}

// hold asks the user about a host while the connection waits, until ctx ends.
func (n *network) hold(ctx context.Context, b netgate.Block) bool {
	h, err := netpolicy.ParseHost(b.Name)
	if err != nil {
		return false
	}
	asked := n.block(b)
	if asked.Allow == "" {
		return false
	}
	asked.Held = true
	n.box.env.Blocked(asked)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stored := make(chan struct{}, 1)
	n.box.m.wait.Go(func() {
		n.box.m.cfg.Grants.Watch(ctx, func() {
			if n.stored(h, b.Port) {
				select {
				case stored <- struct{}{}:
				default:
				}
			}
		})
	})
	for {
		allow, known, changed := n.answers.take(h, b.Port)
		if known {
			return allow
		}
		select {
		case <-stored:
			return true
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// block is a refused connection.
func (n *network) block(b netgate.Block) sandbox.Block {
	target := b.Name
	if b.Port != 0 {
		target = net.JoinHostPort(b.Name, strconv.Itoa(int(b.Port)))
	}
	return sandbox.Block{
		Access: sandbox.Network, Target: target, Why: b.Why, Allow: allow(b), Time: b.Time,
		Quiet: n.box.settings.OnBlock == Silent,
	}
}
