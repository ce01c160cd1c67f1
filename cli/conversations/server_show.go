package conversations

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/cli/kit"
)

// serverJSON is what only a conversation on a server has, in JSON.
type serverJSON struct {
	Server    string          `json:"server"`
	Version   account.Version `json:"version"`
	State     account.State   `json:"state"`
	Repo      string          `json:"repository"`
	Branch    string          `json:"branch"`
	Provider  string          `json:"git_provider"`
	SandboxID string          `json:"sandbox_id"`
	WebURL    string          `json:"web_url"`
}

// describeOn is a conversation on a server as the lists have it.
func describeOn(server string, c account.Conversation) conversationJSON {
	return conversationJSON{
		ID: c.ID, Title: c.Title, Status: c.Exec, Model: c.Model, Cost: c.Cost, Tokens: c.Tokens, Created: c.Created, Updated: c.Updated,
		serverJSON: &serverJSON{
			Server: server, Version: c.Version, State: c.State, Repo: c.Repo, Branch: c.Branch, Provider: c.Provider, SandboxID: c.SandboxID, WebURL: c.WebURL,
		},
	}
}

// runServerShow shows a conversation on a server.
func runServerShow(ctx context.Context, o *oneOptions) error {
	acc, conv, err := o.Find(ctx, o.ID)
	if err != nil {
		return err
	}
	defer acc.Close()
	if o.JSON {
		return o.PrintJSON(describeOn(acc.Server.Name, conv))
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
		{"used", o.timeOrDash(conv.Used())},
		{"API", string(conv.Version)},
		{"server", acc.Server.Name},
		{"page", conv.WebURL},
	} {
		t.Add(pair[0], pair[1])
	}
	return t.WritePairs(o.Stdout)
}

func (p *place) timeOrDash(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return p.TimeText(at)
}
