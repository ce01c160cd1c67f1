package fakeserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/uuid"
)

// work carries out one run: it takes steps until something ends it.
func (c *conversation) work(ctx context.Context, r *run) {
	c.mu.Lock()
	pending := c.pending
	c.pending = nil
	resumes := c.status != event.Finished
	if resumes {
		c.become(event.Running)
	}
	c.mu.Unlock()
	var err error
	if resumes && len(pending) > 0 {
		err = c.execute(ctx, pending)
	}
	for err == nil && c.goesOn() {
		err = c.step(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	again := c.rerun && c.run == r && !r.stopped && err == nil && c.status == event.Idle
	if !again {
		c.server.runs.leave() // before it is told
	}
	if c.run != r {
		return // the server died
	}
	switch {
	case r.stopped:
		c.failOpenCalls("Tool call interrupted before completion. The conversation was paused.")
		c.become(event.Paused)
		c.append(event.SourceUser, &event.Interrupt{})
	case err != nil:
		c.fail(err)
	}
	c.run, c.rerun = nil, false
	if again {
		c.begin()
	}
	c.save()
	c.publish(c.snapshot())
}

func (c *conversation) goesOn() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status == event.Running
}

// sinceKeyWords is the version from which on a refused key is told in these words.
const sinceKeyWords = 1058

// fail ends the run with an error. It is called with mu held.
func (c *conversation) fail(err error) {
	body := &event.ConversationError{Code: "RuntimeError", Detail: err.Error(), Classification: c.classify("internal", false, "none")}
	if e, ok := errors.AsType[*modelError](err); ok {
		body.Code, body.Detail = e.code, e.detail
		if e.code == codeAuthentication && c.server.version >= sinceKeyWords {
			body.Detail = "Your LLM API key appears to be invalid or has expired."
		}
		body.Classification = c.classify(e.kind, e.retryable, "settings")
	}
	c.become(event.Failed)
	c.append(event.SourceEnvironment, body)
}

// step asks the model once and does what it says.
func (c *conversation) step(ctx context.Context) error {
	c.mu.Lock()
	prompt := Prompt{Model: c.llm.Model, BaseURL: c.llm.BaseURL, Key: c.llm.Key, Messages: c.messages(), Stream: c.llm.Stream}
	usage, listened, stream := c.llm.UsageID, c.llm.listened, c.llm.Stream
	locked := c.server.version < 1033
	c.mu.Unlock()
	if stream && c.server.version < 1018 {
		return errors.New("Streaming requires an on_token callback") //nolint:staticcheck // the words of the real one
	}
	if locked {
		if err := c.hold(ctx); err != nil {
			return err
		}
	}
	it := newItem()
	defer c.abort(it, "cancelled")
	reply, err := c.ask(ctx, prompt, it, listened)
	if locked {
		c.release()
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	id := "chatcmpl-" + uuid.New()
	c.count(usage, prompt.Model, reply.Usage)
	if len(reply.Calls) == 0 {
		it.ended = true
		c.appendAs(it.id, event.SourceAgent, &event.Message{
			LLMMessage: event.LLMMessage{
				Role: "assistant", Content: []event.Content{event.Text(reply.Text)},
				ReasoningContent: reply.Reasoning, ThinkingBlocks: []json.RawMessage{},
			},
			LLMResponseID: id, ActivatedSkills: []string{}, ExtendedContent: []event.Content{},
		})
		c.become(event.Finished)
		c.stat()
		c.save()
		c.mu.Unlock()
		return nil
	}
	it.ended = true
	actions := c.actions(it, id, reply)
	c.analyze(reply.Calls, actions)
	wait := c.policy.asks() && (len(actions) != 1 || reply.Calls[0].Name != "finish")
	if wait && len(actions) > 0 {
		c.pending = actions
		c.become(event.Waiting)
	}
	c.stat()
	c.save()
	c.mu.Unlock()
	if wait {
		return nil
	}
	return c.execute(ctx, actions)
}

// count adds what a call cost. It is called with mu held.
func (c *conversation) count(usageID, model string, u Usage) {
	if c.llms[usageID].uncounted {
		return
	}
	m := c.stats[usageID]
	m.ModelName = model
	sum := event.TokenUsage{}
	if m.Usage != nil {
		sum = *m.Usage
	}
	sum.PromptTokens += u.Prompt
	sum.CompletionTokens += u.Completion
	sum.CacheReadTokens += u.Cached
	sum.ReasoningTokens += u.Reasoning
	m.Usage = &sum
	c.stats[usageID] = m
}

// stat publishes the statistics. It is called with mu held.
func (c *conversation) stat() {
	c.update("stats", map[string]any{"usage_to_metrics": c.stats})
}

// actions appends the calls of a reply, the first one with the id of the text. It is
// called with mu held, and gives those that can be executed.
func (c *conversation) actions(it *item, responseID string, reply Reply) []event.Event {
	var valid []event.Event
	for i, call := range reply.Calls {
		a := &event.Action{
			Thought: []event.Content{}, ThinkingBlocks: []json.RawMessage{},
			ToolName: call.Name, ToolCallID: call.ID, LLMResponseID: responseID, SecurityRisk: "UNKNOWN",
			ToolCall: event.ToolCall{ID: call.ID, Name: call.Name, Arguments: call.Args, Origin: "completion"},
		}
		if i == 0 {
			a.Thought, a.ReasoningContent = []event.Content{event.Text(reply.Text)}, reply.Reasoning
		}
		problem := ""
		var args map[string]any
		kind, known := toolKinds(call.Name)
		switch {
		case !known, call.Name == "terminal" && !c.hasTerminal():
			problem = fmt.Sprintf("Tool '%s' not found.", call.Name)
		case json.Unmarshal([]byte(call.Args), &args) != nil:
			problem = fmt.Sprintf("Error validating args %s for tool '%s'", call.Args, call.Name)
		default:
			args["kind"] = kind + "Action"
			a.Action = encode(args)
		}
		id := uuid.New()
		if i == 0 {
			id = it.id
		}
		e := c.appendAs(id, event.SourceAgent, a)
		if problem == "" {
			valid = append(valid, e)
			continue
		}
		c.append(event.SourceAgent, &event.AgentError{
			ToolName: call.Name, ToolCallID: call.ID, Error: problem, Classification: c.classify("agent_action", true, "retry"),
		})
	}
	return valid
}

// sinceAnalyses is the version from which on the log says what an analyzer found.
const sinceAnalyses = 1054

// analyze notes the risks of a batch of actions. It is called with mu held.
func (c *conversation) analyze(calls []ModelCall, actions []event.Event) {
	var analyzer struct {
		Kind string `json:"kind"`
	}
	if c.server.version < sinceAnalyses || json.Unmarshal(c.analyzer, &analyzer) != nil || analyzer.Kind == "" || len(actions) == 0 {
		return
	}
	if len(actions) == 1 && len(calls) == 1 && (calls[0].Name == "finish" || calls[0].Name == "think") {
		return
	}
	found := &event.SecurityAnalysis{
		Analyzer: analyzer.Kind, Policy: cmp.Or(c.policy.Kind, "NeverConfirm"), Risks: map[string]string{}, Details: map[string]json.RawMessage{},
	}
	for _, a := range actions {
		found.Risks[a.ID] = "UNKNOWN"
	}
	c.append(event.SourceEnvironment, found)
}

// hasTerminal is called with mu held.
func (c *conversation) hasTerminal() bool {
	tools, _ := c.agent["tools"].([]any)
	return slices.ContainsFunc(tools, func(tool any) bool {
		t, _ := tool.(map[string]any)
		return t["name"] == "terminal"
	})
}

func toolKinds(name string) (kind string, known bool) {
	kind, known = map[string]string{"terminal": "Terminal", "finish": "Finish", "think": "Think"}[name]
	return kind, known
}

// execute runs actions one after the other, with the lock held.
func (c *conversation) execute(ctx context.Context, actions []event.Event) error {
	if err := c.hold(ctx); err != nil {
		return err
	}
	defer c.release()
	for _, e := range actions {
		a, _ := e.Body.(*event.Action)
		var args struct {
			Command string `json:"command"`
			Message string `json:"message"`
		}
		_ = json.Unmarshal(a.Action, &args) // it was encoded here
		out, failed := args.Message, false
		kind, _ := toolKinds(a.ToolName)
		if a.ToolName == "terminal" {
			var err error
			if out, failed, err = terminal(ctx, args.Command); err != nil {
				return err
			}
		}
		c.mu.Lock()
		c.append(event.SourceEnvironment, &event.Observation{
			ToolName: a.ToolName, ToolCallID: a.ToolCallID, ActionID: e.ID, ExtendedContent: []event.Content{},
			Observation: encode(map[string]any{
				"content": []event.Content{event.Text(out)}, "is_error": failed, "kind": kind + "Observation",
			}),
		})
		if a.ToolName == "finish" {
			c.become(event.Finished)
		}
		c.save()
		c.mu.Unlock()
	}
	return nil
}

// terminal runs a command in a shell that knows three.
func terminal(ctx context.Context, command string) (out string, failed bool, err error) {
	name, arg, _ := strings.Cut(strings.TrimSpace(command), " ")
	switch name {
	case "echo":
		return arg, false, nil
	case "false":
		return "", true, nil
	case "sleep":
		seconds, err := strconv.ParseFloat(arg, 64)
		if err != nil {
			return "sleep: invalid time interval", true, nil //nolint:nilerr // it is the command that fails
		}
		return "", false, pause(ctx, time.Duration(seconds*float64(time.Second)))
	default:
		return name + ": command not found", true, nil
	}
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// systemPrompt is the first event of a conversation. It is called with mu held.
func (c *conversation) systemPrompt() *event.SystemPrompt {
	return &event.SystemPrompt{SystemPrompt: event.Text(c.systemText()), Tools: c.serverTools()}
}

func (c *conversation) systemText() string {
	text := "You are a fake OpenHands agent."
	if context, ok := c.agent["agent_context"].(map[string]any); ok {
		if suffix, ok := context["system_message_suffix"].(string); ok {
			text += "\n\n" + suffix
		}
	}
	return text
}

// messages converts the log for the model. The caller holds mu.
func (c *conversation) messages() []Message {
	list := []Message{{Role: "system", Content: []event.Content{event.Text(c.systemText())}}}
	for i, e := range c.log {
		switch b := e.Body.(type) {
		case *event.Condensation:
			list = append(list[:1], Message{Role: "user", Content: []event.Content{event.Text(*b.Summary)}})
		case *event.Message:
			list = append(list, Message{Role: b.LLMMessage.Role, Content: b.LLMMessage.Content})
		case *event.Action:
			call := ModelCall{ID: b.ToolCallID, Name: b.ToolName, Args: b.ToolCall.Arguments}
			if last := &list[len(list)-1]; i > 0 && last.response == b.LLMResponseID {
				last.Calls = append(last.Calls, call)
				continue
			}
			list = append(list, Message{Role: "assistant", Content: b.Thought, Calls: []ModelCall{call}, response: b.LLMResponseID})
		case *event.Observation:
			var o struct {
				Content []event.Content `json:"content"`
			}
			_ = json.Unmarshal(b.Observation, &o) // it was encoded here
			list = append(list, Message{Role: "tool", Content: o.Content, CallID: b.ToolCallID})
		case *event.AgentError:
			list = append(list, Message{Role: "tool", Content: []event.Content{event.Text(b.Error)}, CallID: b.ToolCallID})
		case *event.UserReject:
			text := "Action rejected: " + b.RejectionReason
			list = append(list, Message{Role: "tool", Content: []event.Content{event.Text(text)}, CallID: b.ToolCallID})
		}
	}
	return list
}
