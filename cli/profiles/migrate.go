package profiles

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/openhands/migrate"
	"github.com/ohgw/ohgw/setup"
)

// migrateOptions is what the command takes.
type migrateOptions struct {
	*options

	DryRun, Check, Strict, Force bool
	AsOpenHands                  []string
	BaseURL                      string
	Names                        []string // for BaseURL
	Restore                      string
	To                           string // version of OpenHands
}

func newMigrate(shared *options) *cobra.Command {
	opts := migrateOptions{options: shared}
	cmd := &cobra.Command{
		Use:   "migrate [--base-url URL NAME...]",
		Short: "Update old model entries",
		Long: kit.Long(`
Old releases of OpenHands stored the model "openhands/x" as "litellm_proxy/x"
with the URL of OpenHands' own proxy. This command changes such entries to their
current form, in all of OpenHands' profiles and settings. No other byte of a
file changes. The previous files go into a backup, and its path is printed.

Only unambiguous entries are changed. For the others, the command prints the two
choices: --as-openhands NAME if the entry means a model of OpenHands, and
--base-url URL NAME if it belongs to a proxy of your own. The names @settings
and @cli stand for entries outside of profiles.

--dry-run prints the changes without making them. --check does the same and
exits with 3 if entries need migration. --restore restores a backup. An
agent-server may keep running, because it uses the same locks. With --json, dry
run, check and result have the same form. In a pipe, a line has action, applied,
file, entry, model before and after, reason and repair.

--to VERSION brings the settings, the LLM profiles, the agent profiles and the
meta-profiles to the form of another version of OpenHands: up to latest, or back
to an older one. What that version does not have is removed, and its fields are
listed. Values are never printed. The command changes nothing in a store with a
file that it cannot read; --force leaves such a file out. A store of an
OpenHands that ohgw does not know is never changed. In a pipe, a line has
action, applied, file, lost fields and reason.`, 0, fault.Failed, fault.Usage, fault.Partly, fault.Conflict),
		Example: kit.Examples(
			"ohgw profiles migrate --dry-run",
			"ohgw profiles migrate --as-openhands work",
			"ohgw profiles migrate --base-url https://proxy.example.org work",
			"ohgw profiles migrate --to latest",
			"ohgw profiles migrate --to 1.43.1 --dry-run",
		),
		Args: kit.Names,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return shared.Setup().ProfileNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Names = args
			return runMigrate(cmd.Context(), &opts)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&opts.DryRun, "dry-run", "n", false, "print the changes without making them")
	flags.BoolVar(&opts.Check, "check", false, "only plan, and exit with 3 if entries need migration")
	flags.BoolVar(&opts.Strict, "strict", false, "when checking, also count ambiguous entries")
	flags.StringSliceVar(&opts.AsOpenHands, "as-openhands", nil, "the entry of `NAME` means a model of OpenHands")
	flags.BoolVar(&opts.Force, "force", false, "also migrate models that OpenHands never had, restore files that changed since then, and leave out the unreadable files of a store")
	flags.StringVar(&opts.BaseURL, "base-url", "", "the entries of the NAMEs belong to the proxy at `URL`")
	flags.StringVar(&opts.To, "to", "", "bring all files to the form of OpenHands `VERSION`, for example latest or 1.43.1")
	flags.StringVar(&opts.Restore, "restore", "", "restore the files of the backup in `DIR`")
	_ = cmd.MarkFlagDirname("restore") // The flag is there.
	return cmd
}

// check refuses flags that do not belong together.
func (o *migrateOptions) check() error {
	single := o.BaseURL != "" || len(o.AsOpenHands)+len(o.Names) > 0
	switch {
	case o.Restore != "" && (o.DryRun || o.Check || o.To != "" || single):
		return fault.NewUsage("--restore accepts no other flag than --force", "restore first, then migrate again")
	case o.To != "" && (o.Strict || single):
		return fault.NewUsage("--to accepts no NAME and no flags for single entries", "migrate to the version first, then repair entries")
	}
	return o.checkEntries()
}

// checkEntries refuses flags for entries that need another one.
func (o *migrateOptions) checkEntries() error {
	switch {
	case o.BaseURL == "" && len(o.Names) > 0:
		return fault.NewUsage("NAME needs --base-url", "without a name, all unambiguous entries are migrated")
	case o.BaseURL != "" && len(o.Names) == 0:
		return fault.NewUsage("--base-url needs the NAME of a profile", "ohgw profiles list shows the profiles")
	case o.Strict && !o.Check:
		return fault.NewUsage("--strict needs --check", "see ohgw profiles migrate --help")
	case o.Force && len(o.AsOpenHands) == 0 && o.Restore == "" && o.To == "":
		return fault.NewUsage("--force needs --as-openhands, --restore or --to", "see ohgw profiles migrate --help")
	}
	return nil
}

// runMigrate runs the command.
func runMigrate(ctx context.Context, o *migrateOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	places, err := o.Setup().Places()
	if err != nil {
		return err
	}
	dirs, err := o.Setup().Dirs()
	if err != nil {
		return err
	}
	bases := make([]string, 0, len(places.Stores))
	for _, l := range places.Stores {
		bases = append(bases, l.Base)
	}
	if o.Restore != "" {
		return runRestore(ctx, o, bases, places.CLI)
	}
	if o.To != "" {
		return runRelease(ctx, o, bases, filepath.Join(dirs.State, setup.BackupsDir))
	}
	progress, done := fileProgress(o.App)
	report, err := migrate.Run(ctx, migrate.Options{
		Bases: bases, CLI: places.CLI, Apply: !o.DryRun && !o.Check,
		AsOpenHands: o.AsOpenHands, Force: o.Force, BaseURL: o.BaseURL, BaseURLFor: o.Names,
		Ciphers: o.Setup().Ciphers(places), Locking: o.Setup().Locking(o.LockTimeout),
		Backups: filepath.Join(dirs.State, setup.BackupsDir), Now: o.Now, LookupEnv: o.Setup().Lookup,
		Progress: progress,
	})
	done()
	if err != nil && len(report.Items) > 0 {
		return errors.Join(err, printMigration(o.App, report)) // interrupted: what is left is what is not applied
	}
	if err != nil {
		return o.Setup().ProfileFault(ctx, err, strings.Join(append(o.AsOpenHands, o.Names...), " "))
	}
	if err := printMigration(o.App, report); err != nil {
		return err
	}
	noteFailed(o.App, report)
	code := report.Code()
	if o.Check {
		code = report.CheckCode(o.Strict)
	}
	return migrationFault(code, o.Check)
}

// migrationFault says what a migration that is not all well has left.
func migrationFault(code fault.Code, check bool) error {
	switch {
	case code == 0:
		return nil
	case code == fault.Conflict:
		return &fault.Error{Msg: "another program has locked some files", Hint: "try again later, or wait longer with --lock-timeout", Code: code}
	case check:
		return &fault.Error{Msg: "some entries need migration", Hint: "run: ohgw profiles migrate", Code: code}
	}
	return &fault.Error{Msg: "some entries were not changed", Hint: "the list has the reason and the repair for each", Code: code}
}
