package cli

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/doctor"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/internal/setup"
	"github.com/ohgw/ohgw/internal/setup/inspect"
)

func newDoctor(a *App) *cobra.Command {
	var in doctorInput
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find out why something does not work",
		Long: long(`
Looks at everything that ohgw needs, in the order in which it needs it: the
machine, settings, files and their modes, the store of keys, profiles, the
active profile's key, the port, what runs the agents, shell and git, the daemon,
and whether requests of web pages are really refused. For each thing that is
wrong it tells why, and the command that repairs it. It changes nothing.

Without a running daemon it starts one in this process, for this only, on a free
port of this machine. With --live a model is asked one short question through
/v1, which costs what the provider takes; the cost is shown.

--bundle writes a report for an issue to a new file that you alone can read:
without keys, user and host names. Read it before you publish it.

It ends with 3 when something has to be repaired, with 0 when there are warnings
only. Piped, there is a line for each finding: verdict, check, text, cause,
repair. With --json there are verdict and checks (check, verdict, text,
findings).`, 0, fault.Failed, fault.Usage, fault.Partly, fault.Conflict),
		Example:           examples("ohgw doctor", "ohgw doctor --live", "ohgw doctor --bundle report.json"),
		Args:              none(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context(), in) },
	}
	cmd.Flags().BoolVar(&in.Live, "live", false, "ask the model one short question; this costs money")
	cmd.Flags().StringVar(&in.Bundle, "bundle", "", "write a report for an issue to this new `file`")
	in.flags = addSettings(cmd, config.KeySection, config.ClientSection)
	return cmd
}

type doctorInput struct {
	Live   bool
	Bundle string

	flags settingFlags
}

// doctorJSON is what doctor found.
type doctorJSON struct {
	Verdict doctor.Verdict  `json:"verdict"`
	Checks  []doctor.Result `json:"checks"`
}

func (a *App) doctor(ctx context.Context, in doctorInput) error {
	if err := a.checkBundle(in.Bundle); err != nil {
		return err
	}
	patient := inspect.New(a.Setup(), func() (*config.Settings, error) { return a.settings(in.flags) })
	var p doing
	if a.Stderr.TTY() && !a.quiet && !a.json && a.Getenv("TERM") != "dumb" {
		p.w = a.Stderr
	}
	report := doctorJSON{}
	var printed error
	report.Checks = doctor.Run(ctx, patient.World(), doctor.Checks(in.Live), p.waiting, func(r doctor.Result) {
		p.clear()
		if !a.json && printed == nil {
			printed = a.printResult(r)
		}
	})
	report.Verdict = doctor.Worst(report.Checks)
	if err := patient.Close(); err != nil && printed == nil {
		printed = err
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case printed != nil:
		return printed
	case a.json:
		if err := a.printJSON(report); err != nil {
			return err
		}
	}
	if in.Bundle != "" {
		if err := a.writeBundle(ctx, in.Bundle, report, patient); err != nil {
			return err
		}
	}
	if report.Verdict != doctor.Failed {
		return nil
	}
	n := 0
	for _, r := range report.Checks {
		if r.Verdict == doctor.Failed {
			n++
		}
	}
	return &fault.Error{Msg: fmt.Sprintf("%d of %d checks failed", n, len(report.Checks)), Hint: "each says what repairs it; begin with the first", Code: fault.Partly}
}

// doing says on a terminal what is going on, on a line that goes away.
type doing struct {
	w     *iostream.Writer // nil: nobody looks
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
func (a *App) printResult(r doctor.Result) error {
	if a.quiet && r.Verdict != doctor.Failed {
		return nil
	}
	w := a.Stdout
	if !w.TTY() {
		var t table
		for _, f := range r.Findings {
			t.add(string(f.Verdict), r.Check, f.Text, f.Cause, f.Repair)
		}
		if len(r.Findings) == 0 {
			t.add(string(r.Verdict), r.Check, r.Text)
		}
		return t.write(w)
	}
	var b strings.Builder
	if len(r.Findings) == 0 {
		a.row(&b, r.Verdict, r.Check, r.Text)
	}
	for i, f := range r.Findings {
		name := r.Check
		if i > 0 {
			name = ""
		}
		a.row(&b, f.Verdict, name, f.Text)
		for _, line := range []struct{ name, text string }{{"cause:", f.Cause}, {"repair:", f.Repair}} {
			if line.text != "" {
				a.paragraph(&b, verdictColumn, checkColumn, w.Styled(iostream.Faint, fmt.Sprintf("%-*s", checkColumn-1, line.name)), line.text)
			}
		}
	}
	return writeText(w, b.String())
}

// row writes a verdict, in colour, with its text.
func (a *App) row(b *strings.Builder, v doctor.Verdict, check, text string) {
	style := map[doctor.Verdict]iostream.Style{doctor.OK: iostream.Green, doctor.Warning: iostream.Yellow, doctor.Failed: iostream.Red, doctor.Skipped: iostream.Faint}[v]
	b.WriteString(a.Stdout.Styled(style, fmt.Sprintf("%-*s", verdictColumn-1, v)) + " ")
	a.paragraph(b, 0, checkColumn, fmt.Sprintf("%-*s", checkColumn-1, check), text)
}

// paragraph writes a name and a text that is continued below where it begins.
func (a *App) paragraph(b *strings.Builder, indent, column int, name, text string) {
	b.WriteString(strings.Repeat(" ", indent) + name + " ")
	at := verdictColumn + column
	b.WriteString(strings.Join(wrap(setup.Clean(text), a.Stdout.Width()-at), "\n"+strings.Repeat(" ", at)) + "\n")
}
