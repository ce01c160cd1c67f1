// Package jsonedit changes single members of a JSON text and keeps every byte
// of the others: their order, the spelling of numbers and strings, blanks, line
// ends, unknown members.
//
// The language it reads is that of Python's json module, because Python reads
// the same files: NaN and the infinities are values, the last of several
// members with the same name counts, a byte order mark is an error. Texts with
// such members or values are read but not edited; see Doc.Irregular.
//
// It is not for building texts or for reading them into structs. Its errors
// give a place and never quote the text, which may hold keys.
package jsonedit

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"strconv"
)

// The limits at which Python gives up.
const (
	maxDepth     = 9_998 // levels of nesting
	maxIntDigits = 4_300 // digits of an integer
)

// SyntaxError says where a text stops being JSON.
type SyntaxError struct {
	Line, Column int    // from 1; the column counts bytes
	Msg          string // never quotes the text
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Msg)
}

// Errors of edits.
var (
	// ErrIrregular means that the text holds what Doc.Irregular reports.
	ErrIrregular = errors.New("duplicate members or invalid numbers")

	// ErrNoObject means that the path leads through a value that is not an
	// object, or that is missing.
	ErrNoObject = errors.New("no such object")
)

// Irregular is what Python accepts and other readers do not, or not in the same
// sense. Rewriting such a text could change its meaning.
type Irregular struct {
	Duplicate bool // an object, at any depth, has two members of one name
	NaN       bool // NaN, Infinity or -Infinity is somewhere
}

// Any reports whether there is anything irregular.
func (i Irregular) Any() bool { return i.Duplicate || i.NaN }

// Doc is a JSON text. It does not change: edits give a new one. It is safe for
// concurrent use.
type Doc struct {
	src       []byte
	root      span
	members   []member // of the root, which is asked most
	irregular Irregular
}

// span is a part of the text: src[start:end].
type span struct{ start, end int }

// Parse reads a text. The Doc keeps src, which the caller must not change. The
// error is a *SyntaxError.
func Parse(src []byte) (*Doc, error) {
	s := scanner{src: src}
	root, err := s.text()
	if err != nil {
		return nil, err
	}
	return &Doc{src: src, root: root, members: s.members, irregular: s.irregular}, nil
}

// Bytes is the text. The caller must not change it.
func (d *Doc) Bytes() []byte { return d.src }

// Irregular reports what in the text prevents edits.
func (d *Doc) Irregular() Irregular { return d.irregular }

// Root is the outermost value.
func (d *Doc) Root() Value { return Value{d, d.root} }

// Kind is what a value is.
type Kind byte

// The kinds of values. Missing is that of the zero Value.
const (
	Missing Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// Value is one value in a Doc. The zero Value is "not there", and so is every
// member of a value that is not an object.
type Value struct {
	doc *Doc
	at  span
}

// Exists reports whether the value is there, be it null.
func (v Value) Exists() bool { return v.doc != nil }

// Raw is the spelling of the value. The caller must not change it.
func (v Value) Raw() []byte {
	if v.doc == nil {
		return nil
	}
	return v.doc.src[v.at.start:v.at.end:v.at.end]
}

// Line is the line of the text in which the value begins, from 1; 0 for one that is not
// there.
func (v Value) Line() int {
	if v.doc == nil {
		return 0
	}
	return 1 + bytes.Count(v.doc.src[:v.at.start], []byte{'\n'})
}

// Kind reports what the value is.
func (v Value) Kind() Kind {
	if v.doc == nil {
		return Missing
	}
	switch v.doc.src[v.at.start] {
	case 'n':
		return Null
	case 't', 'f':
		return Bool
	case '"':
		return String
	case '[':
		return Array
	case '{':
		return Object
	}
	return Number
}

// Text is the content of a string. It is false for everything else, and for a
// string with half of a surrogate pair, which is not text.
func (v Value) Text() (string, bool) {
	if v.Kind() != String {
		return "", false
	}
	return unquote(v.Raw())
}

// Bool is the value of true and false.
func (v Value) Bool() (value, ok bool) {
	return v.Kind() == Bool && v.doc.src[v.at.start] == 't', v.Kind() == Bool
}

// Int returns the value of an integer. As in Python, 1.0 and 1e2 are not integers. For
// an integer that does not fit, it returns the nearest one that does.
func (v Value) Int() (int64, bool) {
	if v.Kind() != Number || !isInteger(v.Raw()) {
		return 0, false
	}
	n, _ := strconv.ParseInt(string(v.Raw()), 10, 64)
	return n, true
}

// Get is the member with this name; the last of several.
func (v Value) Get(name string) Value {
	var found Value
	for m := range v.spans() {
		if nameIs(v.doc.src, m.key, name) {
			found = Value{v.doc, m.value}
		}
	}
	return found
}

// At follows a path of member names.
func (v Value) At(path ...string) Value {
	for _, name := range path {
		v = v.Get(name)
	}
	return v
}

// Members are the members of an object in the order of the text. A name that
// is not text (see Text) is given as far as it is one.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for m := range v.spans() {
			name, _ := unquote(v.doc.src[m.key.start:m.key.end])
			if !yield(name, Value{v.doc, m.value}) {
				return
			}
		}
	}
}

// Elements are the values of an array.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != Array {
			return
		}
		s := scanner{src: v.doc.src, pos: v.at.start + 1}
		for s.skipBlanks(); s.src[s.pos] != ']'; s.nextItem() {
			if !yield(Value{v.doc, s.skipValue()}) {
				return
			}
		}
	}
}

// member is where a member of an object stands, quotes included.
type member struct{ key, value span }

// spans walks through an object that Parse has accepted.
func (v Value) spans() iter.Seq[member] {
	return func(yield func(member) bool) {
		if v.Kind() != Object {
			return
		}
		if v.at == v.doc.root {
			for _, m := range v.doc.members {
				if !yield(m) {
					return
				}
			}
			return
		}
		s := scanner{src: v.doc.src, pos: v.at.start + 1}
		for s.skipBlanks(); s.src[s.pos] != '}'; s.nextItem() {
			key := s.skipValue()
			s.skipBlanks()
			s.pos++ // the colon
			s.skipBlanks()
			if !yield(member{key, s.skipValue()}) {
				return
			}
		}
	}
}
