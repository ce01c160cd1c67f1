package profiles

import (
	"context"
	"errors"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/openhands/migrate"
	"github.com/ohgw/ohgw/setup"
)

// runRestore runs the command.
func runRestore(ctx context.Context, o *migrateOptions, bases []string, cli string) error {
	report, err := migrate.Restore(ctx, migrate.RestoreOptions{
		Backup: o.Restore, Bases: bases, CLI: cli, Force: o.Force, Locking: o.Setup().Locking(o.LockTimeout),
	})
	if errors.Is(err, migrate.ErrNoBackup) {
		return fault.New(o.Restore+" is not a backup made by ohgw", "a migration prints the path of its backup", err)
	}
	if err != nil {
		return o.Setup().ProfileFault(ctx, err, o.Restore)
	}
	if o.JSON {
		if err := o.PrintJSON(report); err != nil {
			return err
		}
	} else {
		t := kit.Table{Header: []string{"FILE", "OUTCOME", "WHY"}}
		for _, i := range report.Items {
			t.Add(i.Path, string(i.Action), i.Error)
		}
		if err := t.Write(o.Stdout); err != nil {
			return err
		}
	}
	if !o.JSON && !o.Stdout.TTY() {
		for _, i := range report.Items {
			if i.Error != "" {
				o.Tell("not restored: " + setup.Clean(i.Path+": "+i.Error)) // also with --quiet: it is an error
			}
		}
	}
	if code := report.Code(); code != 0 {
		return &fault.Error{Msg: "some files were not restored", Hint: "to restore files that changed since then, add --force", Code: code}
	}
	return nil
}
