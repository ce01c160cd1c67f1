package agentserver

import (
	"context"
	"encoding/json"
	"net/http"
	"sync/atomic"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
)

// conversation is a handle on one conversation of the server.
type conversation struct {
	backend *Backend
	version version
	info    agentapi.Info

	// newest is the id of the newest event of the log that a stream of this
	// handle has seen: where to look for a message that was sent after it. It
	// counts while there are streams.
	newest  atomic.Pointer[string]
	streams atomic.Int64

	// unnumbered is set where the session socket is of no use for the conversation.
	unnumbered atomic.Bool

	// counts says that the run of the handle is one of the room's until the handle is
	// closed, and working that it is now.
	counts  bool
	working atomic.Bool

	// pursuing is set while there is a goal, and running while there is a run, as far as
	// the log was read.
	pursuing, running atomic.Bool

	// uncounted is set for a fork whose agent the server has not set up yet.
	uncounted atomic.Bool
}

func (c *conversation) Info() agentapi.Info { return c.info }

func (c *conversation) path() string { return conversationPath(c.info.ID) }

// State asks the server. While a run goes on, what it says may be a step old.
func (c *conversation) State(ctx context.Context) (event.State, error) {
	info, err := c.backend.describe(ctx, c.info.ID)
	if gone(err) {
		return event.State{}, conversationNotFound(c.info.ID, err)
	}
	return info.State, c.backend.fault(ctx, "describe the conversation", err)
}

func (c *conversation) Interrupt(ctx context.Context) error {
	if !c.pursuing.Load() {
		return c.backend.interrupt(ctx, c.info.ID)
	}
	return c.leave(ctx)
}

// Switch gives the agent the LLM of another profile. The server keeps the
// first LLM of a usage id for ever, so each switch has an id of its own.
func (c *conversation) Switch(ctx context.Context, profile string) error {
	if c.version < sinceProfiles {
		return unsupported("This agent-server is older than 1.22 and cannot change the model of a conversation. Start a new conversation.")
	}
	if err := c.mayBecome(ctx, profile); err != nil {
		return err
	}
	return c.handOver(ctx, profile)
}

// handOver gives the agent the LLM of a profile, which may be that of the agent.
func (c *conversation) handOver(ctx context.Context, profile string) error {
	b := c.backend
	of, err := b.llmOf(ctx, c.version, profile)
	if err != nil {
		return err
	}
	_, llm, _, err := b.launchParts(ctx, of)
	if err != nil {
		return err
	}
	if llm.text("provider_connection_id") != "" {
		return unsupported("The agent-server cannot change a conversation to a profile with a provider connection. Start a new conversation.")
	}
	if err := b.equip(ctx, of, llm); err != nil {
		return err
	}
	usage := newUsage()
	llm.set("usage_id", usage)
	llm.set("stream", c.version >= sinceDeltas)
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	in := object{}
	in.set("llm", llm)
	_, err = b.client.do(limited, request{method: http.MethodPost, path: c.path() + "/switch_llm", in: in})
	if gone(err) {
		return conversationNotFound(c.info.ID, err)
	}
	if err != nil {
		return b.fault(ctx, "change the model of the conversation", err)
	}
	return b.retag(ctx, c.info.ID, func(old tags) tags { return withProfile(old, profile, usage) })
}

// Confirm sets the policy of the conversation, and an analyzer before it if the
// policy needs one. The server makes both wait for a tool that runs.
func (c *conversation) Confirm(ctx context.Context, mode agentapi.Confirmation) error {
	if mode == agentapi.ConfirmRisky {
		state, err := c.State(ctx)
		if err != nil {
			return err
		}
		if !agentapi.Rated(state.SecurityAnalyzer) {
			if err := c.set(ctx, "/security_analyzer", "security_analyzer", json.RawMessage(agentapi.AnalyzerLLM)); err != nil {
				return err
			}
		}
	}
	return c.set(ctx, "/confirmation_policy", "policy", mode.Policy())
}

// set posts a value of the conversation.
func (c *conversation) set(ctx context.Context, route, name string, value json.RawMessage) error {
	in := map[string]json.RawMessage{name: value}
	_, err := c.backend.client.do(ctx, request{method: http.MethodPost, path: c.path() + route, in: in})
	if gone(err) {
		return conversationNotFound(c.info.ID, err)
	}
	return c.backend.fault(ctx, "change the confirmation mode of the conversation", err)
}

// Close ends the handle, which holds nothing but its place among the runs.
func (c *conversation) Close() error {
	if c.working.Swap(false) {
		c.backend.room.ended()
	}
	return nil
}

// retag changes the tags of a conversation. The server replaces them all.
func (b *Backend) retag(ctx context.Context, id string, change func(tags) tags) error {
	known, err := b.describe(ctx, id)
	if err == nil {
		limited, cancel := context.WithTimeout(ctx, answerTimeout)
		defer cancel()
		in := map[string]tags{"tags": change(known.Tags)}
		_, err = b.client.do(limited, request{method: http.MethodPatch, path: conversationPath(id), in: in})
	}
	return b.fault(ctx, "note the model of the conversation", err)
}
