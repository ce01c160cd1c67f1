package daemon_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/completions"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

// order is a schema as Pydantic writes it: references, unions, enums, arrays.
const order = `{"type":"object","additionalProperties":false,"required":["customer","items","status"],"properties":{` +
	`"customer":{"$ref":"#/$defs/Customer"},"status":{"enum":["open","paid"]},` +
	`"note":{"anyOf":[{"type":"string"},{"type":"null"}]},` +
	`"items":{"type":"array","minItems":1,"items":{"$ref":"#/$defs/Item"}}},` +
	`"$defs":{"Customer":{"type":"object","additionalProperties":false,"required":["name"],"properties":{"name":{"type":"string"}}},` +
	`"Item":{"type":"object","additionalProperties":false,"required":["sku","count"],"properties":{"sku":{"type":"string"},"count":{"type":"integer","minimum":1},"tags":{"type":"array","items":{"enum":["new","sale"]}}}}}}`

const (
	chatSchema     = `"response_format":{"type":"json_schema","json_schema":{"name":"order","strict":true,"schema":` + order + `}}`
	responseSchema = `"text":{"format":{"type":"json_schema","name":"order","strict":true,"schema":` + order + `}}`
	paid           = `{"customer":{"name":"Ada"},"status":"paid","note":null,"items":[{"sku":"a","count":2,"tags":["sale"]}]}`
	wrong          = `{"customer":{"name":"Ada"},"status":"lost","items":[]}`
)

// writer is an LLM that says one text after the other, the last one again and
// again.
type writer struct {
	mu      sync.Mutex
	says    []string
	err     error
	prompts []completions.Prompt
}

func (w *writer) complete(_ context.Context, prompt completions.Prompt) (completions.Completion, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.prompts = append(w.prompts, prompt)
	text := w.says[min(len(w.prompts), len(w.says))-1]
	return completions.Completion{Text: text, Usage: turn.Usage{PromptTokens: 7, CompletionTokens: 3, Cost: 0.5}}, w.err
}

func (w *writer) config(c *daemon.Config) { c.Complete = w.complete }

func (w *writer) calls() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.prompts)
}

// formats are the ways in which a client can ask for an answer: each returns all
// of its content, and all of its reasoning.
func formats(t *testing.T, g *gateway) map[string]func(prompt string, header ...string) (content, reasoning string) {
	joined := func(m made) (content, reasoning string) {
		for _, item := range m.Output {
			for _, part := range item.Summary {
				reasoning += part.Text + "\n"
			}
		}
		return m.text(), reasoning
	}
	return map[string]func(string, ...string) (string, string){
		"chat": func(prompt string, header ...string) (string, string) {
			c := completed(t, g.chat(ask(prompt, chatSchema), header...))
			return c.text(), c.Choices[0].Message.Reasoning
		},
		"streamed chat": func(prompt string, header ...string) (string, string) {
			f := parse(t, g.chat(ask(prompt, chatSchema, streamed), header...))
			equal(t, "the end", f.end, "[DONE]")
			return f.text(), f.reasoning()
		},
		"response": func(prompt string, header ...string) (string, string) {
			return joined(responded(t, g.respond(input(prompt, responseSchema), header...)))
		},
		"streamed response": func(prompt string, header ...string) (string, string) {
			events := eventsOf(t, g.respond(input(prompt, responseSchema, streamed), header...).body)
			return joined(events[len(events)-1].object(t))
		},
		"background": func(prompt string, header ...string) (string, string) {
			path := "/v1/responses/" + responded(t, g.respond(input(prompt, responseSchema, `"background":true`), header...)).ID
			events := eventsOf(t, g.do(http.MethodGet, path+"?stream=true", "").body)
			last := events[len(events)-1].object(t)
			equal(t, "GET", responded(t, g.do(http.MethodGet, path, "")).text(), last.text())
			return joined(last)
		},
	}
}

