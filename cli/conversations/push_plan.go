package conversations

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/setup/moving"
)

// pushPlan is what a push is going to send, and what not.
type pushPlan struct {
	From      string   `json:"from"`
	Server    string   `json:"server"`
	Workspace string   `json:"workspace"`
	Files     int      `json:"files"`
	Bytes     int64    `json:"bytes"`
	Left      []string `json:"left"`

	sends bool
}

// plan finds out what is sent. A push that was not finished is refused here, before
// anything is asked.
func (o *pushOptions) plan(ctx context.Context, p *moving.Push, record control.Record, home string) (pushPlan, error) {
	plan := pushPlan{From: p.ID, Server: p.Server, Workspace: moving.Directory(record), sends: !o.NoFiles}
	begun, err := p.Begun()
	switch {
	case err != nil:
		return plan, err
	case begun != nil && (!o.Continue || begun.Server != p.Server):
		return plan, moving.Refused(p.ID, begun)
	case begun == nil && o.Continue:
		return plan, fault.NewUsage("there is no unfinished push of this conversation", "remove --continue")
	}
	if plan.sends {
		if dir := filepath.Clean(plan.Workspace); dir == filepath.Dir(dir) || dir == filepath.Clean(home) {
			return plan, fault.New("the workspace is "+dir+", which is not sent as a whole", "leave the files out: --no-files", nil)
		}
		done := o.TellLate("looking at the files")
		p.Files, err = moving.Scan(ctx, plan.Workspace, moving.FileOptions{All: o.All, NoGit: o.Repo != ""})
		done()
		if err != nil {
			return plan, err
		}
		plan.Files, plan.Bytes = p.Files.Count, p.Files.Bytes
	}
	plan.Left = o.leftHere(moving.KeptOf(record), p.Files)
	return plan, nil
}

// leftHere is what this push does not take.
func (o *pushOptions) leftHere(kept moving.Kept, files *moving.Files) []string {
	left := []string{
		"the log of events: the agent there gets it as text",
		"LLM keys: an LLM profile of the account answers",
		"hooks, and running programs: shells, servers, browsers",
	}
	add := func(what string, names []string) {
		if len(names) > 0 {
			left = append(left, what+": "+some(names))
		}
	}
	add("secrets of the conversation", kept.Secrets)
	add("MCP servers", kept.Servers)
	if kept.Waits {
		left = append(left, "actions that wait for a confirmation")
	}
	if files == nil {
		return append(left, "the files of the workspace (--no-files)")
	}
	add("names that git ignores (--all sends them)", files.Ignored)
	add("files larger than 100 MiB (--all sends them)", files.Large)
	add("symbolic links that lead out of the workspace", files.Links)
	add("what is not a file, cannot be read, or belongs to another repository", files.Others)
	if o.Repo != "" {
		left = append(left, "the repository .git: the server clones "+o.Repo)
	}
	return left
}

// some are the first names of a list, and how many more there are.
func some(names []string) string {
	const most = 8
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + fmt.Sprintf(", and %d more", len(names)-most)
}
