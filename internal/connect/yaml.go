package connect

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// The lines around our entry in a file that has comments.
const (
	beginMark = "# >>> ohgw connect (ohgw connect --undo removes it)"
	endMark   = "# <<< ohgw connect"
)

func readYAML(text string) (any, error) {
	var v any
	err := yaml.Unmarshal([]byte(text), &v)
	return plain(v), err
}

// plain turns numbers of any kind into ones that can be compared.
func plain(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = plain(v[name])
		}
	case uint64:
		return int64(v)
	}
	return v
}

// blank reports whether a file says nothing.
func blank(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line != "---" && line != "{}" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "//") {
			return false
		}
	}
	return true
}

// removeYAML takes our lines out.
func removeYAML(text string) (string, error) {
	lines := strings.SplitAfter(text, "\n")
	begin := slices.IndexFunc(lines, func(l string) bool { return strings.TrimSpace(l) == beginMark })
	end := slices.IndexFunc(lines, func(l string) bool { return strings.TrimSpace(l) == endMark })
	switch {
	case begin < 0 && end < 0:
		return text, nil
	case begin < 0 || end < begin:
		return "", ErrForm
	}
	return strings.Join(slices.Delete(lines, begin, end+1), ""), nil
}

// addYAML puts our entry where it belongs.
func (c Client) addYAML(text string, v Values) (string, error) {
	data, err := readYAML(text)
	if err != nil {
		return "", ErrForm
	}
	ours, err := readYAML(c.Settings(v))
	if err != nil {
		return "", ErrForm
	}
	if c.taken(entry(data, c.at), entry(ours, c.at)) {
		return "", ErrTaken
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if blank(text) {
		return strings.Replace(text, "{}\n", "", 1) + beginMark + "\n" + c.Settings(v) + endMark + "\n", nil
	}
	doc := yamlLines{lines: strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")}
	doc.lines[len(doc.lines)-1] += "\n"
	at, indent, missing, err := doc.find(c.at)
	if err != nil {
		return "", err
	}
	var block []string
	add := func(indent int, line string) { block = append(block, strings.Repeat(" ", indent)+line+"\n") }
	add(indent, beginMark)
	outer := indent
	for _, key := range missing {
		add(indent, key+":")
		indent += 2
	}
	for _, line := range entryLines(c.Settings(v), c.at) {
		add(indent, line)
	}
	add(outer, endMark)
	return strings.Join(slices.Insert(doc.lines, at, block...), ""), nil
}

// taken reports whether what is at the place of our entry is for the same.
func (c Client) taken(there, ours any) bool {
	switch there := there.(type) {
	case []any:
		list, ok := ours.([]any)
		if !ok || len(list) == 0 {
			return false
		}
		return slices.ContainsFunc(there, func(e any) bool { return c.alike(e, list[0]) })
	case map[string]any:
		return slices.ContainsFunc(c.same, func(key string) bool { _, ok := there[key]; return ok })
	}
	return false
}

// alike reports whether two entries of a list are for the same.
func (c Client) alike(a, b any) bool {
	one, ok := a.(map[string]any)
	two, both := b.(map[string]any)
	return ok && both && len(c.same) > 0 && sameText(one[c.same[0]], two[c.same[0]])
}

func sameText(a, b any) bool {
	s, ok := a.(string)
	t, both := b.(string)
	return ok && both && s == t
}

// entryLines cuts out the lines of our entry alone, at the left margin.
func entryLines(settings string, at []string) []string {
	lines := strings.Split(strings.TrimSuffix(settings, "\n"), "\n")
	for _, key := range at {
		i := slices.IndexFunc(lines, func(l string) bool { return l == key+":" })
		lines = lines[i+1:]
		if n := slices.IndexFunc(lines, func(l string) bool { return indentOf(l) == 0 }); n >= 0 {
			lines = lines[:n]
		}
		margin := indentOf(lines[0])
		for i := range lines {
			lines[i] = lines[i][margin:]
		}
	}
	return lines
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// yamlLines is a file in block style, as people write settings.
type yamlLines struct{ lines []string }

// find returns the line before which an entry at this path goes, its indent, and
// the keys that are not there yet.
func (d *yamlLines) find(at []string) (line, indent int, missing []string, err error) {
	from, to := 0, len(d.lines)
	for i, key := range at {
		n := -1
		for j := from; j < to; j++ {
			if indentOf(d.lines[j]) == indent && strings.HasPrefix(d.lines[j][indent:], key+":") {
				n = j
				break
			}
		}
		if n < 0 {
			return d.end(from, to), indent, at[i:], nil
		}
		value := strings.TrimSpace(d.lines[n][indent+len(key)+1:])
		if value != "" && !strings.HasPrefix(value, "#") {
			if value != "[]" && value != "{}" && value != "null" && value != "~" {
				return 0, 0, nil, ErrForm // in flow style, or an anchor
			}
			d.lines[n] = d.lines[n][:indent+len(key)+1] + "\n"
		}
		from, to = n+1, d.block(n+1, to, indent)
		indent = d.inner(from, to, indent+2)
	}
	return d.end(from, to), indent, nil, nil
}

// block is where the lines end that belong to a key with this indent. A list
// may begin at the same indent.
func (d *yamlLines) block(from, to, indent int) int {
	for i := from; i < to; i++ {
		l := d.lines[i]
		if empty(l) || indentOf(l) > indent || indentOf(l) == indent && strings.HasPrefix(l[indent:], "- ") {
			continue
		}
		return i
	}
	return to
}

// inner is the indent of what is between two lines.
func (d *yamlLines) inner(from, to, fallback int) int {
	for _, l := range d.lines[from:to] {
		if !empty(l) {
			return indentOf(l)
		}
	}
	return fallback
}

// end is the line after the last one that says something.
func (d *yamlLines) end(from, to int) int {
	for to > from && empty(d.lines[to-1]) {
		to--
	}
	return to
}

func empty(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || strings.HasPrefix(line, "#")
}
