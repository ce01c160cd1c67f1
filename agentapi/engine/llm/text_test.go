package llm_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

func withTool(req llm.Request) llm.Request {
	req.Tools = []llm.Tool{
		{Name: "terminal", Parameters: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`)},
		{Name: "finish", Parameters: json.RawMessage(`{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`)},
	}
	return req
}

// Scenario 40: a model without function calling.
func TestToolsInText(t *testing.T) {
	t.Parallel()
	fake := llmtest.New(t)
	fake.Reply(
		llmtest.Text("I will look.\n\n<function=terminal>\n<parameter=command>ls -l</parameter>\n"), // the stop word is not sent
		llmtest.Reply{Text: "<function=finish>\n<parameter=message>\nAll is \"well\".\nBye.\n</parameter>\n</function>", Pace: 1},
	)
	m := at(t, fake.URL, `"native_tool_calling":false`)
	if m.Info().NativeTools {
		t.Error("Info says that tools are native")
	}
	req := withTool(hello("Look."))
	var h heard
	resp, err := m.Generate(t.Context(), req, h.listen)
	if err != nil {
		t.Fatal(err)
	}
	call := event.ToolCall{ID: "toolu_01", Name: "terminal", Arguments: `{"command":"ls -l"}`, Origin: "completion"}
	if diff := cmp.Diff([]event.ToolCall{call}, resp.Message.ToolCalls); diff != "" || textOf(resp) != "I will look." {
		t.Errorf("text %q, calls (-want +got)\n%s", textOf(resp), diff)
	}
	if diff := cmp.Diff(heard{Text: "I will look.", Calls: []string{`toolu_01 terminal {"command":"ls -l"}`}}, h); diff != "" {
		t.Errorf("handed on (-want +got)\n%s", diff)
	}

	req.Messages = append(req.Messages, resp.Message, event.LLMMessage{
		Role: "tool", ToolCallID: "toolu_01", Name: "terminal", Content: []event.Content{event.Text("total 0")},
	})
	h = heard{}
	resp, err = m.Generate(t.Context(), req, h.listen)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"message":"All is \"well\".\nBye."}`
	if len(resp.Message.ToolCalls) != 1 || resp.Message.ToolCalls[0].Arguments != want || resp.Message.ToolCalls[0].ID != "toolu_02" {
		t.Errorf("calls %v, want %s", resp.Message.ToolCalls, want)
	}
	if diff := cmp.Diff([]string{"toolu_02 finish " + want}, h.Calls); diff != "" {
		t.Errorf("handed on (-want +got)\n%s", diff)
	}

	sent := fake.Requests()
	if len(sent[0].Tools) != 0 || !strings.Contains(string(sent[0].Body), `"stop":["</function"]`) {
		t.Errorf("the request offers tools, or has no stop word: %s", sent[0].Body)
	}
	var roles []string
	for _, msg := range sent[1].Messages {
		roles = append(roles, msg.Role)
	}
	if diff := cmp.Diff([]string{"system", "user", "assistant", "user"}, roles); diff != "" {
		t.Errorf("roles (-want +got)\n%s", diff)
	}
	if last := sent[1].Last().Text; last != "EXECUTION RESULT of [terminal]:\ntotal 0" {
		t.Errorf("the result is sent as %q", last)
	}
}

func TestACallInTextThatIsWrongStillCounts(t *testing.T) {
	t.Parallel()
	fake := llmtest.New(t)
	fake.Reply(llmtest.Reply{
		Text:  "<function=terminal>\n<parameter=cmd>ls</parameter>\n</function>",
		Usage: &llmtest.Usage{Prompt: 50, Completion: 9},
	})
	resp, err := at(t, fake.URL, `"native_tool_calling":false`).Generate(t.Context(), withTool(hello("Look.")), nil)
	failed := failure(t, err)
	if failed.Code != llm.CodeCallValidation || failed.Detail != `The tool "terminal" has no parameter "cmd". It has: command.` {
		t.Errorf("error %v", failed)
	}
	if resp.Usage.PromptTokens != 50 || resp.Usage.CompletionTokens != 9 || resp.ID == "" {
		t.Errorf("response %+v, want its usage", resp)
	}
}

func TestACallInTextThatIsCutDoesNotRun(t *testing.T) {
	t.Parallel()
	fake := llmtest.New(t)
	fake.Reply(llmtest.Reply{Text: "<function=terminal>\n<parameter=command>rm -rf build", Stop: "length"})
	_, err := at(t, fake.URL, `"native_tool_calling":false`).Generate(t.Context(), withTool(hello("Clean.")), nil)
	if failed := failure(t, err); failed.Code != llm.CodeCallValidation {
		t.Errorf("error %v", failed)
	}
}
