package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/ohgw/ohgw/internal/iostream"
)

// printJSON writes v as the one document of a command.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// note tells the person something that is no data; not with --quiet.
func (a *app) note(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintf(a.Stderr, format+"\n", args...)
	}
}

// detail is a note for those who want to know more, with --verbose or --debug.
func (a *app) detail(format string, args ...any) {
	if a.verbose || a.debug {
		a.note(format, args...)
	}
}

// hint is a note that is for a person at a terminal only.
func (a *app) hint(format string, args ...any) {
	if a.Stderr.TTY() && !a.json {
		a.note(format, args...)
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
		cells[i] = clean(cells[i])
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
	if err := writeRow(w, t.header, widths, func(_ int, s string) string { return w.Styled(iostream.Bold, s) }); err != nil {
		return err
	}
	for _, row := range t.rows {
		if err := writeRow(w, row, widths, func(_ int, s string) string { return s }); err != nil {
			return err
		}
	}
	return nil
}

// writePairs writes a table of names and values, which has no header.
func (t *table) writePairs(w *iostream.Writer) error {
	if !w.TTY() {
		return t.writeTabs(w)
	}
	widths := t.widths()
	for _, row := range t.rows {
		name := func(column int, s string) string {
			if column > 0 {
				return s
			}
			return w.Styled(iostream.Faint, s)
		}
		if err := writeRow(w, row, widths, name); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) writeTabs(w io.Writer) error {
	for _, row := range t.rows {
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
	}
	return nil
}

// gap is between two columns.
const gap = "  "

// writeRow writes cells in their columns, each in the style of its column. The
// last one is not filled up, and wraps where the terminal is too narrow:
// nothing is cut off.
func writeRow(w io.Writer, cells []string, widths []int, style func(int, string) string) error {
	var b strings.Builder
	for i, cell := range cells {
		b.WriteString(style(i, cell))
		if i < len(cells)-1 {
			b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)) + gap)
		}
	}
	if _, err := fmt.Fprintln(w, strings.TrimRight(b.String(), " ")); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
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
