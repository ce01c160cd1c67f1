package markdown

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"

	"github.com/ohgw/ohgw/tui/wrap"
)

// writer renders the nodes of one block.
type writer struct {
	*Renderer
	src []byte
}

// children renders what is below n, with an empty line between two if apart.
func (w *writer) children(n ast.Node, width int, apart bool) []string {
	var lines []string
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		part := w.block(c, width)
		if apart && len(lines) > 0 && len(part) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, part...)
	}
	return lines
}

func (w *writer) block(n ast.Node, width int) []string {
	switch n := n.(type) {
	case *ast.Heading:
		return wrap.Lines(w.inline(n, look{heading: true}), width)
	case *ast.List:
		return w.list(n, width)
	case *ast.Blockquote:
		bar := w.style(w.theme.Faint, "▎") + " "
		return prefix(w.children(n, max(width-2, 2), true), bar, bar)
	case *ast.FencedCodeBlock:
		return w.code(string(n.Language(w.src)), w.raw(n), width)
	case *ast.CodeBlock:
		return w.code("", w.raw(n), width)
	case *ast.HTMLBlock:
		html := w.raw(n)
		if n.HasClosure() {
			html += "\n" + string(n.ClosureLine.Value(w.src))
		}
		return wrap.Verbatim([]wrap.Span{{Text: strings.TrimRight(html, "\n")}}, width)
	case *ast.ThematicBreak:
		return []string{w.style(w.theme.Faint, strings.Repeat("─", min(width, 40)))}
	case *east.Table:
		return w.table(n, width)
	case *ast.LinkReferenceDefinition:
		return nil // Render shows them after everything else.
	default:
		return wrap.Lines(w.inline(n, look{}), width)
	}
}

func (w *writer) list(l *ast.List, width int) []string {
	var lines []string
	number := l.Start
	for c := l.FirstChild(); c != nil; c = c.NextSibling() {
		mark := w.bullet(l)
		if l.IsOrdered() {
			mark = strconv.Itoa(number) + string(l.Marker) + " "
			number++
		}
		if lines != nil && !l.IsTight {
			lines = append(lines, "")
		}
		indent := wrap.Width(mark)
		if indent > width/2 {
			indent, mark = 0, ""
		}
		part := w.children(c, max(width-indent, 2), !l.IsTight)
		if len(part) == 0 {
			part = []string{""}
		}
		first := w.style(w.theme.Faint, mark)
		lines = append(lines, prefix(part, first, strings.Repeat(" ", indent))...)
	}
	return lines
}

// bullet returns the mark of a list without numbers, which shows how deep the list is
// nested.
func (w *writer) bullet(l ast.Node) string {
	depth := 0
	for p := l.Parent(); p != nil; p = p.Parent() {
		if _, ok := p.(*ast.List); ok {
			depth++
		}
	}
	return [...]string{"• ", "◦ ", "▪ "}[depth%3]
}

// raw is the text of a block that is not parsed any further.
func (w *writer) raw(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		b.Write(line.Value(w.src))
	}
	return strings.TrimRight(b.String(), "\n")
}

// prefix puts one text before the first line and another before the others.
func prefix(lines []string, first, others string) []string {
	for i := range lines {
		switch {
		case i == 0:
			lines[i] = first + lines[i]
		case lines[i] != "" || strings.TrimSpace(others) != "":
			lines[i] = others + lines[i]
		}
	}
	return lines
}
