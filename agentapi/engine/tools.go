package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/delegation"
	"github.com/ohgw/ohgw/agentapi/engine/hook"
	"github.com/ohgw/ohgw/agentapi/engine/skill"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// explainer is a box that knows whether it refuses a path, and why.
type explainer interface {
	Explain(path string) (sandbox.Block, bool)
}

// tools makes the tools of a conversation, and the box in which they run programs.
// The last one closes the box.
func (a *assembler) tools(ctx context.Context, e ToolEnv, skills []skill.Skill, hooks *hook.Runner, tasks delegation.Opener) ([]tool.Tool, error) {
	box, err := a.cfg.Boxes(ctx, BoxEnv{
		Conversation: e.Conversation, Dir: e.Dir, Workspace: e.Workspace, ReadOnly: e.ReadOnly, Profile: e.Profile, Blocked: e.Host.Blocked, Progress: e.Host.Progress, Shown: e.Shown, Memory: e.Memory,
	})
	if err != nil {
		return nil, apierr.Of(ctx, err, agentapi.ErrSandbox, "The sandbox of the agent cannot be set up; nothing was done outside of it.")
	}
	if b, ok := box.(explainer); ok {
		e.Host.ExplainPaths(b.Explain)
	}
	e.Box = box
	tools, err := a.cfg.NewTools(ctx, e)
	if err != nil {
		return nil, errors.Join(err, box.Close())
	}
	read := skill.Tool(skill.ToolConfig{
		Skills: skills, Workspace: e.Workspace, Box: box, Env: sandbox.EnvironOf(box, a.cfg.SkillEnv), Invoked: e.Host.SkillInvoked,
	})
	if read != nil {
		tools = append(tools, read)
	}
	if t := a.delegation.Tool(ctx, delegation.Env{
		Conversation: e.Conversation, Dir: e.Dir, Workspace: e.Workspace, Agent: e.Agent, Shown: e.Shown, Host: e.Host, Team: e.Team, Panel: e.Panel, ReadOnly: e.ReadOnly,
	}, tasks); t != nil {
		tools = append(tools, t)
	}
	if len(tools) == 0 {
		return nil, box.Close()
	}
	tools = slices.Clone(tools)
	last := len(tools) - 1
	own, err := a.hookBox(ctx, box, e, hooks)
	if err != nil {
		for _, t := range tools {
			err = errors.Join(err, t.Close())
		}
		return nil, errors.Join(err, box.Close())
	}
	hooks.Use(own, sandbox.EnvironOf(own, a.cfg.SkillEnv))
	tools[last] = boxed{tools[last], box, own, hooks}
	return tools, nil
}

// boxed is the tool that is closed last, and the box of all of them with it.
type boxed struct {
	tool.Tool

	box   sandbox.Box
	own   sandbox.Box // of the hooks; it may be the same
	hooks *hook.Runner
}

// Close ends the tool and what is left in the box.
func (t boxed) Close() error {
	err := t.Tool.Close()
	t.hooks.Close()
	if t.own != t.box {
		err = errors.Join(err, t.own.Close())
	}
	if closed := t.box.Close(); closed != nil {
		err = errors.Join(err, fmt.Errorf("close the sandbox: %w", closed))
	}
	return err
}

// Held is what the tool keeps.
func (t boxed) Held() int64 {
	if h, ok := t.Tool.(tool.Holder); ok {
		return h.Held()
	}
	return 0
}
