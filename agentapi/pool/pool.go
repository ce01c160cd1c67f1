// Package pool is a backend made of several agent-servers that have the same profiles.
// A new conversation goes to the server that has the most free capacity, and stays
// there.
//
// A [placement.Placer] notes which server has a conversation; several gateways may
// share one. Every server is looked at from time to time, and whenever a request meets
// one that does not answer. No request waits for a server that it does not need.
//
// The package knows the servers as [agentapi.Backend] only. It writes nothing into
// them: where their profiles differ it says so.
package pool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/pool/placement"
)

// DefaultSlots is how many runs a server is meant for unless it is configured otherwise: as
// many as an agent-server of 1.50 or later runs at once by default.
const DefaultSlots = 10

// Config is what a Backend is made of. Servers, Open and Placer are needed.
type Config struct {
	// Servers are the addresses of the members: a URL each, or [DNS] before a URL
	// whose host names any number of members. Without credentials.
	Servers []string
	// Open makes the backend over the server at an address. It sends no request.
	Open func(address string) (agentapi.Backend, error)
	// Lookup finds the members that a host of DNS names, each as HOST:PORT. Needed
	// with such a server.
	Lookup func(ctx context.Context, host, port string) ([]string, error)
	Placer placement.Placer
	Slots  int // of each member; 0: DefaultSlots
	Logger *slog.Logger
	Now    func() time.Time

	// Interval is how often members are looked at; 0: that of placement.
	Interval time.Duration
	// Wait bounds the wait of a request for a member that was lost, and for each one
	// that is asked whether it has a conversation; 0: 2 s.
	Wait time.Duration
}

const (
	defaultWait = 2 * time.Second
	// patience is how long a list waits for slow members once one has answered.
	patience = 300 * time.Millisecond
	// lookTimeout bounds a look at a member.
	lookTimeout = 5 * time.Second
	// lookAgain is how soon a member that did not answer is looked at again.
	lookAgain = 200 * time.Millisecond
	// statusAge is how long what a member says about itself is good for.
	statusAge = 30 * time.Second
	// suspectAfter is after how long a look that goes on makes a member the second
	// choice.
	suspectAfter = time.Second
)

// Backend is an agentapi.Backend over a pool of agent-servers. Make one with New, end
// it with Close.
type Backend struct {
	cfg     Config
	sources []source
	life    context.Context // ends with Close
	end     context.CancelFunc
	work    sync.WaitGroup
	placing chan struct{} // holds one while a conversation is given to a member
	putting sync.Mutex    // held while answers are put together

	mu       sync.Mutex
	members  []*member     // in the order of the configuration, those of a DNS name by their address
	resolved bool          // every name was looked up once
	failed   error         // why a name could not be looked up
	changed  chan struct{} // closed when something was learned
	agreed   agreement
}

var (
	_ agentapi.Backend = (*Backend)(nil)
	_ agentapi.Pooled  = (*Backend)(nil)
	_ agentapi.Limited = (*Backend)(nil)
)

// New makes a Backend, and begins to look at its members.
func New(c Config) (*Backend, error) {
	if c.Slots <= 0 {
		c.Slots = DefaultSlots
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Interval <= 0 {
		c.Interval = placement.Interval
	}
	if c.Wait <= 0 {
		c.Wait = defaultWait
	}
	sources, err := parse(c.Servers)
	if err != nil {
		return nil, err
	}
	b := &Backend{cfg: c, sources: sources, placing: make(chan struct{}, 1), changed: make(chan struct{})}
	b.life, b.end = context.WithCancel(context.Background())
	b.resolved = !slices.ContainsFunc(sources, func(s source) bool { return s.named })
	if err := b.enlist(nil); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	b.work.Go(func() { b.follow(b.life) })
	return b, nil
}

// Close ends all looks, and the backends of the members. Their runs go on.
func (b *Backend) Close() error {
	b.end()
	b.work.Wait()
	var errs []error
	for _, m := range b.all() {
		errs = append(errs, m.to.Close())
	}
	return errors.Join(errs...)
}

// all are the members.
func (b *Backend) all() []*member {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.members)
}

// named finds the member of a name; nil if there is not one.
func (b *Backend) named(name string) *member {
	for _, m := range b.all() {
		if m.name == name {
			return m
		}
	}
	return nil
}

// tell wakes who waits for news of members.
func (b *Backend) tell() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.changed)
	b.changed = make(chan struct{})
}