// The model answers badly every third time, whoever asks it.
func TestFiftyOfFiftyAnswersSatisfyTheSchema(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	calls := 0
	model := func() string {
		mu.Lock()
		defer mu.Unlock()
		switch calls++; {
		case calls%6 == 0:
			return "Ada has paid for two a."
		case calls%3 == 0:
			return "Here it is:\n```json\n" + wrong + "\n```"
		case calls%2 == 0:
			return "Here it is:\n```json\n" + paid + "\n```\nAnything else?"
		}
		return paid
	}
	b := daemontest.New("default", "cheap")
	b.Script = func(string) []daemontest.Step {
		return []daemontest.Step{daemontest.Say("I will look."), daemontest.Tool("ls"), daemontest.Finish(model())}
	}
	g := serve(t, b, func(c *daemon.Config) {
		c.Complete = func(context.Context, completions.Prompt) (completions.Completion, error) {
			return completions.Completion{Text: model()}, nil
		}
	})
	compiler := jsonschema.NewCompiler()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(order))
	if err == nil {
		err = compiler.AddResource("order", value)
	}
	if err != nil {
		t.Fatal(err)
	}
	schema, satisfied := compiler.MustCompile("order"), 0
	for round := range 10 {
		for name, answer := range formats(t, g) {
			content, _ := answer(fmt.Sprint(round))
			doc, err := jsonschema.UnmarshalJSON(strings.NewReader(content))
			if err == nil {
				err = schema.Validate(doc)
			}
			if err != nil {
				t.Errorf("%s: %q: %v", name, content, err)
				continue
			}
			satisfied++
		}
	}
	equal(t, "satisfied", satisfied, 50)
	equal(t, "runs", b.Runs(), 50)
	equal(t, "calls of the model", calls, 74) // the fiftieth number that three does not divide
}

func TestTheDocumentIsTheOnlyContent(t *testing.T) {
	t.Parallel()
	b := script(daemontest.Delta("I will"), daemontest.Delta(" look."), daemontest.Say("I will look."), daemontest.Tool("ls"), daemontest.Delta("Ada has"), daemontest.Finish("Ada has paid."))
	llm := &writer{says: []string{paid}}
	g := serve(t, b, llm.config)
	asked := 0
	for name, answer := range formats(t, g) {
		content, reasoning := answer("Has Ada paid?")
		reasoning = strings.ReplaceAll(reasoning, "\n\n", "\n")
		equal(t, name+": content", content, paid)
		if !strings.Contains(reasoning, "$ ls\n") || !strings.Contains(reasoning, "Converting the answer to JSON") {
			t.Errorf("%s: reasoning %q", name, reasoning)
		}
		if strings.HasPrefix(name, "streamed") && !strings.Contains(reasoning, "I will look.\n$ ls\nAda has paid.\nConverting") {
			t.Errorf("%s: reasoning %q", name, reasoning)
		}
		asked++
		equal(t, "calls", llm.calls(), asked)
	}
	for i, message := range b.Prompts() {
		if !strings.HasPrefix(message.Text, "Has Ada paid?\n\nWhen the work is done") || !strings.Contains(message.Text, order) {
			t.Errorf("the agent was told %q", message.Text)
		}
		equal(t, "system text", b.Opened()[i].System, "")
	}
	equal(t, "profile", llm.prompts[0].Profile, "default")
}

func TestTheUsageOfTheConversionIsAdded(t *testing.T) {
	t.Parallel()
	llm := &writer{says: []string{wrong, paid}}
	g := serve(t, script(daemontest.Spend(1), daemontest.Finish("Ada has paid.")), llm.config)
	c := completed(t, g.chat(ask("go", chatSchema)))
	equal(t, "prompt tokens", c.Usage.Prompt, 100+14)
	equal(t, "completion tokens", c.Usage.Completion, 20+6)
	equal(t, "cost", c.Extension["cost"], any(2.0))
	m := responded(t, g.respond(input("go", responseSchema)))
	equal(t, "total", m.Usage.Total, 120+10)
	g.scrape(`ohgw_cost_dollars_total{profile="default"} 3.5`)
}

