package transcript

import (
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/ohgw/ohgw/tui/wrap"
)

// sideBySide is how wide a list must be to show both sides of a patch.
const sideBySide = 120

// patch draws a patch in a width: both sides where there is room, else the old
// lines above the new ones. Nothing is cut off.
func (p *painter) patch(all []change, width int) []string {
	numbers := 0
	for _, c := range all {
		numbers = max(numbers, len(strconv.Itoa(max(c.old, c.new))))
	}
	if width < 5*numbers+10 {
		numbers = 0
	}
	if p.width < sideBySide {
		var lines []string
		for _, c := range all {
			lines = append(lines, p.change(c, numbers, width)...)
		}
		return lines
	}
	return p.sides(all, numbers, width)
}

// change draws one line of a patch in as many as it needs.
func (p *painter) change(c change, numbers, width int) []string {
	switch one := strings.ReplaceAll(c.text, "\t", " "); c.kind {
	case '@':
		return []string{style(p.theme.Faint, cutLine(one, width))}
	case '=':
		return []string{style(p.theme.Accent, cutLine(one, width))}
	}
	look, word := "", ""
	switch c.kind {
	case '+':
		look, word = p.theme.Added, p.theme.AddedWord
	case '-':
		look, word = p.theme.Removed, p.theme.RemovedWord
	}
	head := string(c.kind) + " "
	number := ""
	if numbers > 0 {
		n := c.new
		if c.kind == '-' {
			n = c.old
		}
		number = strings.Repeat(" ", numbers-len(strconv.Itoa(n))) + strconv.Itoa(n) + " "
	}
	room := width - len(head) - len(number)
	var lines []string
	for i, l := range wrap.Verbatim(spans(c, look, word), max(room, 2)) {
		if i > 0 {
			number, head = strings.Repeat(" ", len(number)), "  "
		}
		lines = append(lines, style(p.theme.Faint, number)+style(look, head)+l)
	}
	return lines
}

// spans are the text of a line in the look of its kind, with the words that
// differ set off.
func spans(c change, look, word string) []wrap.Span {
	var all []wrap.Span
	at := 0
	for _, w := range c.words {
		all = append(all, wrap.Span{Text: c.text[at:w[0]], SGR: look}, wrap.Span{Text: c.text[w[0]:w[1]], SGR: word})
		at = w[1]
	}
	return append(all, wrap.Span{Text: c.text[at:], SGR: look})
}

// sides draws the old lines on the left and the new ones on the right.
func (p *painter) sides(all []change, numbers, width int) []string {
	half := (width - 3) / 2
	var lines []string
	join := func(left, right []string) {
		for i := range max(len(left), len(right)) {
			a, b := "", ""
			if i < len(left) {
				a = left[i]
			}
			if i < len(right) {
				b = right[i]
			}
			pad := strings.Repeat(" ", max(0, half-wrap.Width(ansi.Strip(a))))
			lines = append(lines, strings.TrimRight(a+pad+style(p.theme.Faint, " │ ")+b, " "))
		}
	}
	for i := 0; i < len(all); {
		c := all[i]
		removed, added := replaced(all, i)
		switch {
		case c.kind == ' ':
			left := c
			left.new = c.old
			join(p.change(left, numbers, half), p.change(c, numbers, half))
			i++
		case removed+added == 0:
			lines = append(lines, p.change(c, numbers, width)...)
			i++
		default:
			for n := range max(removed, added) {
				var left, right []string
				if n < removed {
					left = p.change(all[i+n], numbers, half)
				}
				if n < added {
					right = p.change(all[i+removed+n], numbers, half)
				}
				join(left, right)
			}
			i += removed + added
		}
	}
	return lines
}
