package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/internal/setup"
)

// printJSON writes v as the one document of a command.
func (a *App) printJSON(v any) error {
	enc := json.NewEncoder(a.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// Note tells the person something that is no data; not with --quiet.
func (a *App) Note(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintf(a.Stderr, format+"\n", args...)
	}
}

// slow is how long something may take before the person is told about it.
const slow = time.Second

// TellLate is a note for when something takes long. It is not written any more
// once done was called.
func (a *App) TellLate(text string) (done func()) {
	var mu sync.Mutex
	over := false
	timer := time.AfterFunc(slow, func() {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			a.Note("%s", text)
		}
	})
	return func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		over = true
	}
}

// Detail is a note for those who want to know more, with --verbose or --debug.
func (a *App) Detail(format string, args ...any) {
	if a.verbose || a.debug {
		a.Note(format, args...)
	}
}

// hint is a note that is for a person at a terminal only.
func (a *App) hint(format string, args ...any) {
	if a.Stderr.TTY() && !a.json {
		a.Note(format, args...)
	}
}

// table is a list for people and for scripts: aligned under a header on a
// terminal, else one line a row, cells separated by tabs, without a header.
type table struct {
	header []string
	rows   [][]string
}

func (t *table) add(cells ...string) {
	for i := range cells {
		cells[i] = setup.Clean(cells[i])
	}
	t.rows = append(t.rows, cells)
}

func (t *table) write(w *iostream.Writer) error {
	if !w.TTY() {
		return t.writeTabs(w)
	}
	if len(t.rows) == 0 {
		return nil
	}
	widths := t.widths()
	var b strings.Builder
	writeRow(&b, t.header, widths, func(s string) string { return w.Styled(iostream.Bold, s) })
	for _, row := range t.rows {
		writeRow(&b, row, widths, func(s string) string { return s })
	}
	return writeText(w, b.String())
}

// writePairs writes a table of names and values, which has no header. Long
// values are continued below where they begin.
func (t *table) writePairs(w *iostream.Writer) error {
	if !w.TTY() {
		return t.writeTabs(w)
	}
	var b strings.Builder
	column := t.widths()[0] + len(gap)
	for _, row := range t.rows {
		b.WriteString(w.Styled(iostream.Faint, row[0]))
		b.WriteString(strings.Repeat(" ", column-utf8.RuneCountInString(row[0])))
		b.WriteString(strings.Join(wrap(row[1], w.Width()-column), "\n"+strings.Repeat(" ", column)))
		b.WriteByte('\n')
	}
	return writeText(w, b.String())
}

func (t *table) writeTabs(w io.Writer) error {
	var b strings.Builder
	for _, row := range t.rows {
		b.WriteString(strings.Join(row, "\t") + "\n")
	}
	return writeText(w, b.String())
}

func writeText(w io.Writer, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
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

// narrowest is the least width that text is wrapped to.
const narrowest = 20

// wrap breaks a text at blanks into lines of at most width characters; a word
// that is longer has a line of its own.
func wrap(text string, width int) []string {
	width = max(width, narrowest)
	var lines []string
	line := ""
	for word := range strings.SplitSeq(text, " ") {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}

func (t *table) widths() []int {
	var widths []int
	for _, row := range append([][]string{t.header}, t.rows...) {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}
