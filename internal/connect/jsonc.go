package connect

import (
	"encoding/json"
	"slices"
	"strings"
)

// jsonObject is an object in a text of JSON with comments.
type jsonObject struct {
	open, end int // of the braces
	members   []jsonMember
}

type jsonMember struct {
	key      string
	start    int // of the key
	from, to int // the value
	comma    int // after the comma; 0: none follows
}

// jsonScanner reads JSON with comments and trailing commas, as editors take
// it, and keeps where things are.
type jsonScanner struct {
	text string
	pos  int
	bad  bool
}

// skip goes past space and comments.
func (s *jsonScanner) skip() {
	for s.pos < len(s.text) {
		rest := s.text[s.pos:]
		switch {
		case strings.ContainsRune(" \t\r\n", rune(rest[0])):
			s.pos++
		case strings.HasPrefix(rest, "//"):
			if n := strings.IndexByte(rest, '\n'); n >= 0 {
				s.pos += n
			} else {
				s.pos = len(s.text)
			}
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest, "*/")
			if n < 0 {
				s.fail()
				return
			}
			s.pos += n + 2
		default:
			return
		}
	}
}

func (s *jsonScanner) fail() { s.bad, s.pos = true, len(s.text) }

// take goes past one byte, if it is that.
func (s *jsonScanner) take(b byte) bool {
	if s.skip(); s.pos < len(s.text) && s.text[s.pos] == b {
		s.pos++
		return true
	}
	return false
}

// str goes past a string and gives what it says.
func (s *jsonScanner) str() string {
	s.skip()
	start := s.pos
	if !s.take('"') {
		s.fail()
		return ""
	}
	for s.pos < len(s.text) && s.text[s.pos] != '"' {
		if s.text[s.pos] == '\\' {
			s.pos++
		}
		s.pos++
	}
	if s.pos >= len(s.text) {
		s.fail()
		return ""
	}
	s.pos++
	var v string
	if json.Unmarshal([]byte(s.text[start:s.pos]), &v) != nil {
		s.bad = true
	}
	return v
}

// value goes past a value of any kind.
func (s *jsonScanner) value() {
	s.skip()
	if s.pos >= len(s.text) {
		s.fail()
		return
	}
	switch s.text[s.pos] {
	case '{':
		s.object()
	case '[':
		s.pos++
		for !s.bad && !s.take(']') {
			s.value()
			s.take(',')
		}
	case '"':
		s.str()
	default:
		start := s.pos
		for s.pos < len(s.text) && !strings.ContainsRune(",]} \t\r\n/", rune(s.text[s.pos])) {
			s.pos++
		}
		if start == s.pos {
			s.fail()
		}
	}
}

// object goes past an object and tells where its members are.
func (s *jsonScanner) object() jsonObject {
	s.skip()
	o := jsonObject{open: s.pos}
	if !s.take('{') {
		s.fail()
		return o
	}
	for !s.bad && !s.take('}') {
		var m jsonMember
		s.skip()
		m.start = s.pos
		m.key = s.str()
		if !s.take(':') {
			s.fail()
			return o
		}
		s.skip()
		m.from = s.pos
		s.value()
		m.to = s.pos
		if s.take(',') {
			m.comma = s.pos
		}
		o.members = append(o.members, m)
	}
	o.end = s.pos - 1
	return o
}

// objectAt is the object that begins at or after a place.
func objectAt(text string, pos int) (jsonObject, bool) {
	s := jsonScanner{text: text, pos: pos}
	o := s.object()
	return o, !s.bad
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
	var v any
	err := json.Unmarshal([]byte(bare(text)), &v)
	return v, err
}

// bare is a text without comments and trailing commas.
func bare(text string) string {
	var b strings.Builder
	s := jsonScanner{text: text}
	comma := false // one is held back: what follows tells whether it stays
	for {
		if s.skip(); s.pos >= len(text) {
			return b.String()
		}
		start := s.pos
		c := text[s.pos]
		if comma && c != '}' && c != ']' {
			b.WriteByte(',')
		}
		comma = c == ','
		switch {
		case comma:
			s.pos++
		case c == '"':
			s.str()
			b.WriteString(text[start:s.pos])
		default:
			s.pos++
			b.WriteByte(c)
			if s.pos < len(text) && strings.IndexByte(" \t\r\n", text[s.pos]) >= 0 {
				b.WriteByte(' ')
			}
		}
	}
}

// addJSON puts our entry where it belongs.
func (c Client) addJSON(text string, v Values) (string, error) {
	if blank(text) && !strings.Contains(bare(text), "{") {
		text += "{\n}\n"
	}
	at := 0
	for i, key := range c.at {
		o, ok := objectAt(text, at)
		if !ok {
			return "", ErrForm
		}
		m, there := o.member(key)
		switch {
		case there && i == len(c.at)-1:
			return "", ErrTaken
		case there:
			at = m.from
			continue
		}
		return insertMember(text, o, c.member(v, i)), nil
	}
	return "", ErrForm
}

// jsonMark is the line before our entry.
const jsonMark = "// ohgw connect (ohgw connect --undo removes the entry below)"

// member is the text of the member of our settings at this depth, its lines
// at the left margin, with our mark.
func (c Client) member(v Values, depth int) []string {
	text, at := c.Settings(v), 0
	for i, key := range c.at {
		o, _ := objectAt(text, at)
		m, _ := o.member(key)
		if i == depth {
			lines := strings.Split(text[m.start:m.to], "\n")
			for j := 1; j < len(lines); j++ {
				lines[j] = lines[j][min(len(lines[j]), 2*(depth+1)):]
			}
			ours := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(strings.TrimSpace(l), `"`+c.at[len(c.at)-1]+`":`) })
			return slices.Insert(lines, ours, strings.Repeat(" ", indentOf(lines[ours]))+jsonMark)
		}
		at = m.from
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
func removeJSON(text string, at []string) (string, error) {
	if blank(text) {
		return text, nil
	}
	pos := 0
	for i, key := range at {
		o, ok := objectAt(text, pos)
		if !ok {
			return "", ErrForm
		}
		m, there := o.member(key)
		switch {
		case !there, i == len(at)-1 && !marked(text, m):
			return text, nil
		case i < len(at)-1:
			pos = m.from
		default:
			return cutMember(text, o, m), nil
		}
	}
	return text, nil
}

// marked tells whether our mark is before a member.
func marked(text string, m jsonMember) bool {
	return strings.HasSuffix(strings.TrimRight(text[:m.start], " \t\r\n"), jsonMark)
}

// cutMember removes our member with its mark, its lines and the comma that is
// left over.
func cutMember(text string, o jsonObject, m jsonMember) string {
	from, to := strings.LastIndex(text[:m.start], jsonMark), m.to
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
