package completions_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

const (
	chatTool      = `"tools":[{"type":"function","function":{"name":"final_result","strict":true,"parameters":` + order + `}}]`
	responseTool  = `"tools":[{"type":"function","name":"final_result","strict":true,"parameters":` + order + `}]`
	required      = `"tool_choice":"required"`
	namedChat     = `"tool_choice":{"type":"function","function":{"name":"final_result"}}`
	namedResponse = `"tool_choice":{"type":"function","name":"final_result"}`
)

type toolCall struct {
	Index    int    `json:"index"`
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// calledBy reads a chat completion that is a call and nothing else.
func calledBy(t testing.TB, res apitest.Response) apitest.Called {
	t.Helper()
	c := apitest.Completed(t, res)
	var body struct {
		Choices []struct {
			Finish  string `json:"finish_reason"`
			Message struct {
				Content   *string    `json:"content"`
				Reasoning string     `json:"reasoning_content"`
				Calls     []toolCall `json:"tool_calls"`
			} `json:"message"`
		} `json:"choices"`
	}
	if err := json.Unmarshal([]byte(res.Body), &body); err != nil {
		t.Fatal(err)
	}
	choice := body.Choices[0]
	if choice.Message.Content != nil || len(choice.Message.Calls) != 1 || choice.Message.Calls[0].Type != "function" {
		t.Fatalf("the answer = %s, want one call of a function without content", res.Body)
	}
	call := choice.Message.Calls[0]
	return apitest.Called{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments, Finish: choice.Finish, Reasoning: choice.Message.Reasoning}.Of(c.ID, res.Header.Get(apitest.HeaderID))
}

// streamedCall reads a streamed chat completion that is a call and nothing else.
func streamedCall(t testing.TB, res apitest.Response) apitest.Called {
	t.Helper()
	f := apitest.Parse(t, res)
	apitest.Equal(t, "the end", f.End, "[DONE]")
	apitest.Equal(t, "text", f.Text(), "")
	c := apitest.Called{Reasoning: f.Reasoning()}
	for _, chunk := range f.Chunks {
		var body struct {
			Choices []struct {
				Finish string `json:"finish_reason"`
				Delta  struct {
					Calls []toolCall `json:"tool_calls"`
				} `json:"delta"`
			} `json:"choices"`
		}
		if err := json.Unmarshal([]byte(chunk.Raw), &body); err != nil {
			t.Fatal(err)
		}
		for _, choice := range body.Choices {
			c.Finish += choice.Finish
			for _, call := range choice.Delta.Calls {
				apitest.Equal(t, "index", call.Index, 0)
				if c.ID == "" {
					apitest.Equal(t, "type", call.Type, "function")
				}
				c.ID, c.Name, c.Arguments = c.ID+call.ID, c.Name+call.Function.Name, c.Arguments+call.Function.Arguments
			}
		}
	}
	return c.Of(f.Chunks[0].ID, res.Header.Get(apitest.HeaderID))
}

func TestAForcedFunctionIsCalledWithTheDocument(t *testing.T) {
	t.Parallel()
	llm := &writer{says: []string{paid}}
	b := apitest.Script(daemontest.Say("I will look."), daemontest.Tool("ls"), daemontest.Finish("Ada has paid."))
	g := apitest.Serve(t, b, llm.config)
	want := apitest.Called{Name: "final_result", Arguments: paid}
	check := func(what, finish string, got apitest.Called) {
		want.ID = "call_ANSWER"
		if strings.Contains(what, "chat") {
			want.ID = "call_CONVERSATION_ANSWER"
		}
		t.Helper()
		if !strings.Contains(got.Reasoning, "$ ls") || !strings.Contains(got.Reasoning, "Converting the answer to JSON") {
			t.Errorf("%s: reasoning %q", what, got.Reasoning)
		}
		want.Reasoning, want.Finish = got.Reasoning, finish
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	for choice, finish := range map[string]string{required: "tool_calls", namedChat: "stop"} {
		res := g.Chat(apitest.Ask("go", chatTool, choice), "Idempotency-Key", finish)
		check("chat", finish, calledBy(t, res))
		apitest.Equal(t, "repeat", g.Chat(apitest.Ask("go", chatTool, choice), "Idempotency-Key", finish).Body, res.Body)
		apitest.Equal(t, "ignored", res.Header.Get("X-OpenHands-Ignored"), "")
		check("streamed chat", finish, streamedCall(t, g.Chat(apitest.Ask("stream", chatTool, choice, apitest.Streamed), "Idempotency-Key", "s"+finish)))
	}
	for _, choice := range []string{required, namedResponse} {
		body := g.Respond(apitest.Input("go", responseTool, choice)).Body
		m := apitest.Object(t, []byte(body))
		check("response", "", m.Call(t, []byte(body)))
		stored := g.Do(http.MethodGet, "/v1/responses/"+m.ID, "").Body
		apitest.Equal(t, "GET", stored, body)
		if !strings.Contains(body, choice) || !strings.Contains(body, `"tools":[{"type":"function","name":"final_result",`) {
			t.Errorf("the response does not repeat what was asked: %s", body)
		}
	}
	apitest.Equal(t, "runs", b.Runs(), 6)
	for _, message := range b.Prompts() {
		if !strings.Contains(message.Text, order) {
			t.Errorf("the agent was told %q", message.Text)
		}
	}
}

func TestTheEventsOfAForcedFunction(t *testing.T) {
	t.Parallel()
	long := strings.Replace(paid, `"note":null`, `"note":"`+strings.Repeat("x", 20<<10)+`"`, 1)
	g := apitest.Serve(t, apitest.Script(daemontest.Tool("ls"), daemontest.Finish(long)))
	body := g.Respond(apitest.Input("go", responseTool, required, apitest.Streamed)).Body
	events := apitest.EventsOf(t, body)
	want := []string{
		"reasoning_summary_part.done", "output_item.done", "output_item.added", "function_call_arguments.delta", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done", "completed",
	}
	end := events[max(0, len(events)-len(want)):]
	if diff := cmp.Diff(want, apitest.Types(end)); diff != "" {
		t.Fatal(diff)
	}
	if added := string(end[2].Item); !strings.Contains(added, `"arguments":""`) || !strings.Contains(added, `"status":"in_progress"`) {
		t.Errorf("added: %s", added)
	}
	apitest.Equal(t, "the joined arguments", end[3].Delta+end[4].Delta, long)
	last := events[len(events)-1]
	m := last.Object(t)
	apitest.Equal(t, "the arguments", m.Call(t, last.Response).Arguments, long)
	apitest.Equal(t, "resumed", g.Do(http.MethodGet, "/v1/responses/"+m.ID+"?stream=true", "").Body, body)
}

// What has no document calls nothing: a client would run the function.
func TestARunWithoutADocumentCallsNoFunction(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]daemontest.Step{
		"waiting": daemontest.Confirm("rm -rf build"), "interrupted": daemontest.Interrupted(), "a limit": daemontest.Fail("MaxIterationsReached", "500"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := apitest.Serve(t, apitest.Script(step))
			for _, body := range []string{
				g.Chat(apitest.Ask("go", chatTool, required)).Body, g.Chat(apitest.Ask("go", chatTool, required, apitest.Streamed)).Body,
				g.Respond(apitest.Input("go", responseTool, required)).Body, g.Respond(apitest.Input("go", responseTool, required, apitest.Streamed)).Body,
			} {
				apitest.Lacks(t, "the answer", body, `"tool_calls":[`)
				apitest.Lacks(t, "the answer", body, `"type":"function_call"`)
				if name != "interrupted" && !strings.Contains(body, `"refusal":"`) {
					t.Errorf("no refusal: %s", body)
				}
			}
		})
	}
}

