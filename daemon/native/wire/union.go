package wire

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Tagged is a member that is an object of one of several types, which its member by
// names; nil if it is missing, null or none of them. The place of errors in it has that
// name.
func (o *Object) Tagged(name, by string, of ...string) (tag string, in *Object) {
	if in = o.Object(name); in == nil {
		return "", nil
	}
	raw := in.members[by]
	if raw == nil {
		o.Wrong(name, "union_tag_not_found", "Unable to extract tag using discriminator '"+by+"'", map[string]any{"discriminator": "'" + by + "'"})
		return "", nil
	}
	if tag = pythonText(raw); raw[0] != '"' || !slices.Contains(of, tag) {
		known := "'" + strings.Join(of, "', '") + "'"
		o.Wrong(name, "union_tag_invalid", "Input tag '"+tag+"' found using '"+by+"' does not match any of the expected tags: "+known,
			map[string]any{"discriminator": "'" + by + "'", "tag": tag, "expected_tags": known})
		return "", nil
	}
	in.loc = append(in.loc, tag)
	return tag, in
}

// pythonText is a value as Python prints it.
func pythonText(raw json.RawMessage) string {
	var s string
	switch {
	case string(raw) == "null":
		return "None"
	case string(raw) == "true":
		return "True"
	case string(raw) == "false":
		return "False"
	case json.Unmarshal(raw, &s) == nil:
		return s
	}
	return string(raw)
}

// Float is a member that is a number, or a string of one.
func (o *Object) Float(name string, missing float64) float64 {
	raw, ok := o.members[name]
	if !ok {
		return missing
	}
	switch raw[0] {
	case 't':
		return 1
	case 'f':
		return 0
	case '{', '[', 'n':
		o.Wrong(name, "float_type", "Input should be a valid number", nil)
		return missing
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(pythonText(raw)), 64)
	if err != nil {
		o.Wrong(name, "float_parsing", "Input should be a valid number, unable to parse string as a number", nil)
		return missing
	}
	return f
}

// TextMap checks a member that is an object of strings, or not there.
func (o *Object) TextMap(name string) {
	o.NotNull(name, "dict_type", "Input should be a valid dictionary")
	if in := o.Map(name); in != nil {
		for _, member := range in.Names() {
			in.String(member, "")
		}
	}
}

// Text checks an item that is a string.
func (i Item) Text() {
	var s string
	if string(i.Raw) == "null" || json.Unmarshal(i.Raw, &s) != nil {
		*i.wrong = append(*i.wrong, Invalid{Type: "string_type", Loc: i.loc, Msg: "Input should be a valid string", Input: Shown(i.Raw, i.loc...)})
	}
}
