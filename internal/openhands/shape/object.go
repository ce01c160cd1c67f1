package shape

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/secret"
)

// Object is what an object looks like.
type Object struct {
	fields []Field
	// variants are the objects that it may be, by a member that says which; fields
	// are not used then. The first is meant where nothing is said.
	by       string
	variants []variant
	usual    string

	bars    []string // members that are refused, where unknown ones are not
	needs   string   // a text that must be there where the object is, and why
	why     string
	rest    rest
	compact bool                    // what is null or empty is left out
	after   func(Tree)              // completes it
	check   func(Tree) (why string) // says what is wrong with all of it
}

// variant is an object and the word that says that it is meant.
type variant struct {
	word string
	*Object
}

// rest says what becomes of members that an object does not know.
type rest byte

const (
	drop   rest = iota
	keep        // they stay
	refuse      // the object is refused
)

// Tree is an object that was read. Its values are json.RawMessage, secret.Value, Tree
// and []any of these.
type Tree map[string]any

// FieldError says that OpenHands rejects the value of a member.
type FieldError struct{ Field string }

func (e *FieldError) Error() string { return "OpenHands rejects the value of " + e.Field }

// Reader reads objects.
type Reader struct {
	// Open decrypts a secret that looks encrypted. One that cannot be read, or is empty,
	// counts as missing. Nil: nothing is decrypted.
	Open func(token string) (secret.Value, error)
	// Lost is told of secrets that cannot be read, and at which place. May be nil.
	Lost func(loc []any, err error)
	Now  func() time.Time

	faults []pydantic.Fault
}

// Read reads an object. With faults there is no tree.
func (r Reader) Read(o *Object, v jsonedit.Value) (Tree, []pydantic.Fault) {
	tree := r.object(o, v, nil)
	return tree, r.faults
}

func (r *Reader) fault(refused *pydantic.Refusal, loc []any) {
	r.faults = append(r.faults, refused.At(loc, nil))
}

// faultOf adds a fault for an object with a member that is wrong.
func (r *Reader) faultOf(member string, refused *pydantic.Refusal, loc []any) {
	r.fault(refused, loc)
	r.faults[len(r.faults)-1].Member = member
}

func (r *Reader) object(o *Object, v jsonedit.Value, loc []any) Tree {
	if v.Exists() && v.Kind() != jsonedit.Object {
		r.fault(pydantic.NoObject(), loc)
		return nil
	}
	if o.variants != nil {
		if o, loc = r.variant(o, v, loc); o == nil {
			return nil
		}
	}
	if o.lacks(v) {
		r.fault(pydantic.Value(o.why), loc)
		return nil
	}
	for _, name := range o.bars {
		if v.Get(name).Exists() {
			r.faultOf(name, pydantic.Value("Removed agent settings: "+name), loc)
		}
	}
	out := make(Tree, len(o.fields))
	known := make(map[string]bool, len(o.fields))
	for _, f := range o.fields {
		known[f.Name] = true
		value := r.value(f, f.of(v), append(loc, f.Name))
		if !o.compact || !isEmpty(value) {
			out[f.Name] = value
		}
	}
	r.unknown(o, v, known, out, loc)
	if o.after != nil {
		o.after(out)
	}
	if o.check != nil && len(r.faults) == 0 {
		if why := o.check(out); why != "" {
			r.fault(pydantic.Value(why), loc)
		}
	}
	return out
}

// of is the value of the member in an object, or of the one that stands for it.
func (f Field) of(v jsonedit.Value) jsonedit.Value {
	member := v.Get(f.Name)
	if f.Like == "" || member.Exists() {
		return member
	}
	return v.Get(f.Like)
}

// lacks reports whether an object has not what it needs. A number there is refused as
// one.
func (o *Object) lacks(v jsonedit.Value) bool {
	if o.needs == "" || !v.Exists() {
		return false
	}
	member := v.Get(o.needs)
	text, _ := member.Text()
	return text == "" && member.Kind() != jsonedit.Number
}

// unknown takes the members that an object does not know.
func (r *Reader) unknown(o *Object, v jsonedit.Value, known map[string]bool, out Tree, loc []any) {
	for name, member := range v.Members() {
		switch {
		case known[name] || o.rest == drop:
		case o.rest == keep:
			out[name] = json.RawMessage(member.Raw())
		default:
			r.fault(pydantic.Extra(), append(loc, name))
		}
	}
}

// variant finds the object that a member says it is, and its place; nil if there is no such
// one.
func (r *Reader) variant(o *Object, v jsonedit.Value, loc []any) (*Object, []any) {
	said := v.Get(o.by).Raw()
	if !v.Get(o.by).Exists() && o.usual != "" {
		said = pydantic.Quoted(o.usual)
	}
	words := make([]string, len(o.variants))
	for i, known := range o.variants {
		words[i] = known.word
	}
	word, refused := pydantic.Choose(o.by, said, words...)
	if refused != nil {
		r.faultOf(o.by, refused, loc)
		return nil, nil
	}
	return o.variants[slices.Index(words, word)].Object, append(loc, pydantic.Tag(word))
}

