// Package demo is a model without an AI: a script, in this process and
// offline, that drives the real agent through one real command and a streamed
// answer. It is for trying the wiring without a key, and says so in its answer.
// It is not a fake for tests, which script their models themselves.
package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/id"
	"github.com/ohgw/ohgw/internal/truncate"
)

// Name is the name of the model.
const Name = "demo"

// DefaultPace is pleasant to read along.
const DefaultPace = 40 * time.Millisecond

// Config is how the demo runs.
type Config struct {
	// Pace is the time between two words; zero is DefaultPace, below it none.
	Pace    time.Duration
	UsageID string           // empty: "default"
	Now     func() time.Time // nil: time.Now
}

// New makes the model.
func New(cfg Config) llm.Model {
	if cfg.Pace == 0 {
		cfg.Pace = DefaultPace
	}
	if cfg.UsageID == "" {
		cfg.UsageID = "default"
	}
	if cfg.Now == nil {
		cfg.Now = time.Now //nolint:forbidigo // the default of the injected clock
	}
	return &model{cfg}
}

type model struct{ cfg Config }

// Info is what is known of the model.
func (m *model) Info() llm.Info {
	return llm.Info{Model: Name, UsageID: m.cfg.UsageID, NativeTools: true, Streams: true}
}

// The tools that the script calls, where they are offered.
const (
	terminal = "terminal"
	finish   = "finish"
)

// command is what the script runs: it only looks.
const command = "date && pwd && ls"

// Generate follows the script: a command first, then the answer. It fails only
// with ctx.
func (m *model) Generate(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	w := &writer{ctx: ctx, pace: m.cfg.Pace, onDelta: onDelta, started: m.cfg.Now()}
	asked, result, acted := newest(req.Messages)
	var err error
	switch {
	case len(req.Tools) == 0:
		err = w.writeText(brief(asked, titleLength)) // a title, a summary
	case !acted && offered(req.Tools, terminal):
		if err = w.writeText("I am a demo. First I look around in the workspace, with a real command."); err == nil {
			err = w.call(terminal, arguments(req.Tools, terminal, "command", "Look around"), command)
		}
	case offered(req.Tools, finish):
		err = w.call(finish, arguments(req.Tools, finish, "message", "Answer"), answer(asked, result, acted))
	default:
		err = w.writeText(answer(asked, result, acted))
	}
	if err != nil {
		return llm.Response{}, err
	}
	return w.response(req, m.cfg.Now()), nil
}

// newest is the newest message of the user, with the first result of a tool
// behind it, if there is one.
func newest(history []event.LLMMessage) (asked, result string, acted bool) {
	for _, msg := range history {
		switch msg.Role {
		case "user":
			asked, result, acted = event.PlainText(msg.Content), "", false
		case "tool":
			if !acted {
				result, acted = event.PlainText(msg.Content), true
			}
		}
	}
	return asked, result, acted
}

func offered(tools []llm.Tool, name string) bool {
	return slices.ContainsFunc(tools, func(t llm.Tool) bool { return t.Name == name })
}

// arguments writes the beginning of a call's arguments, up to the quotation mark that
// begins the value of its main one. Risk and summary go first, where the tool asks
// for them.
func arguments(tools []llm.Tool, tool, main, summary string) string {
	i := slices.IndexFunc(tools, func(t llm.Tool) bool { return t.Name == tool })
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(tools[i].Parameters, &schema) // no schema asks for nothing
	var out strings.Builder
	out.WriteByte('{')
	for _, extra := range [][2]string{{"security_risk", "LOW"}, {"summary", summary}} {
		if _, wanted := schema.Properties[extra[0]]; wanted {
			out.WriteString(`"` + extra[0] + `":` + quoted(extra[1]) + ",")
		}
	}
	out.WriteString(`"` + main + `":"`)
	return out.String()
}

// The lengths to which a title, a question and a result are cut, in characters.
const (
	titleLength  = 40
	askedLength  = 300
	resultLength = 600
)

// answer is the last word of the script.
func answer(asked, result string, acted bool) string {
	var b strings.Builder
	b.WriteString("This is ohgw's demo. No AI is behind this answer, only a script inside ohgw, and nothing left your machine.\n\n")
	if asked = brief(asked, askedLength); asked != "" {
		fmt.Fprintf(&b, "You asked: %s\n\n", asked)
	}
	if acted {
		fmt.Fprintf(&b, "The path of your question was real: through the API to the agent, and to the command `%s` in its workspace. The command printed:\n\n```\n%s\n```\n\n",
			command, truncate.Marked(strings.TrimSpace(result), resultLength, " ..."))
	}
	b.WriteString("For a real answer, add a model with `ohgw profiles add NAME` and its key with `ohgw keys set NAME`, and start ohgw without --demo.")
	return b.String()
}

// brief is a text on one line, cut to n characters.
func brief(s string, n int) string {
	return truncate.Marked(strings.Join(strings.Fields(s), " "), n, " ...")
}

func quoted(s string) string {
	out, err := json.Marshal(s)
	if err != nil { // cannot be: it is a text
		return `""`
	}
	return string(out)
}

// writer writes one answer word by word.
type writer struct {
	ctx     context.Context // of the call; the writer lives no longer
	pace    time.Duration
	onDelta func(llm.Delta)
	started time.Time
	text    string
	calls   []event.ToolCall
	words   int64
}

// writeText writes text.
func (w *writer) writeText(text string) error {
	for word := range strings.SplitAfterSeq(text, " ") {
		if err := w.piece(llm.Delta{Text: word}); err != nil {
			return err
		}
		w.text += word
	}
	return nil
}

// call writes a tool call: the beginning of its arguments, then the value that
// they end with.
func (w *writer) call(name, begin, value string) error {
	call := event.ToolCall{ID: id.New("call_"), Name: name, Origin: "completion", Arguments: begin}
	if err := w.piece(llm.Delta{ToolCall: &llm.ToolDelta{ID: call.ID, Name: name, Arguments: begin}}); err != nil {
		return err
	}
	for word := range strings.SplitAfterSeq(value, " ") {
		inner := quoted(word)
		inner = inner[1 : len(inner)-1]
		if err := w.piece(llm.Delta{ToolCall: &llm.ToolDelta{Arguments: inner}}); err != nil {
			return err
		}
		call.Arguments += inner
	}
	const end = `"}`
	call.Arguments += end
	w.calls = append(w.calls, call)
	return w.piece(llm.Delta{ToolCall: &llm.ToolDelta{Arguments: end}})
}

// piece hands on one piece and waits for the time of the next.
func (w *writer) piece(d llm.Delta) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	w.words++
	if w.onDelta != nil {
		w.onDelta(d)
	}
	if w.pace < 0 {
		return nil
	}
	timer := time.NewTimer(w.pace)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-w.ctx.Done():
		return w.ctx.Err()
	}
}

// response is the whole answer. Its tokens are words.
func (w *writer) response(req llm.Request, now time.Time) llm.Response {
	m := event.LLMMessage{Role: "assistant", Content: []event.Content{}, ThinkingBlocks: []json.RawMessage{}, ToolCalls: w.calls}
	if w.text != "" {
		m.Content = append(m.Content, event.Text(w.text))
	}
	var prompt int64
	for _, msg := range req.Messages {
		prompt += int64(len(strings.Fields(event.PlainText(msg.Content))))
	}
	return llm.Response{
		ID: id.New("demo_"), Message: m, Model: Name, Latency: now.Sub(w.started),
		Usage: event.TokenUsage{PromptTokens: prompt, CompletionTokens: w.words},
	}
}
