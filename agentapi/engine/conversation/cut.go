package conversation

import (
	"errors"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Our own words where an answer ended at the length limit before there was anything
// to use: to the model, then to the person.
const (
	cutCallText  = "Your last answer reached the length limit inside a tool call, so nothing of it ran. Make the call shorter, or do the work in several smaller steps."
	cutEmptyText = "Your last answer reached the length limit before it had a text or a tool call. Think less, and answer in a few words."
	cutTwiceText = "The model's answer was cut off inside a tool call, twice; nothing of the call ran. " +
		"Raise max_output_tokens of the profile, start the model's server with a larger context, or ask for a smaller step."
	cutSilentText = "The model reached its length limit twice before it had answered. " +
		"Raise max_output_tokens of the profile, start the model's server with a larger context, or ask for less."
)

// isCutCall reports whether an answer ended at the length limit with nothing that can
// be used: inside a tool call, or before it had a text. Calls before the one that was
// cut count as cut, too: the model meant them together.
func isCutCall(resp *llm.Response, err error) bool {
	if resp == nil || !resp.Length {
		return false
	}
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Code == codeTextCall {
		return true
	}
	return err == nil && (len(resp.Message.ToolCalls) > 0 || strings.TrimSpace(event.PlainText(resp.Message.Content)) == "")
}

// cutShort asks for such an answer again, once. A second one ends the run as a cut
// answer.
func (r *run) cutShort(resp *llm.Response) (outcome, error) {
	r.cuts++
	hint, told := cutCallText, cutTwiceText
	if len(resp.Message.ToolCalls) == 0 && len(resp.Message.Content) == 0 {
		hint, told = cutEmptyText, cutSilentText
	}
	if r.cuts == 1 {
		return more, r.branch.notifyAgent(hint)
	}
	r.cuts = 0
	_, err := r.branch.append(event.SourceAgent, &event.Message{
		LLMMessage: message("assistant", texts(told)), LLMResponseID: resp.ID, ActivatedSkills: []string{}, ExtendedContent: event.CutMark(),
	}, durable)
	return finished, err
}
