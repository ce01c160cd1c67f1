package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/critic"
	"github.com/ohgw/ohgw/agentapi/engine/hook"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// changes looks for changed files of a workspace, in the box of its conversation.
type changes struct {
	dir string

	mu  sync.Mutex
	box sandbox.Box
	env []string
}

// use says in which box git runs.
func (c *changes) use(box sandbox.Box, env []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.box, c.env = box, env
}

// gitStatus lists changed and new files; nothing outside of a repository.
const gitStatus = `git rev-parse --is-inside-work-tree >/dev/null 2>&1 || exit 0; exec git --no-optional-locks status --porcelain`

// any reports whether there is a file that differs from the last commit.
func (c *changes) any(ctx context.Context) (bool, error) {
	c.mu.Lock()
	box, env := c.box, c.env
	c.mu.Unlock()
	if box == nil {
		return false, errors.New("there is no sandbox in which git could run")
	}
	var out beginning1k
	err := sandbox.Run(ctx, box, sandbox.Program{Args: []string{"/bin/sh", "-c", gitStatus}, Dir: c.dir, Env: env}, &out, time.Second)
	if err != nil {
		return false, fmt.Errorf("git status: %w", err)
	}
	return len(bytes.TrimSpace(out)) > 0, nil
}

// beginning1k keeps the beginning of an output, and forgets the rest.
type beginning1k []byte

func (b *beginning1k) Write(p []byte) (int, error) {
	*b = append(*b, p[:min(len(p), 1<<10-len(*b))]...)
	return len(p), nil
}

// judges gives a conversation what looks at the agent's work: the critic of its agent,
// if there is one, and the agents of hooks.
func (b *Backend) judges(cfg *conversation.Config, stored agent, files *changes) {
	s, dir := cfg.Dir.State, cfg.Dir.Path()
	var err error
	if cfg.Critic, err = critic.Of(stored["critic"]); err != nil {
		b.cfg.Log.Warn("the critic of the agent is not asked", "conversation", s.ID, "err", err)
	}
	cfg.Changed = files.any
	cfg.HookAgent = func(ctx context.Context, host conversation.Host, q hook.Question) (string, error) {
		return b.hookAgent(ctx, hookPlace{id: s.ID, dir: dir, workspace: s.Workspace.WorkingDir, host: host}, q)
	}
}
