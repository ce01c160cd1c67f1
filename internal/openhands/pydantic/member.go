package pydantic

import "encoding/json"

// String is a member that is a text, missing if it is not there.
func (o *Object) String(name, missing string) string { return o.Within(name, missing, 0, -1) }

// Within is [Object.String], of so many characters at least and at most; -1 is any
// number of them.
func (o *Object) Within(name, missing string, low, high int) string {
	if s := o.Text(name, low, high); s != nil {
		return *s
	}
	o.NotNull(name, NoText())
	return missing
}

// Text is a member that is null or a text of so many characters at least and at most;
// -1 is any number of them.
func (o *Object) Text(name string, low, high int) *string {
	if !o.Has(name) {
		return nil
	}
	s, refused := Text{Min: low, Max: max(high, 0)}.Read(o.Raw(name))
	if refused != nil {
		o.Wrong(name, refused)
		return nil
	}
	return &s
}

// ID is a member that is a UUID, in its dashed form; "" if it is not there.
func (o *Object) ID(name string) string {
	if !o.Has(name) {
		return ""
	}
	id, refused := UUID(o.Raw(name))
	o.Wrong(name, refused)
	return id
}

// Bool is a member that is true or false, or a word for one of them.
func (o *Object) Bool(name string, missing bool) bool {
	return member(o, name, missing, Bool)
}

// maxInt takes the place of bigger members.
const maxInt = 1 << 31

// Int is a member that is a whole number, or a text of one.
func (o *Object) Int(name string, missing int, b Bounds) int {
	return member(o, name, missing, func(raw json.RawMessage) (int, *Refusal) { return IntUpTo(raw, b, maxInt) })
}

// Float is a member that is a number, or a text of one.
func (o *Object) Float(name string, missing float64, b Bounds) float64 {
	return member(o, name, missing, func(raw json.RawMessage) (float64, *Refusal) { return Float(raw, b) })
}

// Choice is a member that is one of some texts. The type is [Enum] or [Literal].
func (o *Object) Choice(name, missing, kind string, of ...string) string {
	return member(o, name, missing, func(raw json.RawMessage) (string, *Refusal) { return Choice(raw, kind, of...) })
}

// member reads a member, which is missing if it is not there or refused.
func member[T any](o *Object, name string, missing T, read func(json.RawMessage) (T, *Refusal)) T {
	raw, ok := o.members[name]
	if !ok {
		return missing
	}
	value, refused := read(raw)
	if refused != nil {
		o.Wrong(name, refused)
		return missing
	}
	return value
}
