// Package daemontest is an agent that does what a script says, for tests of
// the gateway. It keeps the rules of the seam and nothing else: no model, no
// tools, no network, and it works in a synctest bubble, which the embedded agent
// with a scripted model does not. Its agent also does what that one cannot be brought
// to: it vanishes in the middle of a run, or has no modes of confirmation.
package daemontest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/ohgw/ohgw/agentapi"
)

// Backend is an [agentapi.Backend]. Its fields are set before it is used.
type Backend struct {
	// Script is what the agent does for a prompt. Nil: it finishes with "ok".
	Script func(prompt string) []Step
	// OwnModel makes every conversation answer with a model that does not
	// belong to a profile.
	OwnModel bool
	// NoSwitch makes Switch unsupported.
	NoSwitch bool
	// NoFork makes Fork unsupported.
	NoFork bool
	// NoConfirm makes Confirm unsupported.
	NoConfirm bool
	// Policy is the confirmation policy of new conversations, in OpenHands' form, until
	// they get another mode. Empty: no action waits.
	Policy string
	// Loaded are the MCP servers and skills of every conversation; NoExtensions
	// makes Extensions unsupported.
	Loaded       agentapi.Extensions
	NoExtensions bool
	// Condense is what a condensation of any conversation does. Nil: there is
	// nothing to summarize.
	Condense func(ctx context.Context) (agentapi.Condensed, error)
	// Condensing is what a condensation costs, in US dollars, also one that fails.
	Condensing float64
	// Refuse is why a hook refuses each message. Empty: none does.
	Refuse string
	// Elsewhere: the agents do not share the files of this machine.
	Elsewhere bool
	// Named is what the backend is called in its status; "": scripted.
	Named string

	mu       sync.Mutex
	wg       sync.WaitGroup
	profiles []agentapi.Profile
	down     error
	open     error
	send     error
	hold     chan struct{} // Profiles waits for it; nil: not
	convs    map[string]*conversation
	asked    int
	waiting  int
	opened   []agentapi.OpenRequest
	prompts  []agentapi.Message
	decided  []agentapi.Decision
	removed  []string
	forked   []Fork
	stopped  int
}

// New makes a backend with profiles of these names, the first one active.
func New(profiles ...string) *Backend {
	b := &Backend{convs: make(map[string]*conversation)}
	list := make([]agentapi.Profile, 0, len(profiles))
	for i, name := range profiles {
		list = append(list, agentapi.Profile{Name: name, Model: "provider/" + name, Active: i == 0, Revision: "1"})
	}
	b.SetProfiles(list...)
	return b
}

// SetProfiles changes the list of profiles.
func (b *Backend) SetProfiles(list ...agentapi.Profile) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.profiles = list
}

// SetDown makes the backend unreachable; nil brings it back.
func (b *Backend) SetDown(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = err
}

// FailOpen makes every Open fail; nil ends that. FailSend does so for Send.
func (b *Backend) FailOpen(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open = err
}

// FailSend makes every Send fail; nil ends that.
func (b *Backend) FailSend(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.send = err
}

// HoldProfiles makes Profiles wait until the returned function is called.
func (b *Backend) HoldProfiles() (release func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	hold := make(chan struct{})
	b.hold = hold
	return func() {
		b.mu.Lock()
		b.hold = nil
		b.mu.Unlock()
		close(hold)
	}
}

// Resync shows every watcher the state again, as after a connection that was
// lost and found again.
func (b *Backend) Resync() {
	b.mu.Lock()
	convs := slices.Collect(maps.Values(b.convs))
	b.mu.Unlock()
	for _, c := range convs {
		c.mu.Lock()
		for s := range c.streams {
			s.Push(c.snapshot())
		}
		c.mu.Unlock()
	}
}

// Unavailable returns an error of a backend that is down.
func Unavailable() error {
	return &agentapi.Error{Kind: agentapi.ErrUnavailable, Msg: "The agent-server at 127.0.0.1:8000 cannot be reached."}
}

// Runs counts the runs that were started.
func (b *Backend) Runs() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.prompts)
}

// Asked counts the calls of Profiles.
func (b *Backend) Asked() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked
}

// Waiting counts the calls of Profiles that have not returned.
func (b *Backend) Waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waiting
}

// Prompts are the messages that were sent, in order.
func (b *Backend) Prompts() []agentapi.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.prompts)
}

// Opened are the calls of Open that succeeded, in order.
func (b *Backend) Opened() []agentapi.OpenRequest {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.opened)
}

// Decided are the decisions, in order.
func (b *Backend) Decided() []agentapi.Decision {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.decided)
}

// Confirmation is the mode of a conversation; empty for an unknown one.
func (b *Backend) Confirmation(id string) agentapi.Confirmation {
	b.mu.Lock()
	c := b.convs[id]
	b.mu.Unlock()
	if c == nil {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return agentapi.ConfirmationOf(c.policy())
}

// Removed are the conversations that were removed, in order.
func (b *Backend) Removed() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.removed)
}

// Interrupts counts the runs that were interrupted.
func (b *Backend) Interrupts() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stopped
}

// Status implements [agentapi.Backend].
func (b *Backend) Status(context.Context) agentapi.Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	return agentapi.Status{Name: cmp.Or(b.Named, "scripted"), Version: "1.2.3", Address: "http://127.0.0.1:8000", Missing: []string{"It has no tools."}, Err: b.down, SharesFiles: !b.Elsewhere}
}

// Profiles implements [agentapi.Backend].
func (b *Backend) Profiles(ctx context.Context) ([]agentapi.Profile, error) {
	b.mu.Lock()
	b.asked++
	hold := b.hold
	b.waiting++
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.waiting--
	}()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return b.answer()
}

func (b *Backend) answer() ([]agentapi.Profile, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.profiles), b.down
}

// Open implements [agentapi.Backend].
func (b *Backend) Open(_ context.Context, req agentapi.OpenRequest) (agentapi.Conversation, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down != nil {
		return nil, b.down
	}
	if b.open != nil {
		return nil, b.open
	}
	c, known := b.convs[req.ID]
	if !known && req.Existing {
		return nil, notFound(req.ID)
	}
	b.opened = append(b.opened, req)
	if !known {
		c = newConversation(b, req)
		b.convs[req.ID] = c
	}
	return &handle{conversation: c, info: c.about(!known)}, nil
}

// Remove implements [agentapi.Backend].
func (b *Backend) Remove(_ context.Context, id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, known := b.convs[id]
	if !known {
		return notFound(id)
	}
	delete(b.convs, id)
	b.removed = append(b.removed, id)
	c.cancel()
	return nil
}

// Close ends all runs.
func (b *Backend) Close() error {
	b.mu.Lock()
	for _, c := range b.convs {
		c.cancel()
	}
	b.mu.Unlock()
	b.wg.Wait()
	return nil
}

func notFound(id string) error {
	return &agentapi.Error{Kind: agentapi.ErrConversationNotFound, Msg: fmt.Sprintf("There is no conversation %s.", id)}
}
