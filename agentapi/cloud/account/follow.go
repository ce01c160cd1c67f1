package account

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	v1 "github.com/ohgw/ohgw/agentapi/cloud/v1"
	"github.com/ohgw/ohgw/internal/optional"
)

// pace is how often a server is asked whether something has finished.
type pace struct {
	c              *Client
	pause, longest time.Duration
	until          time.Time
}

func (c *Client) newPace(longest time.Duration) *pace {
	return &pace{c: c, pause: 2 * time.Second, longest: longest, until: c.t.Now().Add(c.limit)}
}

// next waits; false if the time is over or ctx has ended.
func (p *pace) next(ctx context.Context) bool {
	if p.c.t.Now().After(p.until) || p.c.t.Sleep(ctx, p.pause) != nil {
		return false
	}
	p.pause = min(p.pause*3/2, p.longest)
	return true
}

// late returns the error of a pace that has ended: the caller's, or that the time is
// over, with the last error.
func (p *pace) late(ctx context.Context, doing string, last error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", doing, errors.Join(ctx.Err(), last))
	}
	if last == nil {
		last = ErrUpstream
	}
	return fmt.Errorf("%s: not done within %s: %w", doing, p.c.limit, last)
}

// passing reports whether a failure may be over when asked again.
func passing(err error) bool {
	return errors.Is(err, ErrUpstream) || errors.Is(err, ErrRateLimited)
}

// maxLost is how often in a row a task may be unknown to the server.
const maxLost = 3

// follow asks for a start task until it is ready. The task it returns is the
// latest that was seen, also with an error.
func (c *Client) follow(ctx context.Context, task v1.Task, report func(Progress)) (v1.Task, error) {
	pace := c.newPace(5 * time.Second)
	var last error
	for lost := 0; ; {
		report(Progress{State: task.Status, Detail: optional.Value(task.Detail)})
		switch task.Status {
		case v1.TaskReady:
			if optional.Value(task.AppConversationID) == "" {
				return task, fmt.Errorf("%w: the server names no conversation", ErrStart)
			}
			return task, nil
		case v1.TaskError:
			return task, fmt.Errorf("%w: %s", ErrStart, c.reason(ctx, task))
		}
		if !pace.next(ctx) {
			return task, pace.late(ctx, ErrStart.Error(), last)
		}
		found, err := c.v1.Tasks(ctx, task.ID)
		switch {
		case err != nil && passing(err):
			last = err
		case err != nil:
			return task, fmt.Errorf("%w: %w", ErrStart, err)
		case len(found) == 0:
			if lost++; lost == maxLost {
				return task, fmt.Errorf("%w: the server has lost its start task %s", ErrStart, task.ID)
			}
		default:
			task, lost, last = found[0], 0, nil
		}
	}
}

// reason is why a start failed, as far as the server says.
func (c *Client) reason(ctx context.Context, task v1.Task) string {
	if detail := clean(optional.Value(task.Detail)); detail != "" {
		return detail
	}
	if id := optional.Value(task.SandboxID); id != "" {
		if boxes, err := c.v1.Sandboxes(ctx, id); err == nil && len(boxes) > 0 && optional.Value(boxes[0].StatusDetail) != "" {
			return clean(optional.Value(boxes[0].StatusDetail))
		}
	}
	return "the server gives no reason"
}

// abandon removes the sandbox of a failed start of a conversation: the server leaves
// it running.
func (c *Client) abandon(ctx context.Context, task v1.Task, conversation string, cause error) error {
	removing, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
	defer cancel()
	id := optional.Value(task.SandboxID)
	if found, err := c.v1.Tasks(removing, task.ID); id == "" && err == nil && len(found) > 0 {
		id = optional.Value(found[0].SandboxID)
	}
	if id == "" {
		return cause
	}
	// The server may have stored the conversation whose start failed. That one does not
	// count as a user of the sandbox.
	users, err := c.v1.Search(removing, "", id, "", 2)
	if err == nil && !slices.ContainsFunc(users.Items, func(v v1.Conversation) bool {
		return transport.Hex(v.ID) != transport.Hex(conversation)
	}) {
		err = c.v1.DeleteSandbox(removing, id)
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w (its sandbox %s was not removed: %w)", cause, id, err)
	}
	return cause
}

// ready reads a conversation that was just started. It may take a moment until
// the server knows it.
func (c *Client) ready(ctx context.Context, id string) (Conversation, error) {
	pace := c.newPace(5 * time.Second)
	for n := 0; ; n++ {
		conv, err := c.Get(ctx, id)
		if err == nil || n == maxLost && !passing(err) || !errors.Is(err, ErrNotFound) && !passing(err) {
			return conv, err
		}
		if !pace.next(ctx) {
			return Conversation{}, pace.late(ctx, "read conversation "+transport.Hex(id), err)
		}
	}
}
