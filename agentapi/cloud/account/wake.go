package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	v0 "github.com/ohgw/ohgw/agentapi/cloud/v0"
	v1 "github.com/ohgw/ohgw/agentapi/cloud/v1"
	"github.com/ohgw/ohgw/internal/hidden"
	"github.com/ohgw/ohgw/internal/optional"
)

// Runtime is how to reach what runs a conversation: the agent-server of a V1
// conversation, or V0's runtime. Address and key change when a sandbox wakes.
type Runtime struct {
	Version        Version
	Address        string // without a trailing slash
	Key            hidden.Text
	ConversationID string
	Directory      string // that the conversation works in; "" for V0
}

// Runtime is the runtime of a conversation that runs. It wakes nothing: a
// conversation that sleeps, or still starts, is ErrAsleep, one whose sandbox is gone
// ErrArchived.
func (c *Client) Runtime(ctx context.Context, id string) (Runtime, error) {
	conv, err := c.running(ctx, id)
	if err != nil {
		return Runtime{}, err
	}
	return c.runtimeOf(ctx, conv)
}

// running reads a conversation whose runtime is known, and refuses one that does not
// run.
func (c *Client) running(ctx context.Context, id string) (Conversation, error) {
	conv, err := c.Get(ctx, id)
	if err != nil {
		return conv, err
	}
	switch {
	case conv.State == StateArchived:
		return conv, fmt.Errorf("conversation %s: %w: its sandbox is gone", conv.ID, ErrArchived)
	case conv.State == StateError && conv.Version == V1:
		return conv, fmt.Errorf("conversation %s: %w: its sandbox has failed", conv.ID, ErrArchived)
	case conv.State != StateRunning:
		return conv, fmt.Errorf("conversation %s: %w: it is %s", conv.ID, ErrAsleep, conv.State)
	case conv.base != nil:
		return conv, nil
	case conv.Version == V1:
		return c.atSandbox(ctx, conv)
	}
	return conv, fmt.Errorf("conversation %s: %w: its runtime has no address", conv.ID, ErrAsleep)
}

// atSandbox takes address and key from the sandbox where the conversation does not
// have them.
func (c *Client) atSandbox(ctx context.Context, conv Conversation) (Conversation, error) {
	boxes, err := c.v1.Sandboxes(ctx, conv.SandboxID)
	if err != nil {
		return conv, err
	}
	for _, box := range boxes {
		if base := transport.RuntimeBase(c.t.Root(), box.AgentServer()); base != nil && box.Status == v1.Running {
			conv.base, conv.key = base, box.SessionAPIKey
			return conv, nil
		}
	}
	return conv, fmt.Errorf("conversation %s: %w: its sandbox has no address", conv.ID, ErrAsleep)
}

func (c *Client) runtimeOf(ctx context.Context, conv Conversation) (Runtime, error) {
	rt := Runtime{Version: conv.Version, Address: conv.base.String(), Key: conv.key, ConversationID: conv.ID, Directory: conv.directory}
	if conv.Version == V0 || rt.Directory != "" {
		return rt, nil
	}
	var err error
	if rt.Directory, err = c.agent(conv).Directory(ctx, conv.ID); err != nil {
		return rt, fmt.Errorf("find the directory of conversation %s: %w", conv.ID, err)
	}
	return rt, nil
}

func (c *Client) agent(conv Conversation) v1.Agent { return v1.Agent{T: c.t, At: conv.target()} }

func (c *Client) runtimeV0(conv Conversation) v0.Runtime {
	return v0.Runtime{T: c.t, At: conv.target(), ID: conv.ID}
}

