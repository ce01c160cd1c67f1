package connect

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// jsonObject says where an object is in a text of JSON with comments and
// trailing commas, as editors take it.
type jsonObject struct {
	open, end int // of the braces
	members   []jsonMember
}

type jsonMember struct {
	key      string
	start    int // of the key
	from, to int // the value
	comma    int // after the comma; 0: none follows
	value    hujson.ValueTrimmed
}

// objectOf is the object that is a whole text.
func objectOf(text string) (jsonObject, bool) {
	v, err := hujson.Parse([]byte(text))
	if err != nil {
		return jsonObject{}, false
	}
	return located(v.Value, v.StartOffset, v.EndOffset)
}

// object is the object that is the value of a member.
func (m jsonMember) object() (jsonObject, bool) { return located(m.value, m.from, m.to) }

// located finds the members of an object that is in the text from one place to
// another.
func located(v hujson.ValueTrimmed, from, to int) (jsonObject, bool) {
	object, ok := v.(*hujson.Object)
	if !ok {
		return jsonObject{}, false
	}
	o := jsonObject{open: from, end: to - 1}
	for i, member := range object.Members {
		name, value := member.Name, member.Value
		key, _ := name.Value.(hujson.Literal) // The parser takes nothing else.
		m := jsonMember{key: key.String(), start: name.StartOffset, from: value.StartOffset, to: value.EndOffset, value: value.Value}
		// The last value has something behind it, if only an empty text, when a comma follows.
		if i < len(object.Members)-1 || value.AfterExtra != nil {
			m.comma = value.EndOffset + len(value.AfterExtra) + 1
		}
		o.members = append(o.members, m)
	}
	return o, true
}

func (o jsonObject) member(key string) (jsonMember, bool) {
	for _, m := range o.members {
		if m.key == key {
			return m, true
		}
	}
	return jsonMember{}, false
}

// readJSON gives the data of JSON with comments.
func readJSON(text string) (any, error) {
	plain, err := hujson.Standardize([]byte(text))
	if err != nil {
		return nil, err
	}
	var v any
	err = json.Unmarshal(plain, &v)
	return v, err
}

// addJSON puts our entry where it belongs.
func (c Client) addJSON(text string, v Values) (string, error) {
	o, ok := objectOf(text)
	if !ok && blank(text) {
		text += "{\n}\n"
		o, ok = objectOf(text)
	}
	for i, key := range c.at {
		if !ok {
			return "", ErrForm
		}
		m, there := o.member(key)
		switch {
		case there && i == len(c.at)-1:
			return "", ErrTaken
		case there:
			o, ok = m.object()
			continue
		}
		return insertMember(text, o, c.member(v, i)), nil
	}
	return "", ErrForm
}

// jsonMark is the line before our entry.
const jsonMark = "// ohgw connect (ohgw connect --undo removes the entry below)"

// member returns the text of the member of our settings at this depth, its lines at
// the left margin, with our mark.
func (c Client) member(v Values, depth int) []string {
	text := c.Settings(v)
	o, _ := objectOf(text)
	for i, key := range c.at {
		m, _ := o.member(key)
		if i == depth {
			lines := strings.Split(text[m.start:m.to], "\n")
			for j := 1; j < len(lines); j++ {
				lines[j] = lines[j][min(len(lines[j]), 2*(depth+1)):]
			}
			if c.strict {
				return lines
			}
			ours := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(strings.TrimSpace(l), `"`+c.at[len(c.at)-1]+`":`) })
			return slices.Insert(lines, ours, strings.Repeat(" ", indentOf(lines[ours]))+jsonMark)
		}
		o, _ = m.object()
	}
	return nil
}

