package storedagent

import (
	"crypto/sha256"
	"encoding/json"
	"sync"
)

// Cache keeps the stored agents of new conversations: the next one with the
// same profile, settings and system text begins with the same agent. Its methods
// may be called at the same time.
type Cache struct {
	mu   sync.Mutex
	made map[digest]json.RawMessage // never changed
}

// digest stands for a [Source]. The settings may hold secrets, so it has only their hash.
type digest struct {
	profile, revision string
	settings, system  [sha256.Size]byte
	memory            bool
}

// maxAgents is how many are kept: the profiles that are in use, with the
// system texts of a few clients.
const maxAgents = 32

// Of makes the agent of a new conversation, or returns an equal one that it has made
// before. One with MCP servers is made again each time: their secrets are sealed for one
// conversation.
func (m *Cache) Of(from Source, seal func(string) (string, error)) (json.RawMessage, error) {
	key := digest{profile: from.Name, revision: from.Revision, settings: sha256.Sum256(from.Settings), system: sha256.Sum256([]byte(from.System)), memory: from.Memory}
	m.mu.Lock()
	known := m.made[key]
	m.mu.Unlock()
	if known != nil {
		return known, nil
	}
	made, err := New(from, seal)
	if err != nil || from.Revision == "" || hasServers(made) {
		return made, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.made == nil || len(m.made) >= maxAgents {
		m.made = make(map[digest]json.RawMessage)
	}
	m.made[key] = made
	return made, nil
}

func hasServers(stored json.RawMessage) bool {
	a := Agent{}
	return json.Unmarshal(stored, &a) != nil || len(a["mcp_config"]) > 0
}
