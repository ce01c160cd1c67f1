//go:build e2e && linux

package providers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/enginetest"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// TestAgentsBehindALiteLLMProxy has LiteLLM's proxy read what the dialects
// write, and write what they read.
func TestAgentsBehindALiteLLMProxy(t *testing.T) {
	start := time.Now()
	upstream := llmtest.New(t)
	proxy := newProxy(t, upstream.URL)
	for _, d := range []dialectCase{
		{modelCase: modelCase{"litellm_proxy/gpt-4o", `"base_url":"` + proxy + `"`, "chat"}},
		{modelCase: modelCase{"openai/gpt-5.2", `"base_url":"` + proxy + `/v1","api_mode":"responses"`, "Responses"}},
		{modelCase: modelCase{"anthropic/claude-sonnet-4-5", `"base_url":"` + proxy + `"`, "Anthropic"}},
		{modelCase: modelCase{"gemini/gemini-2.5-flash", `"base_url":"` + proxy + `/v1beta"`, "Gemini"}, half: true},
	} {
		t.Run(d.note, func(t *testing.T) {
			t.Run("turn", func(t *testing.T) { agentTurn(t, d, upstream) })
			t.Run("stream", func(t *testing.T) { streamed(t, d.modelCase) })
			t.Run("errors", func(t *testing.T) { failures(t, d) })
		})
	}
	t.Logf("four dialects in %.1f s", time.Since(start).Seconds())
}

// dialectCase is a dialect in which the proxy is spoken to.
type dialectCase struct {
	modelCase
	// half says that the proxy reads and writes only a part of the dialect: of Google's it
	// reads pictures in the second spelling of their member only, counts no tokens, and
	// answers refusals other than limits with a 500.
	half bool
}

// newProxy starts the proxy, and gives its URL.
func newProxy(t *testing.T, upstream string) string {
	t.Helper()
	program := need(t, filepath.Join("..", "..", ".cache", "e2e-litellm", "bin", "litellm"), "run scripts/e2e-setup")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	_ = listener.Close() // there is no other process in this namespace
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, "--config", filepath.Join("testdata", "litellm.yaml"), "--host", "127.0.0.1", "--port", port)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "UPSTREAM="+upstream, "LITELLM_LOCAL_MODEL_COST_MAP=True", "HF_HUB_OFFLINE=1", "NO_COLOR=1")
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		if t.Failed() {
			t.Logf("the proxy said:\n%s", tail(log.Bytes()))
		}
	})
	url := "http://127.0.0.1:" + port
	await(t, url+"/health/liveliness", ended)
	return url
}

// await waits until a URL answers, or its server has ended.
func await(t *testing.T, url string, ended <-chan struct{}) {
	t.Helper()
	waittest.Until(t, patience, url+" answers", func() (any, bool) {
		select {
		case <-ended:
			t.Fatal("the server ended before it answered")
		default:
		}
		resp, err := http.Get(url)
		if err != nil {
			return err, false
		}
		_ = resp.Body.Close()
		return resp.Status, resp.StatusCode == http.StatusOK
	})
}

