package critic_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ohgw/ohgw/agentapi/engine/critic"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
)

// probabilities are those of testdata/result.json, which OpenHands 1.58.2 has made of them.
const probabilities = `{"data":[{"num_classes":27,"probs":[0.7,0.1,0.6,0.3,0.0,0.01,0.02,0.03,0.04,0.05,0.06,0.07,0.08,0.8,0.2,0.19,0.05,0.25,0.0,0.5,0.45,1.0,0.1,0.1,0.1,0.1,0.155]}]}`

// server answers the requests of a critic.
type server func(r *http.Request) (status int, body string, err error)

// RoundTrip implements http.RoundTripper.
func (s server) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body, err := s(r)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// asking is a critic that asks a server.
func asking(t *testing.T, members string, s server) *critic.Critic {
	t.Helper()
	c, err := critic.Of(json.RawMessage(`{"kind":"APIBasedCritic","api_key":"sk-critic","server_url":"http://critic.test/v/"`+members+`}`), &http.Client{Transport: s})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func text(role, s string) event.LLMMessage {
	return event.LLMMessage{Role: role, Content: []event.Content{event.Text(s)}}
}

func TestAServerScoresAsOpenHandsReadsIt(t *testing.T) {
	t.Parallel()
	var asked struct{ Model, Input string }
	c := asking(t, `,"iterative_refinement":{"success_threshold":0.5}`, func(r *http.Request) (int, string, error) {
		if r.Method != http.MethodPost || r.URL.String() != "http://critic.test/v/classify" || r.Header.Get("Authorization") != "Bearer sk-critic" {
			t.Errorf("request = %s %s with %v", r.Method, r.URL, r.Header)
		}
		return http.StatusOK, probabilities, json.NewDecoder(r.Body).Decode(&asked)
	})
	got, err := c.Evaluate(t.Context(), critic.Trace{
		Messages: []event.LLMMessage{
			text("system", "You work."), text("user", "go"),
			{Role: "assistant", Content: []event.Content{event.Text("a"), event.Images("http://x"), event.Text("b")}},
			text("tool", "one"), text("tool", "two"), text("assistant", "done"),
		},
		Tools:  []llm.Tool{{Name: "terminal", Description: `Runs "<x>": yes, it does.`, Parameters: json.RawMessage(`{"type":"object"}`)}},
		Events: []string{"a"},
	})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("testdata/result.json")
	if err != nil {
		t.Fatal(err)
	}
	var want event.CriticResult
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	if got.Score != want.Score || got.Message != want.Message || !sameJSON(t, got.Metadata, want.Metadata) {
		t.Errorf("result = %+v, metadata %s; want %+v, metadata %s", got, got.Metadata, want, want.Metadata)
	}
	const input = "<|im_start|>system\nYou work.\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\n" +
		"You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n" +
		`{"type": "function", "function": {"name": "terminal", "description": "Runs \"<x>\": yes, it does.", "parameters": {"type": "object"}}}` +
		"\n</tools>\n\nFor each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:\n" +
		"<tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call><|im_end|>\n" +
		"<|im_start|>user\ngo<|im_end|>\n<|im_start|>assistant\na\nb<|im_end|>\n" +
		"<|im_start|>user\n<tool_response>\none\n</tool_response>\n<tool_response>\ntwo\n</tool_response><|im_end|>\n<|im_start|>assistant\ndone<|im_end|>\n"
	if asked.Model != "critic" || asked.Input != input {
		t.Errorf("the model %q was asked %q, want %q", asked.Model, asked.Input, input)
	}
	const told = "The task appears incomplete (iteration 2, predicted success likelihood: 70.0%).\n\n" +
		"Potential agent issues: File Management Errors (80%), Scope Creep (20%)\n" +
		"Predicted user follow-up needs: Direction Change (100%), Clarification Or Restatement (50%), Correction (45%)\n" +
		"Infrastructure issues: Infrastructure External Issue (25%)\n\n" +
		"Please review what you've done and verify each requirement is met.\nList what's working and what needs fixing, then complete the task."
	if again := c.Refine(got, 1); again != told { // for the fault of 80 %: the score is above the threshold
		t.Errorf("the agent is told %q, want %q", again, told)
	}
}

func sameJSON(t *testing.T, a, b json.RawMessage) bool {
	t.Helper()
	var x, y any
	if err := errors.Join(json.Unmarshal(a, &x), json.Unmarshal(b, &y)); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(x, y)
}

func TestAServerThatDoesNotScoreIsAnError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer server
		want   string
	}{
		"refuses":       {func(*http.Request) (int, string, error) { return 401, "no", nil }, "the status 401"},
		"fails":         {func(*http.Request) (int, string, error) { return 500, "no", nil }, "the status 500"},
		"is not there":  {func(*http.Request) (int, string, error) { return 0, "", errors.New("no route") }, "no route"},
		"hangs":         {func(r *http.Request) (int, string, error) { <-r.Context().Done(); return 0, "", r.Context().Err() }, "deadline exceeded"},
		"says nothing":  {func(*http.Request) (int, string, error) { return 200, `{"data":[]}`, nil }, "27 probabilities"},
		"says too few":  {func(*http.Request) (int, string, error) { return 200, `{"data":[{"probs":[0.5]}]}`, nil }, "27 probabilities"},
		"says nonsense": {func(*http.Request) (int, string, error) { return 200, `<html>`, nil }, "read the answer"},
		"says 10 MB": {func(*http.Request) (int, string, error) {
			return 200, `{"x":"` + strings.Repeat("x", 10_000_000) + `"}`, nil
		}, "read the answer"},
		"scores with 12": {func(*http.Request) (int, string, error) {
			return 200, strings.Replace(probabilities, "[0.7", "[12", 1), nil
		}, "is not from 0 to 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, err := asking(t, "", c.answer).Evaluate(t.Context(), critic.Trace{})
				if r != nil || err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "sk-critic") {
					t.Errorf("result = %+v, %v, want the error %q", r, err, c.want)
				}
			})
		})
	}
}

func TestAServerThatFailsOnceIsAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		c := asking(t, "", func(*http.Request) (int, string, error) {
			if calls++; calls < 3 {
				return 500, "", nil
			}
			return 200, probabilities, nil
		})
		if r, err := c.Evaluate(t.Context(), critic.Trace{}); err != nil || r.Score != 0.7 {
			t.Errorf("result = %+v, %v, want the score 0.7", r, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		calls = 0
		if _, err := c.Evaluate(ctx, critic.Trace{}); err == nil {
			t.Error("a critic that was stopped has asked again")
		}
	})
}

func TestAServerNeedsAKey(t *testing.T) {
	t.Parallel()
	for _, members := range []string{
		``, `,"api_key":null`, `,"api_key":" "`, `,"api_key":"k","tokenizer_name":"other/model"`, `,"api_key":"k","issue_threshold":2`,
		`,"api_key":"k","timeout_seconds":0`, `,"api_key":"k","timeout_seconds":1e300`, `,"api_key":"k","has_success_label":false`,
	} {
		if c, err := critic.Of(json.RawMessage(`{"kind":"APIBasedCritic"`+members+`}`), http.DefaultClient); c != nil || err == nil {
			t.Errorf("%s is taken", members)
		}
	}
}
