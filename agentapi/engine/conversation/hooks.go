package conversation

import (
	"context"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/hook"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/hookfile"
)

// hooked runs the hooks for something that happens and records them. A run that is
// interrupted meanwhile ends them. Ids are those of the action or the message.
func (c *Conversation) hooked(e hook.Event, actionID, messageID string) ([]hook.Result, error) {
	if !c.cfg.Hooks.Any(e.Type, e.Tool) {
		return nil, nil
	}
	e.Input, e.Response = c.cfg.Secrets.MaskJSON(e.Input), c.cfg.Secrets.MaskJSON(e.Response)
	e.Message = c.cfg.Secrets.Mask(e.Message)
	var results []hook.Result
	if err := c.await(context.Background(), func(j *job) { results = c.cfg.Hooks.Run(j.ctx, e) }); err != nil {
		c.cfg.Log.Warn("run hooks", "conversation", c.branch.id, "event", e.Type, "err", err)
		return nil, nil // a hook that does not end refuses nothing
	}
	for _, r := range results {
		if r.Unable {
			c.cfg.Log.Warn("a hook could not be started", "conversation", c.branch.id, "event", e.Type, "hook", r.Command, "refused", r.Blocked, "err", r.Err)
		}
		_, err := c.branch.append(event.SourceHook, &event.HookExecution{
			HookEventType: hook.Name(e.Type), HookCommand: r.Command, ToolName: e.Tool, Success: r.Success, Blocked: r.Blocked,
			ExitCode: r.ExitCode, Stdout: r.Stdout, Stderr: r.Stderr, Reason: r.Reason, AdditionalContext: r.Context, Error: r.Err,
			ActionID: actionID, MessageID: messageID, HookInput: e.Logged(),
		}, lazily)
		if err != nil {
			return nil, err
		}
	}
	return results, nil
}

// beforeTool runs the hooks for an action that is about to be made. What they refuse
// is noted for its id.
func (c *Conversation) beforeTool(id string, a *event.Action) error {
	results, err := c.hooked(hook.Event{Type: hookfile.PreToolUse, Tool: a.ToolName, Input: a.Action}, id, "")
	if why := hook.Refusal(results); why != "" {
		c.branch.dir.State.BlockedActions[id] = c.cfg.Secrets.Mask(strings.TrimSpace(why))
	}
	return err
}

// beforeMessage runs the hooks for a message of the user. It gives what they add to
// it, and why they refuse it.
func (c *Conversation) beforeMessage(id, text string) (extended []event.Content, refusal string, err error) {
	results, err := c.hooked(hook.Event{Type: hookfile.UserPromptSubmit, Message: text}, "", id)
	return texts(contexts(results)), strings.TrimSpace(hook.Refusal(results)), err
}

// contexts is what hooks say to the model.
func contexts(results []hook.Result) string {
	var parts []string
	for _, r := range results {
		if r.Context != "" {
			parts = append(parts, r.Context)
		}
	}
	return strings.Join(parts, "\n")
}

// stopFeedback is what a message begins with by which a hook has the agent go on. It
// is OpenHands' own.
const stopFeedback = "[Stop hook feedback] "

// mustGoOn asks the hooks whether the agent may stop. If it may not, it is told why.
func (c *Conversation) mustGoOn() (bool, error) {
	results, err := c.hooked(hook.Event{Type: hookfile.Stop, Reason: "agent_finished"}, "", "")
	why := hook.Refusal(results)
	if why == "" || err != nil {
		return false, err
	}
	if said := contexts(results); said != "" {
		why = said
	}
	return true, c.branch.notifyAgent(stopFeedback + strings.TrimSpace(why))
}

// beginSession runs the hooks for the beginning, once while the conversation is open.
func (c *Conversation) beginSession() error {
	if c.session || c.agent.tools == nil {
		return nil
	}
	c.session = true
	_, err := c.hooked(hook.Event{Type: hookfile.SessionStart}, "", "")
	return err
}

// endSession runs the hooks for the end, before the tools are closed.
func (c *Conversation) endSession() {
	if !c.session || c.door.lost != nil || !c.cfg.Hooks.Any(hookfile.SessionEnd, "") {
		return
	}
	c.stopping = false
	ending, cancel := context.WithTimeout(context.Background(), c.cfg.Grace/2)
	defer cancel()
	stop := context.AfterFunc(ending, func() {
		_ = c.door.try(context.Background(), func() error { c.stop(); return nil })
	})
	defer stop()
	if _, err := c.hooked(hook.Event{Type: hookfile.SessionEnd}, "", ""); err != nil {
		c.cfg.Log.Warn("run hooks", "conversation", c.branch.id, "event", hookfile.SessionEnd, "err", err)
		return
	}
	if err := c.branch.save(lazily); err != nil {
		c.cfg.Log.Warn("save conversation", "conversation", c.branch.id, "err", err)
	}
}
