// Package doctor is the command that finds out why something does not work.
package doctor

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup/doctor"
	"github.com/ohgw/ohgw/setup/inspect"
)

// New makes the command "doctor".
func New(a *kit.App) *cobra.Command {
	opts := options{App: a}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find out what is wrong, and how to repair it",
		Long: kit.Long(`
Checks everything that ohgw needs: the machine, settings, files and their modes,
the key store, profiles, the active profile's key, its provider, the port, the
backend that runs the agents, shell and git, the sandbox (in seven attempts to
break out), where hooks run and whether they can start there, the daemon, and
whether requests from web pages are refused. Each problem is printed with its
cause and the command that repairs it. The command changes nothing.

The provider of the active profile is asked for its list of models, with the
profile's key. That costs nothing, and finds a server that is down, a wrong base
URL, a refused key and an unknown model. With --live the model is also asked one
short question through /v1. The provider charges for it, and the cost is shown.

If no daemon is running, the command starts one in this process on a free port
of this machine, only for the check.

--bundle writes a report for an issue to a new file that only you can read. The
report contains no keys, user names or host names. Read it before you publish
it.

The exit code is 3 if something needs a repair, and 0 if there are only
warnings. In a pipe, each finding is one line: verdict, check, text, cause,
repair. With --json the output has verdict and checks (check, verdict, text,
findings).`, 0, fault.Failed, fault.Usage, fault.Partly, fault.Conflict),
		Example:           kit.Examples("ohgw doctor", "ohgw doctor --live", "ohgw doctor --bundle report.json"),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), &opts) },
	}
	cmd.Flags().BoolVar(&opts.Live, "live", false, "send the model one short request, which costs money")
	cmd.Flags().StringVar(&opts.Bundle, "bundle", "", "write a report for an issue to this new `file`")
	opts.flags = kit.AddSettings(cmd, config.KeySection, config.ClientSection)
	return cmd
}

// options is what the command takes.
type options struct {
	*kit.App

	Live   bool
	Bundle string

	flags kit.SettingFlags
}

// reportJSON is what doctor found.
type reportJSON struct {
	Verdict doctor.Verdict  `json:"verdict"`
	Checks  []doctor.Result `json:"checks"`
}

// run runs the checks and prints each result as soon as it is known.
func run(ctx context.Context, o *options) error {
	if err := checkBundle(o.Bundle); err != nil {
		return err
	}
	installation := inspect.New(o.Setup(), func() (*config.Settings, error) { return o.Settings(o.flags) })
	var p doing
	if o.Stderr.TTY() && !o.Quiet && !o.JSON && o.Getenv("TERM") != "dumb" {
		p.w = o.Stderr
	}
	report := reportJSON{}
	var printed error
	report.Checks = doctor.Run(ctx, installation.World(), doctor.Checks(o.Live), p.waiting, func(r doctor.Result) {
		p.clear()
		if !o.JSON && printed == nil {
			printed = printResult(o.App, r)
		}
	})
	report.Verdict = doctor.Worst(report.Checks)
	if err := installation.Close(); err != nil && printed == nil {
		printed = err
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case printed != nil:
		return printed
	}
	return finish(ctx, o, report, installation)
}

// finish prints and writes the whole report. The error says how many checks
// failed.
func finish(ctx context.Context, o *options, report reportJSON, installation *inspect.Installation) error {
	if o.JSON {
		if err := o.PrintJSON(report); err != nil {
			return err
		}
	}
	if o.Bundle != "" {
		if err := writeBundle(ctx, o.App, o.Bundle, report, installation); err != nil {
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
	return &fault.Error{Msg: fmt.Sprintf("%d of %d checks failed", n, len(report.Checks)), Hint: "each has its repair; begin with the first", Code: fault.Partly}
}
