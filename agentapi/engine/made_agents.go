package engine

import (
	"crypto/sha256"
	"encoding/json"
	"sync"
)

// madeAgents keeps the stored agents of new conversations: the next one with the
// same profile, settings and system text begins with the same agent. Its methods
// may be called at the same time.
type madeAgents struct {
	mu   sync.Mutex
	made map[agentSource]json.RawMessage // never changed
}

// agentSource is what [newAgent] makes an agent of. The settings may hold
// secrets, so there is only their digest.
type agentSource struct {
	profile, revision string
	settings, system  [sha256.Size]byte
}

// maxMadeAgents is how many are kept: the profiles that are in use, with the
// system texts of a few clients.
const maxMadeAgents = 32

// of is the agent of a new conversation. One with MCP servers is made again each
// time: their secrets are sealed for one conversation.
func (m *madeAgents) of(p Profile, s Settings, system string, seal func(string) (string, error)) (json.RawMessage, error) {
	source := agentSource{profile: p.Name, revision: p.Revision, settings: sha256.Sum256(s.Agent), system: sha256.Sum256([]byte(system))}
	m.mu.Lock()
	known := m.made[source]
	m.mu.Unlock()
	if known != nil {
		return known, nil
	}
	made, err := newAgent(p, s, system, seal)
	if err != nil || p.Revision == "" || hasServers(made) {
		return made, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.made == nil || len(m.made) >= maxMadeAgents {
		m.made = make(map[agentSource]json.RawMessage)
	}
	m.made[source] = made
	return made, nil
}

func hasServers(stored json.RawMessage) bool {
	a := agent{}
	return json.Unmarshal(stored, &a) != nil || len(a["mcp_config"]) > 0
}
