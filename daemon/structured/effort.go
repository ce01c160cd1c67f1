package structured

import (
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxEffort is how many comparisons one validation may take: about a second. A
// few references that double one another take 2 to the power of their number.
const maxEffort = 1_000_000

// effort counts the comparisons that a validation takes, without making them: each
// part of the schema is looked at once for each part of the value that it is for,
// where a validator comes back for every path that leads there.
type effort struct {
	known map[pair]int
}

// pair is a part of a schema and a part of a value.
type pair struct {
	schema *jsonschema.Schema
	part   *part
}

// part is a value with an identity.
type part struct {
	members  map[string]*part
	elements []*part
}

func partOf(value any) *part {
	p := &part{}
	switch v := value.(type) {
	case map[string]any:
		p.members = make(map[string]*part, len(v))
		for name, e := range v {
			p.members[name] = partOf(e)
		}
	case []any:
		for _, e := range v {
			p.elements = append(p.elements, partOf(e))
		}
	}
	return p
}

// tooMuch reports whether it takes too long to compare a value with a schema.
func tooMuch(s *jsonschema.Schema, value any) bool {
	e := effort{known: make(map[pair]int)}
	return e.of(s, partOf(value)) > maxEffort
}

// of counts how many comparisons a part takes; any number above maxEffort is too
// many.
func (e *effort) of(s *jsonschema.Schema, p *part) int {
	if s == nil {
		return 0
	}
	at := pair{s, p}
	if n, ok := e.known[at]; ok {
		return n
	}
	if len(e.known) > maxEffort {
		return maxEffort + 1
	}
	e.known[at] = 0 // a validator stops at a schema that refers to itself for the same value
	total := 1
	if s.Enum != nil {
		total += len(s.Enum.Values)
	}
	for _, sub := range inPlace(s) {
		total = min(total+e.of(sub, p), maxEffort+1)
	}
	for name, member := range p.members {
		for _, sub := range ofMember(s, name) {
			total = min(total+e.of(sub, member), maxEffort+1)
		}
		total = min(total+e.of(s.PropertyNames, &part{}), maxEffort+1)
	}
	for i, element := range p.elements {
		for _, sub := range ofElement(s, i) {
			total = min(total+e.of(sub, element), maxEffort+1)
		}
	}
	e.known[at] = total
	return total
}

// inPlace are the parts of a schema that are for the same value.
func inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	subs := []*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else}
	subs = append(append(append(subs, s.AllOf...), s.AnyOf...), s.OneOf...)
	for _, sub := range s.DependentSchemas {
		subs = append(subs, sub)
	}
	for _, dependency := range s.Dependencies {
		subs = append(subs, schemas(dependency)...)
	}
	return subs
}

// ofMember are those for a member of an object. Of the patterns, all may match.
func ofMember(s *jsonschema.Schema, name string) []*jsonschema.Schema {
	subs := append(schemas(s.AdditionalProperties), s.Properties[name], s.UnevaluatedProperties)
	for _, sub := range s.PatternProperties {
		subs = append(subs, sub)
	}
	return subs
}

// ofElement lists the schemas for an element of an array.
func ofElement(s *jsonschema.Schema, i int) []*jsonschema.Schema {
	subs := append(schemas(s.AdditionalItems), s.Items2020, s.Contains, s.UnevaluatedItems)
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		subs = append(subs, items)
	case []*jsonschema.Schema:
		if i < len(items) {
			subs = append(subs, items[i])
		}
	}
	if i < len(s.PrefixItems) {
		subs = append(subs, s.PrefixItems[i])
	}
	return subs
}

// schemas is a keyword's value if it is a schema.
func schemas(value any) []*jsonschema.Schema {
	if s, ok := value.(*jsonschema.Schema); ok {
		return []*jsonschema.Schema{s}
	}
	return nil
}

// dynamic reports whether a schema has references whose target depends on the
// value: how long they take cannot be counted.
func dynamic(schema any) bool {
	switch v := schema.(type) {
	case []any:
		for _, e := range v {
			if dynamic(e) {
				return true
			}
		}
	case map[string]any:
		for name, e := range v {
			_, text := e.(string)
			if text && (name == "$dynamicRef" || name == "$recursiveRef") || dynamic(e) {
				return true
			}
		}
	}
	return false
}
