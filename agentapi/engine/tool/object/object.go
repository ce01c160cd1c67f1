// Package object reads and writes JSON objects with the order of their
// members kept. Models read a schema from top to bottom and providers cache
// its text, so the order is part of it; a map would lose it.
//
// It is not a JSON parser: the values stay as they came.
package object

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/ohgw/ohgw/internal/plainjson"
)

// ErrNotObject is returned for JSON that is something else than an object.
var ErrNotObject = errors.New("not a JSON object")

// Member is a name with its value.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Object is a list of members. A name occurs at most once in an object that
// was made by Parse.
type Object []Member

// Parse reads an object. Of members with the same name the last one counts, at
// the place of the first.
func Parse(data []byte) (Object, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	start, err := dec.Token()
	if err != nil {
		return nil, fmt.Errorf("read object: %w", err)
	}
	if start != json.Delim('{') {
		return nil, notObject(data)
	}
	o := Object{}
	at := map[string]int{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("read object: %w", err)
		}
		name, ok := token.(string)
		if !ok {
			return nil, ErrNotObject
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, fmt.Errorf("read object: %w", err)
		}
		if i, again := at[name]; again {
			o[i].Value = value
			continue
		}
		at[name] = len(o)
		o = append(o, Member{name, value})
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("read object: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read object: %w", errTrailing)
	}
	return o, nil
}

var errTrailing = errors.New("text after the end")

// notObject distinguishes a valid value that is not an object from text that is not JSON.
func notObject(data []byte) error {
	var v json.RawMessage
	if err := json.Unmarshal(data, &v); err != nil {
		return fmt.Errorf("read object: %w", err)
	}
	return ErrNotObject
}

// Get returns the value of a member; nil if there is none.
func (o Object) Get(name string) json.RawMessage {
	for _, m := range o {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// Has reports whether there is such a member.
func (o Object) Has(name string) bool { return o.index(name) >= 0 }

// With is the object with the member set: in its place, or as the last one.
// The object itself is not changed.
func (o Object) With(name string, value json.RawMessage) Object {
	n := slices.Clone(o)
	if i := n.index(name); i >= 0 {
		n[i].Value = value
		return n
	}
	return append(n, Member{name, value})
}

// Without is the object without some members. The object itself is not changed.
func (o Object) Without(names ...string) Object {
	n := make(Object, 0, len(o))
	for _, m := range o {
		if !slices.Contains(names, m.Name) {
			n = append(n, m)
		}
	}
	return n
}

// Names are the names of the members in order.
func (o Object) Names() []string {
	names := make([]string, len(o))
	for i, m := range o {
		names[i] = m.Name
	}
	return names
}

// MarshalJSON writes the members in order.
func (o Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := Marshal(m.Name)
		if err != nil {
			return nil, fmt.Errorf("write object: %w", err)
		}
		b.Write(name)
		b.WriteByte(':')
		if m.Value == nil {
			b.WriteString("null")
			continue
		}
		b.Write(m.Value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Marshal is v as JSON without the escapes that only HTML needs: models read it, and
// what they wrote goes back to them.
func Marshal(v any) (json.RawMessage, error) {
	data, err := plainjson.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return data, nil
}

// JSON is the text of the object. Its values must be JSON.
func (o Object) JSON() json.RawMessage {
	data, err := Marshal(o)
	if err != nil {
		// A value that is not JSON is a mistake of the caller, and the text
		// would be stored for ever.
		panic(fmt.Sprintf("object: %v", err))
	}
	return data
}

func (o Object) index(name string) int {
	return slices.IndexFunc(o, func(m Member) bool { return m.Name == name })
}
