package profiles

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/migrate"
	"github.com/ohgw/ohgw/internal/openhands/schema"
	"github.com/ohgw/ohgw/internal/shellword"
	"github.com/ohgw/ohgw/setup"
)

// runRelease runs the command with --to.
func runRelease(ctx context.Context, o *migrateOptions, bases []string, backups string) error {
	to, err := schema.ParseRelease(o.To)
	if err != nil {
		return fault.NewUsage("cannot migrate to "+strconv.Quote(o.To),
			fmt.Sprintf("ohgw knows OpenHands %s to %s; latest is %s", schema.Oldest, schema.Latest, schema.Latest))
	}
	progress, done := fileProgress(o.App)
	report, err := migrate.ToRelease(ctx, migrate.ReleaseOptions{
		Bases: bases, To: to, Apply: !o.DryRun && !o.Check, Force: o.Force,
		Locking: o.Setup().Locking(o.LockTimeout), Backups: backups, Now: o.Now, Progress: progress,
	})
	done()
	if err != nil && len(report.Items) == 0 {
		return o.Setup().ProfileFault(ctx, err, o.To)
	}
	if err := errors.Join(err, printRelease(o.App, report)); err != nil {
		return err
	}
	code := report.Code()
	if o.Check {
		code = report.CheckCode()
	}
	return releaseFault(report, code, o.Check)
}

// releaseFault says what a migration to a version that is not all well has left.
func releaseFault(report migrate.ReleaseReport, code fault.Code, check bool) error {
	newer, isNewer := report.Newer()
	switch {
	case code == 0:
		return nil
	case isNewer:
		return &fault.Error{Msg: "a newer OpenHands wrote " + newer.Path + ", so nothing in its directory is changed", Hint: "install a newer ohgw", Code: code}
	case code == fault.Conflict:
		return &fault.Error{Msg: "another program has locked some files", Hint: "try again later, or wait longer with --lock-timeout", Code: code}
	case check && report.Code() == 0:
		return &fault.Error{Msg: "some files have the form of another OpenHands", Hint: "run: ohgw profiles migrate --to " + report.To, Code: code}
	}
	return &fault.Error{Msg: "some files were not changed", Hint: "the list has the reason for each; to leave out files that cannot be read, add --force", Code: code}
}

func printRelease(a *kit.App, report migrate.ReleaseReport) error {
	if a.JSON {
		return a.PrintJSON(report)
	}
	for _, note := range report.Notes {
		a.Note("%s", setup.Clean(note))
	}
	if !a.Stdout.TTY() {
		t := kit.Table{}
		for _, i := range report.Items {
			t.Add(string(i.Action), strconv.FormatBool(i.Applied), i.Path, strings.Join(lostFields(i), " "), whyFile(i))
			if i.Error != "" || i.Action.IsError() {
				a.Tell("not changed: " + setup.Clean(i.Path+": "+whyFile(i))) // also with --quiet: it is an error
			}
		}
		switch {
		case report.Backup != "":
			a.Note("Backup of the files: %s", report.Backup)
		case report.Summary.Migrate+report.Summary.Error == 0:
			a.Note("%s", strings.TrimSuffix(releaseSummary(report), "\n"))
		}
		return t.Write(a.Stdout)
	}
	var b strings.Builder
	for _, i := range report.Items {
		writeFile(a, &b, i)
	}
	b.WriteString(releaseSummary(report))
	return kit.WriteText(a.Stdout, b.String())
}

func releaseSummary(report migrate.ReleaseReport) string {
	s := report.Summary
	if s.Migrate+s.Error == 0 {
		return fmt.Sprintf("All %d files have the form of OpenHands %s.\n", s.Unchanged, report.To)
	}
	verb := "to migrate to"
	if report.Applied {
		verb = "migrated to"
	}
	text := fmt.Sprintf("%d %s OpenHands %s, %d up to date, %d with errors, %d lost fields\n", s.Migrate, verb, report.To, s.Unchanged, s.Error, s.Lost)
	if report.Backup != "" {
		text += fmt.Sprintf("Backup of the files: %s (restore them with: ohgw profiles migrate --restore %s)\n", report.Backup, shellword.Of(report.Backup))
	}
	return text
}

func lostFields(i migrate.ReleaseItem) []string {
	fields := make([]string, 0, len(i.Lost))
	for _, l := range i.Lost {
		fields = append(fields, l.Field)
	}
	return fields
}

// whyFile is the reason for what was done with a file, and for what was not.
func whyFile(i migrate.ReleaseItem) string {
	if i.Reason == "" || i.Error == "" {
		return i.Reason + i.Error
	}
	return i.Reason + ": " + i.Error
}

// writeFile writes a file with its versions and what it loses.
func writeFile(a *kit.App, b *strings.Builder, i migrate.ReleaseItem) {
	if i.Action == canon.Unchanged && i.Reason == "" {
		return
	}
	fmt.Fprintf(b, "%s: %s", a.Stdout.Styled(iostream.Bold, setup.Clean(i.Path)), i.Action)
	if why := whyFile(i); why != "" {
		fmt.Fprintf(b, " (%s)", setup.Clean(why))
	}
	b.WriteByte('\n')
	for _, v := range i.Versions {
		if before, after := number(v.Before), number(v.After); before != after {
			fmt.Fprintf(b, "  %s schema_version: %s to %s\n", v.Entry, before, after)
		}
	}
	for _, l := range i.Lost {
		fmt.Fprintf(b, "  %s %s (%s)\n", a.Stdout.Styled(iostream.Red, "lost:"), setup.Clean(l.Field), setup.Clean(l.Why))
	}
}

// number is a schema number, or what there is instead of one.
func number(n *int64) string {
	if n == nil {
		return "none"
	}
	return strconv.FormatInt(*n, 10)
}
