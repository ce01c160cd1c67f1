package builtin

import (
	"context"
	"encoding/json"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
)

// clientKind is the class of OpenHands of a tool that its client carries out.
const clientKind = "ClientTool"

// Client makes the tool of a client, by the params that a stored agent has of it: the
// client sees the call in the log and does what it likes, and the model learns at
// once that it was passed on. It is nil where params describe none.
func Client(name string, params json.RawMessage) tool.Tool {
	var p struct {
		Spec struct {
			Name        string            `json:"name"`
			Description string            `json:"description"`
			Parameters  json.RawMessage   `json:"parameters"`
			Annotations *tool.Annotations `json:"annotations"`
		} `json:"spec"`
	}
	if json.Unmarshal(params, &p) != nil || p.Spec.Name != name || name == "" {
		return nil
	}
	if len(p.Spec.Parameters) == 0 || string(p.Spec.Parameters) == "null" {
		p.Spec.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	def := tool.Definition{
		Name: name, Description: p.Spec.Description, Parameters: p.Spec.Parameters, Annotations: p.Spec.Annotations, Client: true,
		Kind: clientKind, ActionKind: "ClientAction_" + name, ObservationKind: "ClientToolObservation",
	}
	return simple{def: def, run: func(context.Context, json.RawMessage) (tool.Result, error) {
		return tool.NewResult(def.ObservationKind, []event.Content{event.Text("The call was passed on to the client.")}, false, nil)
	}}
}
