package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/mcp/oauth"
	"github.com/ohgw/ohgw/internal/bounded"
	"github.com/ohgw/ohgw/internal/fault"
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
	leftOut    []string // tools, each with its reason
	notes      []string // what else is to say of them
}

func newMember(ctx context.Context, c *Client, name string, s server, prefix bool) (*member, error) {
	if s.login() && c.cfg.Logins != nil {
		switch _, known, err := c.cfg.Logins.Load(ctx, s.URL); {
		case err != nil:
			return nil, fmt.Errorf("the stored login cannot be read: %w", err)
		case known: // all conversations have that login
			s.Auth.State, s.stored = nil, true
		}
	}
	key, err := keyOf(s, c.cfg)
	return &member{client: c, name: name, server: s, key: key, prefix: prefix}, err
}

// learn returns the tools of the server. It asks the server if they are not known yet.
func (m *member) learn(ctx context.Context) ([]*sdk.Tool, error) {
	pool := m.client.cfg.Pool
	list, err := pool.known(m.key)
	if list == nil && err == nil {
		list, err = m.ask(ctx)
		if !oauth.Needed(err) && (ctx.Err() == nil || errors.Is(err, context.DeadlineExceeded)) {
			pool.remember(m.key, list, err)
		}
	}
	if err != nil {
		return nil, m.hide(err)
	}
	return list, nil
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

// renew makes sure that the next call has another session. It reports whether the
// server is one whose sessions can be lost without a call.
func (m *member) renew(session *sdk.ClientSession) bool {
	c, err := m.attach()
	return err == nil && c.renew(session)
}

// explain returns the error of a call with what the server's connection knows about
// it, without secrets.
func (m *member) explain(err error) error {
	if c, attached := m.attach(); attached == nil {
		err = c.explain(err, &bounded.Tail{})
	}
	return m.hide(err)
}

// offer makes tools of what the server has. One that cannot be used is left out.
func (m *member) offer(list []*sdk.Tool) {
	m.client.names.claim(m, list, true)
	m.client.names.claim(m, list, false)
	tools := make([]tool.Tool, 0, len(list))
	var leftOut, notes []string
	seen := map[string]bool{}
	for i, t := range list {
		if i == maxTools {
			leftOut = append(leftOut, fmt.Sprintf("those after its first %d", maxTools))
			break
		}
		if why, _ := unread(t); why != "" {
			leftOut = append(leftOut, fmt.Sprintf("%q: %s", t.Name, why))
			continue
		}
		if seen[t.Name] {
			leftOut = append(leftOut, fmt.Sprintf("%q: the server has two of that name", t.Name))
			continue
		}
		seen[t.Name] = true
		made, told, err := newTool(m, t, m.client.names.name(m, t.Name))
		if err != nil {
			leftOut = append(leftOut, fmt.Sprintf("%q: %v", t.Name, err))
			continue
		}
		if told != "" {
			notes = append(notes, told)
		}
		tools = append(tools, made)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tools, m.leftOut, m.notes = tools, leftOut, notes
}

// partial reports which tools of the server are left out; nil if it offers all.
func (m *member) partial() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.leftOut) == 0 {
		return nil
	}
	return fault.New(fmt.Sprintf("cannot use some tools of the MCP server %q", m.name),
		"tell the makers of the server; its other tools can be used", m.hide(errors.New(few(m.leftOut))))
}

// said is what there is to say of the tools of the server.
func (m *member) said() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []string
	if len(m.leftOut) > 0 {
		all = append(all, "tools that are left out: "+few(m.leftOut))
	}
	return m.client.cfg.Secrets.Mask(few(append(all, m.notes...)))
}

// few lists some of many.
func few(list []string) string {
	const most = 5
	text := strings.Join(list[:min(most, len(list))], "; ")
	if more := len(list) - most; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// changed takes the tools that the server has now.
func (m *member) changed(list []*sdk.Tool) {
	m.offer(list)
	if m.client.cfg.Changed != nil {
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
	if needed, ok := errors.AsType[*oauth.NeededError](err); ok {
		return needed
	}
	if e, ok := errors.AsType[*spokenError](err); ok {
		return &spokenError{m.hidden(e.text), m.hidden(e.said)}
	}
	return errors.New(m.hidden(err.Error()))
}

func (m *member) hidden(text string) string { return redact.Text(m.client.cfg.Secrets.Mask(text)) }
