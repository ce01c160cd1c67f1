package team

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/failure"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/plainjson"
)

// BranchPlace begins the name of each branch that a member has left.
const BranchPlace = "ohgw/"

// BranchLine says in the result of a member where its changes are.
func BranchLine(member, branch string) string {
	return "The changes of " + member + " are on the branch " + branch + ". To merge them: git merge " + branch
}

// branchLine finds such a line. A member may have written one itself: it can only name a
// branch at the place of all of them, in characters that mean nothing to a shell.
var branchLine = pattern.Of(`(?m)^The changes of .{1,200} are on the branch (ohgw/[A-Za-z0-9_/-]+)\. To merge them: git merge (ohgw/[A-Za-z0-9_/-]+)$`)

// Naming has the last answer to each message name the branches that members have left.
type Naming struct{ conversation.Models }

// Model is a model of the conversation that names the branches.
func (n Naming) Model(ctx context.Context, c conversation.Choice) (llm.Model, error) {
	m, err := n.Models.Model(ctx, c)
	if err != nil {
		return nil, err
	}
	made := naming{m}
	if s, ok := m.(llm.Sizer); ok {
		return sizedNaming{made, s}, nil
	}
	return made, nil
}

// sizedNaming is a model whose server may tell the size of its context.
type sizedNaming struct {
	naming
	llm.Sizer
}

// naming is a model that names the branches.
type naming struct{ llm.Model }

// Generate adds the branches that an answer does not name, if it is the last one.
func (m naming) Generate(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	resp, err := m.Model.Generate(ctx, req, onDelta)
	if req.Answers == "" {
		return resp, err
	}
	lines := branchLines(req.Messages)
	if err != nil {
		if failed, ok := errors.AsType[*failure.LimitError](err); ok && len(lines) > 0 {
			return resp, &failure.LimitError{Code: failed.Code, Detail: failed.Detail + "\n" + strings.Join(lines, "\n")}
		}
		return resp, err
	}
	calls := slices.Clone(resp.Message.ToolCalls)
	resp.Message.ToolCalls = calls
	if len(calls) == 0 {
		text := event.PlainText(resp.Message.Content)
		if more := unsaid(lines, text); more != "" && strings.TrimSpace(text) != "" {
			resp.Message.Content = append(slices.Clone(resp.Message.Content), event.Text(more))
			if onDelta != nil {
				onDelta(llm.Delta{Text: more})
			}
		}
	}
	for i, call := range calls {
		if call.Name == finishTool {
			calls[i] = finished(call, lines)
		}
	}
	return resp, nil
}

// finishTool is the tool by which an agent answers.
const finishTool = "finish"

// finished adds lines to the message of a call that ends the run. One that cannot be read
// stays as it is.
func finished(call event.ToolCall, lines []string) event.ToolCall {
	var args map[string]json.RawMessage
	var text string
	if json.Unmarshal([]byte(call.Arguments), &args) != nil || json.Unmarshal(args["message"], &text) != nil {
		return call
	}
	more := unsaid(lines, text)
	if more == "" {
		return call
	}
	said, err := plainjson.Marshal(text + more)
	if err != nil {
		return call
	}
	args["message"] = said
	if all, err := plainjson.Marshal(args); err == nil {
		call.Arguments = string(all)
	}
	return call
}

// branchLines collects the lines about branches from the results of the newest message of
// the user, the last line of each branch once.
func branchLines(messages []event.LLMMessage) (lines []string) {
	for _, m := range slices.Backward(messages) {
		if m.Role == "user" {
			break
		}
		if m.Role != "tool" {
			continue
		}
		for _, found := range slices.Backward(branchLine().FindAllStringSubmatch(event.PlainText(m.Content), -1)) {
			if found[1] == found[2] && !slices.Contains(lines, found[0]) {
				lines = append(lines, found[0])
			}
		}
	}
	slices.Reverse(lines)
	return lines
}

// unsaid is what of the lines a text does not say, as its end; "" for nothing.
func unsaid(lines []string, text string) string {
	missing := slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		_, command, _ := strings.Cut(line, ": ")
		return names(text, command)
	})
	if len(missing) == 0 {
		return ""
	}
	return "\n\n" + strings.Join(missing, "\n")
}
