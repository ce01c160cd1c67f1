package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/llm/textcall"
	"github.com/ohgw/ohgw/agentapi/engine/llm/textcall/foreign"
	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/id"
)

// Generate asks the model, then the profiles of its fallback strategy.
func (m *model) Generate(ctx context.Context, req Request, onDelta func(Delta)) (Response, error) {
	out := &relay{onDelta: onDelta}
	resp, err := m.ask(ctx, &req, out)
	if failed, ok := errors.AsType[*Error](err); ok && failed.transient() && !failed.budget && m.cfg.Fallback != nil && m.cfg.Profile.FallbackStrategy != nil {
		resp, err = m.others(ctx, &req, out, failed)
	}
	if resp == nil {
		resp = new(Response)
	}
	resp.Empty = out.empty
	return *resp, err
}

// others asks the profiles of the fallback strategy after the model has
// failed. Responses and requests are pointers below Generate: a call waits for
// most of its life, and its stack with it.
func (m *model) others(ctx context.Context, req *Request, out *relay, failed *Error) (*Response, error) {
	for _, name := range m.cfg.Profile.FallbackStrategy.Profiles {
		log := m.cfg.Logger.With("profile", name)
		other, otherErr := m.fallback(name)
		if otherErr != nil {
			log.WarnContext(ctx, "fallback profile cannot be used", "err", otherErr)
			continue
		}
		log.WarnContext(ctx, "llm failed; using the fallback profile", "code", failed.Code)
		out.announce(Retry{Attempt: 1, Of: attempts(&other.cfg.Profile), Cause: strings.TrimSpace("profile "+m.cfg.Name) + " failed; using its fallback profile " + name})
		out.restart()
		resp, otherErr := other.ask(ctx, req, out)
		refused, ok := errors.AsType[*Error](otherErr)
		if otherErr == nil || ctx.Err() != nil || ok && refused.budget {
			return resp, otherErr
		}
		log.WarnContext(ctx, "fallback profile failed", "err", otherErr)
	}
	return nil, failed // what the model itself said
}

func (m *model) fallback(name string) (*model, error) {
	cfg, err := m.cfg.Fallback(name)
	if err != nil {
		return nil, err
	}
	if cfg.HTTP == nil {
		cfg.HTTP = m.cfg.HTTP // one pool of connections
	}
	other, err := New(cfg)
	if err != nil {
		return nil, err
	}
	return other.(*model), nil // New makes no other
}