func TestAnswersThatCannotBeConverted(t *testing.T) {
	t.Parallel()
	words := daemontest.Finish("Ada has paid.")
	for name, tc := range map[string]struct {
		step  daemontest.Step
		llm   *writer
		calls int
		says  string
	}{
		"the model does not obey": {words, &writer{says: []string{wrong}}, 2, "at /items: minItems: got 0, want 1; at /status: value must be one of 'open', 'paid'"},
		"the model fails":         {words, &writer{says: []string{""}, err: &agentapi.Error{Kind: agentapi.ErrRefused, Msg: "The key is exhausted."}}, 1, "The key is exhausted."},
		"no model":                {words, nil, 0, "This backend cannot ask the model without an agent."},
		"no answer":               {daemontest.Finish(" "), &writer{says: []string{paid}}, 0, "ended without an answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := script(tc.step)
			g := serve(t, b, func(c *daemon.Config) {
				if tc.llm != nil {
					tc.llm.config(c)
				}
			})
			res := g.chat(ask("go", chatSchema), "Idempotency-Key", "k")
			e := envelope(t, res, http.StatusBadGateway, "invalid_structured_output", "")
			if message := e["message"].(string); !strings.Contains(message, tc.says) {
				t.Errorf("message %q", message)
			}
			equal(t, "X-Should-Retry", res.header.Get("X-Should-Retry"), "false")
			equal(t, "X-OpenHands-Run-Status", res.header.Get("X-OpenHands-Run-Status"), "error")
			envelope(t, g.chat(ask("go", chatSchema), "Idempotency-Key", "k"), http.StatusBadGateway, "invalid_structured_output", "")
			frameError(t, []byte(parse(t, g.chat(ask("streamed", chatSchema, streamed))).end), "invalid_structured_output", "")
			envelope(t, g.respond(input("go", responseSchema)), http.StatusBadGateway, "invalid_structured_output", "")
			events := eventsOf(t, g.respond(input("streamed", responseSchema, streamed)).body)
			m := events[len(events)-1].object(t)
			equal(t, "status", m.Status, "failed")
			equal(t, "text", m.text(), "")
			if m.Error == nil || !strings.Contains(m.Error.Message, tc.says) {
				t.Errorf("error %+v", m.Error)
			}
			equal(t, "runs", b.Runs(), 4)
			if tc.llm != nil {
				equal(t, "calls", tc.llm.calls(), 4*tc.calls)
			}
			lacks(t, "the log", g.logs.String(), "Ada")
		})
	}
}

func TestAnyObjectCanBeAskedFor(t *testing.T) {
	t.Parallel()
	g := serve(t, script(daemontest.Finish("```\n{\"a\": [1, 2]}\n```")))
	equal(t, "chat", completed(t, g.chat(ask("go", `"response_format":{"type":"json_object"}`))).text(), `{"a":[1,2]}`)
	m := responded(t, g.respond(input("go", `"text":{"format":{"type":"json_object"}}`)))
	equal(t, "response", m.text(), `{"a":[1,2]}`)
	equal(t, "text", completed(t, g.chat(ask("go", `"response_format":{"type":"text"}`))).text(), "```\n{\"a\": [1, 2]}\n```")
}

func TestAResponseRepeatsItsFormat(t *testing.T) {
	t.Parallel()
	g := serve(t, script(daemontest.Finish(paid)))
	for text, body := range map[string]string{
		`{"format":{"type":"text"}}`:        g.respond(input("a")).body,
		`{"format":{"type":"json_object"}}`: g.respond(input("b", `"text":{"format":{"type":"json_object"}}`)).body,
		responseSchema[len(`"text":`):]:     g.respond(input("c", responseSchema)).body,
	} {
		m := object(t, []byte(body))
		stored := g.do(http.MethodGet, "/v1/responses/"+m.ID, "").body
		for _, object := range []string{body, stored} {
			var got struct {
				Text json.RawMessage `json:"text"`
			}
			if err := json.Unmarshal([]byte(object), &got); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Text, []byte(text)) {
				t.Errorf("text %s, want %s", got.Text, text)
			}
		}
	}
}

// What has no document has no content: a client that parses it would fail.
func TestARunWithoutAnAnswerIsARefusal(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		step   daemontest.Step
		says   string
		finish string
		status string
	}{
		"waiting":     {daemontest.Confirm("rm -rf build"), "rm -rf build", "stop", "completed"},
		"interrupted": {daemontest.Interrupted(), "The run was interrupted.", "stop", "cancelled"},
		"a limit":     {daemontest.Fail("MaxIterationsReached", "500"), "reached its limit", "length", "incomplete"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := serve(t, script(daemontest.Say("I will look."), tc.step))
			var c struct {
				Choices []struct {
					Message struct {
						Content *string `json:"content"`
						Refusal string  `json:"refusal"`
					} `json:"message"`
					Finish string `json:"finish_reason"`
				} `json:"choices"`
			}
			res := g.chat(ask("go", chatSchema))
			completed(t, res)
			if err := json.Unmarshal([]byte(res.body), &c); err != nil {
				t.Fatal(err)
			}
			if m := c.Choices[0].Message; m.Content != nil || !strings.Contains(m.Refusal, tc.says) || c.Choices[0].Finish != tc.finish {
				t.Errorf("%s", res.body)
			}
			stream := g.chat(ask("go", chatSchema, streamed))
			equal(t, "streamed text", parse(t, stream).text(), "")
			if !strings.Contains(stream.body, `"refusal":"`) {
				t.Errorf("%s", stream.body)
			}
			events := eventsOf(t, g.respond(input("go", responseSchema, streamed)).body)
			m := events[len(events)-1].object(t)
			equal(t, "text", m.text(), "")
			if tc.status == "cancelled" {
				return
			}
			equal(t, "status", m.Status, tc.status)
			if last := string(events[len(events)-1].Response); !strings.Contains(last, `{"type":"refusal","refusal":"`) || !strings.Contains(last, tc.says) {
				t.Errorf("%s", last)
			}
		})
	}
}

