package editor

import (
	"strings"
)

// Rows is how many lines the text takes on the screen.
func (e *Editor) Rows() int {
	e.wrap()
	return len(e.rows)
}

// View returns at most height lines around the cursor, and where that is.
func (e *Editor) View(height int) (lines []string, y, x int) {
	y, x = e.cursor()
	first := 0
	if height = max(height, 1); y >= height {
		first = y - height + 1
	}
	for _, r := range e.rows[first:min(first+height, len(e.rows))] {
		var b strings.Builder
		for _, g := range e.glyphs[r.begin:r.end] {
			if g.text != "\n" || g.pasted {
				b.WriteString(g.show())
			}
		}
		lines = append(lines, b.String())
	}
	return lines, y - first, x
}

// cursor is the row and the column of the cursor.
func (e *Editor) cursor() (y, x int) {
	e.wrap()
	y = len(e.rows) - 1
	for i, r := range e.rows {
		if e.at < r.end || e.at == r.end && i == len(e.rows)-1 {
			y = i
			break
		}
	}
	for _, g := range e.glyphs[e.rows[y].begin:e.at] {
		x += g.width()
	}
	return y, x
}

// wrap lays the glyphs out in rows. A row holds the line feed that ends it; the
// last row is the one behind the last line feed, or behind a full row.
func (e *Editor) wrap() {
	if e.fresh {
		return
	}
	width := max(e.width, 4)
	e.rows = e.rows[:0]
	begin, used, brk := 0, 0, 0
	for i, g := range e.glyphs {
		if g.text == "\n" && !g.pasted {
			e.rows = append(e.rows, row{begin, i + 1})
			begin, used, brk = i+1, 0, 0
			continue
		}
		w := g.width()
		for used+w > width && i > begin {
			end := i
			if brk > begin && !g.space() {
				end = brk
			}
			e.rows = append(e.rows, row{begin, end})
			begin, used, brk = end, 0, 0
			for _, moved := range e.glyphs[begin:i] {
				used += moved.width()
			}
		}
		used += w
		if g.space() || w == 2 {
			brk = i + 1
		}
	}
	if used == width {
		e.rows = append(e.rows, row{begin, len(e.glyphs)})
		begin = len(e.glyphs)
	}
	e.rows = append(e.rows, row{begin, len(e.glyphs)})
	e.fresh = true
}
