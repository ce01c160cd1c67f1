package conversations

import (
	"context"
	"io"
	"strings"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/internal/setup"
)

// conversationsHere are the conversations of this machine.
type conversationsHere interface {
	Record(ctx context.Context, id string) (control.Record, error)
}

// movePlan is what is going to be moved, and what is not.
type movePlan struct {
	ID        string   `json:"id"`
	Server    string   `json:"server"`
	Workspace string   `json:"workspace"`
	Profile   string   `json:"profile"`
	Left      []string `json:"left"`
}

// leftThere is what no pull brings.
func leftThere() []string {
	return []string{
		"LLM keys: a profile of this machine answers",
		"secrets of the conversation and of the account; their names are listed at the end",
		"MCP servers and hooks of the conversation",
		"running programs: shells, servers, browsers",
		"symbolic links, and files outside of the workspace, such as installed packages",
	}
}

// ask shows a plan, and what it leaves where it is, and asks whether to go on.
func (p *place) ask(ctx context.Context, m moveOptions, plan any, left []string, question string) (bool, error) {
	if m.DryRun && p.JSON {
		return false, p.PrintJSON(plan)
	}
	p.Note("What stays where it is:")
	for _, line := range left {
		p.Note("  - %s", setup.Clean(line))
	}
	if m.DryRun {
		p.Note("%s", strings.TrimSuffix(question, "?")+": nothing was done (--dry-run).")
		return false, nil
	}
	return p.Confirm(ctx, m.Yes, question, "Nothing was moved.")
}

// tellLeft tells what was not moved. A long list is cut.
func (p *place) tellLeft(what string, list []string) {
	const most = 20
	if len(list) == 0 {
		return
	}
	p.Note("%s:", what)
	for i, line := range list {
		if i == most && !p.Verbose {
			p.Note("  and %d more (--verbose)", len(list)-most)
			return
		}
		p.Note("  - %s", line)
	}
}

// arrival is a transfer that takes its bar away at its end.
type arrival struct{ transfer }

// Read reads what has arrived.
func (t *arrival) Read(b []byte) (int, error) {
	n, err := t.transfer.Read(b)
	if err != nil {
		t.end()
	}
	return n, err //nolint:wrapcheck // io.EOF is what readers compare with
}

var _ io.Reader = (*arrival)(nil)

// profileText is a profile for people.
func profileText(name string) string {
	if name == "" {
		return "the LLM profile of the next message"
	}
	return "the LLM profile " + name
}