// insertMember puts a member at the end of an object.
func insertMember(text string, o jsonObject, lines []string) string {
	line := text[strings.LastIndexByte(text[:o.open], '\n')+1 : o.open]
	outer := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	indent := outer + "  "
	if len(o.members) == 0 {
		inside := strings.TrimRight(text[o.open+1:o.end], " \t\r\n") // a comment may be there
		return text[:o.open+1] + inside + "\n" + indent + strings.Join(lines, "\n"+indent) + "\n" + outer + text[o.end:]
	}
	last := o.members[len(o.members)-1]
	start := strings.LastIndexByte(text[:last.start], '\n') + 1
	if lead := text[start:last.start]; strings.TrimSpace(lead) == "" {
		indent = lead
	}
	member := "\n" + indent + strings.Join(lines, "\n"+indent)
	if last.comma > 0 {
		end := commentEnd(text, last.comma)
		return text[:end] + member + "," + text[end:]
	}
	end := commentEnd(text, last.to)
	return text[:last.to] + "," + text[last.to:end] + member + text[end:]
}

// commentEnd is where the line ends, if there is nothing but a comment from pos
// on, else pos.
func commentEnd(text string, pos int) int {
	line, _, _ := strings.Cut(text[pos:], "\n")
	if strings.HasPrefix(strings.TrimLeft(line, " \t"), "//") {
		return pos + len(line)
	}
	return pos
}

// removeJSON takes our entry out, with what is around it and empty then.
func (c Client) removeJSON(text string) (string, error) {
	if blank(text) {
		return text, nil
	}
	o, ok := objectOf(text)
	for i, key := range c.at {
		if !ok {
			return "", ErrForm
		}
		m, there := o.member(key)
		switch {
		case !there, i == len(c.at)-1 && !c.wrote(text, m):
			return text, nil
		case i < len(c.at)-1:
			o, ok = m.object()
		default:
			return cutMember(text, o, m), nil
		}
	}
	return text, nil
}

// wrote reports whether a member is ours: our mark is before it, or it is as our
// settings are, with any values.
func (c Client) wrote(text string, m jsonMember) bool {
	if !c.strict {
		return strings.HasSuffix(strings.TrimRight(text[:m.start], " \t\r\n"), jsonMark)
	}
	ours, err := readJSON(c.anySettings())
	if err != nil {
		return false
	}
	is, err := readJSON(text[m.from:m.to])
	return err == nil && fits(is, entry(ours, c.at))
}

// anyValue stands for each value in settings that are compared.
const anyValue = "@@"

// fits reports whether data has a form.
func fits(data, form any) bool {
	switch form := form.(type) {
	case map[string]any:
		is, ok := data.(map[string]any)
		if !ok || len(is) != len(form) {
			return false
		}
		for key, value := range form {
			if there, ok := is[key]; !ok || !fits(there, value) {
				return false
			}
		}
		return true
	case []any:
		is, ok := data.([]any)
		return ok && len(is) == len(form) && allFit(is, form)
	case string:
		is, ok := data.(string)
		before, after, found := strings.Cut(form, anyValue)
		return ok && (is == form || found && strings.HasPrefix(is, before) && strings.HasSuffix(is, after))
	}
	return data == form
}

func allFit(data, form []any) bool {
	for i := range form {
		if !fits(data[i], form[i]) {
			return false
		}
	}
	return true
}

// cutMember removes our member with its mark, its lines and the comma that is
// left over.
func cutMember(text string, o jsonObject, m jsonMember) string {
	from, to := strings.LastIndex(text[:m.start], jsonMark), m.to
	if from < 0 || strings.TrimSpace(text[from+len(jsonMark):m.start]) != "" { // it has no mark
		from = m.start
	}
	if m.comma > 0 {
		to = m.comma
	}
	i := slices.IndexFunc(o.members, func(other jsonMember) bool { return other.start == m.start })
	if m.comma == 0 && i > 0 && o.members[i-1].comma > 0 {
		before := o.members[i-1] // its comma was only for us
		return text[:before.to] + strings.TrimRight(text[before.comma:from], " \t\r\n") + text[to:]
	}
	if start := strings.LastIndexByte(text[:from], '\n'); start >= 0 && strings.TrimSpace(text[start:from]) == "" {
		from = start
	}
	return text[:from] + text[to:]
}
