package sandboxes

import (
	"encoding/json"

	"github.com/ohgw/ohgw/agentapi/engine/memory"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/setup"
)

// Notes finds the directory of the user's notes, without symbolic links, if OpenHands'
// settings have agents keep some; "" for none.
func Notes(env *setup.Env) string {
	places, err := env.Places()
	if err != nil {
		return ""
	}
	base := places.Base()
	found, err := profile.Open(profile.Config{Base: base, Ciphers: env.Ciphers(places)}).ConversationSettings()
	var agent storedagent.Agent
	if err != nil || json.Unmarshal([]byte(found.Agent.Reveal()), &agent) != nil || !agent.Remembers() {
		return ""
	}
	return memory.Find(base)
}
