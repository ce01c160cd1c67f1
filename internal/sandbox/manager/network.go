package manager

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	"github.com/ohgw/ohgw/internal/sandbox/netgate"
	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
	"github.com/ohgw/ohgw/internal/sandbox/policy"
	"github.com/ohgw/ohgw/internal/sandbox/presets"
)

// network is what a box reaches by name. Nil reaches nothing.
type network struct {
	box     *box
	policy  *netpolicy.Policy
	presets []string // without "@"
	answers answers
	asked   atomic.Bool // for the variables of the first program
	pending pending
}

// newNetwork makes the network of a box, nil if it has none.
func (m *Manager) newNetwork(b *box) (*network, error) {
	s := b.settings
	if s.Network == NoNetwork {
		return nil, nil
	}
	n := &network{box: b}
	var allow []string
	for _, text := range s.Allow {
		name, ok := strings.CutPrefix(text, "@")
		if !ok {
			allow = append(allow, text)
			continue
		}
		n.presets = append(n.presets, name)
		if name == "packages" { // a host that one allows does not wait for the others
			for _, part := range n.tools().Parts(name) {
				allow = append(allow, "@"+part)
			}
			continue
		}
		allow = append(allow, text)
	}
	var err error
	n.policy, err = netpolicy.New(m.ctx, netpolicy.Config{
		Allow: allow, Deny: s.Deny, Local: s.Local, Reserved: m.cfg.Reserved, Open: s.Network == AllNetwork,
		Expand: func(ctx context.Context, preset string) ([]netpolicy.Entry, error) {
			found, err := n.ask(ctx, preset)
			return found.Entries, cmp.Or(err, found.Unknown(preset))
		},
		Late: true, Granted: n.granted,
	})
	if err != nil {
		return nil, err
	}
	b.plan.Ports = Ports(n.policy)
	return n, nil
}

// Ports are the ports of the list that a box takes connections at, beside the usual
// ones. Those of its own services, and those beyond the limit, are reached through
// the proxy only.
func Ports(p *netpolicy.Policy) []int {
	var ports []int
	for _, port := range p.Ports() {
		if !slices.Contains([]uint16{22, 53, 80, 443, 3128}, port) && len(ports) < policy.MaxPorts {
			ports = append(ports, int(port))
		}
	}
	return ports
}

// Proxied makes programs use the proxy where they can: its refusals have a reason.
// Programs that do not know these variables are connected by name.
func Proxied() []string {
	const proxy, direct = "http://127.0.0.1:3128", "localhost,127.0.0.1,::1"
	return []string{
		"HTTP_PROXY=" + proxy, "http_proxy=" + proxy, "HTTPS_PROXY=" + proxy, "https_proxy=" + proxy,
		"NO_PROXY=" + direct, "no_proxy=" + direct,
	}
}

// tools are the package managers, as they are for the workspace.
func (n *network) tools() presets.Workspace {
	return n.box.m.tools(n.box.plan.Workspace, n.box.settings)
}

func (m *Manager) tools(workspace string, s Settings) presets.Workspace {
	w := presets.Workspace{Asker: m.asker, Strict: s.Strict}
	if workspace != "" {
		w.Dirs = []string{workspace}
	}
	return w
}

// ask is what the package managers of a preset use. Where that takes long, those who
// watch are told.
func (n *network) ask(ctx context.Context, preset string) (presets.Found, error) {
	defer n.waitFor(preset)()
	return n.tools().Ask(ctx, preset)
}

// Prepare asks the package managers that the first program in a workspace waits for, "" for
// any workspace. It does not wait for them.
func (m *Manager) Prepare(workspace string) {
	if m.asker == nil || m.lacking != nil {
		return
	}
	if workspace == "" {
		m.prepare("", m.cfg.Settings)
		return
	}
	if p, s, err := m.plan(workspace); err == nil {
		m.prepare(p.Workspace, s)
	}
}

func (m *Manager) prepare(workspace string, s Settings) {
	if s.Network == NoNetwork {
		return
	}
	tools := m.tools(workspace, s)
	for _, text := range s.Allow {
		if preset, ok := strings.CutPrefix(text, "@"); ok {
			for _, name := range tools.Configured(preset) {
				tools.Begin(name)
			}
		}
	}
}

// environ collects the variables for programs. Programs in the box do not see the settings
// of package managers in the user's home directory, so the first one waits for those that
// have some. The others get what is known by then.
func (n *network) environ(ctx context.Context) []string {
	env := Proxied()
	tools, first := n.tools(), !n.asked.Load()
	for _, preset := range n.presets {
		for _, name := range tools.Configured(preset) {
			if first {
				// The policy says what is wrong, when a program asks for one of the hosts.
				_, _ = n.ask(ctx, name)
			}
			env = append(env, tools.Known(name).Env...)
		}
	}
	if ctx.Err() == nil {
		n.asked.Store(true)
	}
	return env
}

// serve answers on the sockets of a box.
func (n *network) serve(s boxes.Sockets) (func() error, error) {
	if n == nil {
		return s.Close, nil
	}
	c := netgate.Config{
		Policy: n.policy, Blocked: n.blocked, Strict: n.box.settings.Strict, Now: n.box.m.cfg.Now, Logger: n.box.m.cfg.Log,
		Dial: n.box.m.cfg.Dial, Resolve: n.box.m.cfg.Resolve, Own: n.box.m.cfg.Own,
	}
	if n.box.settings.OnBlock == Ask {
		c.Ask = n.hold
	}
	return netgate.Serve(n.box.m.ctx, netgate.Sockets(s), c).Close, nil
}

// blocked tells about a refused connection.
func (n *network) blocked(b netgate.Block) { n.box.env.Blocked(n.block(b)) }

// allow is what opens a host; "" for what is never dialled.
func allow(b netgate.Block) string {
	if !strings.Contains(b.Why, "is not on the allow list") {
		return ""
	}
	if _, err := netip.ParseAddr(b.Name); err == nil {
		return ""
	}
	if b.Port == 0 || b.Port == 80 || b.Port == 443 {
		return "net " + b.Name
	}
	return "net " + net.JoinHostPort(b.Name, strconv.Itoa(int(b.Port)))
}
