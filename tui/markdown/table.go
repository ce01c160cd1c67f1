package markdown

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
	east "github.com/yuin/goldmark/extension/ast"

	"github.com/ohgw/ohgw/tui/wrap"
)

// minColumn is the narrowest column of a table; with less the rows are shown
// one under the other.
const minColumn = 8

// table renders a table: as one if its columns fit, else row by row.
func (w *writer) table(t *east.Table, width int) []string {
	var rows [][][]wrap.Span
	for r := t.FirstChild(); r != nil; r = r.NextSibling() {
		var row [][]wrap.Span
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			row = append(row, w.inline(c, look{strong: len(rows) == 0}))
		}
		rows = append(rows, row)
	}
	columns := len(t.Alignments)
	for _, row := range rows {
		columns = max(columns, len(row))
	}
	room := width - 3*(columns-1)
	if columns == 0 || room < minColumn*columns && !w.fits(rows, room) {
		return w.records(rows, width)
	}
	widths := w.widths(rows, columns, room)
	var lines []string
	for i, row := range rows {
		lines = append(lines, w.row(row, widths, t.Alignments)...)
		if i == 0 {
			lines = append(lines, w.style(w.theme.Faint, rule(widths)))
		}
	}
	return lines
}

func (w *writer) fits(rows [][][]wrap.Span, room int) bool {
	sum := 0
	for i := range rows[0] {
		widest := 1
		for _, row := range rows {
			if i < len(row) {
				widest = max(widest, spanWidth(row[i]))
			}
		}
		sum += widest
	}
	return sum <= room
}

// widths shares room among the columns: each gets what it wants up to an equal
// share, and what is left goes to those that want more.
func (w *writer) widths(rows [][][]wrap.Span, columns, room int) []int {
	want := make([]int, columns)
	for _, row := range rows {
		for i, c := range row {
			want[i] = max(want[i], spanWidth(c), 1)
		}
	}
	got := make([]int, columns)
	for left, open := room, columns; open > 0; {
		share := max(left/open, 1)
		settled := false
		for i := range want {
			if got[i] == 0 && want[i] <= share {
				got[i] = max(want[i], 1)
				left -= got[i]
				open--
				settled = true
			}
		}
		if settled {
			continue
		}
		for i := range want {
			if got[i] == 0 {
				got[i] = max(left/open, 1)
				left -= got[i]
				open--
			}
		}
	}
	return got
}

func (w *writer) row(row [][]wrap.Span, widths []int, align []east.Alignment) []string {
	cells := make([][]string, len(widths))
	height := 1
	for i := range widths {
		if i < len(row) {
			cells[i] = wrap.Lines(row[i], widths[i])
		}
		height = max(height, len(cells[i]))
	}
	lines := make([]string, height)
	for y := range lines {
		var b strings.Builder
		for i, width := range widths {
			if i > 0 {
				b.WriteString(w.style(w.theme.Faint, " │ "))
			}
			var s string
			if y < len(cells[i]) {
				s = cells[i][y]
			}
			a := east.AlignNone
			if i < len(align) {
				a = align[i]
			}
			b.WriteString(pad(s, width, a))
		}
		lines[y] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

func pad(s string, width int, a east.Alignment) string {
	free := max(0, width-wrap.Width(ansi.Strip(s)))
	left := 0
	switch a {
	case east.AlignRight:
		left = free
	case east.AlignCenter:
		left = free / 2
	case east.AlignLeft, east.AlignNone:
	}
	return strings.Repeat(" ", left) + s + strings.Repeat(" ", free-left)
}

func rule(widths []int) string {
	parts := make([]string, len(widths))
	for i, n := range widths {
		parts[i] = strings.Repeat("─", n)
	}
	return strings.Join(parts, "─┼─")
}

// records shows each row as lines of "name: value".
func (w *writer) records(rows [][][]wrap.Span, width int) []string {
	var lines []string
	for i, row := range rows[min(1, len(rows)):] {
		if i > 0 {
			lines = append(lines, "")
		}
		for j, c := range row {
			var spans []wrap.Span
			if j < len(rows[0]) {
				spans = append(spans, rows[0][j]...)
				spans = append(spans, wrap.Span{Text: ": "})
			}
			lines = append(lines, wrap.Lines(append(spans, c...), width)...)
		}
	}
	if len(rows) == 1 {
		for _, c := range rows[0] {
			lines = append(lines, wrap.Lines(c, width)...)
		}
	}
	return lines
}

func spanWidth(spans []wrap.Span) int {
	n := 0
	for _, s := range spans {
		n += wrap.Width(s.Text)
	}
	return n
}
