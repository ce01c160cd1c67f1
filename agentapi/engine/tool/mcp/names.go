package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ohgw/ohgw/internal/pattern"
)

// notInName is what providers do not take in the name of a tool, and maxName
// how long it may be.
var notInName = pattern.Of(`[^a-zA-Z0-9_-]`)

const (
	maxName  = 64
	nameless = "tool" // for one whose server gives it no name
	markLen  = 8      // of what tells two names apart
)

// owner is a tool as its server calls it.
type owner struct{ server, tool string }

// names are the tools of one conversation as models call them. Each name is of
// one tool, and stays with it as long as the conversation is open. The same
// servers get the same names again.
type names struct {
	mu    sync.Mutex
	of    map[owner]string
	taken map[string]bool
}

func newNames() *names { return &names{of: map[owner]string{}, taken: map[string]bool{}} }

// claim gives names to the tools of a server that have none yet. First come those
// that need no change, also of other servers: asIs.
func (n *names) claim(m *member, tools []*sdk.Tool, asIs bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, t := range tools {
		who := owner{m.name, t.Name}
		if why, _ := unread(t); why != "" || n.of[who] != "" {
			continue
		}
		plain := plainName(m, t.Name)
		name := fitted(plain, who)
		if asIs && name != plain {
			continue
		}
		base := name
		for try := 0; n.taken[name]; try++ {
			name = marked(base, who, try)
		}
		n.of[who], n.taken[name] = name, true
	}
}

func (n *names) name(m *member, toolName string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.of[owner{m.name, toolName}]
}

// plainName is the name that OpenHands gives a tool.
func plainName(m *member, toolName string) string {
	if m.prefix {
		return m.name + "_" + toolName
	}
	return toolName
}

// fitted is a name that models take.
func fitted(plain string, who owner) string {
	if who.tool == "" {
		plain += nameless
	}
	name := notInName().ReplaceAllString(plain, "_")
	if len(name) > maxName {
		return marked(name, who, 0)
	}
	return name
}

// marked is a name that ends in a mark of its owner. Each try has another mark.
func marked(name string, who owner, try int) string {
	sum := sha256.Sum256([]byte(who.server + "\x00" + who.tool + "\x00" + strconv.Itoa(try)))
	return name[:min(len(name), maxName-markLen-1)] + "_" + hex.EncodeToString(sum[:])[:markLen]
}
