package netgate

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
)

// capture serves one connection that a program made to the address of a name.
func (g *Gate) capture(client net.Conn, port uint16) {
	addr, err := hostOf(client)
	if err != nil {
		return
	}
	t := target{host: netpolicy.Host{Addr: addr}, port: port}
	if name, ok := g.names.name(addr); ok {
		t.host = netpolicy.Host{Name: name}
	}
	if err := g.connect(t, client, client); err != nil {
		g.note(t, err)
	}
}

// connect serves a connection whose target is known, from in to the target and
// back to client.
func (g *Gate) connect(t target, client net.Conn, in io.Reader) error {
	only, err := g.permit(g.ctx, t)
	if err != nil {
		return err
	}
	first, err := g.firstBytes(t, client, in)
	if err != nil {
		return err
	}
	server, err := g.dial(g.ctx, t, only)
	if err != nil {
		return err
	}
	g.own(server)
	defer g.release(server)
	return g.forward(client, in, server, first)
}

// firstBytes reads the ClientHello of a connection to port 443 and compares its
// server name with the name that the policy has allowed. For other ports, and for
// addresses, which certificates seldom name, it reads nothing.
func (g *Gate) firstBytes(t target, client net.Conn, in io.Reader) ([]byte, error) {
	if t.port != 443 || t.host.Name == "" {
		return nil, nil
	}
	if err := client.SetReadDeadline(after(helloLimit)); err != nil {
		return nil, fmt.Errorf("limit the time of a connection: %w", err)
	}
	h, err := readHello(in)
	switch {
	case errors.Is(err, errNotTLS), errors.Is(err, errHello):
		return nil, &refusal{fmt.Sprintf("%v on port 443 of host %s", err, t.host)}
	case err != nil:
		return nil, err
	case h.serverName == "":
		return nil, &refusal{fmt.Sprintf("the TLS connection to host %s names no server", t.host)}
	case !strings.EqualFold(strings.TrimSuffix(h.serverName, "."), t.host.Name):
		name := netpolicy.Quote(h.serverName)
		return nil, &refusal{fmt.Sprintf("the TLS connection to host %s names the server %s", t.host, name)}
	case h.encrypted && g.cfg.Strict:
		return nil, &refusal{fmt.Sprintf("the TLS connection to host %s has an Encrypted ClientHello, which sandbox.strict refuses", t.host)}
	}
	if err := client.SetReadDeadline(time.Time{}); err != nil {
		return nil, fmt.Errorf("limit the time of a connection: %w", err)
	}
	return h.raw, nil
}
