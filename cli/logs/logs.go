// Package logs has the command "logs": it prints the log of the daemon that runs in the
// background, or that ran last.
package logs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/instance"
	"github.com/ohgw/ohgw/internal/logfile"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/service"
	"github.com/ohgw/ohgw/internal/shellword"
)

// New makes the command "logs".
func New(a *kit.App) *cobra.Command {
	opts := options{App: a}
	cmd := &cobra.Command{
		Use:   "logs",
		Short: "Print the log of the daemon",
		Long: kit.Long(`
Prints the end of the log of your daemon: of one that "ohgw serve --detach"
started, or of the service. If none is running, it is the log of the last one.
Prompts, answers and keys are not in it. A daemon in a terminal writes its log
there.

The log of a daemon in the background is serve.log in the state directory,
readable only by you. At 10 MiB it is renamed to serve.log.1; the last three of
these are kept. systemd keeps the log of a service in its journal.

With --follow the command continues with new lines until Ctrl-C (exit code
130). The lines are printed as they are, with --json too.`,
			0, fault.Failed, fault.Usage, fault.Interrupted),
		Example:           kit.Examples("ohgw logs", "ohgw logs -f", "ohgw logs -n 1000 | grep level=ERROR"),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), &opts) },
	}
	cmd.Flags().BoolVarP(&opts.Follow, "follow", "f", false, "continue with new lines")
	cmd.Flags().IntVarP(&opts.Lines, "lines", "n", defaultLines, "`number` of lines to begin with")
	kit.Complete(cmd, "lines")
	return cmd
}

// options is what the command takes.
type options struct {
	*kit.App

	Follow bool
	Lines  int
}

const defaultLines = 100

// run runs the command.
func run(ctx context.Context, o *options) error {
	if o.Lines < 0 {
		return fault.NewUsage("--lines cannot be negative", "use a number of lines such as "+strconv.Itoa(defaultLines))
	}
	dirs, err := o.Setup().Dirs()
	if err != nil {
		return err
	}
	switch place, err := logOf(o, dirs); {
	case err != nil:
		return err
	case place == instance.LogJournal:
		return journal(ctx, o)
	default:
		return printLog(ctx, o, place)
	}
}

// logOf finds where the log of the daemon is that runs, or that ran last: a file, or
// [instance.LogJournal].
func logOf(o *options, dirs paths.Set) (string, error) {
	file := dirs.ServeLog()
	info, err := instance.Find(dirs.Runtime)
	switch {
	case err == nil && info.Log != "":
		return info.Log, nil
	case err == nil:
		return "", fault.New("this ohgw writes its log to its own terminal (process "+strconv.Itoa(info.PID)+")",
			"to have a log file, run it in the background: ohgw stop && ohgw serve --detach", nil)
	case logfile.Exists(file):
		return file, nil
	case logfile.Exists(service.SystemdFile(o.Getenv, dirs.Home)):
		return instance.LogJournal, nil
	}
	return "", fault.New("there is no log: no ohgw has run in the background", "start one: ohgw serve --detach", nil)
}

// printLog prints the end of a log file, and what is added to it.
func printLog(ctx context.Context, o *options, path string) error {
	var err error
	if o.Follow {
		err = logfile.Follow(ctx, path, o.Lines, o.Stdout)
	} else {
		var text []byte
		if text, err = logfile.Last(path, o.Lines); err == nil {
			return kit.WriteText(o.Stdout, string(text))
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, fs.ErrNotExist):
		return fault.New("the log was removed: "+path, "start ohgw again: ohgw stop && ohgw serve --detach", nil)
	case errors.Is(err, os.ErrPermission):
		return fault.New("the log cannot be read", "make it yours: sudo chown $USER "+shellword.Of(path), err)
	}
	return err
}

// journal lets journalctl print the log of the service.
func journal(ctx context.Context, o *options) error {
	program, err := o.LookPath("journalctl")
	if err != nil {
		return fault.New("the log is in the journal, and journalctl was not found", "install systemd's journalctl", err)
	}
	args := []string{"--user", "--unit", service.Unit, "--no-pager", "--lines", strconv.Itoa(o.Lines)}
	if o.Follow {
		args = append(args, "--follow")
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = o.Stdout, o.Stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fault.New("journalctl failed", "try it yourself: journalctl --user --unit "+service.Unit, err)
	}
	return nil
}
