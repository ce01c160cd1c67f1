// Package several is a backend made of several: one that is the main one, and
// further servers, whose profiles have the name of their server behind an "@".
//
// A profile says where a new conversation is made, and a note on disk where it is
// from then on. Nothing is opened or asked before it is needed: a server that is
// down costs the others neither time nor an error. It is left out of the list of
// profiles, and whoever asks for one of its profiles is told why.
package several

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi"
)

// mark stands between the name of a profile and that of its server.
const mark = "@"

// Server is a further server.
type Server struct {
	Name    string // without "@"
	Address string // without credentials
	// Open makes the backend over the server. It is called at the first use, and
	// again after the server rejected the key.
	Open func(ctx context.Context) (agentapi.Backend, error)
}

// Config is what a Backend is made of. Main is needed.
type Config struct {
	Main    agentapi.Backend
	Servers []Server
	Dir     string // for the notes; "": in memory
	Logger  *slog.Logger
	Now     func() time.Time
}

// Backend is an agentapi.Backend over several.
type Backend struct {
	main    agentapi.Backend
	servers []*server
	notes   notes
	life    context.Context // ends with Close
	end     context.CancelFunc
	work    sync.WaitGroup // the questions to servers
}

// New makes a Backend. It asks nobody. It is also an agentapi.Sandboxed if Main is.
func New(c Config) agentapi.Backend {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	b := &Backend{main: c.Main, notes: openNotes(c.Dir)}
	b.life, b.end = context.WithCancel(context.Background())
	for _, s := range c.Servers {
		b.servers = append(b.servers, &server{Server: s, log: c.Logger, now: c.Now, life: b.life, work: &b.work})
	}
	if box, ok := c.Main.(agentapi.Sandboxed); ok {
		return &sandboxed{b, box}
	}
	return b
}

