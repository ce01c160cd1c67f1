package conversation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/view"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Panel has each message of the user answered by the members of a team, by calls of
// the tool task that the conversation makes itself. Then the model is called once,
// without tools, and joins the answers. A member that fails is named, and the others
// count.
type Panel struct {
	Members []string
}

// codeTeam is the error of a team in which no member has answered.
const codeTeam = "TeamFailed"

const taskTool = "task"

// panelStep is a step of a team: its members are asked, or their answers are joined.
func (c *Conversation) panelStep() (outcome, error) {
	given := c.memberAnswers()
	if len(given) == 0 {
		return c.askMembers()
	}
	failed := slices.Clone(given)
	failed = slices.DeleteFunc(failed, func(a memberAnswer) bool { return !a.failed })
	if len(failed) == len(given) {
		return more, &limitError{codeTeam, "No member of the team has answered: " + reasons(failed) + "."}
	}
	resp, err := c.generate()
	if err != nil {
		return more, c.unusable(err)
	}
	resp.Message.ToolCalls = nil // it has no tools
	if text := plainText(resp.Message.Content); strings.TrimSpace(text) != "" {
		if missing := unnamed(failed, text); len(missing) > 0 {
			resp.Message.Content = append(resp.Message.Content, event.Text("\n\nWithout an answer: "+reasons(missing)+"."))
		}
	}
	c.tooLong = 0
	return c.answer(resp)
}

// memberAnswer is what a member answered to the newest message.
type memberAnswer struct {
	name, text string
	failed     bool
}

// memberAnswers are the answers to the newest message of the user; none if the members
// have not been asked. A message that comes while a member waits for a person tells
// that member, and asks no other.
func (c *Conversation) memberAnswers() []memberAnswer {
	var list []memberAnswer
	var asked string // the newest round
	last := 0        // event of it
	names := make(map[string]string)
	for i := range c.view.Len() {
		switch body := c.view.Event(i).Body.(type) {
		case *event.Action:
			if body.LLMResponseID != asked {
				asked, list = body.LLMResponseID, nil
				clear(names)
			}
			names[body.ToolCallID], last = memberOf(body.ToolCall), i
		case *event.Observation:
			content, failed := view.Result(c.view.Content(i))
			list, last = append(list, memberAnswer{names[body.ToolCallID], plainText(content), failed}), i
		case *event.AgentError:
			list, last = append(list, memberAnswer{names[body.ToolCallID], body.Error, true}), i
		}
	}
	if _, to := c.view.Asked(); last < to {
		return nil
	}
	return list
}

// memberOf is the member that a call asks.
func memberOf(call event.ToolCall) string {
	var args struct {
		Agent string `json:"subagent_type"`
	}
	if json.Unmarshal([]byte(call.Arguments), &args) != nil {
		return ""
	}
	return args.Agent
}

// reasons names members with why they have not answered, in one line.
func reasons(failed []memberAnswer) string {
	list := make([]string, len(failed))
	for i, a := range failed {
		why := strings.Join(strings.Fields(a.text), " ")
		if r := []rune(why); len(r) > maxReason {
			why = string(r[:maxReason]) + "…"
		}
		list[i] = a.name + " (" + strings.TrimSuffix(why, ".") + ")"
	}
	return strings.Join(list, ", ")
}

// maxReason bounds why a member has failed, in runes, for people.
const maxReason = 200

// unnamed are the failed members that a text does not name.
func unnamed(failed []memberAnswer, text string) []memberAnswer {
	text = strings.ToLower(text)
	return slices.DeleteFunc(slices.Clone(failed), func(a memberAnswer) bool { return strings.Contains(text, strings.ToLower(a.name)) })
}

// askMembers has all members answer the newest message of the user. The person has
// asked for all of them, so nobody confirms that they work; what they do is confirmed
// as ever.
func (c *Conversation) askMembers() (outcome, error) {
	from, to := c.view.Asked()
	var said []string
	for i := from; i < to; i++ {
		if text := plainText(c.view.Content(i)); text != "" {
			said = append(said, text)
		}
	}
	resp := llm.Response{ID: "team_" + c.cfg.NewID(), Message: event.LLMMessage{Role: "assistant"}}
	for _, name := range c.cfg.Panel.Members {
		args, err := json.Marshal(map[string]string{
			"description": name, "prompt": strings.Join(said, "\n\n"), "subagent_type": name, "security_risk": "LOW", "summary": "Ask " + name,
		})
		if err != nil {
			return more, err
		}
		resp.Message.ToolCalls = append(resp.Message.ToolCalls, event.ToolCall{
			ID: "call_" + strings.ReplaceAll(c.cfg.NewID(), "-", ""), Name: taskTool, Arguments: string(args), Origin: "completion",
		})
	}
	actions, err := c.propose(resp)
	if err != nil || len(actions) == 0 || c.stopping {
		return more, err
	}
	return c.execute(actions)
}

// forPanel is a history without tool calls: what the members answered is a message
// that comes with the user's. A model that is offered no tools cannot be shown calls.
func forPanel(messages []event.LLMMessage) []event.LLMMessage {
	var out []event.LLMMessage
	names := make(map[string]string)
	for _, m := range messages {
		switch {
		case len(m.ToolCalls) > 0:
			for _, call := range m.ToolCalls {
				names[call.ID] = memberOf(call)
			}
			continue
		case m.Role == "tool":
			content, failed := view.Result(m.Content)
			what := "answered"
			if failed {
				what = "failed"
			}
			text := fmt.Sprintf("The member %q of the team %s:\n\n%s", names[m.ToolCallID], what, plainText(content))
			m = event.LLMMessage{Role: "user", Content: []event.Content{event.Text(text)}}
		}
		if n := len(out); n > 0 && m.Role == "user" && out[n-1].Role == "user" {
			out[n-1].Content = append(slices.Clone(out[n-1].Content), m.Content...)
			continue
		}
		out = append(out, m)
	}
	return out
}
