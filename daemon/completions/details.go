package completions

import (
	"encoding/json"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/openai"
)

// maxActions bounds what a whole answer says of the agent's actions, in bytes.
const maxActions = 4 << 20

// details are what a client can get of an update besides its line.
type details struct {
	Action  *turn.Call      `json:"action,omitempty"`
	Retry   *turn.Retry     `json:"retry,omitempty"`
	Sandbox *agentapi.Block `json:"sandbox,omitempty"`
}

// detail is what a client that wants details gets of an update, as a JSON object in one
// line; nil if there is nothing. A repeated request to the provider is for clients that
// want phases, too: the call of the model goes on.
func (a *Answer) detail(u turn.Update) []byte {
	var wanted details
	options := a.call.Options
	if options.Details {
		wanted.Action, wanted.Sandbox = u.Call, u.Block
	}
	if options.Details || options.Phases {
		wanted.Retry = u.Retry
	}
	if wanted == (details{}) {
		return nil
	}
	return openai.OneLine(wanted)
}

// actions are the calls of a whole answer, each as it stood last.
type actions struct {
	list []*turn.Call
	at   map[string]int
	size int
}

// add takes in a call. Beyond maxActions it keeps no inputs and results.
func (a *actions) add(c *turn.Call) {
	merged := *c
	i, known := a.at[c.ID]
	if known {
		merged.Input = a.list[i].Input
	}
	if a.size += c.Size(); a.size > maxActions {
		merged = *c.Short()
	}
	if known {
		a.list[i] = &merged
		return
	}
	if a.at == nil {
		a.at = make(map[string]int)
	}
	a.at[c.ID] = len(a.list)
	a.list = append(a.list, &merged)
}

func (a *actions) encode() []json.RawMessage {
	var all []json.RawMessage
	for _, c := range a.list {
		all = append(all, openai.OneLine(c))
	}
	return all
}

// contextOf is how full the context is, for clients that want details.
func (a *Answer) contextOf(c turn.Context) openai.Context {
	if !a.call.Options.Details {
		return openai.Context{}
	}
	return openai.Context{Tokens: c.Tokens, Window: c.Window}
}
