package conversation_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/enginetest"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
)

// picky is a model whose provider refuses requests with pictures that it does not
// like. It says what it was shown.
type picky struct {
	mu      sync.Mutex
	name    string
	refuses func(pictures []string) *llm.Error
	calls   []event.ToolCall // of the next answers
	asked   [][]string       // the pictures of each request
	texts   []string         // the text of each request
}

func (p *picky) Info() llm.Info { return llm.Info{Model: p.name, Vision: true} }

func (p *picky) Model(context.Context, conversation.Choice) (llm.Model, error) { return p, nil }

func (p *picky) Switched(_ context.Context, agent json.RawMessage, profile string) (conversation.Choice, json.RawMessage, error) {
	return conversation.Choice{Profile: profile, Usage: profile}, agent, nil
}

func (p *picky) Generate(_ context.Context, req llm.Request, _ func(llm.Delta)) (llm.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var pictures []string
	var text strings.Builder
	for _, m := range req.Messages {
		text.WriteString(event.PlainText(m.Content))
		for _, c := range m.Content {
			pictures = append(pictures, c.ImageURLs...)
		}
	}
	p.asked, p.texts = append(p.asked, pictures), append(p.texts, text.String())
	if err := p.refuses(pictures); err != nil {
		return llm.Response{}, err
	}
	r := llm.Response{ID: "r", Message: event.LLMMessage{Role: "assistant"}}
	if len(p.calls) > 0 {
		r.Message.ToolCalls, p.calls = p.calls[:1], p.calls[1:]
		return r, nil
	}
	r.Message.Content = []event.Content{event.Text("I see " + strings.Join(pictures, ","))}
	return r, nil
}

func (p *picky) set(refuses func([]string) *llm.Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = refuses
}

// took is the number of requests since the last call of took.
func (p *picky) took() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.asked)
	p.asked = nil
	return n
}

// bad refuses requests with a picture that says that it is bad.
func bad(e llm.Error) func([]string) *llm.Error {
	return func(pictures []string) *llm.Error {
		if strings.Contains(strings.Join(pictures, " "), "bad") {
			return &e
		}
		return nil
	}
}

func never([]string) *llm.Error { return nil }

func refusesAll(e llm.Error) func([]string) *llm.Error {
	return func([]string) *llm.Error { return &e }
}

var invalid = llm.Error{Code: llm.CodeBadRequest, Status: 400, Detail: "Invalid request."}

func openPicky(t *testing.T, p *picky) *world {
	t.Helper()
	return open(t, &model{}, func(cfg *conversation.Config, _ *store.State) {
		cfg.Models = p
		cfg.Tools = func(context.Context, conversation.Host) ([]tool.Tool, error) {
			return []tool.Tool{&enginetest.Func{
				Needs: []string{},
				Def: tool.Definition{
					Name: "look", Description: "Looks.", Kind: "LookTool", ActionKind: "LookAction", ObservationKind: "LookObservation",
					Parameters: json.RawMessage(`{"type":"object","properties":{"at":{"type":"string"}},"required":["at"]}`),
				},
				Do: func(context.Context, tool.Call) (tool.Result, error) {
					return tool.NewResult("LookObservation", []event.Content{event.Text("here:"), event.Images("bad-tool")}, false, nil)
				},
			}}, nil
		}
	})
}

func (w *world) show(text string, pictures ...string) []event.Event {
	w.t.Helper()
	if err := w.conv.Send(w.t.Context(), agentapi.Message{Text: text, Images: pictures}); err != nil {
		w.t.Fatal(err)
	}
	return w.rest()
}

// said is the last line of a run but its status.
func said(events []event.Event) string {
	list := slices.DeleteFunc(lines(events), func(line string) bool { return strings.HasPrefix(line, "status ") })
	return list[len(list)-1]
}

func (w *world) says(events []event.Event, want string) {
	w.t.Helper()
	if got := said(events); got != want {
		w.t.Errorf("the last line = %q, want %q, of %q", got, want, lines(events))
	}
}

