package llmtest_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// post asks the server at base; its connection ends with the answer.
func post(t *testing.T, base, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

// question is the body of a request whose messages say, in turn, what texts
// say: user, assistant, user and so on.
func question(stream bool, texts ...string) string {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	in := struct {
		Model         string          `json:"model"`
		Stream        bool            `json:"stream"`
		StreamOptions map[string]bool `json:"stream_options,omitempty"`
		Messages      []message       `json:"messages"`
	}{Model: "test", Stream: stream}
	if stream {
		in.StreamOptions = map[string]bool{"include_usage": true}
	}
	for i, text := range texts {
		in.Messages = append(in.Messages, message{[]string{"user", "assistant"}[i%2], text})
	}
	var body bytes.Buffer
	if err := json.NewEncoder(&body).Encode(in); err != nil {
		panic(err)
	}
	return body.String()
}

// answer is what a client puts together from an answer, streamed or not.
type answer struct {
	Status    int
	Text      string
	Reasoning string
	Calls     []string // "name arguments"
	Stop      string
	Usage     map[string]any
	Done      bool // a whole JSON object, or [DONE]
}

type wire struct {
	Choices []struct {
		Message, Delta struct {
			Content   string `json:"content"`
			Reasoning string `json:"reasoning_content"`
			ToolCalls []struct {
				Index    int    `json:"index"`
				ID       string `json:"id"`
				Function struct {
					Name      string `json:"name"`
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		}
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage map[string]any `json:"usage"`
	Error struct {
		Message, Code string
	} `json:"error"`
}

// ask posts body and reads the answer until it ends, however it ends.
func ask(t *testing.T, base, body string) answer {
	t.Helper()
	res := post(t, base, body)
	got := answer{Status: res.StatusCode}
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		raw, _ := io.ReadAll(res.Body)
		got.add(raw)
		return got
	}
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		switch {
		case data == "[DONE]":
			got.Done = true
		case ok:
			done := got.Done
			got.add([]byte(data))
			got.Done = done
		}
	}
	return got
}

func (a *answer) add(raw []byte) {
	var w wire
	if json.Unmarshal(raw, &w) != nil {
		a.Text += "(not JSON)"
		return
	}
	a.Done = true
	if w.Error.Message != "" {
		a.Text = w.Error.Code + ": " + w.Error.Message
	}
	if w.Usage != nil {
		a.Usage = w.Usage
	}
	for _, c := range w.Choices {
		a.Text += c.Message.Content + c.Delta.Content
		a.Reasoning += c.Message.Reasoning + c.Delta.Reasoning
		a.Stop += c.FinishReason
		for _, call := range append(c.Message.ToolCalls, c.Delta.ToolCalls...) {
			if call.ID != "" {
				a.Calls = append(a.Calls, call.Function.Name+" ")
			}
			a.Calls[call.Index] += call.Function.Arguments
		}
	}
}
