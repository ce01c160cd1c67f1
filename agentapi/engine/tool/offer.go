package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/tool/object"
)

// The two parameters that every tool gets besides its own. They are for people
// and for the confirmation policy; no tool sees them.
const (
	ParamRisk    = "security_risk"
	ParamSummary = "summary"
)

// Risks are the values of ParamRisk.
var Risks = [...]string{"UNKNOWN", "LOW", "MEDIUM", "HIGH"}

const (
	riskText = "How much damage this call could do: LOW when it only looks at things or " +
		"changes what is easily undone inside the workspace, MEDIUM when it changes more of the workspace " +
		"or installs something, HIGH when it can lose data, reach beyond the workspace or send data away. " +
		"UNKNOWN when you cannot tell."
	summaryText = "What this call does, for the person who watches, in about ten words."
)

// maxNodes bounds the size of an expanded schema: references that refer to
// references can grow beyond all measure.
const maxNodes = 10_000

var errSchemaTooBig = errors.New("the schema is too big when its references are expanded")

// Offer makes the schema of the tool's parameters for the model: reduced to type,
// description, properties, required, items and enum, which is what every provider
// understands, with security_risk (unless the tool is read-only) and summary (unless
// it has its own) in front of its own.
func (d Definition) Offer() (json.RawMessage, error) {
	schema, err := object.Parse(d.Parameters)
	if err != nil {
		return nil, fmt.Errorf("read schema of %s: %w", d.Name, err)
	}
	r := reducer{root: schema, left: maxNodes}
	reduced := r.reduce(schema, nil)
	if r.left < 0 {
		return nil, fmt.Errorf("read schema of %s: %w", d.Name, errSchemaTooBig)
	}
	var own, props object.Object
	if o, err := object.Parse(reduced.Get("properties")); err == nil {
		own = o
	}
	if !d.ReadOnly() {
		props = append(props, object.Member{Name: ParamRisk, Value: mustJSON(struct {
			Type        string   `json:"type"`
			Description string   `json:"description"`
			Enum        []string `json:"enum"`
		}{"string", riskText, Risks[:]})})
		own = own.Without(ParamRisk)
	}
	if !own.Has(ParamSummary) {
		props = append(props, object.Member{Name: ParamSummary, Value: mustJSON(struct {
			Type        string `json:"type"`
			Description string `json:"description"`
		}{"string", summaryText})})
	}
	out := object.Object{{Name: "type", Value: text("object")}}
	if v := reduced.Get("description"); v != nil {
		out = append(out, object.Member{Name: "description", Value: v})
	}
	out = append(out, object.Member{Name: "properties", Value: append(props, own...).JSON()})
	if v := reduced.Get("required"); v != nil {
		out = append(out, object.Member{Name: "required", Value: v})
	}
	return out.JSON(), nil
}

// reducer simplifies one schema.
type reducer struct {
	root object.Object
	left int // nodes that may still be made
}

// reduce simplifies a node. The references in visiting are being expanded
// above it; another one to the same place is a circle and stays open.
func (r *reducer) reduce(node object.Object, visiting []string) object.Object {
	if r.left--; r.left < 0 {
		return nil
	}
	if ref := stringValue(node.Get("$ref")); ref != "" {
		if slices.Contains(visiting, ref) {
			return describe(object.Object{{Name: "type", Value: text("object")}}, node)
		}
		if target := Resolve(r.root, ref); target != nil {
			return describe(r.reduce(target, append(slices.Clone(visiting), ref)), node)
		}
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		if branch := firstBranch(node.Get(key)); branch != nil && !node.Has("type") {
			return describe(r.reduce(branch, visiting), node)
		}
	}
	out := object.Object{}
	kind := firstType(node.Get("type"))
	if kind != "" {
		out = append(out, object.Member{Name: "type", Value: text(kind)})
	}
	out = describe(out, node)
	out = append(out, r.children(node, kind, visiting)...)
	if v := node.Get("enum"); v != nil {
		out = append(out, object.Member{Name: "enum", Value: v})
	}
	return out
}

func (r *reducer) children(node object.Object, kind string, visiting []string) object.Object {
	var out object.Object
	switch kind {
	case "object":
		props, err := object.Parse(node.Get("properties"))
		if err != nil {
			return nil
		}
		for i, p := range props {
			props[i].Value = r.reduceValue(p.Value, visiting)
		}
		out = append(out, object.Member{Name: "properties", Value: props.JSON()})
		if v := node.Get("required"); v != nil {
			out = append(out, object.Member{Name: "required", Value: v})
		}
	case "array":
		// Some providers refuse an array that does not say what is in it.
		items := json.RawMessage("{}")
		if v := node.Get("items"); v != nil {
			items = r.reduceValue(v, visiting)
		}
		out = append(out, object.Member{Name: "items", Value: items})
	}
	return out
}

// reduceValue simplifies a schema that may be a boolean: "anything" and
// "nothing" are both told as a schema without a word.
func (r *reducer) reduceValue(v json.RawMessage, visiting []string) json.RawMessage {
	node, err := object.Parse(v)
	if err != nil {
		return json.RawMessage("{}")
	}
	return r.reduce(node, visiting).JSON()
}

// describe gives the node the description of the one that refers to it, if
// that has one, right after its type.
func describe(node, from object.Object) object.Object {
	v := from.Get("description")
	if v == nil {
		return node
	}
	if node.Has("description") {
		return node.With("description", v)
	}
	at := min(1, len(node))
	if len(node) > 0 && node[0].Name != "type" {
		at = 0
	}
	return slices.Insert(slices.Clone(node), at, object.Member{Name: "description", Value: v})
}

// Resolve follows a reference inside a schema, "#/$defs/Item"; nil if it leads
// nowhere or out of the schema.
func Resolve(root object.Object, ref string) object.Object {
	path, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil
	}
	node := root
	for _, step := range strings.Split(strings.TrimPrefix(path, "/"), "/") {
		if step == "" {
			continue
		}
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		next, err := object.Parse(node.Get(step))
		if err != nil {
			return nil
		}
		node = next
	}
	return node
}

// firstBranch is the first alternative that is not null.
func firstBranch(v json.RawMessage) object.Object {
	var branches []json.RawMessage
	if json.Unmarshal(v, &branches) != nil {
		return nil
	}
	for _, b := range branches {
		o, err := object.Parse(b)
		if err == nil && stringValue(o.Get("type")) != "null" {
			return o
		}
	}
	return nil
}

// firstType is the type, or of several the first that is not null.
func firstType(v json.RawMessage) string {
	var several []string
	if json.Unmarshal(v, &several) == nil {
		for _, t := range several {
			if t != "null" {
				return t
			}
		}
		return ""
	}
	return stringValue(v)
}

func stringValue(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}
