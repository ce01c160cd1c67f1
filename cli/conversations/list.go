package conversations

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
)

// listOptions is what the command takes.
type listOptions struct {
	*kit.App

	flags kit.SettingFlags

	Text   string // a part of the title or of the directory
	Status string
	Limit  int
}

func newList(a *kit.App, flags kit.SettingFlags) *cobra.Command {
	opts := listOptions{App: a, flags: flags}
	cmd := &cobra.Command{
		Use:   "list [TEXT]",
		Short: "List conversations",
		Long: kit.Long(`
Lists the conversations of the backend, the last used first: title, status,
cost, age, directory and id. TEXT is a part of the title or of the directory.

In a pipe, each conversation is one line with tabs between the columns and times
as in RFC 3339. With --json, conversations is a list of objects with id, title,
status, model, directory, cost (US dollars), tokens, created, updated and tags.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable),
		Example:           kit.Examples("ohgw conversations list", "ohgw conversations list --status running --json"),
		Args:              kit.AtMostOne("a part of the title"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				opts.Text = args[0]
			}
			return runList(cmd.Context(), &opts)
		},
	}
	cmd.Flags().StringVar(&opts.Status, "status", "", "only those in this `status`, such as running")
	cmd.Flags().IntVarP(&opts.Limit, "limit", "n", 0, "at most `N` conversations; 0 is all")
	kit.Complete(cmd, "status", statuses()...)
	return cmd
}

func statuses() []string {
	list := []event.Status{event.Idle, event.Running, event.Paused, event.Waiting, event.Finished, event.Failed, event.Stuck}
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = string(s)
	}
	return names
}

// runList runs the command.
func runList(ctx context.Context, o *listOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	lib, err := open(ctx, o.App, o.flags)
	if err != nil {
		return err
	}
	defer func() { _ = lib.Close() }() // Nothing was changed.
	found := []conversationJSON{}
	for r, err := range all(ctx, lib, event.Status(o.Status)) {
		if err != nil {
			return explain(err)
		}
		if c := describe(r); o.wants(c) {
			found = append(found, c)
		}
		if o.Limit > 0 && len(found) == o.Limit {
			break
		}
	}
	return o.print(lib.Place, found)
}

func (o *listOptions) check() error {
	if o.Limit < 0 {
		return fault.NewUsage("--limit cannot be negative", "use a number of conversations such as 20")
	}
	if o.Status == "" {
		return nil
	}
	for _, s := range statuses() {
		if s == o.Status {
			return nil
		}
	}
	return fault.NewUsage(fmt.Sprintf("unknown status %q", o.Status), "use one of: "+strings.Join(statuses(), ", "))
}

func (o *listOptions) wants(c conversationJSON) bool {
	text := strings.ToLower(o.Text)
	return strings.Contains(strings.ToLower(c.Title), text) || strings.Contains(strings.ToLower(c.Directory), text)
}

func (o *listOptions) print(place string, found []conversationJSON) error {
	if o.JSON {
		return o.PrintJSON(map[string]any{"conversations": found})
	}
	t := kit.Table{Header: []string{"TITLE", "STATUS", "COST", "USED", "DIRECTORY", "ID"}}
	for _, c := range found {
		used := o.TimeText(c.Updated)
		if o.Stdout.TTY() {
			used = age(o.Now().Sub(c.Updated))
		}
		t.Add(cmp.Or(c.Title, "-"), string(c.Status), fmt.Sprintf("$%.4f", c.Cost), used, cmp.Or(c.Directory, "-"), c.ID)
	}
	if len(found) == 0 {
		o.Hint("There is no such conversation in %s. Start one with: ohgw chat", place)
	}
	return t.Write(o.Stdout)
}

// age is how long ago something was, in one unit.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}

// pageSize is how many conversations or events are asked for at once.
const pageSize = 100

// all gives all conversations in a status, the last used first, page by page. "" is
// every status.
func all(ctx context.Context, lib control.Library, status event.Status) func(yield func(control.Record, error) bool) {
	return func(yield func(control.Record, error) bool) {
		q := control.ListQuery{Limit: pageSize, Status: status, Order: control.ByUpdatedDesc}
		seen := map[string]bool{} // a list that changes meanwhile can begin again
		for {
			page, err := lib.List(ctx, q)
			if err != nil {
				yield(control.Record{}, err)
				return
			}
			for _, r := range page.Records {
				if !seen[r.ID] && !yield(r, nil) {
					return
				}
				seen[r.ID] = true
			}
			if page.Next == "" || seen[page.Next] {
				return
			}
			q.From = page.Next
		}
	}
}