// ask calls the model as often as its profile says.
func (m *model) ask(ctx context.Context, req *Request, out *relay) (*Response, error) {
	keys, err := m.credentials(ctx)
	if err != nil {
		return nil, err
	}
	c := m.prepare(*req)
	w := wait{out: out, now: m.cfg.Now}
	m.expect(c, &w)
	for n := 1; ; n++ {
		resp, err := m.loaded(ctx, &w, func() (*Response, error) { return m.try(ctx, c, req, &keys, &w) })
		if err == nil {
			return resp, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if cacheTooSmall(err) && c.Options.CacheMarks {
			c.Options.CacheMarks = false
			continue
		}
		if final := m.retry(ctx, c, n, err, keys, out); final != nil {
			return resp, final
		}
		if isAbsent(err) { // it has not told anything of itself yet
			m.FindSize(ctx)
			m.expect(c, &w)
		}
		out.restart()
	}
}

// try makes one request and checks what came back. With the error of a call in
// the text protocol comes the response all the same: it cost what it cost.
func (m *model) try(ctx context.Context, c *wire.Call, req *Request, keys *credentials, w *wait) (*Response, error) {
	started := m.cfg.Now()
	w.begin(started)
	emit := w.deliver
	var reader *textcall.Reader
	if m.textTools(*req) {
		reader = textcall.NewReader(tools(*req), textcall.NextID(req.Messages), w.deliver)
		emit = func(d wire.Delta) {
			reader.Write(d.Text)
			if d.Reasoning != "" || d.Prompt != nil {
				w.deliver(d)
			}
		}
	}
	b := wire.NewBuilder(emit, func() string { return id.New("call_") })
	b.StopRepetition = !m.cfg.AllowRepetition
	header, err := m.once(ctx, c, keys, b)
	if repeats, ok := errors.AsType[*wire.Repetition](err); ok {
		return m.stopped(m.response(b, header, started), reader, repeats, w), nil
	}
	if err != nil {
		return nil, err
	}
	if err := unanswered(b); err != nil {
		if errors.Is(err, errNoAnswer) && b.Usage != (event.TokenUsage{}) {
			w.out.empty = append(w.out.empty, *m.response(b, header, started))
		}
		return nil, err
	}
	resp := m.response(b, header, started)
	w.done(b)
	if reader == nil {
		m.adopt(resp, req)
		return resp, nil
	}
	return textResponse(resp, reader)
}

// adopt makes calls of those that a local model has written into its text, or into its
// thoughts alone. In the cloud the provider's own parser decides.
func (m *model) adopt(resp *Response, req *Request) {
	if len(resp.Message.ToolCalls) > 0 || len(req.Tools) == 0 || resp.Length || !m.route.mayBeLocal() && !m.route.provider.local {
		return
	}
	text := event.PlainText(resp.Message.Content)
	before, calls := foreign.Find(text, tools(*req))
	if strings.TrimSpace(text) == "" { // the wrong field
		before, calls = foreign.Find(resp.Message.ReasoningContent, tools(*req))
		if calls != nil {
			resp.Message.ReasoningContent, before = before, ""
		}
	}
	if calls == nil {
		return
	}
	resp.Message.Content = []event.Content{}
	if before != "" {
		resp.Message.Content = append(resp.Message.Content, event.Text(before))
	}
	for _, c := range calls {
		resp.Message.ToolCalls = append(resp.Message.ToolCalls, event.ToolCall{ID: id.New("call_"), Name: c.Name, Arguments: c.Arguments, Origin: "completion"})
	}
	wire.Clean(&resp.Message)
}

// stopped ends an answer that repeated itself, as far as it was read, with a sentence
// that says so. None of its calls runs: what such a model writes is not meant.
func (m *model) stopped(resp *Response, reader *textcall.Reader, repeats *wire.Repetition, w *wait) *Response {
	text := event.PlainText(resp.Message.Content)
	if reader != nil {
		text = reader.Text()
	}
	sentence := repeatsItself(repeats.Unit)
	if text != "" {
		sentence = "\n\n" + sentence
	}
	w.deliver(wire.Delta{Text: sentence})
	resp.Message.Content, resp.Message.ToolCalls = []event.Content{event.Text(text + sentence)}, nil
	return resp
}

// repeatsItself says why an answer was stopped.
func repeatsItself(unit int) string {
	what := fmt.Sprintf("the same %d characters", unit)
	if unit == 1 {
		what = "the same character"
	}
	return "ohgw stopped this answer: the model wrote " + what + " again and again. " +
		"Ask in other words, or use a larger model. The setting repetition=allow lets such answers go on."
}

// unanswered returns the error of an answer with nothing in it; nil if it has
// something.
func unanswered(b *wire.Builder) error {
	switch {
	case !b.Begun:
		return errNoAnswer
	case b.Finish == wire.Failed && b.Empty():
		return errGaveUp
	case b.Finish == wire.Filtered && b.Empty():
		return errFiltered
	case b.Finish == wire.Full && b.Empty():
		return errFull
	}
	return nil
}

// response is what was built of an answer.
func (m *model) response(b *wire.Builder, header http.Header, started time.Time) *Response {
	resp := &Response{
		ID: wire.CleanText(b.ID), Message: b.Message(), Usage: b.Usage, Cost: m.costOf(header, b),
		Latency: m.cfg.Now().Sub(started), Model: m.cfg.Profile.Model, Length: b.Finish == wire.Length || b.Finish == wire.Full,
	}
	if resp.ID == "" {
		resp.ID = id.New("resp_")
	}
	return resp
}

func tools(req Request) []wire.Tool {
	out := make([]wire.Tool, len(req.Tools))
	for i, t := range req.Tools {
		out[i] = wire.Tool(t)
	}
	return out
}

// textResponse replaces the text of a response by the call that it holds.
func textResponse(resp *Response, reader *textcall.Reader) (*Response, error) {
	text, call, err := reader.Finish(resp.Length)
	if err != nil {
		return resp, err
	}
	resp.Message.Content = []event.Content{}
	if text != "" {
		resp.Message.Content = append(resp.Message.Content, event.Text(text))
	}
	if call != nil {
		resp.Message.ToolCalls = []event.ToolCall{*call}
	}
	wire.Clean(&resp.Message)
	return resp, nil
}

// relay hands pieces on, and tells when they begin again.
type relay struct {
	onDelta func(Delta) // may be nil
	dirty   bool        // something was handed on since the beginning
	empty   []Response  // attempts without an answer that cost something
}

func (r *relay) deliver(d wire.Delta) {
	if r.onDelta == nil {
		return
	}
	r.dirty = true
	out := Delta{Text: d.Text, Reasoning: d.Reasoning}
	if d.Call != nil {
		call := ToolDelta(*d.Call)
		out.ToolCall = &call
	}
	r.onDelta(out)
}

// announce reports a repeat. The draft that it may end is withdrawn after the
// wait, by restart.
func (r *relay) announce(next Retry) {
	if r.onDelta != nil {
		r.onDelta(Delta{Retry: &next})
	}
}

func (r *relay) restart() {
	if r.dirty {
		r.dirty = false
		r.onDelta(Delta{Restart: true})
	}
}
