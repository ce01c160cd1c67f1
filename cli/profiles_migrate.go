package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/internal/profile/canon"
	"github.com/ohgw/ohgw/internal/profile/migrate"
	"github.com/ohgw/ohgw/internal/setup"
)

type profilesMigrateInput struct {
	*profilesInput

	DryRun, Check, Strict, Force bool
	AsOpenHands                  []string
	BaseURL                      string
	Names                        []string // for BaseURL
	Restore                      string
}

func newProfilesMigrate(a *App, shared *profilesInput) *cobra.Command {
	in := profilesMigrateInput{profilesInput: shared}
	cmd := &cobra.Command{
		Use:   "migrate [--base-url URL NAME...]",
		Short: "Bring old model entries to their present form",
		Long: long(`
Old releases of OpenHands stored the model "openhands/x" as "litellm_proxy/x"
with the URL of OpenHands' own proxy. This brings such entries to their present
form, in all profiles and settings of OpenHands. Nothing else in a file changes,
not a byte, and the files as they were are in a backup whose path it prints.

Only what is not ambiguous is changed. For the rest it prints the commands that
make the judgement: --as-openhands NAME says that an entry means a model of
OpenHands, --base-url URL NAME that it belongs to a proxy of your own. The names
@settings and @cli stand for entries that are no profile.

--dry-run prints what would be done and changes nothing; --check does that too
and ends with 3 when something is left to do. --restore brings a backup back. A
running agent-server may go on: it has the same locks. With --json, dry run,
check and result are one and the same document; piped, a line has action,
applied, file, entry, model before and after, reason and repair.`, 0, fault.Failed, fault.Usage, fault.Partly, fault.Conflict),
		Example: examples(
			"ohgw profiles migrate --dry-run",
			"ohgw profiles migrate --as-openhands work",
			"ohgw profiles migrate --base-url https://proxy.example.org work",
		),
		Args: noKeys,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return a.Setup().ProfileNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Names = args
			return a.profilesMigrate(cmd.Context(), in)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&in.DryRun, "dry-run", "n", false, "print what would be done, change nothing")
	flags.BoolVar(&in.Check, "check", false, "only plan, and end with 3 when something is left to do")
	flags.BoolVar(&in.Strict, "strict", false, "when checking, count what is left to a person too")
	flags.StringSliceVar(&in.AsOpenHands, "as-openhands", nil, "the entry of `NAME` means a model of OpenHands")
	flags.BoolVar(&in.Force, "force", false, "also take models that OpenHands never had, and restore files that changed since")
	flags.StringVar(&in.BaseURL, "base-url", "", "the entries of the NAMEs belong to the proxy at `URL`")
	flags.StringVar(&in.Restore, "restore", "", "bring the files of the backup in `DIR` back")
	_ = cmd.MarkFlagDirname("restore") // The flag is there.
	return cmd
}

func (in *profilesMigrateInput) check() error {
	repair := len(in.AsOpenHands) > 0 || in.BaseURL != ""
	switch {
	case in.Restore != "" && (repair || in.DryRun || in.Check || len(in.Names) > 0):
		return fault.NewUsage("--restore goes with --force only", "restore first, then migrate again")
	case in.BaseURL == "" && len(in.Names) > 0:
		return fault.NewUsage("a NAME goes with --base-url", "to migrate what is not ambiguous, give no name")
	case in.BaseURL != "" && len(in.Names) == 0:
		return fault.NewUsage("--base-url needs the NAME of a profile", "ohgw profiles list shows what there is")
	case in.Strict && !in.Check:
		return fault.NewUsage("--strict goes with --check", "see ohgw profiles migrate --help")
	case in.Force && len(in.AsOpenHands) == 0 && in.Restore == "":
		return fault.NewUsage("--force goes with --as-openhands or --restore", "see ohgw profiles migrate --help")
	}
	return nil
}

