package conversations

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/setup/cloud"
)

// used is when something last happened in a conversation, as far as the server says.
func used(c account.Conversation) time.Time {
	if c.Updated.IsZero() {
		return c.Created
	}
	return c.Updated
}

// remoteJSON is a conversation of a server in JSON.
type remoteJSON struct {
	account.Conversation

	Server  string            `json:"server"`
	Changes *[]account.Change `json:"changes,omitempty"` // with --changes
	Note    string            `json:"note,omitempty"`
}

// runRemoteShow shows a conversation of a server.
func runRemoteShow(ctx context.Context, o *showOptions) error {
	acc, conv, err := o.find(ctx)
	if err != nil {
		return err
	}
	defer acc.Close()
	out := remoteJSON{Conversation: conv, Server: acc.Server.Name}
	if o.Changes {
		changes, note, err := acc.Changes(ctx, conv.ID)
		if err != nil {
			return cloud.Fault(err, acc.Server)
		}
		if changes == nil {
			changes = []account.Change{}
		}
		out.Changes, out.Note = &changes, note
	}
	if o.JSON {
		return o.PrintJSON(out)
	}
	t := kit.Table{}
	for _, pair := range [][2]string{
		{"id", conv.ID},
		{"title", cmp.Or(conv.Title, "-")},
		{"state", string(conv.State)},
		{"status", cmp.Or(string(conv.Exec), "-")},
		{"model", cmp.Or(conv.Model, "-")},
		{"repository", cmp.Or(conv.Repo, "-")},
		{"branch", cmp.Or(conv.Branch, "-")},
		{"cost", fmt.Sprintf("$%.4f", conv.Cost)},
		{"tokens", strconv.FormatInt(conv.Tokens, 10)},
		{"begun", o.timeOrDash(conv.Created)},
		{"used", o.timeOrDash(used(conv))},
		{"API", string(conv.Version)},
		{"server", acc.Server.Name},
		{"page", conv.WebURL},
	} {
		t.Add(pair[0], pair[1])
	}
	if err := t.WritePairs(o.Stdout); err != nil || out.Changes == nil {
		return err
	}
	return o.printChanges(*out.Changes, out.Note)
}

func (p *place) timeOrDash(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return p.TimeText(at)
}

// printChanges prints changed files, grouped by what happened to them.
func (p *place) printChanges(changes []account.Change, note string) error {
	t := kit.Table{Header: []string{"CHANGE", "FILE"}}
	for _, status := range statusesOf(changes) {
		for _, c := range changes {
			if c.Status == status {
				t.Add(c.Status, c.Path)
			}
		}
	}
	if note != "" {
		p.Note("%s", note)
	} else if len(changes) == 0 {
		p.Hint("Nothing was changed.")
	}
	return t.Write(p.Stdout)
}

// statusesOf are the statuses of changes in the order of their first file.
func statusesOf(changes []account.Change) []string {
	var list []string
	seen := map[string]bool{}
	for _, c := range changes {
		if !seen[c.Status] {
			seen[c.Status] = true
			list = append(list, c.Status)
		}
	}
	return list
}
