package profiles

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/firstrun"
	"github.com/ohgw/ohgw/setup/modelcheck"
)

// addLive puts what the models said into the report of a check, in which problems
// are sorted by their files.
func addLive(report *profile.CheckReport, results []modelcheck.Result) {
	for _, r := range results {
		severity := r.Outcome.Severity()
		known := slices.ContainsFunc(report.Problems, func(p profile.Problem) bool {
			return p.Profile == r.Profile && (p.Code == string(r.Outcome) || r.Outcome == modelcheck.NotLoaded && p.Severity == profile.Error)
		})
		if severity == "" || known {
			continue
		}
		report.Problems = append(report.Problems, profile.Problem{
			Profile: r.Profile, Path: r.Path, Code: string(r.Outcome), Severity: severity, Text: r.Text, Repair: r.Repair,
		})
	}
}

// checkOptions is what the command takes.
type checkOptions struct {
	*options

	Names   []string
	Live    bool
	Timeout time.Duration
}

func newCheck(shared *options) *cobra.Command {
	opts := checkOptions{options: shared}
	cmd := &cobra.Command{
		Use:   "check [NAME...]",
		Short: "Check profiles and settings for problems",
		Long: kit.Long(`
Checks profiles, by default all of them and the settings. It prints each
problem, what OpenHands ignores, and the command that repairs it. The command
changes nothing and sends nothing to a provider.

--live also asks each profile's model for one word, with the key and as the
embedded agent would, several at a time. It costs next to nothing and detects a
refused key, an unknown model, an empty account, a rate limit, a context window
that is too small, and a server that does not answer.

The exit code is 3 if there are errors, which keep a profile from working, and 0
if there are only warnings and notes. If the files are correct but no model
answered, it is 4 if every model needs another key, and 5 if none could be
reached. With --json, problems is a list of objects with profile, path, entry,
code, severity, text and repair. --live adds live, a list of objects with
profile, model, key_from, outcome, text, repair and seconds.`, 0, fault.Failed, fault.Usage, fault.Partly, fault.Credential, fault.Unreachable),
		Example: kit.Examples("ohgw profiles check", "ohgw profiles check work --live"),
		Args:    kit.Names,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return shared.Setup().ProfileNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Names = args
			return runCheck(cmd.Context(), &opts)
		},
	}
	cmd.Flags().BoolVar(&opts.Live, "live", false, "also ask each model, with one small call")
	cmd.Flags().DurationVar(&opts.Timeout, "timeout", modelcheck.DefaultTimeout, "time limit of each of those calls")
	kit.Complete(cmd, "timeout", "10s", "30s", "2m")
	return cmd
}

// checkReport is the outcome of a check in JSON.
type checkReport struct {
	profile.CheckReport

	Live []modelcheck.Result `json:"live,omitempty"`
}

// runCheck runs the command.
func runCheck(ctx context.Context, o *checkOptions) error {
	if o.Timeout <= 0 {
		return fault.NewUsage("--timeout must be positive", "remove it, or use a duration such as 30s")
	}
	places, err := o.Setup().Places()
	if err != nil {
		return err
	}
	store, err := o.Setup().ProfileStore(o.LockTimeout)
	if err != nil {
		return err
	}
	keys, err := o.Keys(ctx, o.flags)
	if err != nil {
		return err
	}
	work, err := o.Getwd()
	if err != nil {
		return fault.New("cannot find the working directory", "change to a directory that exists", err)
	}
	found, err := store.Check(ctx, profile.CheckOptions{Names: o.Names, Keys: keys.Resolver, CLI: places.CLI, Older: olderStores(places, work), Ignored: ignoredByEngine, Unfit: firstrun.Unfit})
	if err != nil {
		return o.Setup().ProfileFault(ctx, err, strings.Join(o.Names, " "))
	}
	report := checkReport{CheckReport: found}
	inFiles := slices.ContainsFunc(found.Problems, func(p profile.Problem) bool {
		return p.Severity == profile.Error && p.Code != string(modelcheck.KeyMissing)
	})
	if o.Live {
		names := o.Names
		if len(names) == 0 {
			if names, err = store.Names(); err != nil {
				return o.Setup().ProfileFault(ctx, err, "")
			}
		}
		progress := newProgress(o.App, len(names), "models answered")
		report.Live, err = modelcheck.New(o.Setup(), store, keys.Resolver, o.Timeout).Ask(ctx, names, progress.step)
		progress.end()
		if err != nil {
			return err
		}
		addLive(&report.CheckReport, report.Live)
	}
	if err := printCheck(o.App, report); err != nil {
		return err
	}
	return checkFault(report, inFiles)
}

