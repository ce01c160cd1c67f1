package conversations

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup/library"
)

// oneOptions is what the commands about one conversation take.
type oneOptions struct {
	*place
	ID string
}

// open opens the conversations, and finds the id.
func (o *oneOptions) open(ctx context.Context) (lib library.Library, id string, err error) {
	remote, err := o.remote()
	if err == nil && !remote {
		_, _, err = library.ReadID(o.ID)
	}
	if err != nil {
		return lib, "", err
	}
	if lib, err = o.place.open(ctx); err != nil {
		return lib, "", err
	}
	if id, err = lib.Find(ctx, o.ID); err != nil {
		_ = lib.Close() // Nothing was changed.
		return library.Library{}, "", library.Fault(err)
	}
	return lib, id, nil
}

func newShow(p *place) *cobra.Command {
	opts := oneOptions{place: p}
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show a conversation",
		Long: kit.Long(`
Shows what is known of a conversation: title, status, model, directory, cost,
tokens and times. With --server also its state, repository and page.

With --json, it is one object as in "ohgw conversations list", where an event is
missing on the disk with events_left_out: how many are behind it.`,
			0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable),
		Example: kit.Examples("ohgw conversations show 7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11", "ohgw conversations show 7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11 --json",
			"ohgw conversations show 7f1c --server work"),
		Args:              kit.Exactly("the id"),
		ValidArgsFunction: completeIDs(p),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.ID = args[0]
			return runShow(cmd.Context(), &opts)
		},
	}
}

// runShow runs the command.
func runShow(ctx context.Context, o *oneOptions) error {
	remote, err := o.remote()
	if err != nil {
		return err
	}
	if remote {
		return runServerShow(ctx, o)
	}
	lib, id, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = lib.Close() }() // Nothing was changed.
	record, err := lib.Record(ctx, id)
	if err != nil {
		return library.Fault(err)
	}
	c := describe(record)
	if o.JSON {
		return o.PrintJSON(c)
	}
	t := kit.Table{}
	for _, pair := range [][2]string{
		{"id", c.ID},
		{"title", cmp.Or(c.Title, "-")},
		{"status", string(c.Status)},
		{"model", cmp.Or(c.Model, "-")},
		{"directory", cmp.Or(c.Directory, "-")},
		{"cost", fmt.Sprintf("$%.4f", c.Cost)},
		{"tokens", strconv.FormatInt(c.Tokens, 10)},
		{"begun", o.TimeText(c.Created)},
		{"used", o.TimeText(c.Updated)},
		{"kept by", lib.Place},
	} {
		t.Add(pair[0], pair[1])
	}
	if c.LeftOut > 0 {
		t.Add("left out", fmt.Sprintf("%d events, because one before them is missing on the disk", c.LeftOut))
	}
	for _, name := range sortedKeys(c.Tags) {
		t.Add("tag "+name, c.Tags[name])
	}
	return t.WritePairs(o.Stdout)
}

func sortedKeys(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// completeIDs offers the conversations that were used last.
func completeIDs(p *place) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		if remote, err := p.remote(); err != nil || remote {
			return kit.CompleteOn(p.Account)(cmd, args, "")
		}
		lib, err := p.open(cmd.Context())
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer func() { _ = lib.Close() }() // Nothing was changed.
		page, err := lib.List(cmd.Context(), control.ListQuery{Limit: pageSize, Order: control.ByUpdatedDesc})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var offered []string
		for _, r := range page.Records {
			offered = append(offered, cobra.CompletionWithDesc(r.ID, cmp.Or(r.Title, "without a title")))
		}
		return offered, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}
