// Package netpolicy decides which hosts the programs in a sandbox may reach.
//
// A policy has names, not addresses: what a name resolves to is checked by the
// gate (internal/sandbox/netgate) with the table in internal/sandbox/addresses.
// The deny list wins over the allow list and the grants. A host is compared in
// its one canonical spelling, so no other spelling of it gets a different answer.
// The package asks nothing of the network. A decision can wait for the presets.
package netpolicy

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
)

// maxEntries limits a list, with the hosts of its presets.
const maxEntries = 4096

// Config is what a policy is made of.
type Config struct {
	// Allow and Deny are entries as users write them.
	Allow, Deny []string
	// Local are ports of this machine's loopback addresses that the sandbox may reach
	// at 127.0.0.1, as decimal numbers.
	Local []string
	// Reserved are ports of this machine that no exception may name: those of ohgw.
	Reserved []uint16
	// Open allows every host that is not on the deny list.
	Open bool
	// Expand lists the entries of a preset, whose name has no "@". It may return no
	// entry for a tool that this machine does not have. Nil knows no presets.
	Expand func(ctx context.Context, preset string) ([]Entry, error)
	// Late leaves the presets of Allow for the first decision that needs them, and for
	// each later one until Expand has no error. Entries beside an error count. The
	// error is the end of the sentence that refuses a host.
	Late bool
	// Granted is asked about a host that is not on the lists, at each decision. It
	// may be nil.
	Granted func(h Host, port uint16) bool
}

// Policy is the allow list, the deny list and the grants of one sandbox. Its
// methods may be called at the same time.
type Policy struct {
	open     bool
	reserved []uint16
	deny     list
	granted  func(Host, uint16) bool
	expand   func(context.Context, string) ([]Entry, error)

	mu    sync.RWMutex
	allow list     // with the grants
	late  []string // presets that have not been expanded yet
}

// Decision is the answer for one host and port.
type Decision struct {
	Allowed bool
	// Final is a refusal that a confirmation does not change.
	Final bool
	// Why is the reason of a refusal, a whole sentence without its full stop.
	Why string
	// Only are private addresses that may be dialled for this host and port.
	Only []netip.Addr
}

// New reads the lists. The first entry that cannot be understood, or that can
// never have an effect, is an error.
func New(ctx context.Context, c Config) (*Policy, error) {
	p := &Policy{open: c.Open, reserved: c.Reserved, granted: c.Granted, expand: c.Expand}
	for _, text := range c.Deny {
		if err := p.addAll(ctx, &p.deny, text, false); err != nil {
			return nil, fmt.Errorf("deny list: %w", err)
		}
	}
	for _, text := range c.Allow {
		if e, err := ParseEntry(text); err == nil && e.Preset != "" && c.Late {
			p.late = append(p.late, e.Preset)
			continue
		}
		if err := p.addAll(ctx, &p.allow, text, true); err != nil {
			return nil, err
		}
	}
	for _, text := range c.Local {
		if err := p.addLocal(text); err != nil {
			return nil, fmt.Errorf("local ports: %w", err)
		}
	}
	return p, nil
}

// addAll adds one entry, or all those of a preset.
func (p *Policy) addAll(ctx context.Context, to *list, text string, allow bool) error {
	e, err := ParseEntry(text)
	if err != nil {
		return err
	}
	entries := []Entry{e}
	if e.Preset != "" {
		if p.expand == nil {
			return fmt.Errorf("%s is a preset, and presets are not known here", e.Preset)
		}
		if entries, err = p.expand(ctx, strings.TrimPrefix(e.Preset, "@")); err != nil {
			return fmt.Errorf("%s: %w", e.Preset, err)
		}
	}
	return p.addEach(to, text, entries, allow)
}

func (p *Policy) addEach(to *list, text string, entries []Entry, allow bool) error {
	for _, e := range entries {
		if e.Preset != "" {
			return fmt.Errorf("the preset %s contains the preset %s", text, e.Preset)
		}
		if err := p.add(to, e, allow); err != nil {
			return err
		}
	}
	return nil
}

