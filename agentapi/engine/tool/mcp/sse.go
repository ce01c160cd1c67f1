package mcp

import (
	"context"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// lasting is the older transport. The SDK's own ends its stream with the context of
// Connect, which is that of one message.
type lasting struct{ sdk.SSEClientTransport }

// Connect opens the stream. Only the opening ends with ctx.
func (l *lasting) Connect(ctx context.Context) (sdk.Connection, error) {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	opened := context.AfterFunc(ctx, end)
	conn, err := l.SSEClientTransport.Connect(life)
	if err != nil {
		end()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, fmt.Errorf("open the stream: %w", err)
	}
	opened()
	return &lastingConnection{conn, end}, nil
}

type lastingConnection struct {
	sdk.Connection
	end context.CancelFunc
}

// Close ends the stream.
func (c *lastingConnection) Close() error {
	defer c.end()
	return c.Connection.Close()
}
