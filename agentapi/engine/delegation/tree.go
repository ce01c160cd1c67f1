package delegation

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/team"
	"github.com/ohgw/ohgw/internal/oneline"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/truncate"
	"github.com/ohgw/ohgw/internal/worktree"
)

// Worktrees is where the worktrees of members are, below the directory of the parent: each has
// a directory in that of its conversation.
const Worktrees = "worktrees"

// Limits of what git does for a member.
const (
	collectTime = 10 * time.Minute
	maxSubject  = 72 // characters of the first line of a commit
)

// isolated reports whether each task has a worktree of its own. Programs that change nothing
// need none.
func (t *tasks) isolated() bool { return t.env.Team != nil && t.env.Team.Isolated && !t.env.ReadOnly }

// tree is the worktree of a task, by its conversation.
func (t *tasks) tree(id, agent string) worktree.Tree {
	dir := store.Path(t.root, id)
	tree := worktree.Tree{
		Repository: t.env.Workspace, Branch: t.branch(id, agent),
		Dir: filepath.Join(t.env.Dir, Worktrees, filepath.Base(dir), filepath.Base(t.env.Workspace)),
		Box: func(ctx context.Context, workspace string, shown ...string) (sandbox.Box, []string, error) {
			return t.cfg.Box(ctx, Place{Conversation: id, Dir: dir, Workspace: workspace, Shown: shown})
		},
	}
	if meta, err := store.PeekMeta(t.root, id); err == nil && meta.ForkedFrom() != "" { // otherwise it begins by itself
		tree.Older = []string{t.branch(meta.ForkedFrom(), agent)}
	}
	return tree
}

// branch is the branch of a member in one conversation.
func (t *tasks) branch(id, agent string) string {
	const digits = 8 // the first ones of an id may be a time
	hex := strings.ReplaceAll(id, "-", "")
	return team.BranchPlace + worktree.Part(t.env.Team.Name) + "/" + worktree.Part(agent) + "-" + hex[max(0, len(hex)-digits):]
}

// place finds the workspace of a task, and what its box shows besides. The worktree of a
// member is made.
func (t *tasks) place(ctx context.Context, id, agent string) (workspace string, shown []string, err error) {
	if !t.isolated() {
		return t.env.Workspace, nil, nil
	}
	tree := t.tree(id, agent)
	err = tree.Begin(ctx)
	if refused, ok := errors.AsType[*worktree.Error](err); ok {
		err = apierr.Refused("The team needs git worktrees (isolation: worktree), and "+refused.Msg+".", refused)
	}
	if err != nil {
		return "", nil, err
	}
	objects, err := tree.Objects()
	return tree.Dir, []string{objects}, err
}

// collect brings what a member has left in its worktree to its branch, also after a stop. It
// returns a text about that to add to what the member says; "" if there is nothing to say.
func (t *tasks) collect(ctx context.Context, state *taskState, prompt string) string {
	if !t.isolated() {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), collectTime)
	defer cancel()
	tree := t.tree(state.conversation, state.agent)
	kept, err := tree.Collect(ctx, author(state.agent), subject(state.agent, prompt))
	if err != nil {
		t.cfg.Log.Warn("a worktree of a member of a team was not collected", "conversation", t.env.Conversation, "agent", state.agent, "dir", tree.Dir, "err", err)
	}
	var lines []string
	if kept.Branch != "" {
		lines = append(lines, team.BranchLine(state.agent, kept.Branch))
		t.cfg.Log.Info("the changes of a member of a team are on a branch", "conversation", t.env.Conversation, "agent", state.agent, "branch", kept.Branch)
	}
	if kept.Dir != "" {
		lines = append(lines, "The worktree of "+state.agent+" is kept, because "+kept.Why+": "+kept.Dir)
	}
	if len(lines) == 0 {
		return ""
	}
	return "\n\n" + strings.Join(lines, "\n")
}

// collectAll collects what is left of a process that has ended in the middle.
func (t *tasks) collectAll(ctx context.Context) {
	if !t.isolated() {
		return
	}
	for _, state := range t.known {
		if t.tree(state.conversation, state.agent).Left() {
			t.notice(t.collect(ctx, state, "Work that was interrupted"))
		}
	}
}

// progress says something about worktrees to those who watch.
func (t *tasks) progress(text string) {
	for line := range strings.Lines(strings.TrimSpace(text)) {
		t.env.Host.Progress("  " + strings.TrimSpace(line))
	}
}

// notice says something about worktrees with the next message of the conversation.
func (t *tasks) notice(text string) {
	if text = strings.TrimSpace(text); text != "" {
		t.env.Host.Notice(text)
	}
}

// author is the name in a commit. Git refuses one without letters.
func author(agent string) string { return oneline.Of(agent) + " (ohgw)" }

// subject is the first line of a commit.
func subject(agent, prompt string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(prompt), "\n")
	return truncate.Within(oneline.Of(strings.TrimSuffix(agent+": "+first, ": ")), maxSubject, "…")
}
