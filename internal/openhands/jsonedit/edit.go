package jsonedit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
)

// Set returns the text with the member at path set to raw, which must be JSON.
// The value of an existing member is replaced; a new member is appended to its
// object in the style of the others. An object or array in raw is laid out
// like the text around it. Every other byte stays.
func (d *Doc) Set(raw []byte, path ...string) (*Doc, error) {
	value, err := Parse(bytes.TrimSpace(raw))
	if err != nil {
		return nil, fmt.Errorf("set %s: new value: %w", strings.Join(path, "."), err)
	}
	if value.irregular.Any() {
		return nil, fmt.Errorf("set %s: new value: %w", strings.Join(path, "."), ErrIrregular)
	}
	return d.edit("set", path, func(object Value, members []member, i int) []byte {
		name := path[len(path)-1]
		switch {
		case i >= 0:
			return splice(d.src, members[i].value, d.layOut(value, d.styleAt(members[i].key.start)))
		case len(members) > 0:
			return d.appendMember(object, members[len(members)-1], name, value)
		}
		return d.fillObject(object, name, value)
	})
}

// Delete returns the text without the member at path, and without the comma and
// the blanks that it needed. Deleting what is not there changes nothing.
func (d *Doc) Delete(path ...string) (*Doc, error) {
	return d.edit("delete", path, func(object Value, members []member, i int) []byte {
		switch {
		case i < 0:
			return d.src
		case i+1 < len(members):
			return splice(d.src, span{members[i].key.start, members[i+1].key.start}, nil)
		case i > 0:
			return splice(d.src, span{members[i-1].value.end, members[i].value.end}, nil)
		}
		return splice(d.src, span{object.at.start + 1, object.at.end - 1}, nil)
	})
}

// edit finds the object and the member that path leads to, -1 if it is not
// there, and reads the text that change makes of them.
func (d *Doc) edit(verb string, path []string, change func(object Value, members []member, i int) []byte) (*Doc, error) {
	fail := func(err error) (*Doc, error) {
		return nil, fmt.Errorf("%s %s: %w", verb, strings.Join(path, "."), err)
	}
	if d.irregular.Any() {
		return fail(ErrIrregular)
	}
	if len(path) == 0 {
		return fail(ErrNoObject)
	}
	object := d.Root().At(path[:len(path)-1]...)
	if object.Kind() != Object {
		return fail(ErrNoObject)
	}
	members := slices.Collect(object.spans())
	i := slices.IndexFunc(members, func(m member) bool { return nameIs(d.src, m.key, path[len(path)-1]) })
	edited, err := Parse(change(object, members, i))
	if err != nil {
		return fail(err)
	}
	return edited, nil
}

func splice(src []byte, at span, with []byte) []byte {
	out := make([]byte, 0, len(src)-(at.end-at.start)+len(with))
	out = append(out, src[:at.start]...)
	out = append(out, with...)
	return append(out, src[at.end:]...)
}

func (d *Doc) appendMember(object Value, last member, name string, value *Doc) []byte {
	// What stands before the name and around the colon of the last member.
	start := last.key.start
	for start > object.at.start+1 && isBlank(d.src[start-1]) {
		start--
	}
	lead, colon := d.src[start:last.key.start], d.src[last.key.end:last.value.start]
	if len(lead) == 0 && start == object.at.start+1 {
		// A lone member after its bracket. Blanks after commas mostly go with
		// blanks after colons.
		lead = colon[bytes.IndexByte(colon, ':')+1:]
	}
	text := d.layOut(value, d.styleAt(last.key.start))
	added := bytes.Join([][]byte{[]byte(","), lead, Quote(name), colon, text}, nil)
	return splice(d.src, span{last.value.end, last.value.end}, added)
}

