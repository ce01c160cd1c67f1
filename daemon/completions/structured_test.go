package completions_test

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
	"github.com/ohgw/ohgw/daemon/apitest"
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
func formats(t *testing.T, g *apitest.Gateway) map[string]func(prompt string, header ...string) (content, reasoning string) {
	joined := func(m apitest.Made) (content, reasoning string) {
		for _, item := range m.Output {
			for _, part := range item.Summary {
				reasoning += part.Text + "\n"
			}
		}
		return m.Text(), reasoning
	}
	return map[string]func(string, ...string) (string, string){
		"chat": func(prompt string, header ...string) (string, string) {
			c := apitest.Completed(t, g.Chat(apitest.Ask(prompt, chatSchema), header...))
			return c.Text(), c.Choices[0].Message.Reasoning
		},
		"streamed chat": func(prompt string, header ...string) (string, string) {
			f := apitest.Parse(t, g.Chat(apitest.Ask(prompt, chatSchema, apitest.Streamed), header...))
			apitest.Equal(t, "the end", f.End, "[DONE]")
			return f.Text(), f.Reasoning()
		},
		"response": func(prompt string, header ...string) (string, string) {
			return joined(apitest.Responded(t, g.Respond(apitest.Input(prompt, responseSchema), header...)))
		},
		"streamed response": func(prompt string, header ...string) (string, string) {
			events := apitest.EventsOf(t, g.Respond(apitest.Input(prompt, responseSchema, apitest.Streamed), header...).Body)
			return joined(events[len(events)-1].Object(t))
		},
		"background": func(prompt string, header ...string) (string, string) {
			path := "/v1/responses/" + apitest.Responded(t, g.Respond(apitest.Input(prompt, responseSchema, `"background":true`), header...)).ID
			events := apitest.EventsOf(t, g.Do(http.MethodGet, path+"?stream=true", "").Body)
			last := events[len(events)-1].Object(t)
			apitest.Equal(t, "GET", apitest.Responded(t, g.Do(http.MethodGet, path, "")).Text(), last.Text())
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
	g := apitest.Serve(t, b, func(c *daemon.Config) {
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
	apitest.Equal(t, "satisfied", satisfied, 50)
	apitest.Equal(t, "runs", b.Runs(), 50)
	apitest.Equal(t, "calls of the model", calls, 74) // the fiftieth number that three does not divide
}

func TestTheDocumentIsTheOnlyContent(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Delta("I will"), daemontest.Delta(" look."), daemontest.Say("I will look."), daemontest.Tool("ls"), daemontest.Delta("Ada has"), daemontest.Finish("Ada has paid."))
	llm := &writer{says: []string{paid}}
	g := apitest.Serve(t, b, llm.config)
	asked := 0
	for name, answer := range formats(t, g) {
		content, reasoning := answer("Has Ada paid?")
		reasoning = strings.ReplaceAll(reasoning, "\n\n", "\n")
		apitest.Equal(t, name+": content", content, paid)
		if !strings.Contains(reasoning, "$ ls\n") || !strings.Contains(reasoning, "Converting the answer to JSON") {
			t.Errorf("%s: reasoning %q", name, reasoning)
		}
		if strings.HasPrefix(name, "streamed") && !strings.Contains(reasoning, "I will look.\n$ ls\nAda has paid.\nConverting") {
			t.Errorf("%s: reasoning %q", name, reasoning)
		}
		asked++
		apitest.Equal(t, "calls", llm.calls(), asked)
	}
	for i, message := range b.Prompts() {
		if !strings.HasPrefix(message.Text, "Has Ada paid?\n\nWhen the work is done") || !strings.Contains(message.Text, order) {
			t.Errorf("the agent was told %q", message.Text)
		}
		apitest.Equal(t, "system text", b.Opened()[i].System, "")
	}
	apitest.Equal(t, "profile", llm.prompts[0].Profile, "default")
}

func TestTheUsageOfTheConversionIsAdded(t *testing.T) {
	t.Parallel()
	llm := &writer{says: []string{wrong, paid}}
	g := apitest.Serve(t, apitest.Script(daemontest.Spend(1), daemontest.Finish("Ada has paid.")), llm.config)
	c := apitest.Completed(t, g.Chat(apitest.Ask("go", chatSchema)))
	apitest.Equal(t, "prompt tokens", c.Usage.Prompt, 100+14)
	apitest.Equal(t, "completion tokens", c.Usage.Completion, 20+6)
	apitest.Equal(t, "cost", c.Extension["cost"], any(2.0))
	m := apitest.Responded(t, g.Respond(apitest.Input("go", responseSchema)))
	apitest.Equal(t, "total", m.Usage.Total, 120+10)
	g.Scrape(`ohgw_cost_dollars_total{profile="default"} 3.5`)
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
			b := apitest.Script(tc.step)
			g := apitest.Serve(t, b, func(c *daemon.Config) {
				if tc.llm != nil {
					tc.llm.config(c)
				}
			})
			res := g.Chat(apitest.Ask("go", chatSchema), "Idempotency-Key", "k")
			e := apitest.Envelope(t, res, http.StatusBadGateway, "invalid_structured_output", "")
			if message := e["message"].(string); !strings.Contains(message, tc.says) {
				t.Errorf("message %q", message)
			}
			apitest.Equal(t, "X-Should-Retry", res.Header.Get("X-Should-Retry"), "false")
			apitest.Equal(t, "X-OpenHands-Run-Status", res.Header.Get("X-OpenHands-Run-Status"), "error")
			apitest.Envelope(t, g.Chat(apitest.Ask("go", chatSchema), "Idempotency-Key", "k"), http.StatusBadGateway, "invalid_structured_output", "")
			apitest.FrameError(t, []byte(apitest.Parse(t, g.Chat(apitest.Ask("streamed", chatSchema, apitest.Streamed))).End), "invalid_structured_output", "")
			apitest.Envelope(t, g.Respond(apitest.Input("go", responseSchema)), http.StatusBadGateway, "invalid_structured_output", "")
			events := apitest.EventsOf(t, g.Respond(apitest.Input("streamed", responseSchema, apitest.Streamed)).Body)
			m := events[len(events)-1].Object(t)
			apitest.Equal(t, "status", m.Status, "failed")
			apitest.Equal(t, "text", m.Text(), "")
			if m.Error == nil || !strings.Contains(m.Error.Message, tc.says) {
				t.Errorf("error %+v", m.Error)
			}
			apitest.Equal(t, "runs", b.Runs(), 4)
			if tc.llm != nil {
				apitest.Equal(t, "calls", tc.llm.calls(), 4*tc.calls)
			}
			apitest.Lacks(t, "the log", g.Logs.String(), "Ada")
		})
	}
}

