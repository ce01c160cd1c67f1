// Package cloud is the backend over an account on OpenHands Cloud, or on an
// app-server of one's own.
//
// A conversation lives in a sandbox, which falls asleep, wakes at another address
// with another key, and can be gone with its files. This package starts sandboxes
// and wakes them, and finds the agent-server in them again; what is said to an
// agent goes to that agent-server, through the backend that [Config.Connect]
// makes. It starts nothing twice: a start of unknown outcome is looked for by the
// id of its conversation, which is chosen here.
package cloud

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/internal/hidden"
)

// Config is what a Backend is made of. Account and Connect are needed.
type Config struct {
	Account *account.Client
	// Connect makes the backend over the agent-server of a sandbox. It sends nothing.
	Connect func(address string, key hidden.Text) (Agent, error)
	Logger  *slog.Logger
	Now     func() time.Time
	// Titles leaves the titles of new conversations to the agent-server, which asks the
	// LLM for them. Without it they are the beginning of the first message.
	Titles bool
}

// Agent is the backend over the agent-server of a sandbox.
type Agent interface {
	agentapi.Backend

	// Mark notes with a conversation that the app-server has started what its own
	// Open would have noted: the profile, and the system text unless it is nil. With
	// a title it gets that title.
	Mark(ctx context.Context, id, profile string, system *string, title string) error

	// SendFirst sends the first message of a conversation, calls set, which gives it
	// another LLM, and starts the run, or the goal of the message unless that is nil. An
	// LLM that it got before is not counted.
	SendFirst(ctx context.Context, id string, m agentapi.Message, g *agentapi.Goal, set func(context.Context) error) error
}

// Backend is an agentapi.Backend over an account.
type Backend struct {
	account *account.Client
	connect func(string, hidden.Text) (Agent, error)
	log     *slog.Logger
	now     func() time.Time
	titles  bool

	mu     sync.Mutex
	status agentapi.Status
	asked  time.Time // when status was found out; zero: never

	life context.Context // ends with Close
	end  context.CancelFunc
	work sync.WaitGroup // what goes on after the call that began it
}

// statusAge is how long an answer of the account is good for: a service limits
// requests, and who watches a gateway asks often.
const (
	statusAge     = 30 * time.Second
	statusTimeout = 5 * time.Second
)

// New makes a Backend. It sends nothing.
func New(c Config) *Backend {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	b := &Backend{account: c.Account, connect: c.Connect, log: c.Logger, now: c.Now, titles: c.Titles}
	b.life, b.end = context.WithCancel(context.Background())
	return b
}

// Close waits for what is cleaned up. Sandboxes go on.
func (b *Backend) Close() error {
	b.end()
	b.work.Wait()
	b.account.Close()
	return nil
}

// Status asks the account whether it takes the key. A good answer is kept for a
// while.
func (b *Backend) Status(ctx context.Context) agentapi.Status {
	b.mu.Lock()
	status, asked := b.status, b.asked
	b.mu.Unlock()
	if !asked.IsZero() && b.now().Sub(asked) < statusAge {
		return status
	}
	limited, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	status = agentapi.Status{Name: "cloud", Address: b.account.URL()}
	server, err := b.account.Probe(limited)
	switch {
	case err != nil && limited.Err() != nil && ctx.Err() == nil:
		status.Err = b.unreachable(err)
		return status
	case err != nil:
		status.Err = b.fault(ctx, "say what it is", err)
		return status
	case server.Kind == account.KindAgentServer:
		status.Err = refused("The server at "+b.account.URL()+" is an agent-server, not OpenHands Cloud. Use --backend agent-server --agent-server "+b.account.URL()+".", nil)
		return status
	case !server.V1:
		status.Err = refused("The server at "+b.account.URL()+" only has the old API, which cannot run agents for ohgw. Update the server; ohgw conversations and ohgw cloud work with it.", nil)
		return status
	}
	status.Version = "V1"
	b.mu.Lock()
	defer b.mu.Unlock()
	b.status, b.asked = status, b.now()
	return status
}

// Profiles lists the profiles of the account.
func (b *Backend) Profiles(ctx context.Context) ([]agentapi.Profile, error) {
	found, err := b.account.Profiles(ctx)
	if err != nil {
		return nil, b.fault(ctx, "list its LLM profiles", err)
	}
	list := make([]agentapi.Profile, 0, len(found))
	for _, p := range found {
		sum := sha256.Sum256([]byte(strings.Join([]string{p.Name, p.Model, p.BaseURL}, "\n")))
		list = append(list, agentapi.Profile{Name: p.Name, Model: p.Model, BaseURL: p.BaseURL, Active: p.Active, Revision: hex.EncodeToString(sum[:8])})
	}
	slices.SortFunc(list, func(a, b agentapi.Profile) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// profile is a profile of the account; ErrProfileNotFound if it does not have it.
func (b *Backend) profile(ctx context.Context, name string) (agentapi.Profile, error) {
	list, err := b.Profiles(ctx)
	if err != nil {
		return agentapi.Profile{}, err
	}
	at := slices.IndexFunc(list, func(p agentapi.Profile) bool { return p.Name == name })
	if at < 0 {
		return agentapi.Profile{}, profileNotFound(name, nil)
	}
	return list[at], nil
}

// look is a conversation as the account shows it; with found false it has none.
func (b *Backend) look(ctx context.Context, id string) (c account.Conversation, found bool, err error) {
	c, err = b.account.Get(ctx, id)
	if errors.Is(err, account.ErrNotFound) {
		return c, false, nil
	}
	return c, err == nil, b.fault(ctx, "look for the conversation", err)
}

var _ agentapi.Backend = (*Backend)(nil)
