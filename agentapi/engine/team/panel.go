package team

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/failure"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/plainjson"
	"github.com/ohgw/ohgw/internal/truncate"
)

// codeFailed is the error of a run in which no member has answered.
const codeFailed = "TeamFailed"

// taskTool is the tool by whose calls the members are asked.
const taskTool = "task"

// Panel has each message of the user answered by all members. Its models call the tool task
// for each of them, which takes no call of an LLM. When the results are there, the LLM is
// called once, without tools, and joins them. A member that fails is named, and the others
// count.
type Panel struct {
	conversation.Models

	team *Team

	mu     sync.Mutex
	asked  string   // the message that the members were asked last
	images []string // of that message
}

// NewPanel makes the panel of a conversation over the models that it has.
func NewPanel(t *Team, models conversation.Models) *Panel { return &Panel{Models: models, team: t} }

// Images are those of the message that the members are asked.
func (p *Panel) Images() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.images)
}

// Model is a model of the conversation that has the members asked first.
func (p *Panel) Model(ctx context.Context, c conversation.Choice) (llm.Model, error) {
	m, err := p.Models.Model(ctx, c)
	if err != nil {
		return nil, err
	}
	made := joining{m, p}
	if s, ok := m.(llm.Sizer); ok {
		return sized{made, s}, nil
	}
	return made, nil
}

// sized is a model whose server may tell the size of its context.
type sized struct {
	joining
	llm.Sizer
}

// joining is a model that joins what the members have answered.
type joining struct {
	llm.Model

	panel *Panel
}

// Generate has the members asked, or joins their answers. A request that answers no message
// of the user is left to the model.
func (m joining) Generate(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	if req.Answers == "" {
		return m.Model.Generate(ctx, req, onDelta)
	}
	given := m.panel.answers(req)
	if len(given) == 0 {
		return m.panel.ask(req)
	}
	failed := slices.DeleteFunc(slices.Clone(given), func(a answer) bool { return !a.failed })
	if len(failed) == len(given) {
		return llm.Response{}, &failure.LimitError{Code: codeFailed, Detail: "No member of the team has answered: " + reasons(failed) + "."}
	}
	req.Messages, req.Tools = flat(req.Messages), nil
	resp, err := m.Model.Generate(ctx, req, onDelta)
	resp.Message.ToolCalls = nil // it was offered no tools
	if err != nil {
		return resp, err
	}
	text := event.PlainText(resp.Message.Content)
	if missing := unnamed(failed, text); len(missing) > 0 && strings.TrimSpace(text) != "" {
		more := "\n\nWithout an answer: " + reasons(missing) + "."
		resp.Message.Content = append(slices.Clone(resp.Message.Content), event.Text(more))
		if onDelta != nil {
			onDelta(llm.Delta{Text: more})
		}
	}
	return resp, nil
}

// answer is what a member answered to a message.
type answer struct {
	name, text string
	failed     bool
}

// callID is the id of the call that asks a member for its answer to a message.
func callID(message string, member int) string {
	return fmt.Sprintf("call_%s_%d", strings.ReplaceAll(message, "-", ""), member)
}

// answers collects the results of the calls that were made for the message that a request
// is to answer; none if the members have not been asked.
func (p *Panel) answers(req llm.Request) []answer {
	var list []answer
	for _, m := range req.Messages {
		if m.Role != "tool" {
			continue
		}
		for i, member := range p.team.Members {
			if m.ToolCallID == callID(req.Answers, i) {
				text, failed := said(m.Content)
				list = append(list, answer{member.Name, text, failed})
			}
		}
	}
	return list
}

// ask makes the calls that have all members answer the newest message of the user.
func (p *Panel) ask(req llm.Request) (llm.Response, error) {
	var text string
	var images []string
	for _, m := range slices.Backward(req.Messages) {
		if m.Role != "user" {
			continue
		}
		text = event.PlainText(m.Content)
		for _, item := range m.Content {
			images = append(images, item.ImageURLs...)
		}
		break
	}
	if !p.begin(req.Answers, images) {
		return llm.Response{}, &failure.LimitError{Code: codeFailed, Detail: lostText}
	}
	resp := llm.Response{ID: "team_" + req.Answers, Message: event.LLMMessage{Role: "assistant"}}
	for i, member := range p.team.Members {
		args, err := plainjson.Marshal(map[string]string{
			"description": member.Name, "prompt": text, "subagent_type": member.Name, "security_risk": "LOW", "summary": "Ask " + member.Name,
		})
		if err != nil {
			return resp, err
		}
		resp.Message.ToolCalls = append(resp.Message.ToolCalls, event.ToolCall{ID: callID(req.Answers, i), Name: taskTool, Arguments: string(args), Origin: "completion"})
	}
	return resp, nil
}

// lostText is why a run fails whose history was shortened before the answers were joined.
const lostText = "The answers of the members do not fit into the context of the team's LLM. " +
	"Use an LLM with a larger context for the team, name fewer members, or raise max_size of the condenser."

// begin notes that the members are asked a message; false if they were asked the same one
// before, whose answers are not in the history any more.
func (p *Panel) begin(message string, images []string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	again := p.asked == message
	p.asked, p.images = message, images
	return !again
}

// memberOf is the member that a call asks; "" for another call.
func memberOf(call event.ToolCall) string {
	var args struct {
		Agent string `json:"subagent_type"`
	}
	if call.Name != taskTool || json.Unmarshal([]byte(call.Arguments), &args) != nil {
		return ""
	}
	return args.Agent
}

// maxReason bounds why a member has failed, in characters, for people.
const maxReason = 200

// reasons names members with why they have not answered, in one line.
func reasons(failed []answer) string {
	list := make([]string, len(failed))
	for i, a := range failed {
		words := strings.FieldsFunc(a.text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
		why := truncate.Within(strings.Join(words, " "), maxReason, "…")
		list[i] = a.name + " (" + strings.TrimSuffix(why, ".") + ")"
	}
	return strings.Join(list, ", ")
}

// unnamed are the failed members that a text does not name.
func unnamed(failed []answer, text string) []answer {
	return slices.DeleteFunc(slices.Clone(failed), func(a answer) bool { return names(strings.ToLower(text), strings.ToLower(a.name)) })
}

// names reports whether a text has a name as words of its own: "ann" is not in "planning".
func names(text, name string) bool {
	part := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	for {
		before, after, found := strings.Cut(text, name)
		if !found || name == "" {
			return false
		}
		last, _ := utf8.DecodeLastRuneInString(before)
		first, _ := utf8.DecodeRuneInString(after)
		if !part(last) && !part(first) {
			return true
		}
		text = text[len(before)+1:]
	}
}
