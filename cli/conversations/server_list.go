package conversations

import (
	"cmp"
	"context"
	"fmt"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/internal/plainjson"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/accounts"
	"github.com/ohgw/ohgw/tui/wrap"
)

// serverLimit is how many conversations of a server a list has if none is chosen.
const serverLimit = 50

// states are the states of conversations on a server.
func states() []string {
	var names []string
	for _, s := range []account.State{account.StateRunning, account.StateAsleep, account.StateArchived, account.StateStarting, account.StateError} {
		names = append(names, string(s))
	}
	return names
}

// runServerList lists the conversations of a server, page by page: it holds one.
func runServerList(ctx context.Context, o *listOptions) error {
	acc, err := o.Account(ctx)
	if err != nil {
		return err
	}
	defer acc.Close()
	limit := o.Limit
	if limit == 0 && !o.All {
		limit = serverLimit
	}
	out := o.serverOutput(acc.Server.Name)
	shown := 0
	done := o.TellLate("waiting for " + acc.Server.Host() + ", up to 60 s")
	defer done()
	for c, err := range acc.All(ctx, account.ListQuery{Title: o.Text, Repo: o.Repo}) {
		done()
		if err != nil {
			return accounts.Fault(err, acc.Server)
		}
		if o.Status != "" && string(c.State) != o.Status && string(c.Exec) != o.Status {
			continue
		}
		if shown == limit && limit > 0 {
			defer o.Hint("There are more. List them with --all, or with --limit.")
			break
		}
		if err := out.row(c); err != nil {
			return err
		}
		shown++
	}
	if shown == 0 {
		o.Hint("There is no such conversation on %s. Start one with: ohgw cloud new", acc.Server.Host())
	}
	return out.end()
}

// serverRows writes a list row by row.
type serverRows struct {
	row func(account.Conversation) error
	end func() error
}

func (o *listOptions) serverOutput(server string) serverRows {
	switch {
	case o.JSON:
		return o.jsonRows(server)
	case o.Stdout.TTY():
		return o.terminalRows()
	}
	return serverRows{func(c account.Conversation) error {
		t := kit.Table{}
		t.Add(cmp.Or(c.Title, "-"), string(c.State), cmp.Or(string(c.Exec), "-"), string(c.Version), cmp.Or(c.Repo, "-"), cmp.Or(c.Branch, "-"), o.TimeText(c.Used()), c.ID)
		return t.Write(o.Stdout)
	}, func() error { return nil }}
}

// jsonRows writes one document, without holding it.
func (o *listOptions) jsonRows(server string) serverRows {
	before := "{\n  \"conversations\": ["
	return serverRows{func(c account.Conversation) error {
		row, err := plainjson.Indent(describeOn(server, c), "    ", "  ")
		if err != nil {
			return fmt.Errorf("write output: %w", err)
		}
		text := before + "\n    " + string(row)
		before = ","
		return kit.WriteText(o.Stdout, text)
	}, func() error {
		end := "\n  ]"
		if before != "," {
			end = before + "]"
		}
		return kit.WriteText(o.Stdout, end+",\n  \"left_out\": []\n}\n")
	}}
}

// terminalRows writes a table that fits the terminal: what is too narrow loses the
// repository, and long titles are cut.
func (o *listOptions) terminalRows() serverRows {
	const state, api, repo, age, id = 9, 3, 24, 12, account.ShortID
	width := o.Stdout.Width()
	title := width - state - api - age - id - 5*2 - repo
	wide := title >= 20
	if !wide {
		title = max(width-state-id-2*2, 10)
	}
	line := func(cells ...string) string {
		if wide {
			return wrap.Pad(cells[0], title) + "  " + wrap.Pad(cells[1], state) + "  " + wrap.Pad(cells[2], api) + "  " + wrap.Pad(cells[3], repo) + "  " + wrap.Pad(cells[4], age) + "  " + cells[5]
		}
		return wrap.Pad(cells[0], title) + "  " + wrap.Pad(cells[1], state) + "  " + cells[5]
	}
	begun := false
	return serverRows{func(c account.Conversation) error {
		if !begun {
			begun = true
			if err := kit.WriteText(o.Stdout, o.Stdout.Styled(iostream.Bold, line("TITLE", "STATE", "API", "REPOSITORY", "USED", "ID"))+"\n"); err != nil {
				return err
			}
		}
		cells := []string{wrap.Cut(setup.Clean(cmp.Or(c.Title, "-")), title), string(c.State), string(c.Version), wrap.Cut(setup.Clean(cmp.Or(c.Repo, "-")), repo), o.since(c), c.Short()}
		return kit.WriteText(o.Stdout, line(cells...)+"\n")
	}, func() error { return nil }}
}

// since is how long ago a conversation was used.
func (o *listOptions) since(c account.Conversation) string {
	if c.Used().IsZero() {
		return "-"
	}
	return age(o.Now().Sub(c.Used()))
}
