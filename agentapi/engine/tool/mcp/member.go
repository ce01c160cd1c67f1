package mcp

import (
	"context"
	"errors"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/internal/redact"
)

// member is a server in one conversation.
type member struct {
	client *Client
	name   string
	server server
	key    key
	prefix bool // its tools have its name in theirs

	mu         sync.Mutex
	connection *connection // nil: not used yet
	closed     bool
	tools      []tool.Tool
}

func newMember(c *Client, name string, s server, prefix bool) (*member, error) {
	key, err := keyOf(s, c.cfg)
	return &member{client: c, name: name, server: s, key: key, prefix: prefix}, err
}

// learn finds out which tools the server has. It is asked if nobody knows.
func (m *member) learn(ctx context.Context) error {
	pool := m.client.cfg.Pool
	list, err := pool.known(m.key)
	if list == nil && err == nil {
		list, err = m.ask(ctx)
		if ctx.Err() == nil || errors.Is(err, context.DeadlineExceeded) {
			pool.remember(m.key, list, err)
		}
	}
	if err != nil {
		return m.hide(err)
	}
	return m.offer(list)
}

func (m *member) ask(ctx context.Context) ([]*sdk.Tool, error) {
	c, err := m.attach()
	if err != nil {
		return nil, err
	}
	if _, err := c.open(ctx); err != nil {
		return nil, err
	}
	return c.tools(), nil
}

// attach makes the server one that this conversation uses, until close.
func (m *member) attach() (*connection, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, errClosed
	}
	if m.connection == nil {
		m.connection = m.client.cfg.Pool.attach(m)
	}
	return m.connection, nil
}

// open returns the server's session for a call.
func (m *member) open(ctx context.Context) (*sdk.ClientSession, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	c, err := m.attach()
	if err != nil {
		return nil, err
	}
	return c.open(ctx)
}

// explain is the error of a call in words.
func (m *member) explain(err error) error {
	if c, attached := m.attach(); attached == nil {
		err = c.explain(err, &lastWords{})
	}
	return m.hide(err)
}

// offer makes tools of what the server has.
func (m *member) offer(list []*sdk.Tool) error {
	tools := make([]tool.Tool, 0, len(list))
	for _, t := range list {
		made, err := newTool(m, t)
		if err != nil {
			return err
		}
		tools = append(tools, made)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tools = tools
	return nil
}

// changed takes the tools that the server has now.
func (m *member) changed(list []*sdk.Tool) {
	if m.offer(list) == nil && m.client.cfg.Changed != nil {
		m.client.cfg.Changed(m.client.Tools())
	}
}

func (m *member) list() []tool.Tool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tools
}

// close lets go of the server.
func (m *member) close() {
	m.mu.Lock()
	c := m.connection
	m.connection, m.closed = nil, true
	m.mu.Unlock()
	if c != nil {
		m.client.cfg.Pool.detach(c, m)
	}
}

// hide takes the conversation's secrets out of an error.
func (m *member) hide(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	hidden := func(text string) string { return redact.Text(m.client.cfg.Secrets.Mask(text)) }
	if e, ok := errors.AsType[*spokenError](err); ok {
		return &spokenError{hidden(e.text), hidden(e.said)}
	}
	return errors.New(hidden(err.Error()))
}
