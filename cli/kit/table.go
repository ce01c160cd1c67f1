package kit

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/internal/setup"
)

// Table is a list for people and for scripts: aligned under a header on a
// terminal, else one line a row, cells separated by tabs, without a header.
type Table struct {
	Header []string
	rows   [][]string
}

// Add adds a row. Cells hold no line ends and no tabs.
func (t *Table) Add(cells ...string) {
	for i := range cells {
		cells[i] = setup.Clean(cells[i])
	}
	t.rows = append(t.rows, cells)
}

func (t *Table) Write(w *iostream.Writer) error {
	if !w.TTY() {
		return t.writeTabs(w)
	}
	if len(t.rows) == 0 {
		return nil
	}
	widths := t.widths()
	var b strings.Builder
	writeRow(&b, t.Header, widths, func(s string) string { return w.Styled(iostream.Bold, s) })
	for _, row := range t.rows {
		writeRow(&b, row, widths, func(s string) string { return s })
	}
	return WriteText(w, b.String())
}

// WritePairs writes a table of names and values, which has no header. Long
// values are continued below where they begin.
func (t *Table) WritePairs(w *iostream.Writer) error {
	if !w.TTY() {
		return t.writeTabs(w)
	}
	var b strings.Builder
	column := t.widths()[0] + len(gap)
	for _, row := range t.rows {
		b.WriteString(w.Styled(iostream.Faint, row[0]))
		b.WriteString(strings.Repeat(" ", column-utf8.RuneCountInString(row[0])))
		b.WriteString(strings.Join(Wrap(row[1], w.Width()-column), "\n"+strings.Repeat(" ", column)))
		b.WriteByte('\n')
	}
	return WriteText(w, b.String())
}

func (t *Table) writeTabs(w io.Writer) error {
	var b strings.Builder
	for _, row := range t.rows {
		b.WriteString(strings.Join(row, "\t") + "\n")
	}
	return WriteText(w, b.String())
}

// gap is between two columns.
const gap = "  "

// writeRow writes cells in their columns. The last one is not filled up;
// nothing is cut off where the terminal is too narrow.
func writeRow(b *strings.Builder, cells []string, widths []int, style func(string) string) {
	for i, cell := range cells {
		b.WriteString(style(cell))
		if i < len(cells)-1 {
			b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)) + gap)
		}
	}
	b.WriteByte('\n')
}

func (t *Table) widths() []int {
	var widths []int
	for _, row := range append([][]string{t.Header}, t.rows...) {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}
