package config

import (
	"fmt"
	"strconv"
	"strings"
)

// Set writes a setting of a table, a string or a bool, into the config file, and
// makes the file if there is none. Every other byte stays. Where the line cannot
// be found, or would change something else, nothing is written and the error is
// ErrNotAppendable.
func Set(path, table, key string, value any) error {
	add := func(text string) string { return withLine(text, table, key, key+" = "+literal(value)) }
	return change(path, add, func(settings map[string]any) bool {
		inside, _ := settings[table].(map[string]any)
		if inside == nil {
			inside = map[string]any{}
			settings[table] = inside
		}
		inside[key] = value
		return true
	})
}

func literal(value any) string {
	if b, ok := value.(bool); ok {
		return strconv.FormatBool(b)
	}
	return fmt.Sprintf("%q", value)
}

// withLine puts the line of a key in a table into a text: in the place of the one
// that is there, else below the head of the table, else in a new table at the end.
func withLine(text, table, key, line string) string {
	lines := strings.SplitAfter(text, "\n")
	head, dotted, inside, root := -1, -1, false, true
	for i, l := range lines {
		trimmed := strings.TrimSpace(l)
		if strings.HasPrefix(trimmed, "[") {
			if inside, root = trimmed == "["+table+"]", false; inside {
				head = i
			}
			continue
		}
		name, _, ok := strings.Cut(trimmed, "=")
		name = strings.TrimSpace(name)
		if ok && (inside && name == key || root && name == table+"."+key) {
			if !inside {
				line = table + "." + line
			}
			lines[i] = line + "\n"
			return strings.Join(lines, "")
		}
		if root && strings.HasPrefix(name, table+".") {
			dotted = i
		}
	}
	if dotted >= 0 {
		head, line = dotted, table+"."+line
	}
	if head >= 0 {
		return insertBelow(lines, head, line)
	}
	if text != "" {
		text = strings.TrimRight(text, "\n") + "\n\n"
	}
	return text + "[" + table + "]\n" + line + "\n"
}

// insertBelow is the lines with another one behind the one at i.
func insertBelow(lines []string, i int, line string) string {
	if !strings.HasSuffix(lines[i], "\n") {
		lines[i] += "\n"
	}
	lines[i] += line + "\n"
	return strings.Join(lines, "")
}
