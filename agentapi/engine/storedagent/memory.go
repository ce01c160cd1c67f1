package storedagent

import "encoding/json"

// loadMemory is the member of agent_context by which an agent keeps notes.
const loadMemory = "load_memory"

// Remembers reports whether an agent, or that of settings, keeps notes for later
// conversations.
func (a Agent) Remembers() bool { return string(a.Object("agent_context")[loadMemory]) == "true" }

// Remember has the agent keep notes, as OpenHands does with every agent where the user's
// settings say so. One without a context gets one that knows no date.
func (a Agent) Remember() {
	words := a.Object("agent_context")
	if raw := a["agent_context"]; len(raw) == 0 || string(raw) == "null" {
		words["current_datetime"] = json.RawMessage("null")
	}
	words.Set(loadMemory, true)
	a.Set("agent_context", words)
}

// Forget returns a stored agent that keeps no notes. One that keeps none, or that is not an
// agent, stays as it is.
func Forget(stored json.RawMessage) json.RawMessage {
	a := Agent{}
	if json.Unmarshal(stored, &a) != nil || !a.Remembers() {
		return stored
	}
	words := a.Object("agent_context")
	words.Set(loadMemory, false)
	a.Set("agent_context", words)
	data, err := json.Marshal(a)
	if err != nil {
		return nil // it was read, so it can be written
	}
	return data
}
