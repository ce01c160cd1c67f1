package tui

import (
	"slices"
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/wrap"
)

// item is a line of a list to choose from.
type item struct {
	name, detail string
	pick         func() tea.Cmd
}

// picker is a list to choose from, narrowed by what is typed.
type picker struct {
	title string
	items []item
	load  func() []item // makes items that are up to date; nil if they do not change
	query string
	shown []int // indices of items that match, the best first
	at    int   // of shown
	first int   // of shown, in view
}

func newPicker(title string, items []item) *picker {
	p := &picker{title: title}
	p.setItems(items)
	return p
}

func (p *picker) setItems(items []item) {
	p.items = items
	p.narrow()
}

// write adds to what the list is narrowed by.
func (p *picker) write(s string) {
	p.query += safe.Line(s)
	if s == " " {
		p.query += " "
	}
	p.narrow()
}

func (p *picker) narrow() {
	type match struct{ index, score int }
	var found []match
	for i, it := range p.items {
		if score := fuzzy(p.query, it.name+" "+it.detail); score >= 0 {
			found = append(found, match{i, score})
		}
	}
	slices.SortStableFunc(found, func(a, b match) int { return b.score - a.score })
	p.shown = p.shown[:0]
	for _, f := range found {
		p.shown = append(p.shown, f.index)
	}
	p.at, p.first = 0, 0
}

func (p *picker) move(by int) {
	p.at = min(max(p.at+by, 0), max(len(p.shown)-1, 0))
}

// fuzzy scores how well the letters of query are found in s in their order:
// the beginnings of words and letters in a row count more. -1 is not at all.
func fuzzy(query, s string) int {
	text := []rune(strings.ToLower(s))
	score, at, row := 0, 0, 0
	for _, q := range strings.ToLower(query) {
		if q == ' ' {
			continue
		}
		i := slices.Index(text[at:], q)
		if i < 0 {
			return -1
		}
		if i == 0 && at > 0 {
			row++
		} else {
			row = 0
		}
		at += i
		if at == 0 || !unicode.IsLetter(text[at-1]) && !unicode.IsDigit(text[at-1]) {
			score += 4
		}
		score += 1 + 2*row
		at++
	}
	return score
}

// key implements [component].
func (p *picker) key(msg tea.KeyPressMsg) (tea.Cmd, bool) {
	switch msg.String() {
	case "esc":
		return nil, true
	case "enter":
		if len(p.shown) > 0 {
			return p.items[p.shown[p.at]].pick(), true
		}
		return nil, true
	case "up", "ctrl+p", "shift+tab":
		p.move(-1)
	case "down", "ctrl+n", "tab", "alt+y":
		p.move(1)
	case "pgup":
		p.move(-10)
	case "pgdown":
		p.move(10)
	case "backspace", "ctrl+h":
		p.erase()
	case "ctrl+u", "ctrl+w":
		p.query = ""
		p.narrow()
	default:
		p.write(msg.Text)
	}
	return nil, false
}

// click goes to a line of the list, from 0. It reports whether there is one.
func (p *picker) click(line int) bool {
	if p.first+line >= len(p.shown) {
		return false
	}
	p.at = p.first + line
	return true
}

// erase takes the last letter of what the list is narrowed by.
func (p *picker) erase() {
	if r := []rune(p.query); len(r) > 0 {
		p.query = string(r[:len(r)-1])
		p.narrow()
	}
}

// paste implements [component].
func (p *picker) paste(text string) bool {
	p.write(text)
	return true
}

// scroll implements [component].
func (p *picker) scroll(lines int) bool {
	p.move(lines / 3)
	return true
}

// view draws the list in at most height lines.
func (p *picker) view(l looks, width, height int) []string {
	rows := max(min(height-1, len(p.shown), 10), 0)
	if p.at < p.first {
		p.first = p.at
	}
	if p.at >= p.first+rows {
		p.first = p.at - rows + 1
	}
	p.first = max(min(p.first, len(p.shown)-rows), 0)
	lines := []string{rule(l.accent, paint(l.strong, wrap.Cut(p.title+"  "+p.query, max(width-8, 1)))+paint(l.accent, "▏"), width)}
	if len(p.shown) == 0 && height > 1 {
		return append(lines, paint(l.faint, wrap.Cut("  no match", width)))
	}
	names := 0
	for _, i := range p.shown[p.first : p.first+rows] {
		names = max(names, wrap.Width(p.items[i].name))
	}
	names = min(names, max(width*2/3, 8), max(width-4, 1))
	for n, i := range p.shown[p.first : p.first+rows] {
		it := p.items[i]
		name := wrap.Pad(wrap.Cut(it.name, names), names)
		detail := wrap.Cut(it.detail, max(width-names-6, 0))
		if p.first+n == p.at {
			lines = append(lines, paint(l.picked, "› "+name)+"  "+paint(l.faint, detail))
		} else {
			lines = append(lines, "  "+name+"  "+paint(l.faint, detail))
		}
	}
	return lines
}