func (a *App) profilesMigrate(ctx context.Context, in profilesMigrateInput) error {
	if err := in.check(); err != nil {
		return err
	}
	places, err := a.Setup().Places()
	if err != nil {
		return err
	}
	dirs, err := a.Setup().Dirs()
	if err != nil {
		return err
	}
	bases := make([]string, 0, len(places.Stores))
	for _, l := range places.Stores {
		bases = append(bases, l.Base)
	}
	if in.Restore != "" {
		return a.profilesRestore(ctx, in, bases, places.CLI)
	}
	progress, done := a.fileProgress()
	report, err := migrate.Run(ctx, migrate.Options{
		Bases: bases, CLI: places.CLI, Apply: !in.DryRun && !in.Check,
		AsOpenHands: in.AsOpenHands, Force: in.Force, BaseURL: in.BaseURL, BaseURLFor: in.Names,
		Ciphers: a.Setup().Ciphers(places), Locking: a.Setup().Locking(in.LockTimeout),
		Backups: filepath.Join(dirs.State, "backups"), Now: a.Now, LookupEnv: a.Setup().Lookup,
		Progress: progress,
	})
	done()
	if err != nil && len(report.Items) > 0 {
		return errors.Join(err, a.printMigration(report)) // interrupted: what is left is what is not applied
	}
	if err != nil {
		return a.Setup().ProfileFault(ctx, err, strings.Join(append(in.AsOpenHands, in.Names...), " "))
	}
	if err := a.printMigration(report); err != nil {
		return err
	}
	a.noteFailed(report)
	code := report.Code()
	if in.Check {
		code = report.CheckCode(in.Strict)
	}
	return migrationFault(code, in.Check)
}

// migrationFault says what a migration that is not all well has left.
func migrationFault(code fault.Code, check bool) error {
	switch {
	case code == 0:
		return nil
	case code == fault.Conflict:
		return &fault.Error{Msg: "another program has the lock of some files", Hint: "try again when it is done, or wait longer with --lock-timeout", Code: code}
	case check:
		return &fault.Error{Msg: "something is left to do", Hint: "ohgw profiles migrate does it, or says which command does", Code: code}
	}
	return &fault.Error{Msg: "some entries were not changed", Hint: "the list says why and what repairs them", Code: code}
}

func (a *App) printMigration(report migrate.Report) error {
	if a.json {
		return a.printJSON(report)
	}
	if !a.Stdout.TTY() {
		t := table{}
		for _, i := range report.Items {
			t.add(string(i.Action), strconv.FormatBool(i.Applied), i.Path, i.Entry, i.Before.Model.Text(), i.After.Model.Text(), why(i), firstOf(i.Repairs))
		}
		if report.Backup != "" {
			a.Note("The files as they were: %s", report.Backup)
		}
		return t.write(a.Stdout)
	}
	var b strings.Builder
	for _, i := range report.Items {
		if i.Action != canon.Unchanged {
			a.writeItem(&b, i)
		}
	}
	s := report.Summary
	verb := "to migrate"
	if report.Applied {
		verb = "migrated"
	}
	fmt.Fprintf(&b, "%d %s, %d as they should be, %d for you to decide, %d with errors\n", s.Migrate, verb, s.Unchanged, s.Report, s.Error)
	if report.Backup != "" {
		fmt.Fprintf(&b, "The files as they were: %s (ohgw profiles migrate --restore brings them back)\n", report.Backup)
	}
	return writeText(a.Stdout, b.String())
}

// noteFailed says on stderr which entries could not be dealt with, where the
// list of all goes to a file or a pipe. --json has them in its document.
func (a *App) noteFailed(report migrate.Report) {
	if a.json || a.Stdout.TTY() {
		return
	}
	for _, i := range report.Items {
		if i.Error == "" && !i.Action.IsError() {
			continue
		}
		name := i.Path
		if i.Entry != "" && i.Entry != "$" {
			name += " " + i.Entry
		}
		line := "not changed: " + setup.Clean(name+": "+strings.Trim(why(i), ": "))
		if repair := firstOf(i.Repairs); repair != "" {
			line += " (repair: " + setup.Clean(repair) + ")"
		}
		fmt.Fprintln(a.Stderr, line) // also with --quiet: it is an error
	}
}

