package markdown

import (
	"strings"

	"github.com/ohgw/ohgw/tui/wrap"
)

// code renders code, two cells in. Lines that are too long go on below: half a
// command is worse than a broken line.
func (r *Renderer) code(lang, src string, width int) []string {
	const indent = "  "
	hl := r.highlighter(lang)
	var lines []string
	for line := range strings.SplitSeq(src, "\n") {
		var spans []wrap.Span
		for _, t := range hl.line(strings.TrimRight(line, " ")) {
			spans = append(spans, wrap.Span{Text: t.text, SGR: r.theme.Block + r.sgrOf(t.kind)})
		}
		for _, l := range wrap.Verbatim(spans, max(width-2*len(indent), 2)) {
			lines = append(lines, r.shade(indent+l, width))
		}
	}
	return lines
}

// shade draws the background of a line of code over the whole width.
func (r *Renderer) shade(line string, width int) string {
	if r.theme.Block == "" {
		return line
	}
	free := max(0, width-lineWidth(line))
	return r.theme.Block + "  \x1b[m" + strings.TrimPrefix(line, "  ") + r.theme.Block + strings.Repeat(" ", free) + "\x1b[m"
}

func (r *Renderer) sgrOf(k kind) string {
	switch k {
	case keyword:
		return r.theme.Keyword
	case quoted:
		return r.theme.String
	case number:
		return r.theme.Number
	case comment:
		return r.theme.Comment
	case function:
		return r.theme.Function
	case added:
		return r.theme.Added
	case removed:
		return r.theme.Removed
	case other:
	}
	return ""
}
