package conversations

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup/library"
)

// listOptions is what the command takes.
type listOptions struct {
	*place

	Text   string // a part of the title or of the directory
	Status string
	Limit  int
	Repo   string // of a conversation on a server
	All    bool
}

func newList(p *place) *cobra.Command {
	opts := listOptions{place: p}
	cmd := &cobra.Command{
		Use:   "list [TEXT]",
		Short: "List conversations",
		Long: kit.Long(`
Lists the conversations of the backend, the last used first: title, status,
cost, age, directory and id. TEXT is a part of the title or of the directory.

With --server the columns are title, state, version of the API, repository, age
and the beginning of the id; the list has the newest 50, or those of --limit, or
--all. --status is then a state (running, asleep, archived, starting, error) or
the status of the last run.

In a pipe, each conversation is one line with tabs between the columns and times
as in RFC 3339. With --json, conversations is a list of objects with id, title,
status, model, directory, cost (US dollars), tokens, created, updated and tags;
with --server also server, version, state, repository, branch, git_provider,
sandbox_id and web_url. left_out has the id of each conversation that cannot be
read, and the reason.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable),
		Example:           kit.Examples("ohgw conversations list", "ohgw conversations list --status running --json", "ohgw conversations list --server work --repo acme/teapot --all"),
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
	cmd.Flags().BoolVar(&opts.All, "all", false, "all conversations of a server, also old ones")
	cmd.Flags().StringVar(&opts.Repo, "repo", "", "only those of this repository of a server, as `OWNER/NAME`")
	kit.Complete(cmd, "status", append(statuses(), states()...)...)
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
	remote, err := o.remote()
	if err != nil {
		return err
	}
	if err := o.check(remote); err != nil {
		return err
	}
	if remote {
		return runServerList(ctx, o)
	}
	lib, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = lib.Close() }() // Nothing was changed.
	found, titles := []conversationJSON{}, o.ChatTitles()
	var leftOut []control.LeftOut
	for r, err := range all(ctx, lib, event.Status(o.Status), &leftOut) {
		if err != nil {
			return library.Fault(err)
		}
		c := describe(r)
		if c.Title = cmp.Or(c.Title, titles[c.ID]); o.wants(c) {
			found = append(found, c)
		}
		if o.Limit > 0 && len(found) == o.Limit {
			break
		}
	}
	return o.print(lib.Place, found, leftOut)
}

func (o *listOptions) check(remote bool) error {
	known := statuses()
	switch {
	case o.Limit < 0:
		return fault.NewUsage("--limit cannot be negative", "use a number of conversations such as 20")
	case o.All && o.Limit > 0:
		return fault.NewUsage("--all cannot be used with --limit", "use one of them")
	case remote:
		known = append(known, states()...)
	case o.Repo != "":
		return fault.NewUsage("--repo is for conversations on OpenHands Cloud", "name a server with --server, or remove --repo")
	}
	if o.Status == "" || slices.Contains(known, o.Status) {
		return nil
	}
	return fault.NewUsage(fmt.Sprintf("unknown status %q", o.Status), "use one of: "+strings.Join(known, ", "))
}

func (o *listOptions) wants(c conversationJSON) bool {
	text := strings.ToLower(o.Text)
	return strings.Contains(strings.ToLower(c.Title), text) || strings.Contains(strings.ToLower(c.Directory), text)
}

func (o *listOptions) print(place string, found []conversationJSON, leftOut []control.LeftOut) error {
	if o.JSON {
		list := make([]leftOutJSON, len(leftOut))
		for i, l := range leftOut {
			list[i] = leftOutJSON(l)
		}
		return o.PrintJSON(map[string]any{"conversations": found, "left_out": list})
	}
	for _, l := range leftOut {
		o.Note("Conversation %s is not in the list: %s", l.ID, l.Reason)
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

// leftOutJSON is a conversation that is in no list.
type leftOutJSON struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
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
// every status. leftOut gets those that cannot be read.
func all(ctx context.Context, lib control.Library, status event.Status, leftOut *[]control.LeftOut) func(yield func(control.Record, error) bool) {
	return func(yield func(control.Record, error) bool) {
		q := control.ListQuery{Limit: pageSize, Status: status, Order: control.ByUpdatedDesc}
		seen := map[string]bool{} // a list that changes meanwhile can begin again
		for {
			page, err := lib.List(ctx, q)
			if err != nil {
				yield(control.Record{}, err)
				return
			}
			*leftOut = append(*leftOut, page.LeftOut...)
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
