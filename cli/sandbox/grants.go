package sandbox

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
)

func newGrants(a *kit.App) *cobra.Command {
	return &cobra.Command{
		Use:   "grants",
		Short: "List what was allowed",
		Long: kit.Long(`
Lists what ohgw sandbox allow and answers in ohgw chat have allowed agents in
the sandbox, beyond the settings: access, target, scope and age. The last column
is "old" after 30 days, and "gone" if the path does not exist any more or has
become a symbolic link. Then it is not used.

In a pipe, each grant is one line with tabs between the columns, and the time it
was allowed, as in RFC 3339, instead of the age. With --json, grants is a list
of objects with access, target, workspace and conversation (null: any), created,
old and gone.`, 0, fault.Failed, fault.Usage),
		Example:           kit.Examples("ohgw sandbox grants", "ohgw sandbox grants --json"),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runGrants(cmd.Context(), &grantsOptions{App: a}) },
	}
}

// grantsOptions is what the command takes.
type grantsOptions struct{ *kit.App }

// runGrants runs the command.
func runGrants(_ context.Context, o *grantsOptions) error {
	s, err := store(o.App)
	if err != nil {
		return err
	}
	list, err := s.List()
	if err != nil {
		return grantFault(err)
	}
	if o.JSON {
		all := make([]grantJSON, 0, len(list))
		for _, g := range list {
			all = append(all, describe(o.App, g))
		}
		return o.PrintJSON(map[string]any{"grants": all})
	}
	old := 0
	t := kit.Table{Header: []string{"ACCESS", "TARGET", "SCOPE", "AGE", "NOTE"}}
	for _, g := range list {
		note, d := "", describe(o.App, g)
		switch {
		case d.Gone:
			note = "gone"
		case d.Old:
			note = "old"
		}
		if d.Old {
			old++
		}
		t.Add(string(g.Access), g.Target, g.Scope(), age(o.App, g.Created), note)
	}
	switch {
	case len(list) == 0:
		o.Hint("Nothing is allowed beyond the settings. Allow something with: ohgw sandbox allow")
	case old > 0:
		defer o.Hint("Older than 30 days: %d. Take back what is not needed with: ohgw sandbox revoke", old)
	}
	return t.Write(o.Stdout)
}

// age writes how long ago something was, for people; for scripts it is the time.
func age(a *kit.App, t time.Time) string {
	if !a.Stdout.TTY() {
		return a.TimeText(t)
	}
	const day = 24 * time.Hour
	switch passed := a.Now().Sub(t); {
	case passed < time.Hour:
		return fmt.Sprintf("%d min", max(0, passed/time.Minute))
	case passed < day:
		return fmt.Sprintf("%d h", passed/time.Hour)
	case passed < 2*day:
		return "1 day"
	default:
		return fmt.Sprintf("%d days", passed/day)
	}
}