// fillObject puts the first member into an empty object.
func (d *Doc) fillObject(object Value, name string, value *Doc) []byte {
	before, after := "", ""
	inner := style{}
	if newline := d.newline(); newline != "" || object.at == d.root {
		outer := d.leadOf(object.at.start)
		inner = style{lines: true, indent: outer + d.unit()}
		newline = cmp.Or(newline, "\n")
		before, after = newline+inner.indent, newline+outer
	}
	text := d.layOut(value, inner)
	added := bytes.Join([][]byte{[]byte(before), Quote(name), []byte(": "), text, []byte(after)}, nil)
	return splice(d.src, span{object.at.start + 1, object.at.end - 1}, added)
}

// style is how a value is laid out: on lines of its own with this indentation
// under them, or on one line.
type style struct {
	lines  bool
	indent string
}

// styleAt is the style of a member whose name is at pos: on lines if the name
// starts one.
func (d *Doc) styleAt(pos int) style {
	lead := d.leadOf(pos)
	lineStart := bytes.LastIndexByte(d.src[:pos], '\n') + 1
	return style{lines: lineStart > 0 && lineStart+len(lead) == pos, indent: lead}
}

// layOut spells the value in a style. Only blanks between tokens change:
// encoding/json keeps the spelling of everything else.
func (d *Doc) layOut(value *Doc, s style) []byte {
	var out bytes.Buffer
	var err error
	if s.lines {
		err = json.Indent(&out, value.src, s.indent, d.unit())
	} else {
		err = json.Compact(&out, value.src)
	}
	if err != nil { // What Parse accepts and is regular, encoding/json accepts.
		return value.src
	}
	return bytes.ReplaceAll(out.Bytes(), []byte("\n"), []byte(cmp.Or(d.newline(), "\n")))
}

// newline is how lines end between the brackets of the text; "" when it has
// one line only.
func (d *Doc) newline() string {
	i := bytes.IndexByte(d.src[d.root.start:d.root.end], '\n')
	switch {
	case i < 0:
		return ""
	case i > 0 && d.src[d.root.start+i-1] == '\r':
		return "\r\n"
	}
	return "\n"
}

// leadOf is the blanks that the line of pos starts with.
func (d *Doc) leadOf(pos int) string {
	start := bytes.LastIndexByte(d.src[:pos], '\n') + 1
	end := start
	for end < pos && (d.src[end] == ' ' || d.src[end] == '\t') {
		end++
	}
	return string(d.src[start:end])
}

// unit is one level of indentation: that of the first member of the root, or
// two blanks, as OpenHands writes.
func (d *Doc) unit() string {
	for m := range d.Root().spans() {
		unit, ok := strings.CutPrefix(d.leadOf(m.key.start), d.leadOf(d.root.start))
		if ok && unit != "" {
			return unit
		}
		break
	}
	return "  "
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// Quote spells a string in ASCII, as OpenHands does: on Windows it reads
// profiles in the code page of the system.
func Quote(text string) []byte {
	const hex = "0123456789abcdef"
	escape := func(out []byte, unit rune) []byte {
		return append(out, '\\', 'u', hex[unit>>12&0xf], hex[unit>>8&0xf], hex[unit>>4&0xf], hex[unit&0xf])
	}
	short := map[rune]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}
	out := []byte{'"'}
	for _, r := range text {
		switch {
		case short[r] != 0:
			out = append(out, '\\', short[r])
		case r < ' ' || 0x7f <= r && r <= 0xffff:
			out = escape(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = escape(escape(out, high), low)
		default:
			out = append(out, byte(r))
		}
	}
	return append(out, '"')
}

// ASCII spells the strings of a JSON text in ASCII. Nothing else in it can be
// anything else.
func ASCII(src []byte) []byte {
	out := make([]byte, 0, len(src))
	for i, r := range string(src) {
		if r < 0x7f {
			out = append(out, src[i])
			continue
		}
		quoted := Quote(string(r))
		out = append(out, quoted[1:len(quoted)-1]...)
	}
	return out
}