// ignoredByEngine names what a profile asks for that the embedded agent does
// not do. What cannot be read has been reported as such.
func ignoredByEngine(entry []byte) []string {
	p, err := llm.ParseProfile(entry)
	if err != nil {
		return nil
	}
	return llm.Ignored(p)
}

// olderStores are the stores at the working directory that are not in use.
func olderStores(places profile.Places, work string) []profile.Location {
	return slices.DeleteFunc(profile.Below(work), func(l profile.Location) bool {
		return slices.ContainsFunc(places.Stores, func(used profile.Location) bool { return used.Base == l.Base })
	})
}

// checkFault says that profiles do not work, because of their files or not.
func checkFault(report checkReport, inFiles bool) error {
	if report.Worst() != profile.Error {
		return nil
	}
	f := &fault.Error{Msg: "some profiles do not work", Hint: "each problem is listed with its repair", Code: fault.Partly}
	for i, r := range report.Live {
		code := r.Outcome.Code()
		if inFiles || i > 0 && code != f.Code {
			f.Code = fault.Partly
			break
		}
		f.Code = code
	}
	switch f.Code {
	case fault.Credential:
		f.Msg = "no model answered: keys are missing or were refused"
	case fault.Unreachable:
		f.Msg = "no model answered: none could be reached"
	}
	return f
}

func printCheck(a *kit.App, report checkReport) error {
	if a.JSON {
		return a.PrintJSON(report)
	}
	if !a.Stdout.TTY() {
		t := kit.Table{}
		for _, p := range report.Problems {
			t.Add(string(p.Severity), p.Profile, p.Path, p.Code, p.Text, p.Repair)
		}
		for _, r := range report.Live {
			if r.Outcome == modelcheck.Answered {
				t.Add(string(modelcheck.Answered), r.Profile, r.Path, string(modelcheck.Answered), r.Text, "")
			}
		}
		return t.Write(a.Stdout)
	}
	var b strings.Builder
	for _, p := range report.Problems {
		subject := p.Profile
		if subject == "" {
			subject = p.Path
		}
		severity := string(p.Severity)
		if p.Severity == profile.Error {
			severity = a.Stdout.Styled(iostream.Red, severity)
		}
		fmt.Fprintf(&b, "%s: %s: %s\n", setup.Clean(subject), severity, setup.Clean(p.Text))
		if p.Repair != "" {
			fmt.Fprintf(&b, "  %s %s\n", a.Stdout.Styled(iostream.Faint, "repair:"), setup.Clean(p.Repair))
		}
	}
	for _, r := range report.Live {
		if r.Outcome == modelcheck.Answered {
			fmt.Fprintf(&b, "%s: %s: %s\n", setup.Clean(r.Profile), a.Stdout.Styled(iostream.Bold, string(modelcheck.Answered)), r.Text)
		}
	}
	if len(report.Problems) == 0 {
		files := "1 file"
		if report.Checked != 1 {
			files = fmt.Sprintf("%d files", report.Checked)
		}
		fmt.Fprintf(&b, "%s checked: no problems.\n", files)
	}
	return kit.WriteText(a.Stdout, b.String())
}
