package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	"github.com/ohgw/ohgw/internal/sandbox/manager"
	"github.com/ohgw/ohgw/internal/sandbox/netgate"
	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
	"github.com/ohgw/ohgw/internal/sandbox/policy"
	"github.com/ohgw/ohgw/internal/sandbox/presets"
)

// off is the network of a sandbox without --network.
const off = "off"

// network is what a command reaches by name.
type network struct {
	policy *netpolicy.Policy // nil: nothing
	env    []string          // for the command
	gate   *netgate.Gate
	asker  *presets.Asker // of package managers, also of those that have not answered yet

	mu      sync.Mutex
	refused map[netip.AddrPort]bool // what level reduced did not connect to
}

// refuse notes a connection that level reduced has refused.
func (n *network) refuse(to netip.AddrPort) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.refused == nil {
		n.refused = map[netip.AddrPort]bool{}
	}
	if len(n.refused) < maxRefused {
		n.refused[to] = true
	}
}

// maxRefused is how many refused connections are told.
const maxRefused = 10

// newNetwork reads --network, and adds the hosts that are granted. It asks the
// package managers of the presets.
func newNetwork(ctx context.Context, o *runOptions, reserved []uint16, granted []string, p *policy.Policy) (*network, error) {
	if len(o.Network)+len(granted) == 0 || slices.Equal(o.Network, []string{off}) {
		return &network{}, nil
	}
	if slices.Contains(o.Network, off) {
		return nil, fault.NewUsage("--network: off excludes all hosts", "remove --network off, or the others")
	}
	for _, text := range o.Network {
		if _, err := netpolicy.ParseEntry(text); err != nil {
			return nil, fault.NewUsage("--network: "+err.Error(), "see ohgw sandbox run --help")
		}
	}
	dirs, err := o.Setup().Dirs()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dirs.State, 0o700); err != nil {
		return nil, fmt.Errorf("make the state directory: %w", err)
	}
	n := &network{
		env:   manager.Proxied(),
		asker: presets.New(presets.Config{Getenv: o.Getenv, Home: dirs.Home, Dir: dirs.State, Cache: presets.CacheIn(dirs.State)}),
	}
	done := o.TellLate("Asking the package managers of this machine for their hosts …")
	defer done()
	if err := n.allow(ctx, o, slices.Concat(o.Network, granted), reserved, p.Workspace); err != nil {
		n.close()
		return nil, fault.NewUsage("--network: "+err.Error(), "see ohgw sandbox run --help")
	}
	p.Network, p.Ports = true, manager.Ports(n.policy)
	return n, nil
}

// allow makes the policy. It waits for the package managers of the presets; the hosts of
// one that is idle for too long are allowed when it has answered.
func (n *network) allow(ctx context.Context, o *runOptions, entries []string, reserved []uint16, workspace string) (err error) {
	tools := presets.Workspace{Asker: n.asker, Dirs: []string{workspace}}
	var names []string
	for _, text := range entries {
		if e, err := netpolicy.ParseEntry(text); err == nil && e.Preset != "" {
			name := strings.TrimPrefix(e.Preset, "@")
			names = append(names, name)
			tools.Begin(name)
		}
	}
	var first sync.Map // what the package managers have said by now: Found by name
	for _, name := range names {
		found, err := tools.Ask(ctx, name)
		if err != nil {
			return fmt.Errorf("@%s: %w", name, err)
		}
		first.Store(name, found)
		n.env = append(n.env, found.Env...)
		for _, problem := range found.Problems {
			o.Note("warning: --network: %v", problem)
		}
	}
	n.policy, err = netpolicy.New(ctx, netpolicy.Config{
		Allow: entries, Reserved: reserved, Late: true,
		Expand: func(ctx context.Context, preset string) ([]netpolicy.Entry, error) {
			if said, ok := first.LoadAndDelete(preset); ok {
				found := said.(presets.Found)
				return found.Entries, found.Unknown(preset)
			}
			found, err := tools.Ask(ctx, preset)
			return found.Entries, cmp.Or(err, found.Unknown(preset))
		},
	})
	if err == nil {
		n.policy.Expand(ctx)
	}
	return err
}

// close ends the package managers that are still being asked.
func (n *network) close() {
	if n.asker != nil {
		n.asker.Close()
	}
}

// serve answers on the sockets of a sandbox.
func (n *network) serve(s boxes.Sockets) (func() error, error) {
	if n.policy == nil {
		return s.Close, nil
	}
	n.gate = netgate.Serve(context.Background(), netgate.Sockets(s), netgate.Config{Policy: n.policy})
	return n.gate.Close, nil
}

// report says what was refused.
func (n *network) report(o *runOptions) {
	if n.gate == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for to := range n.refused {
		o.Note("sandbox: refused: %s: at level reduced programs reach the network by HTTP_PROXY and HTTPS_PROXY only", to)
	}
	var hosts []string
	for _, b := range n.gate.Blocks() {
		o.Note("sandbox: refused: %s", b.Why)
		_, err := netip.ParseAddr(b.Name) // most addresses are never dialled, with or without an entry
		if err != nil && strings.HasSuffix(b.Why, "is not on the allow list") {
			hosts = append(hosts, "--network "+b.Name)
		}
	}
	if len(hosts) > 0 {
		o.Note("  hint:  add %s", strings.Join(hosts, " "))
	}
}
