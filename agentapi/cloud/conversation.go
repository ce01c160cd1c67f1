package cloud

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/truncate"
)

// link is a connection to a conversation where its sandbox is now.
type link struct {
	at    account.Runtime
	agent Agent
	conv  agentapi.Conversation
}

// conversation is a handle on one conversation of the account.
type conversation struct {
	b    *Backend
	info agentapi.Info

	mu    sync.Mutex
	links []*link // the last one is in use; streams may have the others
	stage stage
}

// stage is how far a conversation is.
type stage int

const (
	unknown stage = iota
	begun         // it has no message yet, and the LLM of the settings
	ready         // it has no message yet, and the LLM of its profile
	talking       // it has messages
)

func newConversation(b *Backend, l *link) *conversation {
	return &conversation{b: b, info: l.conv.Info(), links: []*link{l}}
}

// at finds out the stage of the conversation. It wakes nothing.
func (c *conversation) at(ctx context.Context) (stage, error) {
	c.mu.Lock()
	known := c.stage
	c.mu.Unlock()
	if known != unknown {
		return known, nil
	}
	var state event.State
	err := c.asIs(ctx, func(conv agentapi.Conversation) (err error) {
		state, err = conv.State(ctx)
		return err
	})
	if err != nil {
		return unknown, err
	}
	known = talking
	if state.LastUserMessageID == "" {
		known = begun
	}
	c.is(known)
	return known, nil
}

func (c *conversation) is(s stage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stage = s
}

func (c *conversation) Info() agentapi.Info {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.info
}

func (c *conversation) current() *link {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.links[len(c.links)-1]
}

// Close lets go of the connections.
func (c *conversation) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, l := range c.links {
		errs = append(errs, l.conv.Close(), l.agent.Close())
	}
	return errors.Join(errs...)
}