// agentTurn has the engine's agent see a picture, run a command and finish.
func agentTurn(t *testing.T, d dialectCase, upstream *llmtest.Server) {
	cfg := enginetest.Config(t, "", enginetest.NewProfiles("main", "any"))
	cfg.NewModel = func(_ engine.Profile, usage string) (llm.Model, error) {
		made := d.ours(t)
		made.UsageID = usage
		return llm.New(made)
	}
	backend := engine.New(cfg)
	defer func() { _ = backend.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conv, err := backend.Open(ctx, agentapi.OpenRequest{ID: uuid.New(), Profile: "main", Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	mark := "Mark " + strings.ReplaceAll(t.Name(), "/", " ") + "."
	res, err := turn.Run(ctx, conv, turn.Input{
		Message: agentapi.Message{
			Text:   mark + ` [[say Looking.]] [[tool terminal {"command":"echo $((4700+11))"}]] [[tool think {"thought":"hm"}]] then [[finish I have seen it.]]`,
			Images: []string{picture},
		},
		Emit: func(turn.Update) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	if res.Outcome != turn.Finished || res.Answer != "I have seen it." || res.Actions != 2 || res.Usage.PromptTokens == 0 && !d.half {
		t.Errorf("result %+v, want two actions and the answer", res)
	}
	var asked []*llmtest.Request
	for _, r := range upstream.Requests() {
		if strings.Contains(r.UserText(), mark) {
			asked = append(asked, r)
		}
	}
	if len(asked) != 2 {
		t.Fatalf("%d requests, want 2", len(asked))
	}
	paired(t, asked[1])
	var images []string
	for _, m := range asked[1].Messages {
		images = append(images, m.Images...)
	}
	if !d.half && (len(images) != 1 || images[0] != picture) {
		t.Errorf("the model was shown %d pictures, want that of the user", len(images))
	}
}

// paired checks the history of the second request of a turn: the calls, and a
// result for each.
func paired(t *testing.T, r *llmtest.Request) {
	t.Helper()
	var calls []llmtest.Call
	results := map[string]string{}
	for _, m := range r.Messages {
		calls = append(calls, m.Calls...)
		if m.Role == "tool" {
			results[m.CallID] += m.Text
		}
	}
	if len(calls) != 2 || len(results) != 2 {
		t.Fatalf("%d calls and %d results, want two of each: %+v", len(calls), len(results), r.Messages)
	}
	if calls[0].Name != "terminal" || !strings.Contains(results[calls[0].ID], "4711") {
		t.Errorf("the result of %+v is %q", calls[0], results[calls[0].ID])
	}
	if calls[1].Name != "think" || !strings.Contains(results[calls[1].ID], "hm") {
		t.Errorf("the result of %+v is %q", calls[1], results[calls[1].ID])
	}
}

// asking is a question to a model, with the tool that a script may call.
func asking(text string) llm.Request {
	return llm.Request{
		CacheKey: conversation,
		Messages: []event.LLMMessage{
			{Role: "system", Content: []event.Content{event.Text("You are an agent.")}},
			{Role: "user", Content: []event.Content{event.Text(text)}},
		},
		Tools: []llm.Tool{{Name: "look", Description: "Looks.", Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}},
	}
}

// ours is the configuration of the case's model in the engine.
func (c modelCase) ours(t *testing.T) llm.Config {
	t.Helper()
	data, err := json.Marshal(c.profile(t))
	if err != nil {
		t.Fatal(err)
	}
	profile, err := llm.ParseProfile(data)
	if err != nil {
		t.Fatal(err)
	}
	client := llm.NewHTTPClient(nil)
	t.Cleanup(client.CloseIdleConnections)
	return llm.Config{Profile: profile, HTTP: client}
}

// streamed checks that pieces come as they are written, and are those of the
// answer.
func streamed(t *testing.T, c modelCase) {
	model, err := llm.New(c.ours(t))
	if err != nil {
		t.Fatal(err)
	}
	var texts, arguments []string
	answer, err := model.Generate(t.Context(), asking(`[[slow 5 20ms]] [[tool look {"path":"/a.txt"}]]`), func(d llm.Delta) {
		switch {
		case d.Text != "":
			texts = append(texts, d.Text)
		case d.ToolCall != nil:
			arguments = append(arguments, d.ToolCall.Arguments)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if text := event.PlainText(answer.Message.Content); len(texts) < 2 || strings.Join(texts, "") != text || len(strings.Fields(text)) != 5 {
		t.Errorf("the pieces %q of the answer %q, want five words in at least two", texts, text)
	}
	calls := answer.Message.ToolCalls
	if len(calls) != 1 || calls[0].Name != "look" || calls[0].ID == "" || calls[0].Arguments != strings.Join(arguments, "") {
		t.Fatalf("calls %+v, and pieces of arguments %q", calls, arguments)
	}
	var in struct{ Path string }
	if err := json.Unmarshal([]byte(calls[0].Arguments), &in); err != nil || in.Path != "/a.txt" {
		t.Errorf("arguments %q: %v", calls[0].Arguments, err)
	}
}

// failures checks the classes of errors that the proxy puts in its own words.
func failures(t *testing.T, d dialectCase) {
	wants := map[string]string{
		"[[fail context]]":       "LLMContextWindowExceedError",
		"[[fail 429 slow down]]": "LLMRateLimitError",
	}
	if !d.half {
		wants["[[fail 401 wrong key]]"] = "LLMAuthenticationError"
		wants["[[fail 400 no such thing]]"] = "LLMBadRequestError"
	}
	model, err := llm.New(d.ours(t))
	if err != nil {
		t.Fatal(err)
	}
	for script, want := range wants {
		_, err := model.Generate(t.Context(), asking(script), nil)
		failed, ok := errors.AsType[*llm.Error](err)
		if !ok || failed.Code != want {
			t.Errorf("%s: %v, want %s", script, err, want)
		}
	}
	stranger := d
	stranger.fields += `,"api_key":"sk-another-key"`
	if model, err = llm.New(stranger.ours(t)); err != nil {
		t.Fatal(err)
	}
	_, err = model.Generate(t.Context(), asking("Hello."), nil)
	failed, ok := errors.AsType[*llm.Error](err)
	if !ok || failed.Code != llm.CodeAuthentication {
		t.Errorf("with another key: %v, want %s", err, llm.CodeAuthentication)
	}
}
