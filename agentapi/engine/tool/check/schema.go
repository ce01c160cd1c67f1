package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/object"
)

// maxProblems is how much one answer to the model lists; maxSteps bounds the
// work: a schema can refer to itself in more than one place. Each byte of the
// arguments allows for stepsPerByte more, so that long lists pass.
const (
	maxProblems  = 10
	maxSteps     = 2_000
	stepsPerByte = 4
)

// validator checks values against one schema. It knows the words that tools
// use: type, properties, required, additionalProperties, items, enum, const,
// the bounds of numbers and lists, references and alternatives. Others (pattern,
// format) are left to the server that wrote them.
//
// Where a scalar was given in another form that can mean only one thing ("5"
// for 5, "true" for true, 5.0 for 5), it is converted, as OpenHands does.
type validator struct {
	root     object.Object
	problems []string
	left     *int // steps that may still be made, shared with all alternatives
}

// validate checks the arguments and gives them with the conversions made.
func validate(args, schema object.Object) (object.Object, []string) {
	left := maxSteps + stepsPerByte*len(args.JSON())
	v := &validator{root: schema, left: &left}
	v.required(schema, args.Has, "")
	props, err := object.Parse(schema.Get("properties"))
	if err != nil {
		props = nil
	}
	for _, m := range args {
		node, known := v.member(schema, props, m.Name)
		if !known {
			v.add("%s is not a parameter of this tool", nameList([]string{m.Name}))
			continue
		}
		was, err := decode(m.Value)
		if err != nil {
			v.add("%s is not valid JSON", m.Name)
			continue
		}
		now := v.value(node, was, m.Name, 0)
		if reflect.DeepEqual(was, now) {
			continue
		}
		if data, err := object.Marshal(now); err == nil {
			args = args.With(m.Name, data)
		}
	}
	return args, v.problems
}

func decode(raw json.RawMessage) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	return v, dec.Decode(&v)
}

func (v *validator) add(format string, args ...any) {
	if len(v.problems) < maxProblems {
		v.problems = append(v.problems, fmt.Sprintf(format, args...))
	}
}

// member is the schema of a member of an object; not known if it may not be there.
func (v *validator) member(node, props object.Object, name string) (object.Object, bool) {
	raw := props.Get(name)
	if raw == nil {
		raw = node.Get("additionalProperties")
	}
	switch strings.TrimSpace(string(raw)) {
	case "false":
		return nil, false
	case "", "true":
		return nil, true
	}
	o, err := object.Parse(raw)
	return o, err == nil
}

func (v *validator) required(node object.Object, has func(string) bool, path string) {
	var names []string
	if json.Unmarshal(node.Get("required"), &names) != nil {
		return
	}
	for _, name := range names {
		if !has(name) {
			v.add("%s is required", join(path, name))
		}
	}
}

// value checks one value and gives it as it shall be.
func (v *validator) value(node object.Object, x any, path string, depth int) any {
	if *v.left--; depth > maxDepth || *v.left < 0 {
		v.add("%s is nested too deeply", path)
		return x
	}
	if ref := stringArg(node, "$ref"); ref != "" {
		if target := tool.Resolve(v.root, ref); target != nil {
			x = v.value(target, x, path, depth+1)
		}
	}
	x = v.alternatives(node, x, path, depth)
	if types := typesOf(node); len(types) > 0 {
		converted, ok := fit(types, x)
		if !ok {
			v.add("%s must be %s", path, typeNames(types))
			return x
		}
		x = converted
	}
	v.oneOfValues(node, x, path)
	switch x := x.(type) {
	case json.Number:
		v.bounds(node, x, path)
	case []any:
		return v.list(node, x, path, depth)
	case map[string]any:
		return v.object(node, x, path, depth)
	}
	return x
}

// alternatives checks anyOf and oneOf, of which the first that fits is taken,
// and allOf.
func (v *validator) alternatives(node object.Object, x any, path string, depth int) any {
	for _, branch := range schemas(node.Get("allOf")) {
		x = v.value(branch, x, path, depth+1)
	}
	for _, key := range [...]string{"anyOf", "oneOf"} {
		branches := schemas(node.Get(key))
		if len(branches) == 0 {
			continue
		}
		var last []string
		fits := slices.ContainsFunc(branches, func(branch object.Object) bool {
			try := &validator{root: v.root, left: v.left}
			got := try.value(branch, x, path, depth+1)
			if len(try.problems) > 0 {
				if stringArg(branch, "type") != "null" {
					last = append(last, try.problems...)
				}
				return false
			}
			x = got
			return true
		})
		switch {
		case fits:
		case len(last) == 1:
			v.add("%s", last[0])
		default:
			v.add("%s has none of the forms it may have", path)
		}
	}
	return x
}

func schemas(raw json.RawMessage) []object.Object {
	var all []json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	var out []object.Object
	for _, one := range all {
		if o, err := object.Parse(one); err == nil {
			out = append(out, o)
		}
	}
	return out
}

