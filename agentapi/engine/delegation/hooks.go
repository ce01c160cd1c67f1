package delegation

import (
	"encoding/json"
	"fmt"

	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/definition"
	"github.com/ohgw/ohgw/agentapi/engine/hook"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/tag"
)

// Equip gives the conversation of an agent the hooks of its definition, which is a file of
// the user. They run beside the user's other hooks. The state has tags.
func Equip(state *store.State, agent string, hooks json.RawMessage) error {
	if len(hooks) == 0 {
		return nil
	}
	stored, err := hook.Stored(hooks)
	if err != nil {
		return apierr.Refused(fmt.Sprintf("The hooks of the agent %q cannot be read; repair its file.", agent), err)
	}
	if stored != nil {
		state.HookConfig, state.Tags[tag.AgentHooks] = stored, "true"
	}
	return nil
}

// equipTask does the same for a sub-agent. A definition of a project brings no hooks: the
// user has not allowed them.
func equipTask(state *store.State, d definition.Definition) error {
	if !d.User {
		return nil
	}
	return Equip(state, d.Name, d.Hooks)
}