// Whatever the provider calls it, the turn goes on without the picture, and so do
// the next ones, also after a restart. Each is refused once.
func TestARefusedPictureLeavesTheHistory(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]llm.Error{
		"invalid":    invalid,
		"too large":  {Code: llm.CodeContextWindow, Status: 413, Detail: "request_too_large"},
		"policy":     {Code: llm.CodeContentPolicy, Status: 400, Detail: "policy"},
		"history":    {Code: llm.CodeMalformedHistory, Status: 400, Detail: "messages.1"},
		"no vision":  {Code: llm.CodeNotFound, Status: 404, Detail: "No endpoints found that support image input"},
		"a crash":    {Code: llm.CodeUnavailable, Status: 500, Detail: "failed to load image"},
		"validation": {Code: llm.CodeBadRequest, Status: 422, Detail: "validation"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &picky{name: "m", refuses: bad(e)}
			w := openPicky(t, p)
			w.says(w.show("look", "good"), "agent says I see good")
			w.says(w.show("and this", "bad-1", "good-2"), "agent says I see good")
			if n := p.took(); n != 3 {
				t.Errorf("%d requests, want one for the first message and two for the second", n)
			}
			if last := p.texts[len(p.texts)-1]; !strings.Contains(last, "and this[Each of 2 pictures that was here was refused") {
				t.Errorf("the model was not told: %q", last)
			}
			w.says(w.show("hello"), "agent says I see good")
			w.reopen()
			w.says(w.show("again"), "agent says I see good")
			if n := p.took(); n != 2 {
				t.Errorf("%d requests for two more messages", n)
			}
			w.says(w.show("another", "good-3"), "agent says I see good,good-3")
		})
	}
}

func TestARefusedPictureOfATool(t *testing.T) {
	t.Parallel()
	p := &picky{name: "m", refuses: bad(invalid), calls: []event.ToolCall{look("c1"), look("c2")}}
	w := openPicky(t, p)
	w.says(w.show("go", "good"), "agent says I see good")
	if n := p.took(); n != 5 { // each of the two results is refused once
		t.Errorf("%d requests, want 5", n)
	}
	w.reopen()
	w.says(w.show("hello"), "agent says I see good")
}

func TestAConversationThatWasPoisonedBefore(t *testing.T) {
	t.Parallel()
	p := &picky{name: "m", refuses: refusesAll(invalid)}
	w := openPicky(t, p)
	for _, text := range []string{"look", "hello", "hello?"} {
		w.says(w.show(text, "bad"), "error LLMBadRequestError")
	}
	w.reopen()
	p.set(bad(invalid))
	w.says(w.show("and now?"), "agent says I see ")
	p.took()
	w.says(w.show("fine"), "agent says I see ")
	if n := p.took(); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

// A refusal for another reason removes no picture: neither one without an answer yet, nor
// one that was answered before.
func TestARefusalForAnotherReasonLosesNoPicture(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]llm.Error{
		"invalid": invalid, "key": {Code: llm.CodeAuthentication, Status: 401, Detail: "no key"}, "named": {Code: llm.CodeBadRequest, Status: 400, Detail: "bad image"},
		"network": {Code: llm.CodeUnavailable, Detail: "image.example.org: no such host"}, "limit": {Code: llm.CodeRateLimit, Status: 429, Detail: "too many images per minute"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &picky{name: "m", refuses: never}
			w := openPicky(t, p)
			w.says(w.show("look", "one"), "agent says I see one")
			p.set(refusesAll(e))
			w.says(w.show("and this", "two"), "error "+e.Code)
			w.says(w.show("hello"), "error "+e.Code)
			w.reopen()
			p.set(never)
			w.says(w.show("now"), "agent says I see one,two")
		})
	}
	// A request that is refused once, by chance, with a picture that was taken before.
	p := &picky{name: "m", refuses: never}
	w := openPicky(t, p)
	w.show("look", "one")
	first := true
	p.set(func([]string) *llm.Error {
		if first {
			first = false
			return &invalid
		}
		return nil
	})
	w.says(w.show("hello"), "error LLMBadRequestError")
	w.says(w.show("hello"), "agent says I see one")
}

// A picture that one model has answered is refused by the next, which says so. The
// first is shown it again.
func TestEachModelIsShownThePicturesThatItTakes(t *testing.T) {
	t.Parallel()
	p := &picky{name: "first", refuses: never}
	w := openPicky(t, p)
	w.says(w.show("look", "bad-for-others"), "agent says I see bad-for-others")
	turn := func(model string, refuses func([]string) *llm.Error, want string) {
		t.Helper()
		p.mu.Lock()
		p.name, p.refuses = model, refuses
		p.mu.Unlock()
		w.reopen()
		w.says(w.show("hello"), want)
	}
	named := llm.Error{Code: llm.CodeBadRequest, Status: 400, Detail: "Unsupported image format"}
	turn("second", bad(named), "agent says I see ")
	turn("second", bad(named), "agent says I see ")
	turn("first", never, "agent says I see bad-for-others")
}
