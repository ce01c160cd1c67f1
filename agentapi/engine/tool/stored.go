package tool

import (
	"encoding/json"

	"github.com/ohgw/ohgw/agentapi/engine/tool/object"
)

// KindMCPAction is the action kind of every tool that comes from an MCP
// server. Its action holds the arguments in a member "data".
const KindMCPAction = "MCPToolAction"

// Action is what an ActionEvent stores of a checked call: its arguments with
// the kind, in the form the Python SDK writes. That has the defaults of what was
// not given, and the order of the schema. The arguments of an MCP tool stay as
// they are.
func (d Definition) Action(args object.Object) json.RawMessage {
	if d.ActionKind == KindMCPAction {
		args = object.Object{{Name: "data", Value: args.JSON()}}
	} else if schema, err := object.Parse(d.Parameters); err == nil {
		args = completed(args, schema)
	}
	return args.With("kind", text(d.ActionKind)).JSON()
}

// completed fills an object with the defaults of its schema, in the schema's order.
// What the schema does not know comes last.
func completed(o, schema object.Object) object.Object {
	properties, err := object.Parse(schema.Get("properties"))
	if err != nil {
		return o
	}
	out := make(object.Object, 0, len(o)+len(properties))
	for _, p := range properties {
		node, err := object.Parse(p.Value)
		if err != nil {
			continue
		}
		value := node.Get("default")
		if o.Has(p.Name) {
			value = completedValue(o.Get(p.Name), node)
		}
		if value != nil {
			out = append(out, object.Member{Name: p.Name, Value: value})
		}
	}
	for _, m := range o {
		if !out.Has(m.Name) {
			out = append(out, m)
		}
	}
	return out
}

// completedValue completes an object, and those in a list.
func completedValue(v json.RawMessage, schema object.Object) json.RawMessage {
	if o, err := object.Parse(v); err == nil {
		return completed(o, schema).JSON()
	}
	items, err := object.Parse(schema.Get("items"))
	var list []json.RawMessage
	if err != nil || json.Unmarshal(v, &list) != nil || list == nil {
		return v
	}
	for i := range list {
		list[i] = completedValue(list[i], items)
	}
	data, err := json.Marshal(list)
	if err != nil {
		return v
	}
	return data
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

// Stored encodes the tool as a SystemPromptEvent lists it, in the form the Python SDK
// loads.
func (d Definition) Stored() json.RawMessage {
	title := d.Name
	if d.Annotations != nil && d.Annotations.Title != "" {
		title = d.Annotations.Title
	}
	name, parameters := "", json.RawMessage(nil)
	if d.Client {
		name, parameters = d.Name, d.Parameters
	}
	return mustJSON(struct {
		Description string          `json:"description"`
		Action      string          `json:"action_type"`
		Observation string          `json:"observation_type"`
		Annotations *Annotations    `json:"annotations,omitempty"`
		MCP         json.RawMessage `json:"mcp_tool,omitempty"`
		ClientName  string          `json:"client_tool_name,omitempty"`
		Input       json.RawMessage `json:"input_schema,omitempty"`
		Kind        string          `json:"kind"`
		Title       string          `json:"title"`
	}{d.Description, d.ActionKind, d.ObservationKind, d.Annotations, d.MCP, name, parameters, d.Kind, title})
}

func text(s string) json.RawMessage { return mustJSON(s) }

// mustJSON encodes what always can be: strings, and structs of strings, booleans
// and JSON.
func mustJSON(v any) json.RawMessage {
	data, err := object.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}
