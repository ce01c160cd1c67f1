package firstrun

import (
	"context"

	"github.com/ohgw/ohgw/internal/answers"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/setup"
)

// chosenJSON is the choice that leaves no profile behind.
type chosenJSON struct {
	AgentServer string `json:"agent_server"` // its address
}

func choices(dirs paths.Set) answers.Store[chosenJSON] {
	return answers.In[chosenJSON](dirs, "chosen.json")
}

// ChooseServer stores that the user has chosen the agent-server at address in place of
// a profile. It gives the server no right: whether it may have keys is asked apart.
func ChooseServer(ctx context.Context, env *setup.Env, address string) error {
	dirs, err := env.Dirs()
	if err != nil {
		return err
	}
	return choices(dirs).Set(ctx, chosenJSON{AgentServer: address})
}

// ChoseServer reports whether the user has chosen the agent-server at address.
func ChoseServer(dirs paths.Set, address string) bool {
	return address != "" && choices(dirs).Any(func(c chosenJSON) bool { return c.AgentServer == address })
}