func TestAnyObjectCanBeAskedFor(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Finish("```\n{\"a\": [1, 2]}\n```")))
	apitest.Equal(t, "chat", apitest.Completed(t, g.Chat(apitest.Ask("go", `"response_format":{"type":"json_object"}`))).Text(), `{"a":[1,2]}`)
	m := apitest.Responded(t, g.Respond(apitest.Input("go", `"text":{"format":{"type":"json_object"}}`)))
	apitest.Equal(t, "response", m.Text(), `{"a":[1,2]}`)
	apitest.Equal(t, "text", apitest.Completed(t, g.Chat(apitest.Ask("go", `"response_format":{"type":"text"}`))).Text(), "```\n{\"a\": [1, 2]}\n```")
}

func TestAResponseRepeatsItsFormat(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Finish(paid)))
	for text, body := range map[string]string{
		`{"format":{"type":"text"}}`:        g.Respond(apitest.Input("a")).Body,
		`{"format":{"type":"json_object"}}`: g.Respond(apitest.Input("b", `"text":{"format":{"type":"json_object"}}`)).Body,
		responseSchema[len(`"text":`):]:     g.Respond(apitest.Input("c", responseSchema)).Body,
	} {
		m := apitest.Object(t, []byte(body))
		stored := g.Do(http.MethodGet, "/v1/responses/"+m.ID, "").Body
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
			g := apitest.Serve(t, apitest.Script(daemontest.Say("I will look."), tc.step))
			var c struct {
				Choices []struct {
					Message struct {
						Content *string `json:"content"`
						Refusal string  `json:"refusal"`
					} `json:"message"`
					Finish string `json:"finish_reason"`
				} `json:"choices"`
			}
			res := g.Chat(apitest.Ask("go", chatSchema))
			apitest.Completed(t, res)
			if err := json.Unmarshal([]byte(res.Body), &c); err != nil {
				t.Fatal(err)
			}
			if m := c.Choices[0].Message; m.Content != nil || !strings.Contains(m.Refusal, tc.says) || c.Choices[0].Finish != tc.finish {
				t.Errorf("the completion = %s", res.Body)
			}
			stream := g.Chat(apitest.Ask("go", chatSchema, apitest.Streamed))
			apitest.Equal(t, "streamed text", apitest.Parse(t, stream).Text(), "")
			if !strings.Contains(stream.Body, `"refusal":"`) {
				t.Errorf("the stream = %s, want a refusal", stream.Body)
			}
			events := apitest.EventsOf(t, g.Respond(apitest.Input("go", responseSchema, apitest.Streamed)).Body)
			m := events[len(events)-1].Object(t)
			apitest.Equal(t, "text", m.Text(), "")
			if tc.status == "cancelled" {
				return
			}
			apitest.Equal(t, "status", m.Status, tc.status)
			if last := string(events[len(events)-1].Response); !strings.Contains(last, `{"type":"refusal","refusal":"`) || !strings.Contains(last, tc.says) {
				t.Errorf("the last event = %s, want the refusal", last)
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
	g := apitest.Serve(t, apitest.Script(daemontest.Finish("Ada has paid.")), llm.config)
	path := "/v1/responses/" + apitest.Responded(t, g.Respond(apitest.Input("go", responseSchema, `"background":true`))).ID
	<-llm.asked
	m := apitest.Responded(t, g.Do(http.MethodPost, path+"/cancel", "{}"))
	<-llm.stopped
	apitest.Equal(t, "status", m.Status, "cancelled")
	apitest.Equal(t, "text", m.Text(), "")
	apitest.Equal(t, "GET", apitest.Responded(t, g.Do(http.MethodGet, path, "")).Status, "cancelled")
}

func TestATimeoutStopsTheConversion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		llm := hold()
		g := apitest.Serve(t, apitest.Script(daemontest.Finish("Ada has paid.")), llm.config)
		apitest.Envelope(t, g.Chat(apitest.Ask("late", chatSchema), "X-OpenHands-Timeout", "1"), http.StatusGatewayTimeout, "run_timeout", "")
		<-llm.stopped
	})
}

