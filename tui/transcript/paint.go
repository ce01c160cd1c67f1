package transcript

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/ohgw/ohgw/tui/markdown"
	"github.com/ohgw/ohgw/tui/wrap"
)

const (
	// margin is the empty space left of an answer.
	margin = 2
	// maxText is how wide a text may be: longer lines are hard to follow.
	maxText = 100
)

// painter renders cells.
type painter struct {
	theme    Theme
	markdown *markdown.Renderer // of theme; nil before a block is rendered
	width    int
	expanded bool
	small    bool // there is no room for previews
}

// text is how wide a text can be.
func (p *painter) text() int { return max(min(p.width-margin-1, maxText), 2) }

// render gives the lines of a block of an answer.
func (p *painter) render(b markdown.Block) []string {
	if p.markdown == nil {
		p.markdown = markdown.New(p.theme.Markdown)
	}
	return p.markdown.Render(b, p.text())
}

func style(sgr, s string) string {
	if sgr == "" || s == "" {
		return s
	}
	return sgr + s + ansi.ResetStyle
}

// indent moves lines to where answers begin.
func (p *painter) indent(lines []string) []string {
	if p.width < 12 {
		return lines
	}
	for i, l := range lines {
		if l != "" {
			lines[i] = "  " + l
		}
	}
	return lines
}

// mark sets off the query in a line.
func (l *List) mark(line string) string {
	if l.query == "" {
		return line
	}
	found := columns(line, l.query)
	if found == nil {
		return line
	}
	var b strings.Builder
	at := 0
	for _, c := range found {
		b.WriteString(ansi.Cut(line, at, c[0]))
		b.WriteString(style(l.painter.theme.Found, ansi.Strip(ansi.Cut(line, c[0], c[1]))))
		at = c[1]
	}
	b.WriteString(ansi.Cut(line, at, max(at, ansi.StringWidth(line))))
	return b.String()
}

// columns finds the cells of a line that hold the query: begin and end of each.
func columns(line, query string) [][2]int {
	plain := ansi.Strip(line)
	lower := strings.ToLower(plain)
	if len(lower) != len(plain) {
		lower = plain // A letter whose small form has another length: cells would be wrong.
	}
	var found [][2]int
	for at := 0; ; {
		i := strings.Index(lower[at:], query)
		if i < 0 {
			return found
		}
		begin := ansi.StringWidth(plain[:at+i])
		at += i + len(query)
		found = append(found, [2]int{begin, ansi.StringWidth(plain[:at])})
	}
}

// cutLine shortens each line of s to the width.
func cutLine(s string, width int) string { return wrap.Cut(s, width) }
