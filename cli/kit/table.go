package kit

import (
	"io"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/tui/wrap"
)

// Table is a list for people and for scripts: fitted to the width of a
// terminal under a header, else one line a row, cells separated by tabs, without a header.
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
	widths, fits := fit(t.widths(), t.words(), w.Width())
	if !fits {
		return t.writeRecords(w)
	}
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
		b.WriteString(strings.Repeat(" ", column-wrap.Width(row[0])))
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

// writeRow writes cells in their columns. A cell that is too long for its column goes
// on below it; the last one is not filled up.
func writeRow(b *strings.Builder, cells []string, widths []int, style func(string) string) {
	lines := make([][]string, len(cells))
	height := 0
	for i, cell := range cells {
		lines[i] = wrap.Text(cell, widths[i])
		height = max(height, len(lines[i]))
	}
	for n := range height {
		blank := 0
		for i := range cells {
			text := ""
			if n < len(lines[i]) {
				text = lines[i][n]
			}
			if text != "" {
				b.WriteString(strings.Repeat(" ", blank) + style(text))
				blank = 0
			}
			blank += max(0, widths[i]-wrap.Width(text)) + len(gap)
		}
		b.WriteByte('\n')
	}
}

// writeRecords writes a line for each cell, where the columns do not fit beside each
// other: a word, such as an id, is not broken.
func (t *Table) writeRecords(w *iostream.Writer) error {
	column := 0
	for _, name := range t.Header {
		column = max(column, wrap.Width(name)+len(gap))
	}
	var b strings.Builder
	for i, row := range t.rows {
		if i > 0 {
			b.WriteByte('\n')
		}
		for i, cell := range row {
			between, indent := strings.Repeat(" ", column-wrap.Width(t.Header[i])), column
			if longestWord(cell) > w.Width()-column { // it has a line of its own
				between, indent = "\n"+gap, len(gap)
			}
			lines := wrap.Text(cell, max(w.Width()-indent, narrowest))
			b.WriteString(w.Styled(iostream.Bold, t.Header[i]) + between + strings.Join(lines, "\n"+strings.Repeat(" ", indent)) + "\n")
		}
	}
	return WriteText(w, b.String())
}

// fit makes columns narrower, down to their longest words, until they are in a line of
// width cells. It reports whether they can be.
func fit(widths, words []int, width int) (fitted []int, fits bool) {
	room := width - len(gap)*(len(widths)-1)
	for i := range words {
		room -= words[i]
	}
	if room < 0 {
		return nil, false
	}
	fitted = slices.Clone(words)
	for grown := true; room > 0 && grown; { // the narrowest first, so that short columns are whole
		grown = false
		for i := range fitted {
			if room > 0 && fitted[i] < widths[i] {
				fitted[i]++
				room--
				grown = true
			}
		}
	}
	return fitted, true
}

// words are the widths of the longest words of the columns. Wide characters can be
// parted from each other, and so can the directories of a path.
func (t *Table) words() []int {
	words := make([]int, len(t.Header))
	for _, row := range append([][]string{t.Header}, t.rows...) {
		for i, cell := range row {
			words[i] = max(words[i], longestWord(cell))
		}
	}
	return words
}

func longestWord(s string) int {
	longest, n := 2, 0
	for s != "" {
		c, w := wrap.First(s)
		s = s[len(c):]
		switch {
		case c == " " || c == "/" || w > 1:
			n = 0
		default:
			n += w
			longest = max(longest, n)
		}
	}
	return longest
}

func (t *Table) widths() []int {
	var widths []int
	for _, row := range append([][]string{t.Header}, t.rows...) {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], wrap.Width(cell))
		}
	}
	return widths
}
