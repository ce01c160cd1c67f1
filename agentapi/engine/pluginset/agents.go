package pluginset

import (
	"encoding/json"
	"slices"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/definition"
	"github.com/ohgw/ohgw/agentapi/engine/plugin"
	"github.com/ohgw/ohgw/agentapi/engine/store"
)

// AgentsMember is the member of a request, and of meta.json, with the agents that a
// conversation can give tasks to beside those in files.
const AgentsMember = "agent_definitions"

// addAgents keeps the agents of plugins with a new conversation, behind those of the
// request. Of two with one name the first counts.
func addAgents(s *control.Start, plugins []plugin.Plugin) error {
	added, err := encodedAgents(plugins...)
	if err != nil || len(added) == 0 {
		return err
	}
	members := make(map[string]json.RawMessage)
	if len(s.Request) > 0 && json.Unmarshal(s.Request, &members) != nil {
		return apierr.Refused("The request is not a JSON object.", nil)
	}
	if members[AgentsMember], err = appended(members[AgentsMember], added); err != nil {
		return err
	}
	s.Request, err = json.Marshal(members)
	return err
}

// encodedAgents are the agents of plugins.
func encodedAgents(plugins ...plugin.Plugin) (list []json.RawMessage, err error) {
	for _, p := range plugins {
		for _, d := range p.Agents {
			raw, err := definition.Encode(d)
			if err != nil {
				return nil, err
			}
			list = append(list, raw)
		}
	}
	return list, nil
}

// appended is a list with more items.
func appended(list json.RawMessage, more []json.RawMessage) (json.RawMessage, error) {
	var given []json.RawMessage
	_ = json.Unmarshal(list, &given) // no list: none
	return json.Marshal(append(given, more...))
}

// Agents returns the agents that are kept with a conversation. It skips those
// that cannot be decoded.
func (l *Set) Agents(id string) (found []definition.Definition) {
	meta, err := store.PeekMeta(l.cfg.Dir, id)
	if err != nil {
		return nil // whoever reads the file says so
	}
	var list []json.RawMessage
	_ = json.Unmarshal(meta[AgentsMember], &list) // no list: none
	for _, raw := range list {
		if d, ok := definition.Decode(raw); ok && !slices.ContainsFunc(found, func(other definition.Definition) bool { return other.Name == d.Name }) {
			found = append(found, d)
		}
	}
	return found
}
