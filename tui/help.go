package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/tui/wrap"
)

// helper is the help, or another list to read, while it is open.
type helper struct {
	title string
	rows  [][2]string // what it is about, and a text; no text: a heading
	top   int         // the line at its top
}

// scroll implements [component].
func (h *helper) scroll(lines int) bool {
	h.top = max(h.top+lines, 0)
	return true
}

// paste implements [component]: the help closes.
func (h *helper) paste(string) bool { return false }

// key implements [component]: every key that does not scroll closes the help.
func (h *helper) key(msg tea.KeyPressMsg) (tea.Cmd, bool) {
	switch actionOf(bindings, msg.String()) {
	case earlier, scrollUp:
		h.scroll(-1)
	case later, scrollDown:
		h.scroll(1)
	case pageUp:
		h.scroll(-10)
	case pageDown:
		h.scroll(10)
	case goTop:
		h.top = 0
	default:
		return nil, true
	}
	return nil, false
}

// keyNames writes the keys of a binding for people.
func keyNames(b binding) string {
	names := make([]string, len(b.keys))
	for i, k := range b.keys {
		parts := strings.Split(k, "+")
		for j, p := range parts {
			switch {
			case signs[p] != "":
				parts[j] = signs[p]
			case len(p) > 1 || len(parts) > 1:
				parts[j] = strings.ToUpper(p[:1]) + p[1:]
			}
		}
		names[i] = strings.Join(parts, "+")
	}
	return strings.Join(names, ", ")
}

// signs are the keys that have another name on keyboards than in Bubble Tea.
var signs = map[string]string{"up": "↑", "down": "↓", "left": "←", "right": "→", "pgup": "PgUp", "pgdown": "PgDn"}

// signsOfInput are the signs that give what follows them a meaning.
var signsOfInput = [][2]string{
	{"@FILE", "refer to a file of the directory: the agent gets its path, and a picture itself"},
	{"!COMMAND", "run a command in your shell, in the directory, as you; the agent reads its output with your next message"},
}

// helpRows lists all keys and commands: what to press, what it does.
func helpRows() [][2]string {
	rows := [][2]string{{"Keys", ""}}
	for _, table := range [][]binding{bindings, letters} {
		for _, b := range table {
			rows = append(rows, [2]string{keyNames(b), b.what})
		}
	}
	rows = append(rows, [2]string{"", ""}, [2]string{"Commands", ""})
	rows = append(rows, signsOfInput...)
	for _, c := range slashCommands() {
		rows = append(rows, [2]string{c.usage(), c.what})
	}
	return append(rows, [2]string{"", ""},
		[2]string{"Mouse", "select text as usual in your terminal; the wheel scrolls if your terminal sends arrow keys for it, and always after /mouse"},
		[2]string{"Pictures", "drop a file on the terminal, or paste its path"})
}

// view draws the help in exactly height lines.
func (h *helper) view(l looks, width, height int) []string {
	column := 0
	for _, r := range h.rows {
		column = max(column, wrap.Width(r[0]))
	}
	column = min(column, width/2)
	var lines []string
	for _, r := range h.rows {
		if r[1] == "" {
			lines = append(lines, paint(l.strong, wrap.Cut(r[0], width)))
			continue
		}
		left := wrap.Text(r[0], column)
		right := wrap.Text(r[1], max(width-column-4, 4))
		for i := range max(len(left), len(right)) {
			a, b := "", ""
			if i < len(left) {
				a = left[i]
			}
			if i < len(right) {
				b = right[i]
			}
			lines = append(lines, "  "+paint(l.accent, wrap.Pad(a, column))+"  "+b)
		}
	}
	height = max(height, 1)
	h.top = min(h.top, max(len(lines)-height+1, 0))
	out := []string{rule(l.accent, paint(l.strong, h.title)+paint(l.faint, "  ↑ ↓ scroll, any other key closes"), width)}
	out = append(out, lines[h.top:min(h.top+height-1, len(lines))]...)
	for len(out) < height {
		out = append(out, "")
	}
	return out
}
