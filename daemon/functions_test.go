package daemon_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

const (
	chatTool      = `"tools":[{"type":"function","function":{"name":"final_result","strict":true,"parameters":` + order + `}}]`
	responseTool  = `"tools":[{"type":"function","name":"final_result","strict":true,"parameters":` + order + `}]`
	required      = `"tool_choice":"required"`
	namedChat     = `"tool_choice":{"type":"function","function":{"name":"final_result"}}`
	namedResponse = `"tool_choice":{"type":"function","name":"final_result"}`
)

// called is a call of a function, as an answer has it.
type called struct {
	ID, Name, Arguments string
	Finish              string // of a chat completion
	Reasoning           string
}

// of puts words in the place of the digits in its id: those of the answer, and of the
// conversation, if it has one.
func (c called) of(answer, conversation string) called {
	digits := answer[strings.LastIndexAny(answer, "-_")+1:]
	c.ID = strings.Replace(c.ID, digits, "ANSWER", 1)
	if conversation != "" {
		c.ID = strings.Replace(c.ID, strings.ReplaceAll(conversation, "-", "")+"_"+digits[:8], "CONVERSATION_ANSWER", 1)
	}
	return c
}

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
func calledBy(t testing.TB, res response) called {
	t.Helper()
	c := completed(t, res)
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
	if err := json.Unmarshal([]byte(res.body), &body); err != nil {
		t.Fatal(err)
	}
	choice := body.Choices[0]
	if choice.Message.Content != nil || len(choice.Message.Calls) != 1 || choice.Message.Calls[0].Type != "function" {
		t.Fatalf("%s", res.body)
	}
	call := choice.Message.Calls[0]
	return called{call.ID, call.Function.Name, call.Function.Arguments, choice.Finish, choice.Message.Reasoning}.of(c.ID, res.header.Get(headerID))
}

// streamedCall reads a streamed chat completion that is a call and nothing else.
func streamedCall(t testing.TB, res response) called {
	t.Helper()
	f := parse(t, res)
	equal(t, "the end", f.end, "[DONE]")
	equal(t, "text", f.text(), "")
	c := called{Reasoning: f.reasoning()}
	for _, chunk := range f.chunks {
		var body struct {
			Choices []struct {
				Finish string `json:"finish_reason"`
				Delta  struct {
					Calls []toolCall `json:"tool_calls"`
				} `json:"delta"`
			} `json:"choices"`
		}
		if err := json.Unmarshal([]byte(chunk.raw), &body); err != nil {
			t.Fatal(err)
		}
		for _, choice := range body.Choices {
			c.Finish += choice.Finish
			for _, call := range choice.Delta.Calls {
				equal(t, "index", call.Index, 0)
				if c.ID == "" {
					equal(t, "type", call.Type, "function")
				}
				c.ID, c.Name, c.Arguments = c.ID+call.ID, c.Name+call.Function.Name, c.Arguments+call.Function.Arguments
			}
		}
	}
	return c.of(f.chunks[0].ID, res.header.Get(headerID))
}

// call is the last item of a response, which has to be a call.
func (m made) call(t testing.TB, object []byte) called {
	t.Helper()
	var body struct {
		Output []struct {
			ID, Type, Name, Arguments, Status string
			Call                              string `json:"call_id"`
		} `json:"output"`
	}
	if err := json.Unmarshal(object, &body); err != nil {
		t.Fatal(err)
	}
	item := body.Output[len(body.Output)-1]
	equal(t, "type", item.Type, "function_call")
	equal(t, "status", item.Status, "completed")
	equal(t, "text", m.text(), "")
	if digits := strings.TrimPrefix(m.ID, "resp_"); !strings.HasPrefix(item.ID, "fc_"+digits) {
		t.Errorf("the item %s of %s", item.ID, m.ID)
	}
	c := called{ID: item.Call, Name: item.Name, Arguments: item.Arguments}
	for _, item := range m.Output {
		for _, part := range item.Summary {
			c.Reasoning += part.Text + "\n"
		}
	}
	return c.of(m.ID, "")
}

