package account

import (
	"context"
	"fmt"

	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	"github.com/ohgw/ohgw/internal/hidden"
)

// Trajectory downloads all that happened in a conversation: a zip archive of its
// events, or V0's JSON. V1's server learns of events up to 30 s late.
func (c *Client) Trajectory(ctx context.Context, id string) (*Download, error) {
	conv, err := c.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if conv.Version == V0 {
		return c.trajectoryV0(ctx, conv)
	}
	got := &Download{Name: "trajectory-" + short(conv.ID) + ".zip", Type: "application/zip"}
	body, err := c.v1.Download(ctx, conv.ID)
	if err != nil && absent(err) && conv.State == StateRunning && conv.base != nil {
		body, err = c.agent(conv).Trajectory(ctx, conv.ID)
	}
	if err != nil {
		return nil, c.forget(err)
	}
	return begins(body, "PK", got)
}

// trajectoryV0 asks the runtime, and the server where the conversation has none:
// servers without runtimes of their own keep it.
func (c *Client) trajectoryV0(ctx context.Context, conv Conversation) (*Download, error) {
	if conv.base == nil {
		conv.base, conv.key = c.t.Root(), hidden.Text{}
	}
	body, err := c.runtimeV0(conv).Trajectory(ctx)
	if err != nil {
		return nil, err
	}
	if body.Type != "application/json" {
		_ = body.Close() // It is not read.
		return nil, fmt.Errorf("trajectory of conversation %s: %w: it is %s", conv.ID, transport.ErrWrongEndpoint, body.Type)
	}
	return &Download{ReadCloser: body, Name: "trajectory-" + short(conv.ID) + ".json", Type: body.Type, Size: body.Size}, nil
}