func TestArgumentsThatCannotBeMade(t *testing.T) {
	t.Parallel()
	llm := &writer{says: []string{wrong}}
	g := apitest.Serve(t, apitest.Script(daemontest.Finish("Ada has paid.")), llm.config)
	apitest.Envelope(t, g.Chat(apitest.Ask("go", chatTool, required)), http.StatusBadGateway, "invalid_structured_output", "")
	apitest.FrameError(t, []byte(apitest.Parse(t, g.Chat(apitest.Ask("go on", chatTool, required, apitest.Streamed))).End), "invalid_structured_output", "")
	apitest.Envelope(t, g.Respond(apitest.Input("go", responseTool, required)), http.StatusBadGateway, "invalid_structured_output", "")
	odd := strings.Replace(chatTool, `"minItems":1`, `"minItems":"one"`, 1)
	apitest.Envelope(t, g.Chat(apitest.Ask("go", odd, required)), http.StatusBadRequest, "invalid_json_schema", "tools[0].function.parameters")
	apitest.Envelope(t, g.Respond(apitest.Input("go", strings.Replace(responseTool, `"minItems":1`, `"minItems":"one"`, 1), required)), http.StatusBadRequest, "invalid_json_schema", "tools[0].parameters")
}

func TestTheNextProcessCallsTheFunction(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	llm := hold()
	b := apitest.Script(daemontest.Tool("ls"), daemontest.Finish("Ada has paid."))
	config := func(c *daemon.Config) { c.StateDir, c.OneShotTTL = state, time.Hour; llm.config(c) }
	g := apitest.Serve(t, b, config)
	path := "/v1/responses/" + apitest.Responded(t, g.Respond(apitest.Input("go", responseTool, namedResponse, `"background":true`))).ID
	<-llm.asked
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(state)); err != nil {
		t.Fatal(err)
	}
	state, llm = copied, &held{llm.asked, llm.gate, llm.stopped}
	next := apitest.Serve(t, b, config)
	close(llm.gate)
	events := apitest.EventsOf(t, next.Do(http.MethodGet, path+"?stream=true", "").Body)
	last := events[len(events)-1]
	apitest.Equal(t, "the resumed response", last.Object(t).Call(t, last.Response).Arguments, paid)
	stored := next.Do(http.MethodGet, path, "")
	apitest.Equal(t, "the stored response", apitest.Responded(t, stored).Call(t, []byte(stored.Body)).Arguments, paid)
	apitest.Equal(t, "runs", b.Runs(), 1)
}

