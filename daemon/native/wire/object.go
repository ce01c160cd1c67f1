package wire

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ohgw/ohgw/internal/uuid"
)

// Object reads the members of a JSON object and collects what is wrong with them, in
// pydantic's words. Its methods take a member of the wrong type for one that is
// missing, so a reader asks for [Object.Err] at the end only.
type Object struct {
	raw     json.RawMessage
	members map[string]json.RawMessage
	loc     []any
	wrong   *[]Invalid
	kind    bool // the member kind was read, and is not shown any more
}

// ReadObject reads the body of a request. An empty body is a 422 unless optional.
func ReadObject(r *http.Request, optional bool) (*Object, error) {
	var raw json.RawMessage
	if err := ReadBody(r, &raw, optional); err != nil {
		return nil, err
	}
	if optional && raw == nil {
		raw = json.RawMessage("{}")
	}
	return NewObject(raw, "body")
}

// NewObject reads an object that stands at a place of the request.
func NewObject(raw json.RawMessage, loc ...any) (*Object, error) {
	o := &Object{raw: raw, loc: loc, wrong: &[]Invalid{}}
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
	*o.wrong = append(*o.wrong, Invalid{
		Type: "model_attributes_type", Loc: o.loc, Msg: "Input should be a valid dictionary or object to extract fields from", Input: Shown(o.raw, o.loc...),
	})
	return false
}

// Err is the 422 for what is wrong with the object and those inside of it; nil if
// nothing is.
func (o *Object) Err() error {
	if len(*o.wrong) == 0 {
		return nil
	}
	return Unprocessable(*o.wrong...)
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
		*o.wrong = append(*o.wrong, Invalid{Type: "missing", Loc: o.at(name), Msg: "Field required", Input: o.shown()})
	}
	return ok
}

// NeedAlone is Need, for a body of which this is the only member.
func (o *Object) NeedAlone(name string) {
	if _, ok := o.members[name]; !ok {
		*o.wrong = append(*o.wrong, Invalid{Type: "missing", Loc: o.at(name), Msg: "Field required"})
	}
}

// Only notes members that are not among the names.
func (o *Object) Only(names ...string) {
	for _, name := range o.Names() {
		if !slices.Contains(names, name) {
			o.Wrong(name, "extra_forbidden", "Extra inputs are not permitted", nil)
		}
	}
}

// Wrong notes what is wrong with a member; "" is the object itself.
func (o *Object) Wrong(name, kind, msg string, ctx map[string]any) {
	wrong := Invalid{Type: kind, Loc: o.loc, Msg: msg}
	if name == "" {
		wrong.Input = o.shown()
	} else {
		wrong.Loc = o.at(name)
		wrong.Input = Shown(o.members[name], wrong.Loc...)
	}
	if ctx != nil {
		wrong.Ctx = ctx
	}
	*o.wrong = append(*o.wrong, wrong)
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
			object["kind"] = kind // which is no secret, also in one
		}
	}
	return v
}

// Value notes a value that a rule of the API forbids.
func (o *Object) Value(name, msg string) {
	o.Wrong(name, "value_error", "Value error, "+msg, map[string]any{"error": msg})
}

func (o *Object) at(name any) []any { return append(slices.Clone(o.loc), name) }

// String is a member that is a string, missing if it is not there.
func (o *Object) String(name, missing string) string { return o.Within(name, missing, 0, -1) }

// Within is [Object.String], of so many characters at least and at most; -1 is any
// number of them.
func (o *Object) Within(name, missing string, low, high int) string {
	if s := o.Text(name, low, high); s != nil {
		return *s
	}
	o.NotNull(name, "string_type", "Input should be a valid string")
	return missing
}

// NotNull notes a member that is null where its type has no null. The kind and the
// words are those of the type.
func (o *Object) NotNull(name, kind, msg string) {
	if string(o.members[name]) == "null" {
		o.Wrong(name, kind, msg, nil)
	}
}

