package storedagent

import (
	"encoding/json"

	"github.com/ohgw/ohgw/agentapi/engine/apierr"
)

// clientTool is a tool that the client of a conversation carries out itself, in the
// form in which OpenHands keeps it with the agent.
type clientTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Annotations json.RawMessage `json:"annotations"`
}

// AddClientTools gives the agent the client_tools of a start request. A name that
// the agent has already stays what it is.
func (a Agent) AddClientTools(request json.RawMessage) error {
	var in struct {
		Tools []clientTool `json:"client_tools"`
	}
	if len(request) == 0 {
		return nil
	}
	if err := json.Unmarshal(request, &in); err != nil {
		return apierr.Refused("The client_tools of the request cannot be read.", err)
	}
	if len(in.Tools) == 0 {
		return nil
	}
	var tools []json.RawMessage
	_ = json.Unmarshal(a["tools"], &tools) // no list: none
	known := make(map[string]bool)
	for _, t := range tools {
		var stored struct {
			Name string `json:"name"`
		}
		_ = json.Unmarshal(t, &stored) // an entry without a name is not a tool of the client
		known[stored.Name] = true
	}
	for _, t := range in.Tools {
		if known[t.Name] {
			continue
		}
		if len(t.Parameters) == 0 {
			t.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		if len(t.Annotations) == 0 {
			t.Annotations = json.RawMessage("null")
		}
		data, err := json.Marshal(struct {
			Name   string                `json:"name"`
			Params map[string]clientTool `json:"params"`
		}{t.Name, map[string]clientTool{"spec": t}})
		if err != nil {
			return apierr.Refused("The client_tools of the request cannot be read.", err)
		}
		tools, known[t.Name] = append(tools, data), true
	}
	a.Set("tools", tools)
	return nil
}
