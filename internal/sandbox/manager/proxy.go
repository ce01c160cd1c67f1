package manager

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
)

// Proxy opens the network of a conversation for a program of ohgw itself that is
// outside of its box: an HTTP proxy on a loopback address. It decides as the network
// of the box does, with the same grants and answers. Where there is no box every
// public host is allowed, other than those of the deny list; addresses of this machine
// and of private networks never are, except for the ports in network.local.
func (m *Manager) Proxy(e Env) (address string, end func() error, err error) {
	n, err := m.networkOf(e)
	if err != nil {
		return "", nil, err
	}
	listener, err := new(net.ListenConfig).Listen(m.ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("listen for the browser: %w", err)
	}
	end, err = n.serve(boxes.Sockets{Proxy: listener})
	if err != nil {
		return "", nil, errors.Join(err, listener.Close())
	}
	return listener.Addr().String(), end, nil
}

// networkOf is the network of a conversation's box, or what counts where it has none.
func (m *Manager) networkOf(e Env) (*network, error) {
	m.mu.Lock()
	open := m.open[e.Conversation]
	m.mu.Unlock()
	if open != nil && open.network != nil {
		return open.network, nil
	}
	if e.Blocked == nil {
		e.Blocked = func(sandbox.Block) {}
	}
	b := &box{m: m, env: e, settings: m.cfg.Settings}
	if open != nil {
		b.settings, b.plan.Workspace = open.settings, open.plan.Workspace
	} else if at, err := directory(e.Workspace); err == nil {
		b.settings, b.plan.Workspace = m.cfg.Settings.Of(at), at
	}
	n := &network{box: b}
	var err error
	// No presets: there is nobody to ask, or nothing is allowed.
	n.policy, err = netpolicy.New(context.Background(), netpolicy.Config{
		Deny: b.settings.Deny, Local: b.settings.Local, Reserved: m.cfg.Reserved, Open: open == nil && b.settings.Network != NoNetwork,
		Granted: n.granted,
	})
	if open != nil { // its network is off
		n.policy, err = netpolicy.New(context.Background(), netpolicy.Config{})
	}
	b.network = n
	return n, err
}
