package mcp

import (
	"crypto/sha256"
	"encoding/json"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ohgw/ohgw/internal/sandbox"
)

const (
	// listTime is how long a list of tools is taken for the server's without
	// asking. A server that runs is always believed.
	listTime = 15 * time.Minute
	// failTime is how long a server that could not be used is not tried again:
	// each try may take connectTimeout of a message's time.
	failTime = time.Minute
	// maxKnown is how many servers are remembered that do not run.
	maxKnown = 256
)

// Pool is the servers that the conversations of this process share. Its
// methods may be called at the same time.
type Pool struct {
	box sandbox.Box // of the servers over stdio

	mu    sync.Mutex
	live  map[string]*connection
	lists map[string]known // of servers by key.list
}

// known is what is remembered of a server: its tools, or why it cannot be used.
type known struct {
	list  []*sdk.Tool
	err   error
	until time.Time
}

// NewPool makes a pool, whose servers over stdio run in a box. What is in it ends
// with the Clients that use it.
func NewPool(box sandbox.Box) *Pool {
	return &Pool{box: box, live: map[string]*connection{}, lists: map[string]known{}}
}

// key names a server. Its parts are hashes: the settings hold secrets.
type key struct {
	live string // of the settings, and of the directory in which it is started
	list string // of the settings: in each directory it is taken to have the same tools
}

func keyOf(s server, cfg Config) (key, error) {
	type plain server
	data, err := json.Marshal(plain(s))
	if s.stored { // its login is not the one of the settings
		data = append(data, " stored"...)
	}
	list := sha256.Sum256(data)
	k := key{string(list[:]), string(list[:])}
	if s.Transport == "stdio" && s.Cwd == "" {
		k.live += cfg.Dir
	}
	if s.Transport == "stdio" && cfg.Box != nil {
		k.live += "\x00" + cfg.Conversation
	}
	return k, err
}

// known is what is remembered of a server; both nil for nothing.
func (p *Pool) known(k key) ([]*sdk.Tool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.live[k.live]; c != nil {
		if list := c.tools(); list != nil {
			return list, nil
		}
	}
	was, ok := p.lists[k.list]
	if !ok || time.Now().After(was.until) { //nolint:forbidigo // a cache's own time: nobody sees it
		return nil, nil
	}
	return was.list, was.err
}

func (p *Pool) remember(k key, list []*sdk.Tool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, keep := time.Now(), listTime //nolint:forbidigo // as above
	if err != nil {
		keep = failTime
	}
	if len(p.lists) >= maxKnown {
		for other, was := range p.lists {
			if now.After(was.until) || len(p.lists) >= maxKnown {
				delete(p.lists, other)
			}
		}
	}
	p.lists[k.list] = known{list, err, now.Add(keep)}
}

// attach returns the connection to a member's server, which it uses until detach.
func (p *Pool) attach(m *member) *connection {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.live[m.key.live]
	if c == nil {
		c = newConnection(p, m)
		p.live[m.key.live] = c
	}
	c.users[m] = struct{}{}
	return c
}

// detach ends a server when no client uses it any more.
func (p *Pool) detach(c *connection, m *member) {
	p.mu.Lock()
	delete(c.users, m)
	last := len(c.users) == 0
	if last && p.live[c.key.live] == c {
		delete(p.live, c.key.live)
	}
	p.mu.Unlock()
	if last {
		c.close()
	}
}

// notifyUsers gives the users of a server its tools as they are now.
func (p *Pool) notifyUsers(c *connection, list []*sdk.Tool) {
	p.remember(c.key, list, nil)
	for _, m := range p.usersOf(c) {
		m.changed(list)
	}
}

func (p *Pool) usersOf(c *connection) []*member {
	p.mu.Lock()
	defer p.mu.Unlock()
	users := make([]*member, 0, len(c.users))
	for m := range c.users {
		users = append(users, m)
	}
	return users
}