// Text is a member that is null or a string of so many characters at least and at
// most; -1 is any number of them.
func (o *Object) Text(name string, low, high int) *string {
	raw := o.Raw(name)
	if raw == nil {
		return nil
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		o.Wrong(name, "string_type", "Input should be a valid string", nil)
		return nil
	}
	n := utf8.RuneCountInString(s)
	switch {
	case n < low:
		o.Wrong(name, "string_too_short", "String should have at least "+characters(low), map[string]any{"min_length": low})
	case high >= 0 && n > high:
		o.Wrong(name, "string_too_long", "String should have at most "+characters(high), map[string]any{"max_length": high})
	default:
		return &s
	}
	return nil
}

func characters(n int) string {
	if n == 1 {
		return "1 character"
	}
	return strconv.Itoa(n) + " characters"
}

// ID is a member that is a UUID, in its dashed form; "" if it is not there.
func (o *Object) ID(name string) string {
	raw := o.Raw(name)
	if raw == nil {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		o.Wrong(name, "uuid_type", "UUID input should be a string, bytes or UUID object", nil)
		return ""
	}
	id, err := uuid.Parse(s)
	if err != nil {
		o.Wrong(name, "uuid_parsing", "Input should be a valid UUID", nil)
		return ""
	}
	return id
}

// Bool is a member that is true or false, or a word for one of them.
func (o *Object) Bool(name string, missing bool) bool {
	raw, ok := o.members[name]
	if !ok {
		return missing
	}
	word := strings.ToLower(strings.Trim(string(raw), `"`))
	if b, known := Word(word); known {
		return b
	}
	switch raw[0] {
	case '{', '[', 'n':
		o.Wrong(name, "bool_type", "Input should be a valid boolean", nil)
	default:
		o.Wrong(name, "bool_parsing", "Input should be a valid boolean, unable to interpret input", nil)
	}
	return missing
}

// Word reads a word for true or false, in lower case.
func Word(s string) (value, known bool) {
	switch s {
	case "true", "1", "on", "t", "y", "yes":
		return true, true
	case "false", "0", "off", "f", "n", "no":
		return false, true
	}
	return false, false
}

// Int is a member that is a whole number, or a string of one, not below low.
func (o *Object) Int(name string, missing, low int) int {
	raw, ok := o.members[name]
	if !ok {
		return missing
	}
	text := string(raw)
	if raw[0] == '"' {
		text = strings.TrimSpace(strings.Trim(text, `"`))
	}
	f, isNumber := new(big.Float).SetString(text)
	switch {
	case raw[0] != '"' && raw[0] != '-' && (raw[0] < '0' || raw[0] > '9'):
		o.Wrong(name, "int_type", "Input should be a valid integer", nil)
	case !isNumber:
		o.Wrong(name, "int_parsing", "Input should be a valid integer, unable to parse string as an integer", nil)
	case !f.IsInt():
		o.Wrong(name, "int_from_float", "Input should be a valid integer, got a number with a fractional part", nil)
	case f.Cmp(big.NewFloat(float64(low))) < 0:
		o.Wrong(name, "greater_than_equal", "Input should be greater than or equal to "+strconv.Itoa(low), map[string]any{"ge": low})
	case f.Cmp(big.NewFloat(1<<31)) >= 0:
		return 1 << 31
	default:
		n, _ := f.Int64()
		return int(n)
	}
	return missing
}

// Choice is a member that is one of some strings. The kind is pydantic's, "enum" or
// "literal_error".
func (o *Object) Choice(name, missing, kind string, of ...string) string {
	raw, ok := o.members[name]
	if !ok {
		return missing
	}
	var s string
	if json.Unmarshal(raw, &s) == nil && slices.Contains(of, s) {
		return s
	}
	o.Wrong(name, kind, "Input should be "+oneOf(of), map[string]any{"expected": oneOf(of)})
	return missing
}

// oneOf lists strings as pydantic does: 'a', 'b' or 'c'.
func oneOf(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = "'" + s + "'"
	}
	if len(quoted) == 1 {
		return quoted[0]
	}
	last := len(quoted) - 1
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}

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
		o.Wrong(name, "dict_type", "Input should be a valid dictionary", nil)
		return nil
	}
	return o.Object(name)
}

