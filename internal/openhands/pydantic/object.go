package pydantic

import (
	"encoding/json"
	"maps"
	"slices"
)

// Object reads the members of a JSON object and collects what is wrong with them. Its
// methods take a member of the wrong type for one that is missing, so a reader asks for
// [Object.Err] at the end only.
type Object struct {
	raw     json.RawMessage
	members map[string]json.RawMessage
	loc     []any
	wrong   *[]Fault
	kind    bool // the member kind was read, and is not shown any more
}

// NewObject reads an object that stands at a place of a request.
func NewObject(raw json.RawMessage, loc ...any) (*Object, error) {
	o := &Object{raw: raw, loc: loc, wrong: &[]Fault{}}
	if !o.open() {
		return nil, o.Err()
	}
	return o, nil
}

// open reads the members.
func (o *Object) open() bool {
	if json.Unmarshal(o.raw, &o.members) == nil && o.members != nil {
		return true
	}
	o.note(NoObject(), o.loc, o.raw)
	return false
}

// note collects what is wrong with a value at a place.
func (o *Object) note(r *Refusal, loc []any, raw json.RawMessage) {
	*o.wrong = append(*o.wrong, r.At(loc, Shown(raw, loc...)))
}

// Err returns an [*Error] with what is wrong with the object and those inside of it; nil
// if nothing is.
func (o *Object) Err() error {
	if len(*o.wrong) == 0 {
		return nil
	}
	return Refuse(*o.wrong...)
}

// JSON is the object as it came.
func (o *Object) JSON() json.RawMessage { return o.raw }

// Without is the object without a member.
func (o *Object) Without(name string) json.RawMessage {
	others := maps.Clone(o.members)
	delete(others, name)
	raw, err := json.Marshal(others)
	if err != nil {
		return o.raw // it was read from JSON
	}
	return raw
}

// Has reports whether a member is there and not null.
func (o *Object) Has(name string) bool { return o.Raw(name) != nil }

// Raw is a member as it came; nil if it is missing or null.
func (o *Object) Raw(name string) json.RawMessage {
	raw := o.members[name]
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// Names are the names of the members, sorted.
func (o *Object) Names() []string {
	names := make([]string, 0, len(o.members))
	for name := range o.members {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Need notes a member that is not there at all. It reports whether it is there.
func (o *Object) Need(name string) bool {
	_, ok := o.members[name]
	if !ok {
		*o.wrong = append(*o.wrong, Missing().At(o.at(name), o.shown()))
	}
	return ok
}

// NeedAlone requires a member like Need, for a body of which this is the only member.
func (o *Object) NeedAlone(name string) {
	if _, ok := o.members[name]; !ok {
		*o.wrong = append(*o.wrong, Missing().At(o.at(name), nil))
	}
}

// Only notes members that are not among the names.
func (o *Object) Only(names ...string) {
	for _, name := range o.Names() {
		if !slices.Contains(names, name) {
			o.Wrong(name, Extra())
		}
	}
}

// Wrong notes what is wrong with a member; "" is the object itself. Nil is nothing.
func (o *Object) Wrong(name string, r *Refusal) {
	switch {
	case r == nil:
	case name == "":
		*o.wrong = append(*o.wrong, r.At(o.loc, o.shown()))
	default:
		o.note(r, o.at(name), o.members[name])
	}
}

// Add notes what another reader has found wrong with the object. Its places begin at the
// object, and it has not the values that stand there.
func (o *Object) Add(faults ...Fault) {
	for _, f := range faults {
		raw := f.Raw
		if raw == nil {
			raw = below(o.raw, Untagged(f.Loc))
		}
		loc := append(slices.Clone(o.loc), f.Loc...)
		if f.Type == Missing().Type {
			raw = below(o.raw, Untagged(f.Loc[:len(f.Loc)-1]))
		}
		f.Input = Shown(raw, loc...)
		f.Loc = loc
		*o.wrong = append(*o.wrong, f)
	}
}

// below finds the value at a place in JSON; nil if there is none.
func below(raw json.RawMessage, loc []any) json.RawMessage {
	for _, part := range loc {
		var members map[string]json.RawMessage
		var items []json.RawMessage
		switch part := part.(type) {
		case string:
			_ = json.Unmarshal(raw, &members) // without members, it has none of that name
			raw = members[part]
		case int:
			if json.Unmarshal(raw, &items) != nil || part >= len(items) {
				return nil
			}
			raw = items[part]
		}
	}
	return raw
}

// Value notes a value that a rule of the API forbids.
func (o *Object) Value(name, why string) { o.Wrong(name, Value(why)) }

// NotNull notes a member that is null where its type has no null.
func (o *Object) NotNull(name string, r *Refusal) {
	if string(o.members[name]) == "null" {
		o.Wrong(name, r)
	}
}

// shown is the object as errors show it.
func (o *Object) shown() any {
	v := Shown(o.raw, o.loc...)
	if object, ok := v.(map[string]any); ok {
		var kind string
		switch raw, said := o.members["kind"]; {
		case o.kind:
			delete(object, "kind")
		case said && json.Unmarshal(raw, &kind) == nil:
			object["kind"] = kind // which is not a secret, also in a secret object
		}
	}
	return v
}

func (o *Object) at(part any) []any { return append(slices.Clone(o.loc), part) }

// Object is a member that is an object; nil if it is missing, null or none.
func (o *Object) Object(name string) *Object {
	raw := o.Raw(name)
	if raw == nil {
		return nil
	}
	in := &Object{raw: raw, loc: o.at(name), wrong: o.wrong}
	if !in.open() {
		return nil
	}
	return in
}

// Map is like Object, for one whose members have any name.
func (o *Object) Map(name string) *Object {
	raw := o.Raw(name)
	if raw == nil {
		return nil
	}
	if raw[0] != '{' {
		o.Wrong(name, NoDict())
		return nil
	}
	return o.Object(name)
}

// TextMap checks a member that is an object of texts, or not there.
func (o *Object) TextMap(name string) {
	o.NotNull(name, NoDict())
	if in := o.Map(name); in != nil {
		for _, member := range in.Names() {
			in.String(member, "")
		}
	}
}

// Tagged is a member that is an object of one of several types, which its member by
// names; nil if it is missing, null or none of them. The place of errors in it has that
// name.
func (o *Object) Tagged(name, by string, of ...string) (tag string, in *Object) {
	if in = o.Object(name); in == nil {
		return "", nil
	}
	tag, refused := Choose(by, in.members[by], of...)
	if refused != nil {
		o.Wrong(name, refused)
		return "", nil
	}
	in.loc = append(in.loc, Tag(tag))
	return tag, in
}

// Kinds checks the kind of an object of OpenHands, which is required, and reports
// whether it is one of some. The class is the base of theirs.
func (o *Object) Kinds(class string, of ...string) (kind string, ok bool) {
	if raw := o.Raw("kind"); json.Unmarshal(raw, &kind) != nil {
		kind = string(raw) // what is not a text is not a kind
	} else if slices.Contains(of, kind) {
		o.kind = true
		return kind, true
	}
	o.Value("", "Unknown kind '"+kind+"' for "+class+"; Expected one of: ["+listed(of)+"]")
	return kind, false
}
