package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/engine/llm"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/internal/profile"
)

func newProfilesCheck(a *app, in *profilesInput) *cobra.Command {
	return &cobra.Command{
		Use:   "check [NAME...]",
		Short: "Tell everything that is wrong with profiles",
		Long: long(`
Looks at profiles, or at all of them and the settings, and tells what is wrong,
what OpenHands ignores, and the command that repairs it. It changes nothing and
asks no provider.

It ends with 3 when there are errors, which keep a profile from working, and
with 0 when there are warnings and notes only. With --json, problems is a list
of objects with profile, path, entry, code, severity, text and repair.`, 0, fault.Failed, fault.Usage, fault.Partly),
		Example: examples("ohgw profiles check", "ohgw profiles check work --json"),
		Args:    noKeys,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return a.profileNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.profilesCheck(cmd.Context(), in, args) },
	}
}

// noKeys takes any arguments but keys.
func noKeys(_ *cobra.Command, args []string) error {
	for _, arg := range args {
		if looksLikeKey(arg) {
			return usage("an argument looks like a key", keyHint)
		}
	}
	return nil
}

func (a *app) profilesCheck(ctx context.Context, in *profilesInput, names []string) error {
	places, err := a.places()
	if err != nil {
		return err
	}
	store, err := a.profileStore(in)
	if err != nil {
		return err
	}
	keys, err := a.keys(ctx, in.flags)
	if err != nil {
		return err
	}
	report, err := store.Check(ctx, profile.CheckOptions{
		Names: names, Keys: keys.Resolver, CLI: places.CLI, Ignored: ignoredByEngine,
	})
	if err != nil {
		return a.profileFault(ctx, err, strings.Join(names, " "))
	}
	if err := a.printCheck(report); err != nil {
		return err
	}
	if report.Worst() == profile.Error {
		return &fault.Error{Msg: "some profiles do not work", Hint: "the repairs are listed with the problems", Code: fault.Partly}
	}
	return nil
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

func (a *app) printCheck(report profile.CheckReport) error {
	if a.json {
		if report.Problems == nil {
			report.Problems = []profile.Problem{}
		}
		return a.printJSON(report)
	}
	if !a.Stdout.TTY() {
		t := table{}
		for _, p := range report.Problems {
			t.add(string(p.Severity), p.Profile, p.Path, p.Code, p.Text, p.Repair)
		}
		return t.write(a.Stdout)
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
		fmt.Fprintf(&b, "%s: %s: %s\n", clean(subject), severity, clean(p.Text))
		if p.Repair != "" {
			fmt.Fprintf(&b, "  %s %s\n", a.Stdout.Styled(iostream.Faint, "repair:"), clean(p.Repair))
		}
	}
	if len(report.Problems) == 0 {
		fmt.Fprintf(&b, "Nothing is wrong with %d files.\n", report.Checked)
	}
	return writeText(a.Stdout, b.String())
}
