package chat

import (
	"context"
	"errors"
	"fmt"

	"github.com/ohgw/ohgw/cli/chat/answer"
	"github.com/ohgw/ohgw/cli/chat/recent"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/tui"
	"github.com/ohgw/ohgw/tui/wrap"
)

// once asks one question and prints the answer.
func (c *session) once(ctx context.Context) (err error) {
	restore := kit.SurvivePipes()
	defer restore()
	if n := c.notice(ctx); n != "" && !c.opts.JSON {
		c.opts.Note("%s", n)
	}
	out := c.show()
	t, err := c.turn(ctx, out)
	if errors.Is(err, kit.ErrReaderGone) {
		return err
	}
	if e := out.End(t, err == nil); e != nil {
		return e
	}
	if how := t.Speed.String(); how != "" && !c.opts.JSON {
		c.opts.Detail("speed: %s", how)
	}
	if err == nil {
		err = c.unfinished(t)
	}
	return err
}

// show chooses how the answer is printed.
func (c *session) show() answer.Show {
	if c.opts.events != nil {
		return c.opts.events
	}
	return answer.ForPeople(c.opts.App, c.opts.stream || c.opts.Stdout.TTY())
}

// turn asks the question and reads its answer.
func (c *session) turn(ctx context.Context, out answer.Show) (answer.Turn, error) {
	q := gateway.Question{
		Model: c.opts.model, Conversation: c.opts.conversation, System: c.opts.system, Text: c.opts.prompt, Timeout: c.opts.timeout, Workspace: c.directory, ReadOnly: c.readOnly,
	}
	if q.Model == "" {
		q.Model = activeModel
	}
	for _, image := range c.images {
		q.Images = append(q.Images, image.DataURL)
	}
	began := c.opts.Now()
	t := answer.Turn{Model: q.Model, Conversation: q.Conversation, Access: c.access(), Progress: []string{}, Ignored: []string{}}
	c.opts.events.Know(t)
	err := c.read(ctx, q, &t, out)
	t.Seconds = float64(c.opts.Now().Sub(began).Milliseconds()) / 1000
	if c.opts.conversation != "" && t.Taken {
		c.remember(ctx, &t)
	}
	if e, ok := errors.AsType[*gateway.Error](err); ok {
		if e.Conversation != "" {
			t.Conversation = e.Conversation
		}
		t.Status, t.Error = "error", &answer.Failure{Code: e.Code, Message: e.Message}
		if e.Code == "model_not_found" {
			switch again, explained := c.anotherModel(ctx, e); {
			case again:
				return c.turn(ctx, out)
			case explained != nil:
				return t, explained
			}
		}
		return t, c.faultOf(err)
	}
	if err != nil && ctx.Err() != nil {
		t.Status = "cancelled"
	}
	return t, err
}

// anotherModel chooses another model after the gateway refused that of the question. The
// error, if there is one, has more details than that of the gateway.
func (c *session) anotherModel(ctx context.Context, e *gateway.Error) (chosen bool, err error) {
	if c.opts.model != "" {
		return c.foundLate(ctx)
	}
	if damaged := c.damagedProfile(ctx, isActive); damaged != nil {
		return false, damaged
	}
	if c.opts.model = onlyModel(ctx, c.client); c.opts.model == "" {
		return false, c.explainNoModel(ctx, e)
	}
	if !c.opts.JSON {
		c.opts.Note("No profile is active; asking the only one, %s.", setup.Clean(c.opts.model))
	}
	return true, nil
}

// access returns what the agent may do with the directory; "" where the user has not
// chosen it.
func (c *session) access() string {
	switch {
	case c.readOnly:
		return "read"
	case c.directory != "":
		return "write"
	}
	return ""
}

// read takes the pieces of an answer.
func (c *session) read(ctx context.Context, q gateway.Question, t *answer.Turn, out answer.Show) error {
	var whole answer.Transcript
	for p, err := range c.client.Ask(ctx, q) {
		if err != nil {
			t.Answer = whole.Answer(gateway.Done{})
			return err
		}
		for _, p := range whole.Add(p) {
			if err := out.Piece(p); err != nil {
				return err
			}
		}
		switch p := p.(type) {
		case gateway.Started:
			t.Taken, t.Conversation, t.RequestID = true, p.Conversation, p.RequestID
			t.Workspace = p.Workspace
			t.Ignored = append(t.Ignored[:0], p.Ignored...)
		case gateway.Done:
			t.Status, t.Finish, t.Notice, t.Answer = p.RunStatus, p.Finish, p.Notice, whole.Answer(p)
			t.Usage = answer.Usage(p.Usage)
			for _, w := range p.Waiting {
				t.Waiting = append(t.Waiting, answer.Action(w))
			}
			for _, b := range p.Blocked {
				t.Blocked = append(t.Blocked, answer.Block{Access: b.Access, Target: b.Target, Why: b.Why, Allow: b.Allow})
			}
		}
		t.Progress, t.Speed = append(t.Progress[:0], whole.Progress...), whole.Speed
	}
	return nil
}

// explainNoModel says why the model that is asked by default is not there.
func (c *session) explainNoModel(ctx context.Context, e *gateway.Error) error {
	models, err := c.client.Models(ctx)
	switch {
	case err != nil:
		return c.faultOf(e)
	case len(models) == 0:
		if damaged := c.damagedProfile(ctx, func(profile.Summary) bool { return true }); damaged != nil {
			return damaged
		}
		return c.noModels(ctx)
	}
	return &fault.Error{
		Msg:  "no LLM profile is active, so there is no model " + activeModel,
		Hint: fmt.Sprintf("choose a model with --model, e.g. --model %s, or activate one with ohgw profiles use NAME", setup.Clean(gateway.Preferred(models))),
		Code: fault.Configuration,
	}
}

// titleWidth is how much of a question is its title, as in tui.
const titleWidth = 60

// remember keeps the conversation of a question that named one. The question does not
// fail if that cannot be kept.
func (c *session) remember(ctx context.Context, t *answer.Turn) {
	r, err := recent.Open(c.opts.App)
	if err == nil {
		err = r.Remember(context.WithoutCancel(ctx), tui.Conversation{
			ID: t.Conversation, Model: t.Model, Title: wrap.Cut(setup.Clean(c.opts.prompt), titleWidth), Place: c.place(), Turns: 1, Used: c.opts.Now(), Workspace: t.Workspace,
		})
	}
	if err != nil {
		c.opts.Detail("the conversation was not added to the recent ones: %v", err)
	}
}