// Close ends the questions to servers, and all backends.
func (b *Backend) Close() error {
	b.end()
	b.work.Wait()
	errs := []error{b.main.Close()}
	for _, s := range b.servers {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}

// Members are those of the main backend, if it is a pool.
func (b *Backend) Members() []agentapi.ServerStatus {
	if p, ok := b.main.(agentapi.Pooled); ok {
		return p.Members()
	}
	return nil
}

// Status is that of the main backend, with what is known of the servers. It asks
// none of them.
func (b *Backend) Status(ctx context.Context) agentapi.Status {
	st := b.main.Status(ctx)
	for _, s := range b.servers {
		st.Servers = append(st.Servers, s.status())
	}
	return st
}

// Profiles lists those of the main backend, and those of the servers as far as they
// are known, or soon are.
func (b *Backend) Profiles(ctx context.Context) ([]agentapi.Profile, error) {
	for _, s := range b.servers {
		s.ask(listAge)
	}
	list, err := b.main.Profiles(ctx)
	if err != nil {
		return nil, err //nolint:wrapcheck // its own error
	}
	list = slices.Clone(list)
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, s := range b.servers {
		for _, p := range s.list(limited) {
			if !has(list, p.Name) {
				list = append(list, p)
			}
		}
	}
	slices.SortFunc(list, func(a, b agentapi.Profile) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

func has(list []agentapi.Profile, name string) bool {
	return slices.ContainsFunc(list, func(p agentapi.Profile) bool { return p.Name == name })
}

// Ask asks all servers, and waits for their answers: Status has them then.
func (b *Backend) Ask(ctx context.Context) {
	for _, s := range b.servers {
		s.ask(youngAge)
	}
	for _, s := range b.servers {
		s.list(ctx)
	}
}

var _ agentapi.Finder = (*Backend)(nil)

// Profile finds one profile. It waits for the server that has it.
func (b *Backend) Profile(ctx context.Context, name string) (agentapi.Profile, error) {
	at, _, err := b.route(ctx, name)
	switch {
	case err != nil:
		return agentapi.Profile{}, err
	case at != nil:
		return at.profile(ctx, name)
	}
	list, err := b.main.Profiles(ctx)
	if err != nil {
		return agentapi.Profile{}, err //nolint:wrapcheck // its own error
	}
	if i := slices.IndexFunc(list, func(p agentapi.Profile) bool { return p.Name == name }); i >= 0 {
		return list[i], nil
	}
	return agentapi.Profile{}, &agentapi.Error{Kind: agentapi.ErrProfileNotFound, Msg: fmt.Sprintf("There is no LLM profile %q.", name)}
}

// route is the server of a profile, and what the profile is called there; nil for
// one of the main backend, which may have names with "@" of its own.
func (b *Backend) route(ctx context.Context, profile string) (at *server, name string, err error) {
	end := strings.LastIndex(profile, mark)
	if end < 0 {
		return nil, profile, nil
	}
	if at = b.named(profile[end+len(mark):]); at == nil {
		return nil, profile, nil
	}
	list, err := b.main.Profiles(ctx)
	if err != nil {
		return nil, "", err //nolint:wrapcheck // its own error
	}
	if has(list, profile) {
		return nil, profile, nil
	}
	return at, profile[:end], nil
}

// OnServer reports whether a profile has the name of one of the servers.
func OnServer(profile string, servers []Server) bool {
	return slices.ContainsFunc(servers, func(s Server) bool { return strings.HasSuffix(profile, mark+s.Name) })
}

// named is the server of a name; nil if there is none.
func (b *Backend) named(name string) *server {
	for _, s := range b.servers {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// noted is the server that a conversation is noted for; nil if it is for none.
func (b *Backend) noted(id string) (*server, error) {
	name, err := b.notes.of(id)
	if err != nil || name == "" {
		return nil, err
	}
	if at := b.named(name); at != nil {
		return at, nil
	}
	return nil, &agentapi.Error{
		Kind: agentapi.ErrUnavailable,
		Msg:  fmt.Sprintf("The conversation is on the server %s, which this ohgw does not use. Start it with --server %s.", name, name),
	}
}

// of is the backend that has a conversation.
func (b *Backend) of(ctx context.Context, id string) (agentapi.Backend, error) {
	at, err := b.noted(id)
	switch {
	case err != nil:
		return nil, err
	case at == nil:
		return b.main, nil
	}
	return at.open(ctx)
}

// Remove deletes a conversation, and its note.
func (b *Backend) Remove(ctx context.Context, id string) error {
	at, err := b.noted(id)
	switch {
	case err != nil:
		return err
	case at == nil:
		return b.main.Remove(ctx, id) //nolint:wrapcheck // its own error
	}
	err = at.use(ctx, func(to agentapi.Backend) error { return to.Remove(ctx, id) })
	if err == nil || errors.Is(err, agentapi.ErrConversationNotFound) {
		return errors.Join(err, b.notes.drop(id))
	}
	return err
}

// About describes a conversation.
func (b *Backend) About(ctx context.Context, id string) (agentapi.About, error) {
	at, err := b.noted(id)
	switch {
	case err != nil:
		return agentapi.About{}, err
	case at == nil:
		return b.main.About(ctx, id) //nolint:wrapcheck // its own error
	}
	var about agentapi.About
	err = at.use(ctx, func(to agentapi.Backend) (err error) {
		about, err = to.About(ctx, id)
		return err
	})
	about.Profile = at.full(about.Profile)
	return about, err
}

// Events reads a page of the log of a conversation.
func (b *Backend) Events(ctx context.Context, id string, q agentapi.EventQuery) (agentapi.EventPage, error) {
	to, err := b.of(ctx, id)
	if err != nil {
		return agentapi.EventPage{}, err
	}
	return to.Events(ctx, id, q) //nolint:wrapcheck // its own error
}

// Extensions lists the MCP servers and skills of a conversation.
func (b *Backend) Extensions(ctx context.Context, id string) (agentapi.Extensions, error) {
	to, err := b.of(ctx, id)
	if err != nil {
		return agentapi.Extensions{}, err
	}
	return to.Extensions(ctx, id) //nolint:wrapcheck // its own error
}

// sandboxed is a Backend whose main one has a sandbox of ohgw.
type sandboxed struct {
	*Backend

	box agentapi.Sandboxed
}

// Sandbox is the sandbox of conversations of the main backend.
func (s *sandboxed) Sandbox(ctx context.Context) agentapi.SandboxStatus { return s.box.Sandbox(ctx) }

// Allow answers what the sandbox of a conversation refused. Those on servers are in
// none of ohgw's.
func (s *sandboxed) Allow(ctx context.Context, id string, g agentapi.Grant) error {
	at, err := s.noted(id)
	switch {
	case err != nil:
		return err
	case at != nil:
		return &agentapi.Error{Kind: agentapi.ErrUnsupported, Msg: fmt.Sprintf("The conversation is on the server %s, whose sandbox ohgw does not know; there is nothing to allow here.", at.Name)}
	}
	return s.box.Allow(ctx, id, g) //nolint:wrapcheck // its own error
}