// held is an LLM that answers when it is let go, and knows whether it was stopped.
type held struct {
	asked, gate, stopped chan struct{}
}

func hold() *held {
	return &held{make(chan struct{}, 9), make(chan struct{}), make(chan struct{}, 9)}
}

func (h *held) config(c *daemon.Config) {
	c.Complete = func(ctx context.Context, _ completions.Prompt) (completions.Completion, error) {
		h.asked <- struct{}{}
		select {
		case <-h.gate:
			return completions.Completion{Text: paid}, nil
		case <-ctx.Done():
			h.stopped <- struct{}{}
			return completions.Completion{}, ctx.Err()
		}
	}
}

func TestACancelStopsTheConversion(t *testing.T) {
	t.Parallel()
	llm := hold()
	g := serve(t, script(daemontest.Finish("Ada has paid.")), llm.config)
	path := "/v1/responses/" + responded(t, g.respond(input("go", responseSchema, `"background":true`))).ID
	<-llm.asked
	m := responded(t, g.do(http.MethodPost, path+"/cancel", "{}"))
	<-llm.stopped
	equal(t, "status", m.Status, "cancelled")
	equal(t, "text", m.text(), "")
	equal(t, "GET", responded(t, g.do(http.MethodGet, path, "")).Status, "cancelled")
}

func TestATimeoutStopsTheConversion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		llm := hold()
		g := serve(t, script(daemontest.Finish("Ada has paid.")), llm.config)
		envelope(t, g.chat(ask("late", chatSchema), "X-OpenHands-Timeout", "1"), http.StatusGatewayTimeout, "run_timeout", "")
		<-llm.stopped
	})
}

func TestAClientThatGoesLeavesTheConversionForItsRepeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		llm := hold()
		g := serve(t, script(daemontest.Finish("Ada has paid.")), llm.config)
		leave := func(prompt string) {
			ctx, hangUp := context.WithCancel(t.Context())
			r := g.request(http.MethodPost, "/v1/chat/completions", ask(prompt, chatSchema))
			go func() {
				<-llm.asked
				hangUp()
			}()
			if res, err := g.client.Do(r.WithContext(ctx)); err == nil {
				res.Body.Close()
				t.Error("the answer came")
			}
			synctest.Wait() // until the daemon has seen it: what is written before counts as delivered
		}
		leave("for good")
		<-llm.stopped // after the grace period
		leave("for a moment")
		close(llm.gate)
		equal(t, "the repeat", completed(t, g.chat(ask("for a moment", chatSchema))).text(), paid)
		equal(t, "runs", g.backend.Runs(), 2)
	})
}

// A restart between the answer and its document changes neither.
func TestTheNextProcessConvertsTheAnswer(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	llm := hold()
	b := script(daemontest.Tool("ls"), daemontest.Finish("Ada has paid."))
	config := func(c *daemon.Config) { c.StateDir, c.OneShotTTL = state, time.Hour; llm.config(c) }
	g := serve(t, b, config)
	path := "/v1/responses/" + responded(t, g.respond(input("go", responseSchema, `"background":true`))).ID
	keyed := make(chan response)
	go func() { keyed <- g.chat(ask("keyed", chatSchema), "Idempotency-Key", "k") }()
	for range 2 {
		<-llm.asked
	}
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(state)); err != nil {
		t.Fatal(err)
	}
	state, llm = copied, &held{llm.asked, llm.gate, llm.stopped}
	next := serve(t, b, config)
	close(llm.gate)
	events := eventsOf(t, next.do(http.MethodGet, path+"?stream=true", "").body)
	equal(t, "the resumed response", events[len(events)-1].object(t).text(), paid)
	equal(t, "the stored response", responded(t, next.do(http.MethodGet, path, "")).text(), paid)
	for range 2 {
		equal(t, "the repeat", parse(t, next.chat(ask("keyed", chatSchema, streamed), "Idempotency-Key", "k")).text(), paid)
	}
	equal(t, "the first process", completed(t, <-keyed).text(), paid)
	equal(t, "runs", b.Runs(), 2)
}

