package doctor

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/doctor"
)

// doing says on a terminal what is going on, on a line that goes away.
type doing struct {
	w     *iostream.Writer // nil: there is no terminal
	shown int
}

func (p *doing) waiting(c doctor.Check) {
	if p.w == nil {
		return
	}
	p.clear()
	line := c.Doing + " …"
	p.shown = utf8.RuneCountInString(line)
	fmt.Fprint(p.w, line)
}

func (p *doing) clear() {
	if p.shown > 0 {
		fmt.Fprintf(p.w, "\r%s\r", strings.Repeat(" ", p.shown))
	}
	p.shown = 0
}

// The columns of a result on a terminal.
const (
	verdictColumn = 9
	checkColumn   = 10
)

// printResult prints a result as soon as it is there.
func printResult(a *kit.App, r doctor.Result) error {
	if a.Quiet && r.Verdict != doctor.Failed {
		return nil
	}
	w := a.Stdout
	if !w.TTY() {
		var t kit.Table
		for _, f := range r.Findings {
			t.Add(string(f.Verdict), r.Check, f.Text, f.Cause, f.Repair)
		}
		if len(r.Findings) == 0 {
			t.Add(string(r.Verdict), r.Check, r.Text)
		}
		return t.Write(w)
	}
	var b strings.Builder
	if len(r.Findings) == 0 {
		writeRow(a, &b, r.Verdict, r.Check, r.Text)
	}
	for i, f := range r.Findings {
		name := r.Check
		if i > 0 {
			name = ""
		}
		writeRow(a, &b, f.Verdict, name, f.Text)
		for _, line := range []struct{ name, text string }{{"cause:", f.Cause}, {"repair:", f.Repair}} {
			if line.text != "" {
				writeParagraph(a, &b, verdictColumn, checkColumn, w.Styled(iostream.Faint, fmt.Sprintf("%-*s", checkColumn-1, line.name)), line.text)
			}
		}
	}
	return kit.WriteText(w, b.String())
}

// writeRow writes a verdict, in colour, with its text.
func writeRow(a *kit.App, b *strings.Builder, v doctor.Verdict, check, text string) {
	style := map[doctor.Verdict]iostream.Style{doctor.OK: iostream.Green, doctor.Warning: iostream.Yellow, doctor.Failed: iostream.Red, doctor.Skipped: iostream.Faint}[v]
	b.WriteString(a.Stdout.Styled(style, fmt.Sprintf("%-*s", verdictColumn-1, v)) + " ")
	writeParagraph(a, b, 0, checkColumn, fmt.Sprintf("%-*s", checkColumn-1, check), text)
}

// writeParagraph writes a name and a text that is continued below where it begins.
func writeParagraph(a *kit.App, b *strings.Builder, indent, column int, name, text string) {
	b.WriteString(strings.Repeat(" ", indent) + name + " ")
	at := verdictColumn + column
	b.WriteString(strings.Join(kit.Wrap(setup.Clean(text), a.Stdout.Width()-at), "\n"+strings.Repeat(" ", at)) + "\n")
}