func TestAClientThatGoesLeavesTheConversionForItsRepeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		llm := hold()
		g := apitest.Serve(t, apitest.Script(daemontest.Finish("Ada has paid.")), llm.config)
		leave := func(prompt string) {
			ctx, hangUp := context.WithCancel(t.Context())
			r := g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask(prompt, chatSchema))
			go func() {
				<-llm.asked
				hangUp()
			}()
			if res, err := g.Client.Do(r.WithContext(ctx)); err == nil {
				res.Body.Close()
				t.Error("the answer came")
			}
			synctest.Wait() // until the daemon has seen it: what is written before counts as delivered
		}
		leave("for good")
		<-llm.stopped // after the grace period
		leave("for a moment")
		close(llm.gate)
		apitest.Equal(t, "the repeat", apitest.Completed(t, g.Chat(apitest.Ask("for a moment", chatSchema))).Text(), paid)
		apitest.Equal(t, "runs", g.Backend.Runs(), 2)
	})
}

// A restart between the answer and its document changes neither.
func TestTheNextProcessConvertsTheAnswer(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	llm := hold()
	b := apitest.Script(daemontest.Tool("ls"), daemontest.Finish("Ada has paid."))
	config := func(c *daemon.Config) { c.StateDir, c.OneShotTTL = state, time.Hour; llm.config(c) }
	g := apitest.Serve(t, b, config)
	path := "/v1/responses/" + apitest.Responded(t, g.Respond(apitest.Input("go", responseSchema, `"background":true`))).ID
	keyed := make(chan apitest.Response)
	go func() { keyed <- g.Chat(apitest.Ask("keyed", chatSchema), "Idempotency-Key", "k") }()
	for range 2 {
		<-llm.asked
	}
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(state)); err != nil {
		t.Fatal(err)
	}
	state, llm = copied, &held{llm.asked, llm.gate, llm.stopped}
	next := apitest.Serve(t, b, config)
	close(llm.gate)
	events := apitest.EventsOf(t, next.Do(http.MethodGet, path+"?stream=true", "").Body)
	apitest.Equal(t, "the resumed response", events[len(events)-1].Object(t).Text(), paid)
	apitest.Equal(t, "the stored response", apitest.Responded(t, next.Do(http.MethodGet, path, "")).Text(), paid)
	for range 2 {
		apitest.Equal(t, "the repeat", apitest.Parse(t, next.Chat(apitest.Ask("keyed", chatSchema, apitest.Streamed), "Idempotency-Key", "k")).Text(), paid)
	}
	apitest.Equal(t, "the first process", apitest.Completed(t, <-keyed).Text(), paid)
	apitest.Equal(t, "runs", b.Runs(), 2)
}

