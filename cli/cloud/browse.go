package cloud

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup/accounts"
	"github.com/ohgw/ohgw/tui/browse"
)

func newBrowse(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "browse",
		Short: "Manage conversations on a screen",
		Long: kit.Long(`
Shows the conversations of a server on the whole screen, the newest first. The
keys are on the last line: / filters, o opens the page in the browser, m sends a
message, w wakes, t downloads the trajectory, a the workspace, d removes after a
confirmation, r refreshes, n and p turn pages, q quits. Downloads go to the
current directory. It needs a terminal.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable, fault.Interrupted),
		Example: kit.Examples("ohgw cloud browse", "ohgw cloud browse --server work"),
		Args:    kit.None(), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error { return runBrowse(cmd.Context(), o) },
	}
}

// runBrowse runs the command.
func runBrowse(ctx context.Context, o *options) error {
	if !o.StdinTTY || !o.Stdout.TTY() || o.JSON {
		return fault.NewUsage("there is no terminal to browse on", "use ohgw conversations list --server NAME")
	}
	acc, err := o.Account(ctx)
	if err != nil {
		return err
	}
	defer acc.Close()
	return browse.Run(ctx, browse.Config{
		In: o.Stdin, Out: o.Stdout.Writer, Environ: o.Environ(), NoColor: !o.Stdout.Color(), Now: o.Now, Title: acc.Server.Name,
		Source: &browsed{o, acc}, Explain: func(err error) string { return kit.Sentence(accounts.Fault(err, acc.Server)) },
	})
}

// browsed are the conversations of an account, for the screen.
type browsed struct {
	*options

	acc accounts.Account
}

// List implements [browse.Source].
func (b *browsed) List(ctx context.Context, token string) (browse.Page, error) {
	got, err := b.acc.List(ctx, account.ListQuery{Page: token})
	page := browse.Page{Next: got.Next}
	for _, c := range got.Conversations {
		page.Items = append(page.Items, browse.Item{
			ID: c.ID, Title: c.Title, State: string(c.State), Version: string(c.Version), Repo: c.Repo, URL: c.WebURL, Used: c.Used(),
		})
	}
	return page, err
}

// Wake implements [browse.Source].
func (b *browsed) Wake(ctx context.Context, it browse.Item) (string, error) {
	_, err := b.acc.Wake(ctx, it.ID, func(account.Progress) {})
	return "It is awake.", err
}

// Open implements [browse.Source].
func (b *browsed) Open(ctx context.Context, it browse.Item) (string, error) {
	if err := b.OpenBrowser(ctx, it.URL); err != nil {
		return it.URL, nil //nolint:nilerr // without a browser the address is shown
	}
	return "Opened " + it.URL, nil
}

// Send implements [browse.Source].
func (b *browsed) Send(ctx context.Context, it browse.Item, text string) (string, error) {
	return "The message was sent.", b.acc.Send(ctx, it.ID, text, nil)
}

// Remove implements [browse.Source].
func (b *browsed) Remove(ctx context.Context, it browse.Item) (string, error) {
	return "The conversation was removed.", b.acc.Remove(ctx, it.ID)
}

// Trajectory implements [browse.Source].
func (b *browsed) Trajectory(ctx context.Context, it browse.Item) (string, error) {
	return b.fetch(ctx, it, b.acc.Trajectory)
}

// Workspace implements [browse.Source].
func (b *browsed) Workspace(ctx context.Context, it browse.Item) (string, error) {
	return b.fetch(ctx, it, b.acc.Workspace)
}

// fetch writes a download to the current directory. A file that is there stays.
func (b *browsed) fetch(ctx context.Context, it browse.Item, get func(context.Context, string) (*account.Download, error)) (text string, err error) {
	dir, err := b.Getwd()
	if err != nil {
		return "", err
	}
	t, err := openTarget(dir, false, false)
	if err != nil {
		return "", err
	}
	defer t.close()
	got, err := get(ctx, it.ID)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, got.Close()) }()
	if _, err := t.exists(got.Name); err != nil {
		return "", err
	}
	n, err := t.write(got.Name, readFrom{got})
	return "Written: " + got.Name + ", " + bytesText(n), err
}