// moved reports whether an error of the sandbox's agent-server may come from a
// sandbox that is not where it was. Nothing was started then.
func moved(err error) bool {
	for _, kind := range []error{agentapi.ErrUnavailable, agentapi.ErrUnauthorized, agentapi.ErrConversationNotFound} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// awake does f with the conversation, and once more if its sandbox has moved or
// fallen asleep.
func (c *conversation) awake(ctx context.Context, f func(agentapi.Conversation) error) error {
	l := c.current()
	err := f(l.conv)
	if !moved(err) {
		return err
	}
	fresh, changed := c.relink(ctx, l, err)
	if changed != nil {
		return changed
	}
	return c.b.told(f(fresh.conv))
}

// relink finds the conversation again after err. Where nothing has changed, err is
// the error.
func (c *conversation) relink(ctx context.Context, old *link, err error) (*link, error) {
	at, reachErr := c.b.reach(ctx, c.info.ID, nil)
	if reachErr != nil {
		return nil, reachErr
	}
	if at.Address == old.at.Address && at.Key.Equal(old.at.Key) && !errors.Is(err, agentapi.ErrUnavailable) {
		return nil, c.b.told(err)
	}
	fresh, linkErr := c.b.link(ctx, c.info.ID, at, nil)
	if linkErr != nil {
		return nil, linkErr
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.links = append(c.links, fresh)
	return fresh, nil
}

// asIs does f with the conversation where it is. A message of a turn that is being
// watched must not go to another place than the watch.
func (c *conversation) asIs(ctx context.Context, f func(agentapi.Conversation) error) error {
	err := f(c.current().conv)
	if !moved(err) {
		return err
	}
	_, found, lookErr := c.b.look(ctx, c.info.ID)
	switch {
	case lookErr != nil:
		return lookErr
	case !found:
		return conversationNotFound(c.info.ID, err)
	}
	return c.b.told(err)
}

// told puts an error of the agent-server in a sandbox into the words of this backend,
// because the user can neither start that server nor give it a key.
func (b *Backend) told(err error) error {
	e, ok := errors.AsType[*agentapi.Error](err)
	if !ok || !errors.Is(e, agentapi.ErrUnavailable) && !errors.Is(e, agentapi.ErrUnauthorized) {
		return err
	}
	return &agentapi.Error{Kind: agentapi.ErrUnavailable, Err: err, Msg: "The sandbox of the conversation does not answer. Try again in a moment; it may be falling asleep or waking."}
}

// State asks for the state now.
func (c *conversation) State(ctx context.Context) (state event.State, err error) {
	err = c.awake(ctx, func(conv agentapi.Conversation) error {
		state, err = conv.State(ctx)
		return err
	})
	return state, err
}

// maxTitle is how long a title is that is made of a message, in characters.
const maxTitle = 50

// Send appends the message. With the first one the conversation gets the LLM of its
// profile, and its title: else the agent-server would ask the model for one, at the
// account's cost, which is what [Config.Titles] wants.
func (c *conversation) Send(ctx context.Context, m agentapi.Message) error {
	return c.send(ctx, m, nil, func(conv agentapi.Conversation) error { return conv.Send(ctx, m) })
}

// Pursues asks the agent-server in the sandbox.
func (c *conversation) Pursues(ctx context.Context) error {
	return c.awake(ctx, func(conv agentapi.Conversation) error {
		pursuer, err := pursuerOf(conv)
		if err != nil {
			return err
		}
		return pursuer.Pursues(ctx)
	})
}

// Pursue appends the message, and has the agent-server pursue its goal.
func (c *conversation) Pursue(ctx context.Context, m agentapi.Message, g agentapi.Goal) error {
	return c.send(ctx, m, &g, func(conv agentapi.Conversation) error {
		pursuer, err := pursuerOf(conv)
		if err != nil {
			return err
		}
		return pursuer.Pursue(ctx, m, g)
	})
}

func pursuerOf(conv agentapi.Conversation) (agentapi.Pursuer, error) {
	pursuer, ok := conv.(agentapi.Pursuer)
	if !ok {
		return nil, &agentapi.Error{Kind: agentapi.ErrUnsupported, Msg: "The agent-server of the sandbox cannot pursue goals. Leave the goal out, or use the embedded agent.", Err: agentapi.ErrNoGoals}
	}
	return pursuer, nil
}

// send sends a message by next. The first one gets what comes with it.
func (c *conversation) send(ctx context.Context, m agentapi.Message, g *agentapi.Goal, next func(agentapi.Conversation) error) error {
	stage, err := c.at(ctx)
	if err != nil {
		return err
	}
	if stage != talking && !c.b.titles {
		if title := titleOf(m.Text); title != "" {
			if err := c.current().agent.Mark(ctx, c.info.ID, "", nil, title); err != nil {
				c.b.log.DebugContext(ctx, "the title of a conversation was not set", "conversation_id", c.info.ID, "err", err)
			}
		}
	}
	err = c.asIs(ctx, func(conv agentapi.Conversation) error {
		profile := c.Info().Profile
		if stage != begun || profile == "" {
			return next(conv)
		}
		return c.current().agent.SendFirst(ctx, c.info.ID, m, g, func(ctx context.Context) error { return c.give(ctx, profile) })
	})
	full, ok := errors.AsType[*agentapi.FullError](err)
	if err == nil || ok && full.Stored {
		c.is(talking)
	}
	return err
}

// give gives the agent the LLM of a profile, through the account, which has the
// keys, and notes that.
func (c *conversation) give(ctx context.Context, profile string) error {
	err := c.b.account.SwitchProfile(ctx, c.info.ID, profile)
	switch {
	case errors.Is(err, account.ErrNotFound):
		return profileNotFound(profile, err)
	case err != nil:
		return c.b.fault(ctx, "give the conversation its LLM profile", err)
	}
	return c.b.told(c.current().agent.Mark(ctx, c.info.ID, profile, nil, ""))
}

// titleOf is the beginning of a message in one line.
func titleOf(text string) string {
	return truncate.Within(strings.Join(strings.Fields(text), " "), maxTitle, "…")
}

// Decide answers actions that wait.
func (c *conversation) Decide(ctx context.Context, d agentapi.Decision) error {
	return c.asIs(ctx, func(conv agentapi.Conversation) error { return conv.Decide(ctx, d) })
}

// Interrupt stops the run. A sandbox that is asleep has none, and stays asleep.
func (c *conversation) Interrupt(ctx context.Context) error {
	err := c.current().conv.Interrupt(ctx)
	if !moved(err) {
		return err
	}
	known, found, lookErr := c.b.look(ctx, c.info.ID)
	switch {
	case lookErr != nil:
		return lookErr
	case !found:
		return conversationNotFound(c.info.ID, err)
	case known.State != account.StateRunning:
		return nil
	}
	return c.awake(ctx, func(conv agentapi.Conversation) error { return conv.Interrupt(ctx) })
}

// Switch gives the agent the LLM of another profile. Before the first message it is
// only noted.
func (c *conversation) Switch(ctx context.Context, profile string) error {
	state, err := c.State(ctx) // only a sandbox that is awake can be changed
	if err != nil {
		return err
	}
	stage, err := c.at(ctx)
	if err != nil {
		return err
	}
	if _, err := c.b.profile(ctx, profile); err != nil {
		return err
	}
	// A turn can end before the answer to its message is here.
	if stage == talking || state.LastUserMessageID != "" {
		return c.give(ctx, profile)
	}
	if err := c.current().agent.Mark(ctx, c.info.ID, profile, nil, ""); err != nil {
		return c.b.told(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.info.Profile, c.stage = profile, begun
	return nil
}

// Confirm sets the mode.
func (c *conversation) Confirm(ctx context.Context, mode agentapi.Confirmation) error {
	return c.awake(ctx, func(conv agentapi.Conversation) error { return conv.Confirm(ctx, mode) })
}

// Condense summarizes what was said.
func (c *conversation) Condense(ctx context.Context) (done agentapi.Condensed, err error) {
	err = c.awake(ctx, func(conv agentapi.Conversation) error {
		done, err = conv.Condense(ctx)
		return err
	})
	return done, err
}

// Fork is not there: the account would not know a copy that an agent-server makes.
func (c *conversation) Fork(ctx context.Context, _ agentapi.ForkRequest) (agentapi.Conversation, error) {
	if _, found, err := c.b.look(ctx, c.info.ID); err != nil || !found {
		return nil, errors.Join(err, conversationNotFound(c.info.ID, nil))
	}
	return nil, unsupported("OpenHands Cloud cannot copy a conversation up to an event.")
}
