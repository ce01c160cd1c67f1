package conversation

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/condenser"
	"github.com/ohgw/ohgw/agentapi/engine/critic"
	"github.com/ohgw/ohgw/agentapi/engine/draft"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/rescue"
)

// The classes of errors that a step answers itself.
const (
	codeContext   = "LLMContextWindowExceedError"
	codeHistory   = "LLMMalformedConversationHistoryError"
	codePolicy    = "LLMContentPolicyViolationError"
	codeTextCall  = "FunctionCallValidationError"
	maxUnusable   = 3 // answers in a row that could not be used
	maxCondensing = 3 // condensations in a row that did not help
)

// Our own words to the model, where it did not answer as it must.
const (
	emptyText  = "Your last answer had neither text nor a tool call. Continue with a tool call, or call finish if the task is done."
	policyText = "The provider refused the last request because of its content policy. Put it in other words, or leave the part out."
	blindText  = "I cannot see images: the model of this profile takes text only. Describe the image in words, or use a profile whose model takes images."
)

// step takes one step: it does what waits, or asks the model once.
func (r *run) step() (outcome, error) {
	if len(r.branch.open) > 0 {
		return r.execute(r.branch.open)
	}
	if r.branch.blocked() {
		return finished, nil
	}
	if err := r.greet(); err != nil {
		return more, err
	}
	condensed, err := r.condense()
	if condensed || err != nil {
		return more, err
	}
	if r.agent.imagesUnseen() {
		return finished, r.sayBlind()
	}
	resp, err := r.generate()
	if isCutCall(resp, err) {
		return r.cutShort(resp)
	}
	if err != nil {
		return more, r.unusable(err)
	}
	r.tooLong, r.cuts = 0, 0
	return r.answer(resp)
}

// sayBlind answers a message with images that the model would not be shown.
func (r *run) sayBlind() error {
	_, err := r.branch.appendAs(r.itemID(), event.SourceAgent, &event.Message{
		LLMMessage: message("assistant", texts(blindText)), ActivatedSkills: []string{}, ExtendedContent: []event.Content{},
	}, durable)
	return err
}

// generate asks the model. Where the provider refuses a request with pictures
// that it may refuse, it is asked again without them.
func (r *run) generate() (*llm.Response, error) {
	r.agent.refreshTools()
	r.branch.hidePictures(nil)
	resp, silent, err := r.request()
	if err == nil || !silent {
		return resp, err
	}
	for _, suspects := range r.agent.suspects(err) {
		r.branch.hidePictures(suspects)
		other, _, otherErr := r.request()
		if otherErr == nil {
			return other, r.branch.refusePictures(suspects, err)
		}
		r.branch.hidePictures(nil)
		if _, refused := errors.AsType[*llm.Error](otherErr); !refused {
			return nil, otherErr // it was interrupted
		}
	}
	return resp, err
}

// request makes one request. What the model writes is published while it writes
// it; silent says that there was nothing. The response is a pointer: a step waits
// for most of its life, and its stack with it.
func (r *run) request() (resp *llm.Response, silent bool, err error) {
	req := &llm.Request{Messages: r.branch.view.Messages(), Tools: r.agent.offers(), CacheKey: r.branch.id, Answers: r.branch.dir.State.LastUserMessageID}
	model := r.branch.model
	resp = new(llm.Response)
	silent = true
	r.shown.Reset()
	r.item, r.attempt = "", 0
	broke := r.await(context.Background(), func(j *job) {
		attempt := 1
		shown := draft.NewMasked(r.cfg.Secrets, func(d event.Delta) {
			d.Attempt = attempt
			j.post(func() { silent = false; r.delta(d) })
		})
		live := draft.Draft{Emit: shown.Add, Again: func() { shown.Flush(); attempt++ }}
		err = callInto(j.ctx, model, req, resp, r.announcing(j, live.Add))
		shown.Flush()
	})
	if broke != nil {
		return nil, false, broke
	}
	if err == nil {
		r.shown.Reset()
		r.agent.counted(model, req, resp)
	} else {
		r.branch.spent(model, resp, err)
	}
	return resp, silent, err
}

