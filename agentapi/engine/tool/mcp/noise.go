package mcp

import (
	"fmt"
	"strings"
	"sync"

	"github.com/ohgw/ohgw/internal/bounded"
	"github.com/ohgw/ohgw/internal/truncate"
)

const (
	maxNoise      = 200 // characters that are told of a line
	maxNoiseLines = 5   // lines that are told of a server
)

// noise is what a server printed between its messages.
type noise struct {
	words  *bounded.Tail     // keeps the end of it, too
	report func(line string) // is told the first lines

	mu    sync.Mutex
	lines int
}

func (n *noise) add(line []byte) {
	n.mu.Lock()
	n.lines++
	first := n.lines <= maxNoiseLines
	n.mu.Unlock()
	_, _ = fmt.Fprintf(n.words, "%s\n", line[:min(len(line), maxLastWords)])
	if first {
		n.report(truncate.Head(strings.ToValidUTF8(string(line[:min(len(line), 4*maxNoise)]), "?"), maxNoise))
	}
}

// String says how much there is, "" for none.
func (n *noise) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.lines == 0 {
		return ""
	}
	return fmt.Sprintf("lines of its stdout that are not messages are skipped: %d; the log of ohgw serve has the first", n.lines)
}

// reportNoise puts a line of a server into the log, without the secrets of the
// conversations that use it.
func (c *connection) reportNoise(line string) {
	users := c.pool.usersOf(c)
	for _, m := range users {
		line = m.hidden(line)
	}
	for _, m := range users {
		if log := m.client.cfg.Log; log != nil {
			log.Warn("an MCP server printed a line to stdout that is not a message; the line is skipped", "server", m.name, "line", line)
			return
		}
	}
}
