package conversation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/hook"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/check"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/hookfile"
)

// hooked runs the hooks for something that happens and records them. A run that is
// interrupted meanwhile ends them. Ids are those of the action or the message.
func (r *run) hooked(e hook.Event, actionID, messageID string) ([]hook.Result, error) {
	if !r.cfg.Hooks.Any(e.Type, e.Tool) {
		return nil, nil
	}
	e.Input, e.Response = r.cfg.Secrets.MaskJSON(e.Input), r.cfg.Secrets.MaskJSON(e.Response)
	e.Message = r.cfg.Secrets.Mask(e.Message)
	var results []hook.Result
	was := r.branch.stats.Calls()
	judge := hookJudge{run: r, profile: r.agent.choice.Profile}
	if err := r.await(context.Background(), func(j *job) { results = r.cfg.Hooks.Run(j.ctx, e, judge.with(j)) }); err != nil {
		r.cfg.Log.Warn("run hooks", "conversation", r.branch.id, "event", e.Type, "err", err)
		return nil, nil // a hook that does not end refuses nothing
	}
	for _, res := range results {
		if res.Unable {
			r.cfg.Log.Warn("a hook could not be started", "conversation", r.branch.id, "event", e.Type, "hook", res.Command, "refused", res.Blocked, "err", res.Err)
		}
		_, err := r.branch.append(event.SourceHook, &event.HookExecution{
			HookEventType: hook.Name(e.Type), HookCommand: res.Command, ToolName: e.Tool, Success: res.Success, Blocked: res.Blocked,
			ExitCode: res.ExitCode, Stdout: res.Stdout, Stderr: res.Stderr, Reason: res.Reason, AdditionalContext: res.Context, Error: res.Err,
			ActionID: actionID, MessageID: messageID, HookInput: res.Event.Logged(),
		}, lazily)
		if err != nil {
			return nil, err
		}
	}
	if r.branch.dir.State.Status == event.Running {
		return results, nil // the step publishes what they have cost
	}
	return results, r.branch.updateStats(was)
}

// hookJudge asks the model of a conversation, or an agent with it, for a hook.
type hookJudge struct {
	run     *run
	job     *job
	profile string
}

func (h hookJudge) with(j *job) hookJudge {
	h.job = j
	return h
}

// Prompt asks the model once.
func (h hookJudge) Prompt(ctx context.Context, q hook.Question) (string, error) {
	model, err := h.run.cfg.Models.Model(ctx, Choice{Profile: h.profile, Usage: q.Usage})
	if err != nil {
		return "", err
	}
	req := llm.Request{Messages: []event.LLMMessage{message("system", texts(q.System)), message("user", texts(q.Text))}, CacheKey: h.run.branch.id}
	resp, err := call(ctx, model, req, nil)
	h.job.call(func() { h.run.branch.spent(model, &resp, err) })
	if err != nil {
		return "", consultError(ctx, err)
	}
	return plainText(resp.Message.Content), nil
}

// Agent has an agent find out. What it has cost is added to what those before it have.
func (h hookJudge) Agent(ctx context.Context, q hook.Question) (string, error) {
	var parent store.State
	h.job.call(func() { parent = h.run.branch.dir.State.Clone() })
	answer, spent, err := h.run.cfg.HookAgent(ctx, parent, q)
	h.job.call(func() {
		if len(spent.UsageToMetrics) > 0 {
			h.run.branch.spentElsewhere(q.Usage, h.run.branch.stats.Of(q.Usage), spent)
		}
	})
	if err != nil && ctx.Err() == nil {
		h.run.cfg.Log.Warn("the agent of a hook could not decide", "conversation", h.run.branch.id, "hook", q.Usage, "err", err)
		return "", errors.New(agentapi.PublicMessage(err, "the log of ohgw serve has the cause"))
	}
	return answer, err
}

// beforeTool runs the hooks for an action that is about to be made, which may give it
// another input. What they refuse is noted for its id, and what they add is for its result.
func (r *run) beforeTool(id string, a *event.Action, def tool.Definition) error {
	var changed *check.Passed
	e := hook.Event{Type: hookfile.PreToolUse, Tool: a.ToolName, Input: a.Action, Change: func(input json.RawMessage) (json.RawMessage, error) {
		if bytes.Contains(input, []byte(secretenv.Mark)) {
			return nil, errors.New("the new one has " + secretenv.Mark + " in the place of a secret's value. Have the model pass the name of the secret, such as $NAME")
		}
		passed, err := check.Changed(a.ToolCall, def, input)
		if err != nil {
			return nil, err
		}
		changed = passed
		return passed.Action, nil
	}}
	results, err := r.hooked(e, id, "")
	if err != nil || len(results) == 0 {
		return err
	}
	if why := hook.Refusal(results); why != "" {
		r.branch.blockAction(id, strings.TrimSpace(why))
		return nil
	}
	if changed != nil { // clients show the call that runs, and the model sees it
		a.Action, a.ToolCall, a.Summary = changed.Action, changed.Call, changed.Summary
	}
	if said := contexts(results); said != "" {
		if r.added == nil {
			r.added = make(map[string]string)
		}
		r.added[id] = said
	}
	return nil
}

// beforeMessage runs the hooks for a message of the user. It gives what they add to
// it, and why they refuse it.
func (r *run) beforeMessage(id, text string) (extended []event.Content, refusal string, err error) {
	results, err := r.hooked(hook.Event{Type: hookfile.UserPromptSubmit, Message: text}, "", id)
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
func (r *run) mustGoOn() (bool, error) {
	results, err := r.hooked(hook.Event{Type: hookfile.Stop, Reason: "agent_finished"}, "", "")
	why := hook.Refusal(results)
	if why == "" || err != nil {
		return false, err
	}
	if said := contexts(results); said != "" {
		why = said
	}
	return true, r.branch.notifyAgent(stopFeedback + strings.TrimSpace(why))
}

// beginSession runs the hooks for the beginning, once while the conversation is open.
func (r *run) beginSession() error {
	if r.session || r.agent.tools == nil {
		return nil
	}
	r.session = true
	results, err := r.hooked(hook.Event{Type: hookfile.SessionStart}, "", "")
	r.greeting = contexts(results)
	return errors.Join(err, r.greet())
}

// greet gives the model what the hooks for the beginning say. Between an action and its
// result there is no place for it.
func (r *run) greet() error {
	if r.greeting == "" || len(r.branch.open) > 0 {
		return nil
	}
	text := r.greeting
	r.greeting = ""
	return r.branch.notifyAgent(text)
}

// endSession runs the hooks for the end, before the tools are closed.
func (r *run) endSession() {
	if !r.session || r.door.lost != nil || !r.cfg.Hooks.Any(hookfile.SessionEnd, "") {
		return
	}
	r.beginWork()
	ending, cancel := context.WithTimeout(context.Background(), r.cfg.Grace/2)
	defer cancel()
	stop := context.AfterFunc(ending, func() {
		_ = r.door.try(context.Background(), func() error { r.stop(); return nil })
	})
	defer stop()
	if _, err := r.hooked(hook.Event{Type: hookfile.SessionEnd}, "", ""); err != nil {
		r.cfg.Log.Warn("run hooks", "conversation", r.branch.id, "event", hookfile.SessionEnd, "err", err)
		return
	}
	if err := r.branch.save(lazily); err != nil {
		r.cfg.Log.Warn("save conversation", "conversation", r.branch.id, "err", err)
	}
}