// call calls a model. One that panics has failed, and nothing else with it.
func call(ctx context.Context, m llm.Model, req llm.Request, onDelta func(llm.Delta)) (resp llm.Response, err error) {
	err = callInto(ctx, m, &req, &resp, onDelta)
	return resp, err
}

// callInto calls a model as call does, with pointers: it waits for most of its life, and its
// stack with it.
func callInto(ctx context.Context, m llm.Model, req *llm.Request, resp *llm.Response, onDelta func(llm.Delta)) error {
	err := rescue.Do(func() (err error) {
		*resp, err = m.Generate(ctx, *req, onDelta)
		return err
	})
	if rescue.Of(err) != nil {
		err = fmt.Errorf("the LLM client failed unexpectedly: %w", err)
	}
	return err
}

func (r *run) delta(d event.Delta) {
	if d.Content != nil {
		r.shown.WriteString(*d.Content)
	}
	if d.Attempt != r.attempt {
		r.attempt, r.order = d.Attempt, 0
	}
	d.Order = r.order
	r.order++
	if r.live.unwatched() {
		return
	}
	if r.item == "" {
		r.item = r.cfg.NewID()
	}
	d.Item = r.item
	r.live.publish(event.SourceAgent, &d)
}

// itemID returns the id of the event for what the model has written: that of its
// deltas, once, else a new one.
func (r *run) itemID() string {
	id := r.item
	r.item = ""
	if id == "" {
		id = r.cfg.NewID()
	}
	return id
}

// keepShown keeps what was shown of an answer when the run ends while it is written.
func (r *run) keepShown() error {
	text := r.shown.String()
	r.shown.Reset()
	if strings.TrimSpace(text) == "" {
		return nil
	}
	_, err := r.branch.appendAs(r.itemID(), event.SourceAgent, &event.Message{
		LLMMessage: message("assistant", texts(text)), ActivatedSkills: []string{}, ExtendedContent: event.Unfinished(),
	}, durable)
	return err
}

// unusable decides what follows a call of the model that gave no answer: some errors
// change the history, and the run goes on; all others end the run.
func (r *run) unusable(err error) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err
	}
	switch e.Code {
	case codeContext, codeHistory:
		if r.cfg.Condenser == (condenser.Settings{}) || r.tooLong == maxCondensing {
			return err
		}
		r.tooLong++
		r.agent.calibrate(r.agent.estimate(llm.Request{Tools: r.agent.offers()}), e.Prompt)
		if err := r.branch.reread(); err != nil {
			return err
		}
		r.agent.fitPrompt()
		_, err := r.branch.append(event.SourceEnvironment, &event.CondensationRequest{}, durable)
		return err
	case codePolicy, codeTextCall:
		if r.refused++; r.refused > maxUnusable {
			return err
		}
		if e.Code == codePolicy {
			return r.branch.notifyAgent(policyText)
		}
		return r.branch.notifyAgent(e.Detail)
	}
	return err
}

// answer takes an answer of the model apart.
func (r *run) answer(resp *llm.Response) (outcome, error) {
	r.refused = 0
	if len(resp.Message.ToolCalls) > 0 {
		return r.dispatch(*resp)
	}
	m := message("assistant", list(resp.Message.Content))
	m.ReasoningContent, m.ResponsesReasoningItem = resp.Message.ReasoningContent, resp.Message.ResponsesReasoningItem
	m.ThinkingBlocks = list(resp.Message.ThinkingBlocks)
	extended := []event.Content{}
	if resp.Length {
		extended = event.CutMark()
	}
	id := r.itemID()
	result := criticized(r, critic.Message, id, m.Content)
	_, err := r.branch.appendAs(id, event.SourceAgent, &event.Message{
		LLMMessage: m, LLMResponseID: resp.ID, ActivatedSkills: []string{}, ExtendedContent: extended,
		CriticResult: result,
	}, durable)
	if err != nil || strings.TrimSpace(event.PlainText(m.Content)) != "" {
		return finished, err
	}
	return more, r.branch.notifyAgent(emptyText)
}

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