func TestAForcedFunctionIsCalledWithTheDocument(t *testing.T) {
	t.Parallel()
	llm := &writer{says: []string{paid}}
	b := script(daemontest.Say("I will look."), daemontest.Tool("ls"), daemontest.Finish("Ada has paid."))
	g := serve(t, b, llm.config)
	want := called{Name: "final_result", Arguments: paid}
	check := func(what, finish string, got called) {
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
		res := g.chat(ask("go", chatTool, choice), "Idempotency-Key", finish)
		check("chat", finish, calledBy(t, res))
		equal(t, "repeat", g.chat(ask("go", chatTool, choice), "Idempotency-Key", finish).body, res.body)
		equal(t, "ignored", res.header.Get("X-OpenHands-Ignored"), "")
		check("streamed chat", finish, streamedCall(t, g.chat(ask("stream", chatTool, choice, streamed), "Idempotency-Key", "s"+finish)))
	}
	for _, choice := range []string{required, namedResponse} {
		body := g.respond(input("go", responseTool, choice)).body
		m := object(t, []byte(body))
		check("response", "", m.call(t, []byte(body)))
		stored := g.do(http.MethodGet, "/v1/responses/"+m.ID, "").body
		equal(t, "GET", stored, body)
		if !strings.Contains(body, choice) || !strings.Contains(body, `"tools":[{"type":"function","name":"final_result",`) {
			t.Errorf("the response does not repeat what was asked: %s", body)
		}
	}
	equal(t, "runs", b.Runs(), 6)
	for _, message := range b.Prompts() {
		if !strings.Contains(message.Text, order) {
			t.Errorf("the agent was told %q", message.Text)
		}
	}
}

func TestTheEventsOfAForcedFunction(t *testing.T) {
	t.Parallel()
	long := strings.Replace(paid, `"note":null`, `"note":"`+strings.Repeat("x", 20<<10)+`"`, 1)
	g := serve(t, script(daemontest.Tool("ls"), daemontest.Finish(long)))
	body := g.respond(input("go", responseTool, required, streamed)).body
	events := eventsOf(t, body)
	want := []string{
		"reasoning_summary_part.done", "output_item.done", "output_item.added", "function_call_arguments.delta", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done", "completed",
	}
	end := events[max(0, len(events)-len(want)):]
	if diff := cmp.Diff(want, types(end)); diff != "" {
		t.Fatal(diff)
	}
	if added := string(end[2].Item); !strings.Contains(added, `"arguments":""`) || !strings.Contains(added, `"status":"in_progress"`) {
		t.Errorf("added: %s", added)
	}
	equal(t, "the joined arguments", end[3].Delta+end[4].Delta, long)
	last := events[len(events)-1]
	m := last.object(t)
	equal(t, "the arguments", m.call(t, last.Response).Arguments, long)
	equal(t, "resumed", g.do(http.MethodGet, "/v1/responses/"+m.ID+"?stream=true", "").body, body)
}

