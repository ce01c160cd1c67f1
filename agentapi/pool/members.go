package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/pool/placement"
)

// DNS stands before the URL of a server whose host names the members:
// dns+http://agents.example:8000.
const DNS = "dns+"

const (
	// lookupAgain is how often names are looked up, and lookupSoon how soon again
	// after a failure at the start.
	lookupAgain = 10 * time.Second
	lookupSoon  = time.Second
	// lookupTimeout bounds one lookup.
	lookupTimeout = 5 * time.Second
)

// source is where members come from.
type source struct {
	url   *url.URL
	named bool // its host names the members
}

// IsPool reports whether addresses of agent-servers make a pool: there are several, or
// one names several.
func IsPool(servers []string) bool {
	return len(servers) > 1 || slices.ContainsFunc(servers, func(s string) bool { return strings.HasPrefix(s, DNS) })
}

func parse(servers []string) ([]source, error) {
	list := make([]source, 0, len(servers))
	for _, text := range servers {
		address, named := strings.CutPrefix(text, DNS)
		u, err := url.Parse(strings.TrimRight(address, "/"))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
			return nil, errors.New("address of an agent-server: use http://HOST:PORT, or dns+http://NAME:PORT for all servers that a name has")
		}
		list = append(list, source{u, named})
	}
	if len(list) == 0 {
		return nil, errors.New("a pool needs an agent-server")
	}
	return list, nil
}

// place is where a member is.
type place struct{ name, address string }

// enlist makes the members what the configuration and the names have now. found are
// the places of each source with a name. One that has left goes on serving its
// conversations while it answers.
func (b *Backend) enlist(found map[int][]place) error {
	var places []place
	for i, s := range b.sources {
		if s.named {
			places = append(places, found[i]...)
			continue
		}
		places = append(places, place{s.url.String(), s.url.String()})
	}
	before := b.all()
	var members []*member
	var joined []placement.Server
	var failed error
	for _, p := range places {
		if slices.ContainsFunc(members, func(m *member) bool { return m.name == p.name }) {
			continue
		}
		if i := slices.IndexFunc(before, func(m *member) bool { return m.name == p.name }); i >= 0 {
			before[i].setListed(true)
			members = append(members, before[i])
			continue
		}
		to, err := b.cfg.Open(p.address)
		if err != nil {
			failed = firstOf(failed, fmt.Errorf("open the agent-server %s: %w", p.name, err))
			continue
		}
		members = append(members, newMember(b, p.name, p.address, to))
		joined = append(joined, placement.Server{Name: p.name, URL: p.address, Slots: b.cfg.Slots})
	}
	for _, m := range before {
		if slices.Contains(members, m) || !m.leave() {
			continue
		}
		members = append(members, m)
	}
	b.mu.Lock()
	b.members = members
	b.mu.Unlock()
	b.join(joined)
	for _, m := range members {
		if !slices.Contains(before, m) {
			b.work.Go(m.keep)
		}
	}
	b.merge()
	b.tell()
	return failed
}

// join notes servers. Without that none of them is given a conversation, so it is tried
// again before one is.
func (b *Backend) join(servers []placement.Server) {
	if len(servers) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(b.life, lookupTimeout)
	defer cancel()
	if err := b.cfg.Placer.Join(ctx, servers); err != nil && b.life.Err() == nil {
		b.cfg.Logger.Warn("cannot note the agent-servers of the pool; trying again", "err", err)
	}
}

// rejoin notes all members that are listed.
func (b *Backend) rejoin() {
	var servers []placement.Server
	for _, m := range b.all() {
		servers = append(servers, placement.Server{Name: m.name, URL: m.address, Slots: b.cfg.Slots})
	}
	b.join(servers)
}

// setListed says whether the member is one of those that are configured.
func (m *member) setListed(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listed = on
}

func (m *member) isListed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.listed
}

// leave takes a member off the list. It reports whether the member is still needed:
// it answers, or has open conversations. One that is not is ended.
func (m *member) leave() bool {
	m.mu.Lock()
	m.listed = false
	needed := len(m.held) > 0 || m.misses < placement.MaxMisses
	m.mu.Unlock()
	if !needed {
		m.end()
		_ = m.to.Close() // it holds idle connections only
	}
	return needed
}

// follow looks up names, and reads what is noted, until life ends.
func (b *Backend) follow(life context.Context) {
	ticker := time.NewTicker(b.cfg.Interval)
	defer ticker.Stop()
	lookup := time.NewTimer(0)
	defer lookup.Stop()
	if b.resolvedAll() {
		lookup.Stop()
	}
	for {
		select {
		case <-lookup.C:
			lookup.Reset(b.resolve(life))
		case <-ticker.C:
			b.sync(life)
		case <-life.Done():
			return
		}
	}
}

// resolvedAll reports whether there is no name that was never looked up.
func (b *Backend) resolvedAll() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.resolved
}

// resolve looks up the names, and says when to do that again.
func (b *Backend) resolve(life context.Context) time.Duration {
	found := make(map[int][]place)
	var failed error
	for i, s := range b.sources {
		if !s.named {
			continue
		}
		places, err := places(life, s, b.cfg.Lookup)
		if err != nil {
			failed = firstOf(failed, err)
			places = b.placesNow(s)
		}
		found[i] = places
	}
	if life.Err() != nil {
		return lookupAgain
	}
	if failed != nil {
		b.cfg.Logger.Warn("a name of agent-servers cannot be looked up; the members stay", "err", failed)
	}
	if err := b.enlist(found); err != nil {
		b.cfg.Logger.Warn("an agent-server cannot be used", "err", err)
	}
	b.mu.Lock()
	b.resolved = true
	b.failed = failed
	none := len(b.members) == 0
	b.mu.Unlock()
	b.tell()
	if none {
		return lookupSoon
	}
	return lookupAgain
}

// places looks up those that the name of a source has.
func places(ctx context.Context, s source, lookup func(ctx context.Context, host, port string) ([]string, error)) ([]place, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	addresses, err := lookup(ctx, s.url.Hostname(), s.port())
	if err != nil {
		return nil, &agentapi.Error{
			Kind: agentapi.ErrUnavailable, Err: err,
			Msg: fmt.Sprintf("The name %s of the agent-servers cannot be looked up. Check it with: getent hosts %s", s.url.Hostname(), s.url.Hostname()),
		}
	}
	slices.Sort(addresses)
	found := make([]place, 0, len(addresses))
	for _, address := range slices.Compact(addresses) {
		u := *s.url
		u.Host = address
		found = append(found, place{address, u.String()})
	}
	return found, nil
}

// port is that of the source's URL, or of its scheme.
func (s source) port() string {
	if s.url.Scheme == "https" {
		return cmp.Or(s.url.Port(), "443")
	}
	return cmp.Or(s.url.Port(), "80")
}

// placesNow are the places of the members that a source has named. Two names of one
// pool share their members, which does no harm here.
func (b *Backend) placesNow(s source) []place {
	var places []place
	for _, m := range b.all() {
		_, port, err := net.SplitHostPort(m.name)
		if err != nil || strings.Contains(m.name, "://") || port == "" {
			continue
		}
		u := *s.url
		if u.Host = m.name; u.String() == m.address {
			places = append(places, place{m.name, m.address})
		}
	}
	return places
}