func TestAKeyIsForOneSchema(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	config := func(c *daemon.Config) { c.StateDir = state; (&writer{says: []string{paid}}).config(c) }
	b := script(daemontest.Finish("Ada has paid."))
	g := serve(t, b, config)
	equal(t, "first", completed(t, g.chat(ask("go", chatSchema), "Idempotency-Key", "k")).text(), paid)
	envelope(t, g.chat(ask("go"), "Idempotency-Key", "k"), http.StatusConflict, "idempotency_key_conflict", "Idempotency-Key")
	other := strings.Replace(chatSchema, `"lost"`, `"gone"`, 1)
	envelope(t, g.chat(ask("go", strings.Replace(other, `"paid"`, `"settled"`, 1)), "Idempotency-Key", "k"), http.StatusConflict, "idempotency_key_conflict", "Idempotency-Key")
	if err := errors.Join(g.stop(), g.daemon.Close()); err != nil {
		t.Fatal(err)
	}
	g = serve(t, b, config)
	f := parse(t, g.chat(ask("go", chatSchema, streamed), "Idempotency-Key", "k"))
	equal(t, "after a restart", f.text(), paid)
	lacks(t, "reasoning", f.reasoning(), "Ada")
	equal(t, "runs", b.Runs(), 1)
}

func TestFormatsThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	b := script(daemontest.Finish("done"))
	g := serve(t, b)
	deep := strings.Repeat(`{"not":`, 45) + `{}` + strings.Repeat(`}`, 45)
	for name, tc := range map[string]struct{ spec, code, param string }{
		"no name":             {`"schema":{}`, "missing_required_parameter", ".name"},
		"a name of a number":  {`"name":1,"schema":{}`, "invalid_type", ".name"},
		"an odd name":         {`"name":"a b","schema":{}`, "invalid_value", ".name"},
		"no schema":           {`"name":"a"`, "missing_required_parameter", ".schema"},
		"a schema of a list":  {`"name":"a","schema":[]`, "invalid_type", ".schema"},
		"an invalid schema":   {`"name":"a","schema":{"type":"text"}`, "invalid_json_schema", ".schema"},
		"a file":              {`"name":"a","schema":{"$ref":"file:///etc/passwd"}`, "invalid_json_schema", ".schema"},
		"a deep schema":       {`"name":"a","schema":` + deep, "invalid_json_schema", ".schema"},
		"a long schema":       {`"name":"a","schema":{"title":"` + strings.Repeat("x", 64<<10) + `"}`, "invalid_json_schema", ".schema"},
		"strict of a number":  {`"name":"a","schema":{},"strict":1`, "invalid_type", ".strict"},
		"a description of {}": {`"name":"a","schema":{},"description":{}`, "invalid_type", ".description"},
	} {
		t.Run(name, func(t *testing.T) {
			envelope(t, g.chat(ask("x", `"response_format":{"type":"json_schema","json_schema":{`+tc.spec+`}}`)), http.StatusBadRequest, tc.code, "response_format.json_schema"+tc.param)
			envelope(t, g.respond(input("x", `"text":{"format":{"type":"json_schema",`+tc.spec+`}}`)), http.StatusBadRequest, tc.code, "text.format"+tc.param)
		})
	}
	equal(t, "runs", b.Runs(), 0)
}

func TestTheUtilityModelKeepsToTheFormat(t *testing.T) {
	t.Parallel()
	b, llm := echo(), &writer{says: []string{"Ada has paid.", paid, wrong}}
	g := serve(t, b, llm.config)
	body := strings.Replace(ask("Has Ada paid?", chatSchema), "openhands_default", "openhands_utility", 1)
	c := completed(t, g.chat(body))
	equal(t, "text", c.text(), paid)
	equal(t, "prompt tokens", c.Usage.Prompt, 14)
	envelope(t, g.chat(body), http.StatusBadGateway, "invalid_structured_output", "")
	title := completed(t, serve(t, echo(), (&writer{says: []string{paid}}).config).chat(ask(titlePrompt, chatSchema)))
	equal(t, "a title", title.text(), paid)
	equal(t, "runs", b.Runs(), 0)
	want := []string{"user", "assistant", "user"}
	var roles []string
	for _, m := range llm.prompts[1].Messages {
		roles = append(roles, m.Role)
	}
	if diff := cmp.Diff(want, roles); diff != "" {
		t.Error(diff)
	}
}