func TestAKeyIsForOneSchema(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	config := func(c *daemon.Config) { c.StateDir = state; (&writer{says: []string{paid}}).config(c) }
	b := apitest.Script(daemontest.Finish("Ada has paid."))
	g := apitest.Serve(t, b, config)
	apitest.Equal(t, "first", apitest.Completed(t, g.Chat(apitest.Ask("go", chatSchema), "Idempotency-Key", "k")).Text(), paid)
	apitest.Envelope(t, g.Chat(apitest.Ask("go"), "Idempotency-Key", "k"), http.StatusConflict, "idempotency_key_conflict", "Idempotency-Key")
	other := strings.Replace(chatSchema, `"lost"`, `"gone"`, 1)
	apitest.Envelope(t, g.Chat(apitest.Ask("go", strings.Replace(other, `"paid"`, `"settled"`, 1)), "Idempotency-Key", "k"), http.StatusConflict, "idempotency_key_conflict", "Idempotency-Key")
	if err := errors.Join(g.Stop(), g.Daemon.Close()); err != nil {
		t.Fatal(err)
	}
	g = apitest.Serve(t, b, config)
	f := apitest.Parse(t, g.Chat(apitest.Ask("go", chatSchema, apitest.Streamed), "Idempotency-Key", "k"))
	apitest.Equal(t, "after a restart", f.Text(), paid)
	apitest.Lacks(t, "reasoning", f.Reasoning(), "Ada")
	apitest.Equal(t, "runs", b.Runs(), 1)
}

func TestFormatsThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Finish("done"))
	g := apitest.Serve(t, b)
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
			apitest.Envelope(t, g.Chat(apitest.Ask("x", `"response_format":{"type":"json_schema","json_schema":{`+tc.spec+`}}`)), http.StatusBadRequest, tc.code, "response_format.json_schema"+tc.param)
			apitest.Envelope(t, g.Respond(apitest.Input("x", `"text":{"format":{"type":"json_schema",`+tc.spec+`}}`)), http.StatusBadRequest, tc.code, "text.format"+tc.param)
		})
	}
	apitest.Equal(t, "runs", b.Runs(), 0)
}

func TestTheUtilityModelKeepsToTheFormat(t *testing.T) {
	t.Parallel()
	b, llm := echo(), &writer{says: []string{"Ada has paid.", paid, wrong}}
	g := apitest.Serve(t, b, llm.config)
	body := strings.Replace(apitest.Ask("Has Ada paid?", chatSchema), "openhands_default", "openhands_utility", 1)
	c := apitest.Completed(t, g.Chat(body))
	apitest.Equal(t, "text", c.Text(), paid)
	apitest.Equal(t, "prompt tokens", c.Usage.Prompt, 14)
	apitest.Envelope(t, g.Chat(body), http.StatusBadGateway, "invalid_structured_output", "")
	title := apitest.Completed(t, apitest.Serve(t, echo(), (&writer{says: []string{paid}}).config).Chat(apitest.Ask(apitest.TitlePrompt, chatSchema)))
	apitest.Equal(t, "a title", title.Text(), paid)
	apitest.Equal(t, "runs", b.Runs(), 0)
	want := []string{"user", "assistant", "user"}
	var roles []string
	for _, m := range llm.prompts[1].Messages {
		roles = append(roles, m.Role)
	}
	if diff := cmp.Diff(want, roles); diff != "" {
		t.Error(diff)
	}
}
