package manager

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

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
}

// newNetwork makes the network of a box, nil if it has none.
func (m *Manager) newNetwork(b *box) (*network, error) {
	s := b.settings
	if s.Network == NoNetwork {
		return nil, nil //nolint:nilnil // there is none, and that is fine
	}
	n := &network{box: b}
	for _, text := range s.Allow {
		if name, ok := strings.CutPrefix(text, "@"); ok {
			n.presets = append(n.presets, name)
		}
	}
	var err error
	n.policy, err = netpolicy.New(m.ctx, netpolicy.Config{
		Allow: s.Allow, Deny: s.Deny, Local: s.Local, Reserved: m.cfg.Reserved, Open: s.Network == AllNetwork,
		Expand: func(ctx context.Context, preset string) ([]netpolicy.Entry, error) {
			found, err := n.ask(ctx, preset)
			return found.Entries, err
		},
		Late: true, Problem: func(err error) { m.cfg.Log.Warn("a preset of the sandbox is left out", "err", err) },
		Granted: n.granted,
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

// ask is what the package managers of a preset use.
func (n *network) ask(ctx context.Context, preset string) (presets.Found, error) {
	w := presets.Workspace{Asker: n.box.m.asker, Dirs: []string{n.box.plan.Workspace}, Strict: n.box.settings.Strict}
	found, err := w.Ask(ctx, preset)
	for _, problem := range found.Problems {
		n.box.m.cfg.Log.Warn("a package manager cannot be asked for its hosts: they are not allowed", "err", problem)
	}
	return found, err
}

// environ are the variables for programs. Only where the user's home directory has
// settings of package managers, these are asked for first: programs in the box do not
// see that directory.
func (n *network) environ(ctx context.Context) []string {
	env := Proxied()
	if len(n.presets) == 0 || !presets.Configured(n.box.m.cfg.User.Home, n.box.m.cfg.Getenv) {
		return env
	}
	for _, preset := range n.presets {
		found, err := n.ask(ctx, preset)
		if err != nil {
			continue // The policy says so, too, when a program asks for one of the hosts.
		}
		env = append(env, found.Env...)
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
	if !strings.HasSuffix(b.Why, "is not on the allow list") {
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
