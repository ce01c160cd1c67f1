package tool

import (
	"encoding/json"

	"github.com/ohgw/ohgw/internal/engine/tool/object"
)

// KindMCPAction is the action kind of every tool that comes from an MCP
// server. Its action holds the arguments in a member "data".
const KindMCPAction = "MCPToolAction"

// Action is what an ActionEvent stores of a checked call: its arguments with
// the kind, in the form the Python SDK loads.
func (d Definition) Action(args object.Object) json.RawMessage {
	if d.ActionKind == KindMCPAction {
		args = object.Object{{Name: "data", Value: args.JSON()}}
	}
	return args.With("kind", text(d.ActionKind)).JSON()
}

// Args is the reverse of Action: the arguments for [Call] out of a stored
// action.
func (d Definition) Args(action json.RawMessage) (json.RawMessage, error) {
	o, err := object.Parse(action)
	if err != nil {
		return nil, err
	}
	if d.ActionKind != KindMCPAction {
		return o.Without("kind").JSON(), nil
	}
	if data := o.Get("data"); data != nil {
		return data, nil
	}
	return json.RawMessage("{}"), nil
}

// Stored is the tool as a SystemPromptEvent lists it, in the form the Python
// SDK loads.
func (d Definition) Stored() json.RawMessage {
	o := object.Object{
		{Name: "description", Value: text(d.Description)},
		{Name: "action_type", Value: text(d.ActionKind)},
		{Name: "observation_type", Value: text(d.ObservationKind)},
	}
	title := d.Name
	if d.Annotations != nil {
		o = append(o, object.Member{Name: "annotations", Value: mustJSON(d.Annotations)})
		if d.Annotations.Title != "" {
			title = d.Annotations.Title
		}
	}
	if d.MCP != nil {
		o = append(o, object.Member{Name: "mcp_tool", Value: d.MCP})
	}
	return append(o,
		object.Member{Name: "kind", Value: text(d.Kind)},
		object.Member{Name: "title", Value: text(title)},
	).JSON()
}

func text(s string) json.RawMessage { return mustJSON(s) }

// mustJSON encodes what always can be: strings, and structs of strings and
// booleans.
func mustJSON(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}