// why is the reason for what was done with an entry, and for what was not.
func why(i migrate.Item) string {
	if i.Error == "" {
		return i.Reason
	}
	return i.Reason + ": " + i.Error
}

func firstOf(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// fileProgress says on a terminal how many files are written. Done takes that
// away.
func (a *App) fileProgress() (step func(done, total int, path string), done func()) {
	if !a.Stderr.TTY() || a.Getenv("TERM") == "dumb" || a.quiet || a.json {
		return nil, func() {}
	}
	shown := false
	return func(done, total int, _ string) {
			shown = true
			fmt.Fprintf(a.Stderr, "\r\x1b[K%d of %d files", done, total)
		}, func() {
			if shown {
				fmt.Fprint(a.Stderr, "\r\x1b[K")
			}
		}
}

// writeItem writes an entry with the difference of its two fields.
func (a *App) writeItem(b *strings.Builder, i migrate.Item) {
	name := i.Profile
	if name == "" {
		name = i.Path
	}
	if i.Entry != "" && i.Entry != "$" {
		name += " " + i.Entry
	}
	fmt.Fprintf(b, "%s: %s", a.Stdout.Styled(iostream.Bold, setup.Clean(name)), i.Action)
	if i.Reason != "" {
		fmt.Fprintf(b, " (%s)", setup.Clean(i.Reason))
	}
	b.WriteByte('\n')
	for _, f := range []struct {
		name          string
		before, after migrate.Optional
	}{{"model", i.Before.Model, i.After.Model}, {"base_url", i.Before.BaseURL, i.After.BaseURL}} {
		if i.Action == canon.Migrate && f.before != f.after {
			fmt.Fprintf(b, "  %s\n  %s\n",
				a.Stdout.Styled(iostream.Red, "- "+f.name+": "+setup.Clean(f.before.String())), a.Stdout.Styled(iostream.Bold, "+ "+f.name+": "+setup.Clean(f.after.String())))
		}
	}
	for _, line := range i.Hints {
		fmt.Fprintf(b, "  %s\n", setup.Clean(line))
	}
	for _, line := range i.Repairs {
		fmt.Fprintf(b, "  %s %s\n", a.Stdout.Styled(iostream.Faint, "repair:"), setup.Clean(line))
	}
	if i.Error != "" {
		fmt.Fprintf(b, "  %s %s\n", a.Stdout.Styled(iostream.Red, "not changed:"), setup.Clean(i.Error))
	}
}

func (a *App) profilesRestore(ctx context.Context, in profilesMigrateInput, bases []string, cli string) error {
	report, err := migrate.Restore(ctx, migrate.RestoreOptions{
		Backup: in.Restore, Bases: bases, CLI: cli, Force: in.Force, Locking: a.Setup().Locking(in.LockTimeout),
	})
	if errors.Is(err, migrate.ErrNoBackup) {
		return fault.New(in.Restore+" is no backup of ohgw", "a migration prints the path of its backup", err)
	}
	if err != nil {
		return a.Setup().ProfileFault(ctx, err, in.Restore)
	}
	if a.json {
		if err := a.printJSON(report); err != nil {
			return err
		}
	} else {
		t := table{header: []string{"FILE", "OUTCOME", "WHY"}}
		for _, i := range report.Items {
			t.add(i.Path, string(i.Action), i.Error)
		}
		if err := t.write(a.Stdout); err != nil {
			return err
		}
	}
	if !a.json && !a.Stdout.TTY() {
		for _, i := range report.Items {
			if i.Error != "" {
				fmt.Fprintln(a.Stderr, "not brought back: "+setup.Clean(i.Path+": "+i.Error)) // also with --quiet: it is an error
			}
		}
	}
	if code := report.Code(); code != 0 {
		return &fault.Error{Msg: "some files were not brought back", Hint: "files that changed since come back with --force", Code: code}
	}
	return nil
}
