package transcript

import (
	"strings"

	"github.com/ohgw/ohgw/tui/wrap"
)

// maxRecent is how many lines of the work at hand are shown while folded.
const maxRecent = 4

// stepLines draws the step at i of a stretch of work. Steps in a row that are
// but a line are drawn together while folded: the latest ones while the work
// goes on, else one line in the place of the last.
func (p *part) stepLines(i int, live bool, pt *painter) []string {
	s := p.work[i]
	if pt.expanded || !s.plain() {
		lines := pt.indent(append([]string{pt.stepLine(s)}, pt.body(s)...))
		if rest, ok := strings.CutPrefix(lines[0], "  "); ok && s.selected {
			lines[0] = style(pt.theme.Accent, "› ") + rest
		}
		return lines
	}
	first, end := p.group(i)
	n := end - first
	live = live && end == len(p.work)
	switch {
	case n == 1:
	case live && n <= maxRecent:
	case live && i < end-maxRecent+1:
		return nil
	case live && i == end-maxRecent+1:
		earlier := style(pt.theme.Faint, "⋮ "+count(n-maxRecent+1, "earlier action", "earlier actions"))
		return pt.indent([]string{earlier, pt.stepLine(s)})
	case live:
	case i < end-1:
		return nil
	default:
		head := "▸ " + count(n, "action", "actions") + ", at last "
		return pt.indent([]string{style(pt.theme.Faint, cutLine(head+s.Line, pt.text()))})
	}
	return pt.indent([]string{pt.stepLine(s)})
}

// group are the steps around i that are drawn together.
func (p *part) group(i int) (first, end int) {
	first, end = i, i+1
	for first > 0 && p.work[first-1].plain() {
		first--
	}
	for end < len(p.work) && p.work[end].plain() {
		end++
	}
	return first, end
}

// stepLine draws a step in one line: what was done, and how it went.
func (p *painter) stepLine(s *step) string {
	width := p.text() - 2
	look := p.theme.Faint
	if s.State == Failed || s.State == Rejected {
		look = p.theme.Bad
	}
	if s.selected {
		look = p.theme.Selected
	}
	facts := s.facts()
	if facts == "" {
		return style(look, cutLine(s.mark(), width+2)+cutLine(s.Line, width))
	}
	room := width - wrap.Width(facts) - 2
	if room < 8 {
		return style(look, cutLine(s.mark()+facts, width+2))
	}
	line := cutLine(s.Line, room)
	return style(look, s.mark()+line) + style(p.theme.Faint, "  "+facts)
}

// contains reports whether a text in lower case is in what is shown of a step.
func (s *step) contains(text string) bool {
	if strings.Contains(strings.ToLower(s.Line), text) {
		return true
	}
	for _, r := range s.refused {
		if strings.Contains(strings.ToLower(r.What), text) {
			return true
		}
	}
	return s.open && (strings.Contains(strings.ToLower(s.Output), text) || strings.Contains(strings.ToLower(s.Diff), text))
}