// List is the items of a member that is a list; nil if it is missing, null or none.
func (o *Object) List(name string) []Item {
	raw := o.Raw(name)
	if raw == nil {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		o.Wrong(name, "list_type", "Input should be a valid list", nil)
		return nil
	}
	items := make([]Item, len(list))
	for i, one := range list {
		items[i] = Item{Raw: one, loc: append(o.at(name), i), wrong: o.wrong}
	}
	return items
}

// Texts is a member that is a list of texts; empty if it is missing, null or none.
func (o *Object) Texts(name string) []string {
	texts := []string{}
	for _, item := range o.List(name) {
		var s *string
		if json.Unmarshal(item.Raw, &s) != nil || s == nil {
			*o.wrong = append(*o.wrong, Invalid{Type: "string_type", Loc: item.loc, Msg: "Input should be a valid string", Input: Shown(item.Raw, item.loc...)})
			continue
		}
		texts = append(texts, *s)
	}
	return texts
}

// Item is an item of a list.
type Item struct {
	Raw   json.RawMessage
	loc   []any
	wrong *[]Invalid
}

// Object is the item as an object; nil for one that is none.
func (i Item) Object() *Object {
	o := &Object{raw: i.Raw, loc: i.loc, wrong: i.wrong}
	if !o.open() {
		return nil
	}
	return o
}

// As is the item as an object of one of several types, named in the place of errors.
// What is wrong with it counts only where [Item.Neither] is told of it. An item that is
// no object has no members.
func (i Item) As(name string) *Object {
	o := &Object{raw: i.Raw, loc: append(slices.Clone(i.loc), name), wrong: &[]Invalid{}}
	o.open()
	return o
}

// Neither notes what is wrong with the item in each of its types.
func (i Item) Neither(as ...*Object) {
	for _, o := range as {
		*i.wrong = append(*i.wrong, *o.wrong...)
	}
}

// Kinds checks the kind of an object of OpenHands, which is required, and reports
// whether it is one of some. The class is the base of theirs.
func (o *Object) Kinds(class string, of ...string) (kind string, ok bool) {
	if raw := o.Raw("kind"); json.Unmarshal(raw, &kind) != nil {
		kind = string(raw) // no string is no kind
	} else if slices.Contains(of, kind) {
		o.kind = true
		return kind, true
	}
	o.Value("", "Unknown kind '"+kind+"' for "+class+"; Expected one of: ['"+strings.Join(of, "', '")+"']")
	return kind, false
}

// redacted takes the place of what may be a secret in an error.
const redacted = "<redacted>"

// maxShown bounds an input that is shown in an error, in bytes.
const maxShown = 64 << 10

// Shown is a part of a request as an error may show it: without what may be a secret.
func Shown(raw json.RawMessage, loc ...any) any {
	if len(raw) == 0 || len(raw) > maxShown {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	for _, part := range loc {
		if name, ok := part.(string); ok && IsSecret(name) {
			return hidden(v)
		}
	}
	return masked(v)
}

// masked hides what is below the name of a secret.
func masked(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			switch lower := strings.ToLower(name); {
			case lower == "environment" || lower == "env" || lower == "headers" || IsSecret(name):
				v[name] = redacted
			default:
				v[name] = masked(value)
			}
		}
	case []any:
		for i, value := range v {
			v[i] = masked(value)
		}
	}
	return v
}

// hidden hides every string.
func hidden(v any) any {
	switch v := v.(type) {
	case string:
		return redacted
	case map[string]any:
		for name, value := range v {
			v[name] = hidden(value)
		}
	case []any:
		for i, value := range v {
			v[i] = hidden(value)
		}
	}
	return v
}

// IsSecret reports whether what has a name may be a secret, by the rule of OpenHands.
func IsSecret(name string) bool {
	upper := strings.ToUpper(name)
	for _, part := range []string{"AUTHORIZATION", "COOKIE", "CREDENTIAL", "KEY", "PASSWORD", "SECRET", "SESSION", "TOKEN"} {
		if strings.Contains(upper, part) {
			return true
		}
	}
	return false
}
