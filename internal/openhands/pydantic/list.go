package pydantic

import (
	"encoding/json"
	"slices"
)

// List reads the items of a member that is a list, and notes a fault if it is another
// value; nil if it is missing, null or none.
func (o *Object) List(name string) []Item {
	raw := o.Raw(name)
	if raw == nil {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		o.Wrong(name, NoList())
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
		if text, ok := item.Text(); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// Item is an item of a list.
type Item struct {
	Raw   json.RawMessage
	loc   []any
	wrong *[]Fault
}

// Text is the item as a text, with false for what is not a text.
func (i Item) Text() (string, bool) {
	text, refused := Text{}.Read(i.Raw)
	if refused != nil {
		*i.wrong = append(*i.wrong, refused.At(i.loc, Shown(i.Raw, i.loc...)))
		return "", false
	}
	return text, true
}

// Object is the item as an object; nil for what is not an object.
func (i Item) Object() *Object {
	o := &Object{raw: i.Raw, loc: i.loc, wrong: i.wrong}
	if !o.open() {
		return nil
	}
	return o
}

// As is the item as an object of one of several types, named in the place of errors.
// What is wrong with it counts only where [Item.Neither] gets it. An item that is not an
// object has no members.
func (i Item) As(name string) *Object {
	o := &Object{raw: i.Raw, loc: append(slices.Clone(i.loc), Tag(name)), wrong: &[]Fault{}}
	o.open()
	return o
}

// Neither notes what is wrong with the item in each of its types.
func (i Item) Neither(as ...*Object) {
	for _, o := range as {
		*i.wrong = append(*i.wrong, *o.wrong...)
	}
}