// What has no document calls nothing: a client would run the function.
func TestARunWithoutADocumentCallsNoFunction(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]daemontest.Step{
		"waiting": daemontest.Confirm("rm -rf build"), "interrupted": daemontest.Interrupted(), "a limit": daemontest.Fail("MaxIterationsReached", "500"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := serve(t, script(step))
			for _, body := range []string{
				g.chat(ask("go", chatTool, required)).body, g.chat(ask("go", chatTool, required, streamed)).body,
				g.respond(input("go", responseTool, required)).body, g.respond(input("go", responseTool, required, streamed)).body,
			} {
				lacks(t, "the answer", body, `"tool_calls":[`)
				lacks(t, "the answer", body, `"type":"function_call"`)
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
	g := serve(t, script(daemontest.Finish("Ada has paid.")), llm.config)
	envelope(t, g.chat(ask("go", chatTool, required)), http.StatusBadGateway, "invalid_structured_output", "")
	frameError(t, []byte(parse(t, g.chat(ask("go on", chatTool, required, streamed))).end), "invalid_structured_output", "")
	envelope(t, g.respond(input("go", responseTool, required)), http.StatusBadGateway, "invalid_structured_output", "")
	odd := strings.Replace(chatTool, `"minItems":1`, `"minItems":"one"`, 1)
	envelope(t, g.chat(ask("go", odd, required)), http.StatusBadRequest, "invalid_json_schema", "tools[0].function.parameters")
	envelope(t, g.respond(input("go", strings.Replace(responseTool, `"minItems":1`, `"minItems":"one"`, 1), required)), http.StatusBadRequest, "invalid_json_schema", "tools[0].parameters")
}

func TestTheNextProcessCallsTheFunction(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	llm := hold()
	b := script(daemontest.Tool("ls"), daemontest.Finish("Ada has paid."))
	config := func(c *daemon.Config) { c.StateDir, c.OneShotTTL = state, time.Hour; llm.config(c) }
	g := serve(t, b, config)
	path := "/v1/responses/" + responded(t, g.respond(input("go", responseTool, namedResponse, `"background":true`))).ID
	<-llm.asked
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(state)); err != nil {
		t.Fatal(err)
	}
	state, llm = copied, &held{llm.asked, llm.gate, llm.stopped}
	next := serve(t, b, config)
	close(llm.gate)
	events := eventsOf(t, next.do(http.MethodGet, path+"?stream=true", "").body)
	last := events[len(events)-1]
	equal(t, "the resumed response", last.object(t).call(t, last.Response).Arguments, paid)
	stored := next.do(http.MethodGet, path, "")
	equal(t, "the stored response", responded(t, stored).call(t, []byte(stored.body)).Arguments, paid)
	equal(t, "runs", b.Runs(), 1)
}

// A client that sends the call and its result again goes on in the conversation.
func TestACallIsPartOfItsChat(t *testing.T) {
	t.Parallel()
	b := script(daemontest.Finish(paid))
	g := serve(t, b, func(c *daemon.Config) { c.OneShotTTL = time.Hour })
	first := g.chat(ask("one", chatTool, required), chatID, "c-1")
	call := calledBy(t, first)
	call.ID = callIn(t, first)
	spaced, err := json.Marshal(strings.ReplaceAll(paid, `":`, `": `))
	if err != nil {
		t.Fatal(err)
	}
	second := g.chat(messages(`{"role":"user","content":"one"},{"role":"assistant","content":null,"tool_calls":[{"id":"`+call.ID+`","type":"function","function":{"name":"final_result","arguments":`+string(spaced)+
		`}}]},{"role":"tool","tool_call_id":"`+call.ID+`","content":"Done."},{"role":"user","content":"two"}`, chatTool, required), chatID, "c-1")
	equal(t, "arguments", calledBy(t, second).Arguments, paid)
	equal(t, "conversation", second.header.Get(headerID), first.header.Get(headerID))

	made := responded(t, g.respond(input("three", responseTool, required)))
	item := made.Output[len(made.Output)-1]
	for _, id := range []string{`"id":"` + item.ID + `",`, ""} {
		next := responded(t, g.respond(inputs(`{"role":"user","content":"three"},{"type":"function_call",`+id+`"call_id":"`+strings.Replace(made.ID, "resp_", "call_", 1)+
			`","name":"final_result","arguments":`+string(spaced)+`},{"type":"function_call_output","call_id":"`+strings.Replace(made.ID, "resp_", "call_", 1)+`","output":"Done."},{"role":"user","content":"four"}`)))
		equal(t, "previous", next.Previous, made.ID)
	}
	envelope(t, g.respond(inputs(`{"role":"user","content":"x"},{"type":"function_call_output","call_id":"call_1","output":"Done."}`)), http.StatusBadRequest, "invalid_value", "input")
}

func TestTheUtilityModelCallsTheFunction(t *testing.T) {
	t.Parallel()
	b, llm := echo(), &writer{says: []string{paid}}
	g := serve(t, b, llm.config)
	utility := func(body string) string { return strings.Replace(body, "openhands_default", "openhands_utility", 1) }
	for choice, finish := range map[string]string{required: "tool_calls", namedChat: "stop"} {
		for _, call := range []called{
			calledBy(t, g.chat(utility(ask("Has Ada paid?", chatTool, choice)))), streamedCall(t, g.chat(utility(ask("Has Ada paid?", chatTool, choice, streamed)))),
		} {
			if diff := cmp.Diff(called{ID: "call_ANSWER", Name: "final_result", Arguments: paid, Finish: finish}, call); diff != "" {
				t.Error(diff)
			}
		}
	}
	res := g.respond(utility(input("Has Ada paid?", responseTool, required)))
	equal(t, "response", responded(t, res).call(t, []byte(res.body)).Arguments, paid)
	equal(t, "runs", b.Runs(), 0)
}