// Wake returns the runtime of a conversation when it answers. It wakes it if it
// sleeps. One whose sandbox is gone is ErrArchived.
func (c *Client) Wake(ctx context.Context, id string, report func(Progress)) (Runtime, error) {
	conv, err := c.Get(ctx, id)
	if err != nil {
		return Runtime{}, err
	}
	told := once(report)
	if conv.Version == V0 {
		if conv, err = c.wakeV0(ctx, conv, told); err != nil {
			return Runtime{}, c.forget(err)
		}
		return c.runtimeOf(ctx, conv)
	}
	rt, err := c.wakeV1(ctx, conv, told)
	return rt, c.forget(err)
}

func (c *Client) wakeV1(ctx context.Context, conv Conversation, report func(Progress)) (Runtime, error) {
	pace := c.newPace(10 * time.Second)
	for {
		rt, err := c.stir(ctx, conv, report)
		switch {
		case err == nil:
			report(Progress{State: v1.TaskReady})
			return rt, nil
		case errors.Is(err, ErrArchived), !waking(err):
			return Runtime{}, err
		case !pace.next(ctx):
			return Runtime{}, pace.late(ctx, "wake conversation "+conv.ID, err)
		}
		// Address and key can be others now.
		if again, err := c.Get(ctx, conv.ID); err == nil {
			conv = again
		} else if !passing(err) {
			return Runtime{}, err
		}
	}
}

// waking reports whether a failure is one of a sandbox that is on its way.
func waking(err error) bool {
	return passing(err) || errors.Is(err, ErrAsleep) || errors.Is(err, ErrNotFound) || errors.Is(err, ErrUnauthorized) && fromRuntime(err)
}

// fromRuntime reports whether a runtime said it, not the server.
func fromRuntime(err error) bool {
	e, ok := errors.AsType[*runtimeError](err)
	return ok && e != nil
}

// runtimeError is a failure of a runtime.
type runtimeError struct{ err error }

func (e *runtimeError) Error() string { return e.err.Error() }
func (e *runtimeError) Unwrap() error { return e.err }

// stir makes one attempt to reach the runtime of a conversation, and does the next
// step to wake its sandbox.
func (c *Client) stir(ctx context.Context, conv Conversation, report func(Progress)) (Runtime, error) {
	if conv.State == StateRunning && conv.base != nil && !conv.key.IsZero() {
		return c.answering(ctx, conv)
	}
	boxes, err := c.v1.Sandboxes(ctx, conv.SandboxID)
	if err != nil {
		return Runtime{}, err
	}
	if conv.SandboxID == "" || len(boxes) == 0 {
		return Runtime{}, fmt.Errorf("conversation %s: %w: its sandbox was deleted", conv.ID, ErrArchived)
	}
	box := boxes[0]
	report(Progress{State: box.Status, Detail: clean(optional.Value(box.StatusDetail))})
	switch box.Status {
	case v1.Missing, v1.Failed:
		return Runtime{}, fmt.Errorf("conversation %s: %w: its sandbox is %s", conv.ID, ErrArchived, first(clean(optional.Value(box.StatusDetail)), box.Status))
	case v1.Paused:
		err := c.v1.Resume(ctx, box.ID)
		if errors.Is(err, ErrNotFound) {
			return Runtime{}, fmt.Errorf("conversation %s: %w: its sandbox was deleted", conv.ID, ErrArchived)
		}
		if err != nil {
			return Runtime{}, err
		}
	case v1.Running:
		if conv.base = transport.RuntimeBase(c.t.Root(), box.AgentServer()); conv.base != nil {
			conv.key = box.SessionAPIKey
			return c.answering(ctx, conv)
		}
	}
	return Runtime{}, fmt.Errorf("conversation %s: %w: its sandbox is %s", conv.ID, ErrAsleep, box.Status)
}

// answering is the runtime, if it answers.
func (c *Client) answering(ctx context.Context, conv Conversation) (Runtime, error) {
	if err := c.agent(conv).Health(ctx); err != nil {
		return Runtime{}, &runtimeError{err}
	}
	rt, err := c.runtimeOf(ctx, conv)
	if err != nil {
		return Runtime{}, &runtimeError{err}
	}
	return rt, nil
}
