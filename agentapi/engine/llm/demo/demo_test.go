package demo_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/llm/demo"
	"github.com/ohgw/ohgw/agentapi/engine/llm/finishstream"
	"github.com/ohgw/ohgw/agentapi/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func tool(name, properties string) llm.Tool {
	return llm.Tool{Name: name, Parameters: json.RawMessage(`{"type":"object","properties":{` + properties + `}}`)}
}

func request(text string) llm.Request {
	return llm.Request{
		Messages: []event.LLMMessage{{Role: "user", Content: []event.Content{event.Text(text)}}},
		Tools: []llm.Tool{
			tool("terminal", `"security_risk":{},"summary":{},"command":{}`),
			tool("finish", `"summary":{},"message":{}`),
		},
	}
}

// run plays the demo at once. It fails the test if what was handed on is not
// the answer.
func run(t *testing.T, req llm.Request) llm.Response {
	t.Helper()
	var text, args strings.Builder
	resp, err := demo.New(demo.Config{Pace: -1}).Generate(t.Context(), req, func(d llm.Delta) {
		text.WriteString(d.Text)
		if d.ToolCall != nil {
			args.WriteString(d.ToolCall.Arguments)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := event.PlainText(resp.Message.Content); got != text.String() {
		t.Errorf("handed on %q, the text is %q", &text, got)
	}
	if len(resp.Message.ToolCalls) > 0 && resp.Message.ToolCalls[0].Arguments != args.String() {
		t.Errorf("handed on %s, the arguments are %s", &args, resp.Message.ToolCalls[0].Arguments)
	}
	if resp.ID == "" || resp.Usage.PromptTokens == 0 || resp.Usage.CompletionTokens == 0 || resp.Cost != 0 {
		t.Errorf("response %+v lacks an id or usage, or costs", resp)
	}
	return resp
}

// arguments are those of the only call.
func arguments(t *testing.T, resp llm.Response, name string) map[string]string {
	t.Helper()
	if len(resp.Message.ToolCalls) != 1 || resp.Message.ToolCalls[0].Name != name {
		t.Fatalf("calls %v, want one of %s", resp.Message.ToolCalls, name)
	}
	var args map[string]string
	if err := json.Unmarshal([]byte(resp.Message.ToolCalls[0].Arguments), &args); err != nil {
		t.Fatalf("%s: %v", resp.Message.ToolCalls[0].Arguments, err)
	}
	return args
}

func TestTheScriptRunsACommandThenAnswers(t *testing.T) {
	t.Parallel()
	req := request("What is <in>\n \"my\" workspace?")
	first := run(t, req)
	args := arguments(t, first, "terminal")
	if args["command"] != "date && pwd && ls" || args["security_risk"] != "LOW" || args["summary"] == "" {
		t.Errorf("arguments %v", args)
	}
	req.Messages = append(req.Messages, first.Message, event.LLMMessage{
		Role: "tool", ToolCallID: first.Message.ToolCalls[0].ID, Name: "terminal", Content: []event.Content{event.Text("Tue Nov 3\n/tmp/x\nnotes.txt")},
	})
	second := run(t, req)
	args = arguments(t, second, "finish")
	for _, want := range []string{"demo", `You asked: What is <in> "my" workspace?`, "/tmp/x\nnotes.txt", "ohgw profiles add"} {
		if !strings.Contains(args["message"], want) {
			t.Errorf("the answer lacks %q:\n%s", want, args["message"])
		}
	}
	var d finishstream.Decoder
	if got := d.Write(second.Message.ToolCalls[0].Arguments); got != args["message"] {
		t.Errorf("streamed answer %q, want %q", got, args["message"])
	}

	// A further question starts the script again.
	req.Messages = append(req.Messages, second.Message, event.LLMMessage{Role: "tool", Content: []event.Content{event.Text("ok")}},
		event.LLMMessage{Role: "user", Content: []event.Content{event.Text("And now?")}})
	arguments(t, run(t, req), "terminal")
}

func TestTheScriptUsesWhatThereIs(t *testing.T) {
	t.Parallel()
	req := request("Hi.")
	req.Tools = req.Tools[1:]
	if msg := arguments(t, run(t, req), "finish")["message"]; strings.Contains(msg, "command") {
		t.Errorf("the answer tells of a command that did not run: %s", msg)
	}
	req.Tools = []llm.Tool{tool("other", "")}
	if text := event.PlainText(run(t, req).Message.Content); !strings.Contains(text, "You asked: Hi.") {
		t.Errorf("without the finish tool: %q", text)
	}
	req = request("Give this conversation a title: " + strings.Repeat("word ", 50))
	req.Tools = nil
	if text := event.PlainText(run(t, req).Message.Content); len(text) > 50 || !strings.HasPrefix(text, "Give this") {
		t.Errorf("without tools: %q", text)
	}
}

func TestWordsComeAtTheirPaceUntilCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		var at []time.Duration
		_, err := demo.New(demo.Config{}).Generate(ctx, request("Hi."), func(llm.Delta) {
			at = append(at, time.Since(start))
			if len(at) == 5 {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) || len(at) != 5 {
			t.Errorf("error %v after %d pieces", err, len(at))
		}
		for i, d := range at {
			if want := time.Duration(i) * demo.DefaultPace; d != want {
				t.Errorf("piece %d after %v, want %v", i, d, want)
			}
		}
	})
}

func TestInfo(t *testing.T) {
	t.Parallel()
	if got := demo.New(demo.Config{}).Info(); got != (llm.Info{Model: "demo", UsageID: "default", NativeTools: true, Streams: true}) {
		t.Errorf("Info = %+v", got)
	}
}
