package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ohgw/ohgw/internal/bounded"
)

// maxTools is how many tools of a server are used. It bounds what a server can make the
// model read.
const maxTools = 512

// listTools asks for the tools, keeps them, and tells who uses the server if it
// has others than were known.
func (c *connection) listTools(ctx context.Context, session *sdk.ClientSession) error {
	list := []*sdk.Tool{}
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return fmt.Errorf("list the tools: %w", c.explain(err, &bounded.Tail{}))
		}
		list = append(list, t)
		if len(list) > maxTools { // one more, so that it is seen
			break
		}
	}
	old, _ := c.pool.known(c.key)
	c.listMu.Lock()
	c.list = list
	c.listMu.Unlock()
	if old != nil && !sameTools(old, list) {
		c.pool.notifyUsers(c, list)
	}
	return nil
}

func sameTools(a, b []*sdk.Tool) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// tools is the list of the server's tools, nil if it is not known.
func (c *connection) tools() []*sdk.Tool {
	c.listMu.Lock()
	defer c.listMu.Unlock()
	return c.list
}

// refreshWhenTold asks for the tools again when the server says that it has
// others. It ends with ctx.
func (c *connection) refreshWhenTold(ctx context.Context) {
	for {
		select {
		case <-c.told:
		case <-ctx.Done():
			return
		}
		limited, cancel := context.WithTimeout(ctx, connectTimeout)
		if session, err := c.open(limited); err == nil {
			_ = c.listTools(limited, session) // the list that was known stays
		}
		cancel()
	}
}