func (p *Policy) add(to *list, e Entry, allow bool) error {
	if allow && len(e.Only) == 0 {
		if err := allowable(e); err != nil {
			return err
		}
	}
	if len(e.Only) > 0 && (e.Port == 0 || slices.Contains(p.reserved, e.Port)) {
		return fmt.Errorf("port %d of a private address cannot be allowed", e.Port)
	}
	return to.add(e)
}

func (p *Policy) addLocal(text string) error {
	port, err := parsePort(strings.TrimSpace(text))
	if err != nil {
		return err
	}
	if slices.Contains(p.reserved, port) {
		return fmt.Errorf("port %d is used by ohgw itself, and the agent may not reach it", port)
	}
	loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	return p.allow.add(Entry{Host: Host{Addr: loopback}, Port: port, From: "network.local", Only: []netip.Addr{loopback}})
}

// Grant allows one more entry, which may not be a preset.
func (p *Policy) Grant(text string) error {
	e, err := ParseGrant(text)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.add(&p.allow, e, true)
}

// Decide answers for one host and port. It asks nothing of the network. Where a preset
// could allow the host, it waits for the first that does, or for all of them, or until
// ctx ends.
func (p *Policy) Decide(ctx context.Context, h Host, port uint16) Decision {
	if _, _, denied := p.deny.find(h, port, true); denied {
		return Decision{Final: true, Why: fmt.Sprintf("host %s is on the deny list", h)}
	}
	only, known, allowed := p.find(h, port)
	var unknown error
	if !allowed && !p.open {
		unknown = p.expandLate(ctx, func() bool {
			only, known, allowed = p.find(h, port)
			return allowed
		})
	}
	why := fmt.Sprintf("host %s is not on the allow list", h)
	switch {
	case allowed, p.open, p.granted != nil && p.granted(h, port):
		return Decision{Allowed: true, Only: only}
	case known:
		why = fmt.Sprintf("port %d of host %s is not on the allow list", port, h)
	}
	if unknown != nil {
		why += ", and " + unknown.Error()
	}
	return Decision{Why: why}
}

func (p *Policy) find(h Host, port uint16) (only []netip.Addr, known, allowed bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.allow.find(h, port, false)
}

// Entries lists what is allowed so far, with the grants, in the order it was added.
func (p *Policy) Entries() []Entry {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.Clone(p.allow.entries)
}

// Ports lists the ports that connections by name can have, in ascending order:
// 22, 80, 443, and those of the entries so far.
func (p *Policy) Ports() []uint16 {
	ports := []uint16{22, 80, 443}
	for _, e := range p.Entries() {
		if e.Port != 0 {
			ports = append(ports, e.Port)
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// list is a list of entries that is quick to search.
type list struct {
	entries []Entry
	hosts   map[Host][]Entry
	below   map[string][]Entry
}

func (l *list) add(e Entry) error {
	if len(l.entries) >= maxEntries {
		return errors.New("the list has more than 4096 hosts")
	}
	if l.hosts == nil {
		l.hosts, l.below = map[Host][]Entry{}, map[string][]Entry{}
	}
	l.entries = append(l.entries, e)
	if e.Below {
		l.below[e.Name] = append(l.below[e.Name], e)
	} else {
		l.hosts[e.Host] = append(l.hosts[e.Host], e)
	}
	return nil
}

// find looks for entries of a host. found is one for its port too; known is one
// for any port. An entry without a port is for every port, or for 80 and 443.
func (l *list) find(h Host, port uint16, every bool) (only []netip.Addr, known, found bool) {
	check := func(entries []Entry) {
		for _, e := range entries {
			known = true
			if e.Port == port || e.Port == 0 && (every || port == 80 || port == 443) {
				found = true
				only = append(only, e.Only...)
			}
		}
	}
	check(l.hosts[h])
	for name := h.Name; ; {
		_, parent, more := strings.Cut(name, ".")
		if !more {
			return only, known, found
		}
		check(l.below[parent])
		name = parent
	}
}
