package manager

import (
	"errors"
	"fmt"
	"net"

	"github.com/ohgw/ohgw/internal/listener"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
)

// Proxy opens the network of a conversation for a program of ohgw itself that is outside of
// its box: an HTTP proxy on a loopback address, for processes of one user. It decides as
// the network of the box does, with the same grants and answers. Where there is no box, every
// public host is allowed, other than those of the deny list. Addresses of this machine
// and of private networks never are, except for the ports in network.local.
func (m *Manager) Proxy(e Env, uid int) (address string, end func() error, err error) {
	n, err := m.networkOf(e)
	if err != nil {
		return "", nil, err
	}
	open, err := new(net.ListenConfig).Listen(m.ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("listen for a proxy: %w", err)
	}
	end, err = n.serve(boxes.Sockets{Proxy: onlyFor{open, uid}})
	if err != nil {
		return "", nil, errors.Join(err, open.Close())
	}
	return open.Addr().String(), end, nil
}

// onlyFor accepts the connections of one user, as far as the users of this machine's
// connections are known.
type onlyFor struct {
	net.Listener

	uid int
}

// Accept waits for the next connection of the user, and closes those of others.
func (l onlyFor) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if uid, known := listener.Peer(conn); !known || uid == l.uid {
			return conn, nil
		}
		_ = conn.Close()
	}
}

// networkOf returns the network of a conversation's box, or what counts where it has none.
func (m *Manager) networkOf(e Env) (*network, error) {
	m.mu.Lock()
	open := m.open[e.Conversation]
	m.mu.Unlock()
	if open != nil && open.network != nil {
		return open.network, nil
	}
	if open == nil && !m.boxless() {
		return nil, errors.New("the sandbox of the conversation is not open")
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
	c := netpolicy.Config{ // no presets: nothing runs in a box, or nothing is allowed
		Deny: b.settings.Deny, Local: b.settings.Local, Reserved: m.cfg.Reserved,
		Open: b.settings.Network != NoNetwork, Granted: n.granted,
	}
	if open != nil { // its network is off
		c = netpolicy.Config{}
	}
	var err error
	n.policy, err = netpolicy.New(m.ctx, c)
	b.network = n
	return n, err
}