func (r *Reader) value(f Field, v jsonedit.Value, loc []any) any {
	switch v.Kind() {
	case jsonedit.Missing:
		switch {
		case f.required:
			r.fault(pydantic.Missing(), loc)
			return nil
		case f.Kind == timeKind:
			return json.RawMessage(jsonedit.Quote(r.Now().UTC().Format("2006-01-02T15:04:05.000000Z07:00")))
		case f.Kind != objectKind || f.fallback != "":
			return r.fallback(f)
		}
	case jsonedit.Null:
		if f.nullable {
			return null()
		}
	}
	return r.present(f, v, loc)
}

// present reads the value of a member that is there.
func (r *Reader) present(f Field, v jsonedit.Value, loc []any) any {
	switch f.Kind {
	case SecretKind:
		return r.secret(f, v, loc)
	case objectKind:
		return r.object(f.object, v, loc)
	case listKind:
		return r.list(f, v, loc)
	case mapKind, headersKind:
		return r.members(f, v, loc)
	case serversKind:
		return r.servers(f, v, loc)
	case sourceKind:
		return r.source(v, loc)
	case anyKind, timeKind:
		return json.RawMessage(v.Raw())
	}
	raw, faults := f.read(v)
	for _, fault := range faults {
		if len(fault.Loc) == 0 && f.Like != "" {
			fault.Raw = v.Raw()
		}
		fault.Loc = slices.Concat(loc, fault.Loc)
		r.faults = append(r.faults, fault)
	}
	return json.RawMessage(raw)
}

// fallback is the value of a member that is not there, in the form of its kind.
func (r *Reader) fallback(f Field) any {
	switch {
	case f.Kind == listKind && f.fallback == "[]":
		return []any{}
	case (f.Kind == mapKind || f.Kind == headersKind || f.Kind == serversKind) && f.fallback == "{}":
		return Tree{}
	case f.Kind == FloatKind:
		return json.RawMessage(strings.TrimSuffix(f.fallback, ".0")) // as a number is spelled that was read
	}
	return json.RawMessage(f.fallback)
}

func null() json.RawMessage { return json.RawMessage("null") }

// secretWay is how pydantic names the second way of reading a secret that may be a text.
const secretWay = "lax-or-strict[lax=json-or-python[json=function-after[SecretStr(), str]," + secretPython + "],strict=json-or-python[" +
	"json=function-after[SecretStr(), str]," + secretPython + "]]"

const secretPython = "python=union[is-instance[SecretStr],function-after[SecretStr(), str]]"

// secret reads a secret.Value, or null for what stands for none.
func (r *Reader) secret(f Field, v jsonedit.Value, loc []any) any {
	text, refused := f.text.Read(v.Raw())
	switch {
	case refused != nil && f.either:
		r.fault(refused, append(loc, pydantic.Tag("str")))
		r.fault(refused, append(loc, pydantic.Tag(secretWay)))
		return nil
	case refused != nil:
		r.fault(refused, loc)
		return nil
	}
	if value := r.open(text, loc); !value.IsZero() {
		return value
	}
	return null()
}

func (r *Reader) list(f Field, v jsonedit.Value, loc []any) any {
	if v.Kind() != jsonedit.Array {
		r.fault(pydantic.NoList(), loc)
		return nil
	}
	out := []any{}
	for item := range v.Elements() {
		out = append(out, r.value(*f.item, item, append(loc, len(out))))
	}
	return out
}

// members returns those of a map. It leaves out a secret without a value.
func (r *Reader) members(f Field, v jsonedit.Value, loc []any) any {
	if v.Kind() != jsonedit.Object {
		r.fault(pydantic.NoDict(), loc)
		return nil
	}
	out := Tree{}
	for name, member := range v.Members() {
		item := *f.item
		if f.Kind == headersKind && !pydantic.IsSecret(name) {
			item.Kind = TextKind
		}
		value := r.value(item, member, append(loc, name))
		if f.item.Kind == SecretKind && isNull(value) {
			continue
		}
		out[name] = value
	}
	return out
}

// servers are tool servers, in their present form.
func (r *Reader) servers(f Field, v jsonedit.Value, loc []any) any {
	if v = unwrapped(v); v.Kind() != jsonedit.Object {
		r.fault(pydantic.NoDict(), loc)
		return nil
	}
	out := Tree{}
	for name, server := range v.Members() {
		if server.Kind() == jsonedit.Object {
			server = present(server)
		}
		out[name] = r.value(*f.item, server, append(loc, name))
	}
	return out
}

// source is a secret, or an object that says where one is.
func (r *Reader) source(v jsonedit.Value, loc []any) any {
	if v.Kind() == jsonedit.Object {
		return r.object(secretSource(), v, loc)
	}
	return r.secret(Field{Kind: SecretKind}, v, loc)
}

func isNull(value any) bool {
	raw, ok := value.(json.RawMessage)
	return ok && string(raw) == "null"
}

func isEmpty(value any) bool {
	tree, ok := value.(Tree)
	return isNull(value) || ok && len(tree) == 0
}

// Names are the names of the members of a tree, in order.
func (t Tree) Names() []string { return slices.Sorted(maps.Keys(t)) }
