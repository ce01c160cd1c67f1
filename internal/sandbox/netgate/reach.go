package netgate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/ohgw/ohgw/internal/sandbox/addresses"
)

// refusal is a connection that the rules do not allow.
type refusal struct{ why string }

// Error is the reason.
func (r *refusal) Error() string { return r.why }

// permit asks the policy, and where it may be changed, the user. Nothing is asked
// of the network. only are private addresses that may be dialled.
func (g *Gate) permit(ctx context.Context, t target) (only []netip.Addr, err error) {
	d := g.cfg.Policy.Decide(ctx, t.host, t.port)
	if d.Allowed {
		return d.Only, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err // it may have been decided too early
	}
	if !d.Final && g.ask(ctx, t, d.Why) {
		return nil, nil
	}
	return nil, &refusal{d.Why}
}

// dial connects to a target that is permitted. The name is resolved once, and only
// an address that was checked is dialled.
func (g *Gate) dial(ctx context.Context, t target, only []netip.Addr) (net.Conn, error) {
	found := []netip.Addr{t.host.Addr}
	if t.host.Name != "" {
		var err error
		if found, err = g.resolve(ctx, t.host.Name, len(only) > 0); err != nil {
			return nil, err
		}
	}
	checked, err := g.check(t, found, only)
	if err != nil {
		return nil, err
	}
	var failed error
	for _, addr := range checked[:min(len(checked), maxDial)] {
		conn, err := g.dialOne(ctx, netip.AddrPortFrom(addr, t.port))
		if err == nil {
			return conn, nil
		}
		failed = err
	}
	return nil, fmt.Errorf("connect to %s: %w", t.host, failed)
}

func (g *Gate) dialOne(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	return g.cfg.Dial(ctx, addr)
}

// resolve looks a name up outside of the sandbox. With its dot it is never
// completed by a search domain, other than the name of a package mirror, which the
// user may have set up with a short name.
func (g *Gate) resolve(ctx context.Context, name string, mirror bool) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, resolveLimit)
	defer cancel()
	absolute := name
	if !mirror {
		absolute += "."
	}
	found, err := g.cfg.Resolve(ctx, absolute)
	if err != nil {
		if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
			return nil, fmt.Errorf("host %s does not exist", name)
		}
		return nil, fmt.Errorf("resolve %s: %w", name, err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("host %s has no address", name)
	}
	return found, nil
}

// check removes the addresses that are never dialled. If none is left, the error
// has the reason of the first.
func (g *Gate) check(t target, found, only []netip.Addr) ([]netip.Addr, error) {
	own, err := g.cfg.Own()
	if err != nil {
		return nil, fmt.Errorf("check the addresses of %s: %w", t.host, err)
	}
	var checked []netip.Addr
	var refused error
	for _, addr := range found {
		addr = addr.Unmap() // resolvers return IPv4 addresses in this form, too
		why := addresses.Why(addr, own)
		if why == "" || slices.Contains(only, addr) && !addresses.Metadata(addr) {
			checked = append(checked, addr)
			continue
		}
		if refused == nil {
			refused = &refusal{fmt.Sprintf("host %s has the address %s, %s, which is never dialled", t.host, addr, why)}
		}
	}
	if len(checked) == 0 {
		return nil, refused
	}
	return checked, nil
}

// reach permits and dials.
func (g *Gate) reach(ctx context.Context, t target) (net.Conn, error) {
	only, err := g.permit(ctx, t)
	if err != nil {
		return nil, err
	}
	return g.dial(ctx, t, only)
}

// note records why a connection failed: a refusal for the user, the rest in the
// log.
func (g *Gate) note(t target, err error) {
	if refused, ok := errors.AsType[*refusal](err); ok {
		g.blocks.add(t.host.String(), t.port, refused.why)
		return
	}
	if g.ctx.Err() == nil {
		g.cfg.Logger.Debug("a connection of the sandbox failed", "host", t.host.String(), "port", t.port, "err", err)
	}
}
