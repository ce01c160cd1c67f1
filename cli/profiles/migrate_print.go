package profiles

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/migrate"
	"github.com/ohgw/ohgw/internal/shellword"
	"github.com/ohgw/ohgw/setup"
)

func printMigration(a *kit.App, report migrate.Report) error {
	if a.JSON {
		return a.PrintJSON(report)
	}
	if !a.Stdout.TTY() {
		t := kit.Table{}
		for _, i := range report.Items {
			t.Add(string(i.Action), strconv.FormatBool(i.Applied), i.Path, i.Entry, i.Before.Model.Text(), i.After.Model.Text(), why(i), firstOf(i.Repairs))
		}
		if report.Backup != "" {
			a.Note("Backup of the files: %s", report.Backup)
		}
		return t.Write(a.Stdout)
	}
	var b strings.Builder
	for _, i := range report.Items {
		if i.Action != canon.Unchanged {
			writeItem(a, &b, i)
		}
	}
	s := report.Summary
	verb := "to migrate"
	if report.Applied {
		verb = "migrated"
	}
	fmt.Fprintf(&b, "%d %s, %d up to date, %d ambiguous, %d with errors\n", s.Migrate, verb, s.Unchanged, s.Report, s.Error)
	if report.Backup != "" {
		fmt.Fprintf(&b, "Backup of the files: %s (restore them with: ohgw profiles migrate --restore %s)\n", report.Backup, shellword.Of(report.Backup))
	}
	return kit.WriteText(a.Stdout, b.String())
}

// noteFailed says on stderr which entries could not be dealt with, where the
// list of all goes to a file or a pipe. --json has them in its document.
func noteFailed(a *kit.App, report migrate.Report) {
	if a.JSON || a.Stdout.TTY() {
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
		a.Tell(line) // also with --quiet: it is an error
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
func fileProgress(a *kit.App) (step func(done, total int, path string), done func()) {
	if !a.Stderr.TTY() || a.Getenv("TERM") == "dumb" || a.Quiet || a.JSON {
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
func writeItem(a *kit.App, b *strings.Builder, i migrate.Item) {
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