// A client that sends the call and its result again goes on in the conversation.
func TestACallIsPartOfItsChat(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Finish(paid))
	g := apitest.Serve(t, b, func(c *daemon.Config) { c.OneShotTTL = time.Hour })
	first := g.Chat(apitest.Ask("one", chatTool, required), chatID, "c-1")
	call := calledBy(t, first)
	call.ID = callIn(t, first)
	spaced, err := json.Marshal(strings.ReplaceAll(paid, `":`, `": `))
	if err != nil {
		t.Fatal(err)
	}
	second := g.Chat(apitest.Messages(`{"role":"user","content":"one"},{"role":"assistant","content":null,"tool_calls":[{"id":"`+call.ID+`","type":"function","function":{"name":"final_result","arguments":`+string(spaced)+
		`}}]},{"role":"tool","tool_call_id":"`+call.ID+`","content":"Done."},{"role":"user","content":"two"}`, chatTool, required), chatID, "c-1")
	apitest.Equal(t, "arguments", calledBy(t, second).Arguments, paid)
	apitest.Equal(t, "conversation", second.Header.Get(apitest.HeaderID), first.Header.Get(apitest.HeaderID))

	made := apitest.Responded(t, g.Respond(apitest.Input("three", responseTool, required)))
	item := made.Output[len(made.Output)-1]
	for _, id := range []string{`"id":"` + item.ID + `",`, ""} {
		next := apitest.Responded(t, g.Respond(apitest.Inputs(`{"role":"user","content":"three"},{"type":"function_call",`+id+`"call_id":"`+strings.Replace(made.ID, "resp_", "call_", 1)+
			`","name":"final_result","arguments":`+string(spaced)+`},{"type":"function_call_output","call_id":"`+strings.Replace(made.ID, "resp_", "call_", 1)+`","output":"Done."},{"role":"user","content":"four"}`)))
		apitest.Equal(t, "previous", next.Previous, made.ID)
	}
	apitest.Envelope(t, g.Respond(apitest.Inputs(`{"role":"user","content":"x"},{"type":"function_call_output","call_id":"call_1","output":"Done."}`)), http.StatusBadRequest, "invalid_value", "input")
}

func TestTheUtilityModelCallsTheFunction(t *testing.T) {
	t.Parallel()
	b, llm := echo(), &writer{says: []string{paid}}
	g := apitest.Serve(t, b, llm.config)
	utility := func(body string) string { return strings.Replace(body, "openhands_default", "openhands_utility", 1) }
	for choice, finish := range map[string]string{required: "tool_calls", namedChat: "stop"} {
		for _, call := range []apitest.Called{
			calledBy(t, g.Chat(utility(apitest.Ask("Has Ada paid?", chatTool, choice)))), streamedCall(t, g.Chat(utility(apitest.Ask("Has Ada paid?", chatTool, choice, apitest.Streamed)))),
		} {
			if diff := cmp.Diff(apitest.Called{ID: "call_ANSWER", Name: "final_result", Arguments: paid, Finish: finish}, call); diff != "" {
				t.Error(diff)
			}
		}
	}
	res := g.Respond(utility(apitest.Input("Has Ada paid?", responseTool, required)))
	apitest.Equal(t, "response", apitest.Responded(t, res).Call(t, []byte(res.Body)).Arguments, paid)
	apitest.Equal(t, "runs", b.Runs(), 0)
}