func (v *validator) oneOfValues(node object.Object, x any, path string) {
	allowed := node.Get("enum")
	if c := node.Get("const"); c != nil {
		allowed = slices.Concat(json.RawMessage("["), c, json.RawMessage("]"))
	}
	var values []any
	if list, err := decode(allowed); err == nil {
		values, _ = list.([]any)
	}
	if values == nil || slices.ContainsFunc(values, func(a any) bool { return reflect.DeepEqual(a, x) }) {
		return
	}
	v.add("%s must be one of %s", path, string(allowed))
}

func (v *validator) bounds(node object.Object, x json.Number, path string) {
	n, err := x.Float64()
	if err != nil {
		v.add("%s is too big a number", path)
		return
	}
	for _, b := range [...]struct {
		word, text string
		broken     func(n, bound float64) bool
	}{
		{"minimum", "at least", func(n, b float64) bool { return n < b }},
		{"maximum", "at most", func(n, b float64) bool { return n > b }},
		{"exclusiveMinimum", "more than", func(n, b float64) bool { return n <= b }},
		{"exclusiveMaximum", "less than", func(n, b float64) bool { return n >= b }},
	} {
		var bound float64
		if json.Unmarshal(node.Get(b.word), &bound) == nil && b.broken(n, bound) {
			v.add("%s must be %s %g", path, b.text, bound)
		}
	}
}

func (v *validator) list(node object.Object, x []any, path string, depth int) any {
	var bound int
	if json.Unmarshal(node.Get("minItems"), &bound) == nil && len(x) < bound {
		v.add("%s must have at least %d items", path, bound)
	}
	if json.Unmarshal(node.Get("maxItems"), &bound) == nil && len(x) > bound {
		v.add("%s must have at most %d items", path, bound)
	}
	items, err := object.Parse(node.Get("items"))
	if err != nil {
		return x
	}
	out := make([]any, len(x))
	for i, item := range x {
		out[i] = v.value(items, item, fmt.Sprintf("%s[%d]", path, i), depth+1)
	}
	return out
}

func (v *validator) object(node object.Object, x map[string]any, path string, depth int) any {
	v.required(node, func(name string) bool { _, ok := x[name]; return ok }, path)
	props, err := object.Parse(node.Get("properties"))
	if err != nil {
		props = nil
	}
	out := make(map[string]any, len(x))
	for name, value := range x {
		out[name] = value
		member, known := v.member(node, props, name)
		if !known {
			v.add("%s has a member %s that it must not have", path, nameList([]string{name}))
			continue
		}
		if member != nil {
			out[name] = v.value(member, value, join(path, nameList([]string{name})), depth+1)
		}
	}
	slices.Sort(v.problems) // a map has no order, a message must have one
	return out
}

// fit returns the value in one of the types, converted if it must be.
func fit(types []string, x any) (any, bool) {
	if slices.ContainsFunc(types, func(t string) bool { return is(t, x) }) {
		return x, true
	}
	for _, t := range types {
		if converted, ok := convert(t, x); ok {
			return converted, true
		}
	}
	return x, false
}

func is(kind string, x any) bool {
	switch x := x.(type) {
	case nil:
		return kind == "null"
	case bool:
		return kind == "boolean"
	case string:
		return kind == "string"
	case json.Number:
		return kind == "number" || kind == "integer" && !strings.ContainsAny(x.String(), ".eE")
	case []any:
		return kind == "array"
	case map[string]any:
		return kind == "object"
	}
	return false
}

func convert(kind string, x any) (any, bool) {
	given := ""
	switch x := x.(type) {
	case string:
		given = strings.TrimSpace(x)
	case json.Number:
		given = x.String()
	default:
		return nil, false
	}
	switch kind {
	case "boolean":
		switch strings.ToLower(given) {
		case "true", "yes", "on", "1", "t", "y":
			return true, true
		case "false", "no", "off", "0", "f", "n":
			return false, true
		}
	case "integer":
		if n, err := strconv.ParseInt(given, 10, 64); err == nil {
			return json.Number(strconv.FormatInt(n, 10)), true
		}
		if f, err := strconv.ParseFloat(given, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			return json.Number(strconv.FormatFloat(f, 'f', -1, 64)), true
		}
	case "number":
		if f, err := strconv.ParseFloat(given, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return json.Number(strconv.FormatFloat(f, 'g', -1, 64)), true
		}
	}
	return nil, false
}

func typeNames(types []string) string {
	names := make([]string, 0, len(types))
	for _, t := range types {
		switch t {
		case "null":
		case "string":
			names = append(names, "a text")
		case "integer":
			names = append(names, "a whole number")
		case "number":
			names = append(names, "a number")
		case "boolean":
			names = append(names, "true or false")
		case "array":
			names = append(names, "a list")
		case "object":
			names = append(names, "an object")
		default:
			names = append(names, t)
		}
	}
	return strings.Join(names, " or ")
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
