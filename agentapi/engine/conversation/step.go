package conversation

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/condenser"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/view"
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

// step is one step: what waits is done, or the model is asked once.
func (c *Conversation) step() (outcome, error) {
	if len(c.branch.open) > 0 {
		return c.execute(c.branch.open)
	}
	if c.branch.blocked() {
		return finished, nil
	}
	condensed, err := c.condense()
	if condensed || err != nil {
		return more, err
	}
	if c.agent.imagesUnseen() {
		return finished, c.sayBlind()
	}
	resp, err := c.generate()
	if isCutCall(resp, err) {
		return c.cutShort(resp)
	}
	if err != nil {
		return more, c.unusable(err)
	}
	c.tooLong, c.cuts = 0, 0
	return c.answer(resp)
}

// sayBlind answers a message with images that the model would not be shown.
func (c *Conversation) sayBlind() error {
	_, err := c.branch.appendAs(c.itemID(), event.SourceAgent, &event.Message{
		LLMMessage: message("assistant", texts(blindText)), ActivatedSkills: []string{}, ExtendedContent: []event.Content{},
	}, durable)
	return err
}

// generate asks the model. Where the provider refuses a request with pictures
// that it may refuse, it is asked again without them.
func (c *Conversation) generate() (*llm.Response, error) {
	c.agent.refreshTools()
	hidden := c.branch.hidePictures()
	resp, silent, err := c.request()
	if err == nil || !silent {
		return resp, err
	}
	for _, suspects := range c.agent.suspects(err) {
		c.branch.view.Hide(union(hidden, suspects))
		other, _, otherErr := c.request()
		if otherErr == nil {
			return other, c.agent.refusePictures(suspects, err)
		}
		c.branch.view.Hide(hidden)
		if _, refused := errors.AsType[*llm.Error](otherErr); !refused {
			return nil, otherErr // it was interrupted
		}
	}
	return resp, err
}

// request makes one request. What the model writes is published while it writes
// it; silent says that there was nothing. The response is a pointer: a step waits
// for most of its life, and its stack with it.
func (c *Conversation) request() (resp *llm.Response, silent bool, err error) {
	req := &llm.Request{Messages: c.branch.view.Messages(), Tools: c.agent.offers(), CacheKey: c.branch.id}
	model := c.branch.model
	resp = new(llm.Response)
	silent = true
	c.shown.Reset()
	c.item = ""
	broke := c.await(context.Background(), func(j *job) {
		attempt := 1
		shown := newMaskedDraft(c.cfg.Secrets, func(d event.Delta) {
			d.Attempt = attempt
			j.post(func() { silent = false; c.delta(d) })
		})
		live := draft{emit: shown.add, again: func() { shown.flush(); attempt++ }}
		*resp, err = call(j.ctx, model, *req, c.announcing(j, live.add))
		shown.flush()
	})
	if broke != nil {
		return nil, false, broke
	}
	if err == nil {
		c.shown.Reset()
		c.agent.counted(model, req, resp)
	} else {
		c.branch.stats.addEmpty(model.Info(), *resp, c.cfg.Now())
	}
	return resp, silent, err
}

// call calls a model. One that panics has failed, and nothing else with it.
func call(ctx context.Context, m llm.Model, req llm.Request, onDelta func(llm.Delta)) (resp llm.Response, err error) {
	err = rescue.Do(func() (err error) {
		resp, err = m.Generate(ctx, req, onDelta)
		return err
	})
	if rescue.Of(err) != nil {
		err = fmt.Errorf("the LLM client failed unexpectedly: %w", err)
	}
	return resp, err
}

func (c *Conversation) delta(d event.Delta) {
	if d.Content != nil {
		c.shown.WriteString(*d.Content)
	}
	if c.door.watchers.none() {
		return
	}
	if c.item == "" {
		c.item = c.cfg.NewID()
	}
	d.Item = c.item
	c.door.watchers.publish(c.branch.unstored(event.SourceAgent, &d))
}

// itemID is the id of the event for what the model has written: that of its deltas,
// once, else a new one.
func (c *Conversation) itemID() string {
	id := c.item
	c.item = ""
	if id == "" {
		id = c.cfg.NewID()
	}
	return id
}

// keepShown keeps what was shown of an answer when the run ends while it is written.
func (c *Conversation) keepShown() error {
	text := c.shown.String()
	c.shown.Reset()
	if strings.TrimSpace(text) == "" {
		return nil
	}
	_, err := c.branch.appendAs(c.itemID(), event.SourceAgent, &event.Message{
		LLMMessage: message("assistant", texts(text)), ActivatedSkills: []string{}, ExtendedContent: event.Unfinished(),
	}, durable)
	return err
}

// unusable is what happens when the model gave no answer: some errors are
// answered by a changed history, all others end the run.
func (c *Conversation) unusable(err error) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err
	}
	switch e.Code {
	case codeContext, codeHistory:
		if c.cfg.Condenser == (condenser.Settings{}) || c.tooLong == maxCondensing {
			return err
		}
		c.tooLong++
		c.agent.calibrate(c.agent.estimate(llm.Request{Tools: c.agent.offers()}), e.Prompt)
		events, err := c.branch.dir.Branch(c.branch.head)
		if err != nil {
			return err
		}
		c.branch.view, c.branch.fitted = view.New(render, events), false
		c.agent.fitPrompt()
		_, err = c.branch.append(event.SourceEnvironment, &event.CondensationRequest{}, durable)
		return err
	case codePolicy, codeTextCall:
		if c.refused++; c.refused > maxUnusable {
			return err
		}
		if e.Code == codePolicy {
			return c.branch.notifyAgent(policyText)
		}
		return c.branch.notifyAgent(e.Detail)
	}
	return err
}

// answer takes an answer of the model apart.
func (c *Conversation) answer(resp *llm.Response) (outcome, error) {
	c.refused = 0
	if len(resp.Message.ToolCalls) > 0 {
		return c.dispatch(*resp)
	}
	m := message("assistant", list(resp.Message.Content))
	m.ReasoningContent, m.ResponsesReasoningItem = resp.Message.ReasoningContent, resp.Message.ResponsesReasoningItem
	m.ThinkingBlocks = list(resp.Message.ThinkingBlocks)
	extended := []event.Content{}
	if resp.Length {
		extended = event.CutMark()
	}
	_, err := c.branch.appendAs(c.itemID(), event.SourceAgent, &event.Message{
		LLMMessage: m, LLMResponseID: resp.ID, ActivatedSkills: []string{}, ExtendedContent: extended,
	}, durable)
	if err != nil || strings.TrimSpace(event.PlainText(m.Content)) != "" {
		return finished, err
	}
	return more, c.branch.notifyAgent(emptyText)
}
