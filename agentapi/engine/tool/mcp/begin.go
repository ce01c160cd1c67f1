package mcp

import (
	"context"
	"errors"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ohgw/ohgw/agentapi/engine/tool/mcp/oauth"
)

// withInitialize is the newest version of the protocol whose sessions begin with initialize.
const withInitialize = "2025-11-25"

// begin begins a session: with initialize, as OpenHands does, and with a server that refuses
// that in the way of 2026-07-28, with server/discover. The SDK does it the other way round,
// and waits in vain for a server that answers nothing to what it does not know.
func (c *connection) begin(ctx context.Context, client *sdk.Client) (*sdk.ClientSession, error) {
	var first error
	for _, options := range []*sdk.ClientSessionOptions{{ProtocolVersion: withInitialize}, nil} {
		transport, words, err := c.transport()
		if err != nil {
			return nil, err
		}
		session, err := client.Connect(ctx, transport, options)
		if err == nil {
			return session, nil
		}
		c.killProcess()
		if first == nil {
			first = c.explain(err, words)
		}
		if ctx.Err() != nil || !c.refused(err) {
			break
		}
	}
	return nil, first
}

// refused reports whether a server has answered with an error. Over HTTP that is every
// error except those of the network and of a login.
func (c *connection) refused(err error) bool {
	if _, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return true
	}
	_, network := errors.AsType[*url.Error](err)
	_, login := errors.AsType[*oauth.Error](err)
	return c.http != nil && !network && !login && !oauth.Needed(err)
}
