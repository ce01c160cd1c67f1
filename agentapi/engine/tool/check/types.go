package check

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/object"
	"github.com/ohgw/ohgw/agentapi/engine/tool/task"
)

// repairTypes puts right two things that models do to arguments: a list or an
// object that was written as a text, and a text that was cut into a list.
func repairTypes(args, schema object.Object) object.Object {
	props, err := object.Parse(schema.Get("properties"))
	if err != nil {
		return args
	}
	for _, m := range args {
		prop, err := object.Parse(props.Get(m.Name))
		if err != nil {
			continue
		}
		left := maxSteps
		types := expectedTypes(prop, schema, 0, &left)
		if v, ok := joined(m.Value, types); ok {
			args = args.With(m.Name, v)
		} else if v, ok := decoded(m.Value, types); ok {
			args = args.With(m.Name, v)
		}
	}
	return args
}

// joined is a list of texts in one piece, where only a text will do.
func joined(v json.RawMessage, types []string) (json.RawMessage, bool) {
	if !slices.Contains(types, "string") || slices.Contains(types, "array") || slices.Contains(types, "object") {
		return nil, false
	}
	var parts []*string
	if json.Unmarshal(v, &parts) != nil || parts == nil || slices.Contains(parts, nil) {
		return nil, false
	}
	var b strings.Builder
	for _, part := range parts {
		b.WriteString(*part)
	}
	return quote(b.String()), true
}

// decoded reads the list or object that was given as a text. Text after its end is
// cut off. Where a text is allowed as well it stays one.
func decoded(v json.RawMessage, types []string) (json.RawMessage, bool) {
	var s string
	if slices.Contains(types, "string") || json.Unmarshal(v, &s) != nil {
		return nil, false
	}
	if !slices.Contains(types, "array") && !slices.Contains(types, "object") {
		return nil, false
	}
	s = escapeControls(s)
	ends := []int{len(s), strings.LastIndexByte(s, '}') + 1, strings.LastIndexByte(s, ']') + 1}
	for _, end := range ends {
		text := strings.TrimSpace(s[:end])
		if text == "" || text[0] != '{' && text[0] != '[' || !json.Valid([]byte(text)) {
			continue
		}
		return json.RawMessage(text), true
	}
	return nil, false
}

// maxDepth ends chains of references and of alternatives.
const maxDepth = 32

// expectedTypes collects the JSON types that a schema allows at its top.
func expectedTypes(node, root object.Object, depth int, left *int) []string {
	if *left--; depth > maxDepth || *left < 0 {
		return nil
	}
	if ref := stringArg(node, "$ref"); ref != "" {
		if target := tool.Resolve(root, ref); target != nil {
			return expectedTypes(target, root, depth+1, left)
		}
	}
	var types []string
	for _, key := range [...]string{"anyOf", "oneOf"} {
		var branches []json.RawMessage
		if json.Unmarshal(node.Get(key), &branches) != nil {
			continue
		}
		for _, b := range branches {
			if o, err := object.Parse(b); err == nil {
				types = append(types, expectedTypes(o, root, depth+1, left)...)
			}
		}
	}
	return append(types, typesOf(node)...)
}

// typesOf reads "type", which is a name or a list of names.
func typesOf(node object.Object) []string {
	var several []string
	if json.Unmarshal(node.Get("type"), &several) == nil && several != nil {
		return several
	}
	if one := stringArg(node, "type"); one != "" {
		return []string{one}
	}
	return nil
}

// statuses writes the statuses of a task list as the tool knows them. What is not a
// list of objects stays, and the check of types refuses it.
func statuses(args object.Object) object.Object {
	var list []json.RawMessage
	if json.Unmarshal(args.Get("task_list"), &list) != nil {
		return args
	}
	changed := false
	for i, raw := range list {
		item, err := object.Parse(raw)
		var word string
		if err != nil || json.Unmarshal(item.Get("status"), &word) != nil {
			continue
		}
		if status := task.Status(word); status != word {
			list[i], changed = item.With("status", quote(status)).JSON(), true
		}
	}
	data, err := json.Marshal(list)
	if !changed || err != nil {
		return args
	}
	return args.With("task_list", data)
}