// gather looks at all members. It returns when all have answered or failed, or when
// one has answered and the patience with the others is over.
func (b *Backend) gather(ctx context.Context) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	late := false
	var asked []*member
	for {
		b.mu.Lock()
		changed, resolved := b.changed, b.resolved
		b.mu.Unlock()
		fine, looking := 0, 0
		for _, m := range b.all() {
			if !slices.Contains(asked, m) { // those that join meanwhile, too
				m.look(0)
				asked = append(asked, m)
			}
			f, l := m.progress()
			fine, looking = fine+count(f), looking+count(l)
		}
		if resolved && looking == 0 || late && fine > 0 {
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			late = true
		case <-ctx.Done():
			return
		}
	}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// Members is what is known of the members.
func (b *Backend) Members() []agentapi.Member {
	all := b.all()
	list := make([]agentapi.Member, 0, len(all))
	for _, m := range all {
		own, _ := m.status()
		list = append(list, own)
	}
	return list
}

// Room implements [agentapi.Limited]: what the members have room for together, where one of
// them has turned out to have a limit. Of the others, that is their slots.
func (b *Backend) Room() int {
	limited, sum := false, 0
	for _, m := range b.all() {
		room := m.room()
		if limited = limited || room > 0; room == 0 {
			room = b.cfg.Slots
		}
		sum += room
	}
	if !limited {
		return 0
	}
	return sum
}

// Slots implements [agentapi.Pooled]: those of the members that the configuration and the
// names have.
func (b *Backend) Slots() int {
	sum := 0
	for _, m := range b.all() {
		if m.isListed() {
			sum += b.cfg.Slots
		}
	}
	return sum
}

// Status returns what is known of the members. It waits only where that is nothing.
func (b *Backend) Status(ctx context.Context) agentapi.Status {
	if !b.anyKnown() {
		b.gather(ctx)
	}
	b.sync(ctx)
	st := agentapi.Status{Name: "pool", SharesFiles: true}
	var versions, addresses []string
	var fine bool
	for _, m := range b.all() {
		own, known := m.status()
		st.Members = append(st.Members, own)
		addresses = append(addresses, own.Address)
		if own.Err != nil || own.Asked.IsZero() {
			st.Err = firstOf(st.Err, own.Err)
			continue
		}
		fine = true
		st.SharesFiles = st.SharesFiles && known.SharesFiles
		versions = add(versions, known.Version)
		for _, lack := range known.Missing {
			st.Missing = add(st.Missing, lack)
		}
	}
	b.mu.Lock()
	differing := b.agreed.differs
	failed := b.failed
	b.mu.Unlock()
	for i := range st.Members {
		st.Members[i].Differs = slices.Clone(differing[st.Members[i].Name])
	}
	if fine {
		st.Err = nil
	} else {
		st.Err = firstOf(st.Err, failed, errSilent())
		st.SharesFiles = false
	}
	st.Version, st.Address = strings.Join(versions, ", "), strings.Join(addresses, ", ")
	if st.Address == "" {
		st.Address = strings.Join(b.cfg.Servers, ", ")
	}
	return st
}

// add is a list with one more text, unless it has that.
func add(list []string, text string) []string {
	if text == "" || slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func errSilent() error {
	return &agentapi.Error{Kind: agentapi.ErrUnavailable, Msg: "No agent-server of the pool answers. Start them, or check their addresses."}
}

// anyKnown reports whether a member has said what it has.
func (b *Backend) anyKnown() bool {
	return slices.ContainsFunc(b.all(), func(m *member) bool { _, ok := m.profiles(); return ok })
}

// Profiles lists what the members agree on.
func (b *Backend) Profiles(ctx context.Context) ([]agentapi.Profile, error) {
	b.gather(ctx)
	return b.known(ctx)
}

// known returns the list as far as it is known: an error where no member answers.
func (b *Backend) known(ctx context.Context) ([]agentapi.Profile, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("list the profiles of the pool: %w", ctx.Err())
	}
	var err error
	for _, m := range b.all() {
		own, _ := m.status()
		if own.Err == nil && !own.Asked.IsZero() {
			b.mu.Lock()
			defer b.mu.Unlock()
			return slices.Clone(b.agreed.list), nil
		}
		err = firstOf(err, own.Err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return nil, firstOf(err, b.failed, errSilent())
}

// With calls f with the backend of a member that has a profile, for what no
// conversation is needed for.
func (b *Backend) With(ctx context.Context, profile string, f func(agentapi.Backend) error) error {
	if err := b.agree(ctx, profile); err != nil {
		return err
	}
	var err error
	for _, m := range b.candidates(profile, true, nil) {
		if err = f(m.to); err == nil || !errors.Is(err, agentapi.ErrUnavailable) || ctx.Err() != nil {
			return err
		}
		m.note(err)
	}
	return firstOf(err, errSilent())
}
