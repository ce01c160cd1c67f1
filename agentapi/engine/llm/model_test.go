package llm_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

func TestInfo(t *testing.T) {
	t.Parallel()
	tests := map[string]llm.Info{
		`"model":"anthropic/claude-sonnet-4-5"`:                             {ContextWindow: 200_000, MaxOutput: 64_000, Vision: true},
		`"model":"anthropic/claude-sonnet-4-6"`:                             {ContextWindow: 1_000_000, MaxOutput: 64_000, Vision: true},
		`"model":"claude-opus-9"`:                                           {ContextWindow: 200_000, MaxOutput: 64_000, Vision: true},
		`"model":"openhands/claude-opus-4-5-20251101"`:                      {ContextWindow: 200_000, MaxOutput: 64_000, Vision: true},
		`"model":"openai/gpt-5.5","max_input_tokens":50000`:                 {ContextWindow: 50_000, MaxOutput: 25_000, Vision: true},
		`"model":"openai/gpt-4o","disable_vision":true`:                     {ContextWindow: 128_000, MaxOutput: 16_384},
		`"model":"openai/gpt-5.2","base_url":"https://x.example/v1"`:        {ContextWindow: 272_000, MaxOutput: 16_384, Vision: true},
		`"model":"litellm_proxy/gpt-5.2","base_url":"https://x.example/v1"`: {ContextWindow: 272_000, MaxOutput: 128_000, Vision: true},
		`"model":"o3"`: {ContextWindow: 200_000, MaxOutput: 100_000, Vision: true},
		`"model":"openai/o3","max_output_tokens":200000`:                                         {ContextWindow: 200_000, MaxOutput: 100_000, Vision: true},
		`"model":"openai/turbo3"`:                                                                {MaxOutput: 100_000}, // OpenHands' o3 rule reads any name
		`"model":"moonshot/kimi-k2-thinking"`:                                                    {ContextWindow: 262_144, MaxOutput: 64_000},
		`"model":"mistral/devstral-2512"`:                                                        {ContextWindow: 256_000, MaxOutput: 128_000},
		`"model":"mistral/devstral-medium-2507"`:                                                 {ContextWindow: 128_000, MaxOutput: 64_000},
		`"model":"hosted_vllm/Qwen/Qwen3-Coder-30B","base_url":"http://h"`:                       {ContextWindow: 262_144},
		`"model":"hosted_vllm/Qwen/Qwen3-Coder-30B","base_url":"http://h","max_output_tokens":9`: {ContextWindow: 262_144, MaxOutput: 9},
		`"model":"ollama/mystery"`:                                                               {},
		`"model":"openai/mystery","capability_overrides":{"supports_vision":true}`:               {Vision: true},
		`"model":"openai/alias","model_canonical_name":"openai/gpt-4o"`:                          {ContextWindow: 128_000, MaxOutput: 16_384, Vision: true},
		`"model":"bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0","max_output_tokens":7`:    {ContextWindow: 200_000, MaxOutput: 7, Vision: true},
	}
	for fields, want := range tests {
		p := parse(t, "{"+fields+"}")
		want.Model, want.UsageID, want.NativeTools, want.Streams = p.Model, "default", true, true
		got := newModel(t, llm.Config{Profile: p}).Info()
		if got.ImageTokens > 0 != want.Vision {
			t.Errorf("%s: an image counts %d tokens", fields, got.ImageTokens)
		}
		want.ImageTokens = got.ImageTokens
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", fields, diff)
		}
	}
}

func TestImagesCountWhatTheirProviderCounts(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]int64{
		"anthropic/claude-sonnet-4-5": 1600, "openai/gpt-4o": 1100, "openai/gpt-5.2": 1100,
		"openai/gpt-4o-mini": 37_000, "openrouter/openai/gpt-4o-mini-2024-07-18": 37_000, "openai/gpt-4.1-mini": 2500, "openai/gpt-5-mini": 2500,
		"openai/o4-mini": 2500, "openai/gpt-4.1-nano": 3800, "openai/gpt-5-nano": 3800, "gemini/gemini-2.5-pro": 1300, "deepseek/deepseek-chat": 0,
	} {
		p := llm.DefaultProfile(model)
		if got := newModel(t, llm.Config{Profile: p}).Info().ImageTokens; got != want {
			t.Errorf("%s: an image counts %d tokens, want %d", model, got, want)
		}
	}
}

func TestCost(t *testing.T) {
	t.Parallel()
	const usage = `"usage":{"prompt_tokens":1000000,"completion_tokens":100000,"prompt_tokens_details":{"cached_tokens":400000,"cache_creation_tokens":100000}`
	tests := map[string]struct {
		model, fields, more string
		header              http.Header
		want                float64
	}{
		"the proxy's header":      {model: "openai/gpt-4o", header: http.Header{"X-Litellm-Response-Cost": {"0.6"}}, want: 0.6},
		"the header of a client":  {model: "openai/gpt-4o", header: http.Header{"Llm_provider-X-Litellm-Response-Cost": {"0.7"}}, want: 0.7},
		"an empty header":         {model: "openai/gpt-4o", header: http.Header{"X-Litellm-Response-Cost": {"0"}}, more: `,"cost":0.5`, want: 0.5},
		"in the answer":           {model: "openrouter/x/y", more: `,"cost":0.125`, want: 0.125},
		"the profile's prices":    {model: "openai/gpt-4o", fields: `"input_cost_per_token":0.000001,"output_cost_per_token":0.00001`, want: 2},
		"one price is not enough": {model: "ollama/x", fields: `"input_cost_per_token":0.000001`, want: 0},
		"the catalogue":           {model: "openai/gpt-4o", want: 0.6*2.5 + 0.4*1.25 + 0.1*10},
		"prices of the cache":     {model: "openhands/claude-sonnet-4-5", want: 0.5*3 + 0.4*0.3 + 0.1*3.75 + 0.1*15},
		"another host's price":    {model: "openai/gpt-4o", fields: `"base_url":"https://x.example"`, want: 0},
		"nobody knows":            {model: "groq/x", want: 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newModel(t, llm.Config{Profile: profile(t, tt.model, tt.fields), HTTP: server(func(*http.Request) (*http.Response, error) {
				resp := stream(`data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],` + usage + tt.more + "}}\n\ndata: [DONE]\n\n")
				for k, v := range tt.header {
					resp.Header[k] = v
				}
				return resp, nil
			}).client()})
			resp, err := ask(t, m)
			if err != nil || math.Abs(resp.Cost-tt.want) > 1e-9 {
				t.Errorf("cost %v, %v; want %v", resp.Cost, err, tt.want)
			}
		})
	}
}

func TestTheKeyComesFromWhoeverIsAsked(t *testing.T) {
	t.Parallel()
	var sent []string
	client := server(func(r *http.Request) (*http.Response, error) {
		sent = append(sent, r.Header.Get("Authorization"))
		return said("ok"), nil
	}).client()
	key := ""
	m := newModel(t, llm.Config{Profile: profile(t, "openai/x", ""), HTTP: client, Key: func(_ context.Context, field string) (string, error) {
		if field != llm.FieldAPIKey {
			t.Errorf("asked for %s", field)
		}
		return key, nil
	}})
	for _, key = range []string{"first-key", "second-key\n"} {
		if _, err := ask(t, m); err != nil {
			t.Fatal(err)
		}
	}
	key = ""
	_, err := ask(t, m)
	if failed := failure(t, err); failed.Code != llm.CodeAuthentication || !strings.Contains(failed.Detail, "OPENAI_API_KEY") {
		t.Errorf("without a key: %v", failed)
	}
	if diff := cmp.Diff([]string{"Bearer first-key", "Bearer second-key"}, sent); diff != "" {
		t.Errorf("sent (-want +got)\n%s", diff)
	}
}

func TestKeysThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	never := server(func(r *http.Request) (*http.Response, error) {
		t.Errorf("a request was sent with %q", r.Header.Get("Authorization"))
		return nil, errors.New("no")
	}).client()
	tests := map[string]struct {
		model string
		key   func(context.Context, string) (string, error)
		want  string
	}{
		"encrypted":        {"openai/x", func(context.Context, string) (string, error) { return "gAAAAABn0123456789", nil }, "encrypted"},
		"locked":           {"openai/x", func(context.Context, string) (string, error) { return "", errors.New("the keyring is locked") }, "locked"},
		"none for Claude":  {"anthropic/claude-sonnet-5", none, "ANTHROPIC_API_KEY"},
		"none for Bedrock": {"bedrock/x", none, "AWS_ACCESS_KEY_ID"},
		"half for Bedrock": {"bedrock/x", func(_ context.Context, f string) (string, error) {
			return map[string]string{llm.FieldAWSAccessKeyID: "AKID"}[f], nil
		}, "AWS_ACCESS_KEY_ID"},
		"none for OpenHands": {"openhands/x", none, "LITELLM_PROXY_API_KEY"},
	}
	for name, tt := range tests {
		_, err := ask(t, newModel(t, llm.Config{Profile: profile(t, tt.model, ""), HTTP: never, Key: tt.key}))
		if failed := failure(t, err); failed.Code != llm.CodeAuthentication || !strings.Contains(failed.Detail, tt.want) || strings.Contains(failed.Detail, "gAAAAA") {
			t.Errorf("%s: %v, want %q", name, failed, tt.want)
		}
	}
}

func none(context.Context, string) (string, error) { return "", nil }

func TestNoErrorAndNoLogShowsAKey(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	headerKey := "hdr-0123456789-secret"
	echo := func(r *http.Request) (*http.Response, error) {
		return answer(503, "application/json", `{"error":{"message":"Incorrect key `+r.Header.Get("Authorization")+" and "+r.Header.Get("X-Team-Key")+" and sk-proj-abcdefghijklmnop"+`"}}`), nil
	}
	m := newModel(t, llm.Config{
		Profile: profile(t, "openai/x", `"num_retries":2,"extra_headers":{"X-Team-Key":"Bearer `+headerKey+`"}`),
		HTTP:    server(echo).client(), Logger: debugLog(&log),
	})
	_, err := ask(t, m)
	failed := failure(t, err)
	for _, secret := range []string{secretKey, headerKey, "sk-proj-abcdefghijklmnop"} {
		if strings.Contains(failed.Error()+failed.Err.Error()+log.String(), secret) {
			t.Errorf("%s shows in %v or in\n%s", secret, failed, log.String())
		}
	}
	if !strings.Contains(log.String(), "trying again") {
		t.Errorf("the log says nothing of the retry:\n%s", log.String())
	}

	m = newModel(t, llm.Config{Profile: profile(t, "openai/x", `"num_retries":1,"base_url":"http://user:`+secretKey+`@127.0.0.1:1/v1"`)})
	_, err = ask(t, m)
	if failed := failure(t, err); failed.Code != llm.CodeUnavailable || !strings.Contains(failed.Detail, "127.0.0.1:1 refuses connections") {
		t.Errorf("error %v", failed)
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var opened int
		conns := make(pipes)
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(time.Millisecond) // the end of the body comes behind the end mark
		})}
		go func() { _ = server.Serve(conns) }() // ends with the server
		defer server.Close()
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			opened++
			return conns.dial(), nil
		}}
		defer transport.CloseIdleConnections()
		m := newModel(t, llm.Config{HTTP: &http.Client{Transport: transport}, Profile: profile(t, "openai/test", `"base_url":"http://test"`)})
		for range 20 {
			if _, err := ask(t, m); err != nil {
				t.Fatal(err)
			}
		}
		if opened != 1 {
			t.Errorf("%d connections for 20 calls", opened)
		}
	})
}

// pipes is a listener in memory, for a bubble.
type pipes chan net.Conn

func (p pipes) dial() net.Conn {
	ours, theirs := net.Pipe()
	p <- theirs
	return ours
}

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p pipes) Close() error {
	close(p)
	return nil
}

func (pipes) Addr() net.Addr { return &net.UnixAddr{} }

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	var followed atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Store(true) }))
	defer other.Close()
	first := httptest.NewServer(http.RedirectHandler(other.URL+"/v1/chat/completions?token=abc", http.StatusPermanentRedirect))
	defer first.Close()
	_, err := ask(t, at(t, first.URL, ""))
	failed := failure(t, err)
	if failed.Code != llm.CodeBadRequest || !strings.Contains(failed.Detail, "redirects to "+other.URL+";") || followed.Load() {
		t.Errorf("error %v, followed %v", failed, followed.Load())
	}
}

func TestImagesAreShownToModelsThatSee(t *testing.T) {
	t.Parallel()
	req := hello("What is this?")
	req.Messages[1].Content = append(req.Messages[1].Content, event.Images("data:image/png;base64,AA=="))
	req.Messages = append(req.Messages,
		event.LLMMessage{Role: "assistant", ToolCalls: []event.ToolCall{{ID: "a", Name: "view", Arguments: "{}"}}},
		event.LLMMessage{Role: "tool", ToolCallID: "a", Name: "view", Content: []event.Content{event.Images("data:image/png;base64,BB==")}})
	for fields, want := range map[string]int{
		`"capability_overrides":{"supports_vision":true}`:                       2,
		`"capability_overrides":{"supports_vision":true},"disable_vision":true`: 0,
		`"seed":1`: 0,
	} {
		fake := llmtest.New(t)
		fake.Reply(llmtest.Text("ok"))
		if _, err := at(t, fake.URL, fields).Generate(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		sent, images := fake.Requests()[0], 0
		for _, m := range sent.Messages {
			images += len(m.Images)
			if m.Role == "tool" && len(m.Images) > 0 {
				t.Errorf("%s: an image in a tool message, which the API refuses", fields)
			}
			if m.Role == "tool" && want == 0 && !strings.Contains(m.Text, "cannot see") {
				t.Errorf("%s: the tool message says %q", fields, m.Text)
			}
		}
		if images != want {
			t.Errorf("%s: %d images, want %d", fields, images, want)
		}
	}
}

// A history may be older than the repairs of what comes in, or OpenHands' own.
func TestWhatNoProviderTakesIsNotSent(t *testing.T) {
	t.Parallel()
	req := hello("go")
	req.Messages = append(req.Messages,
		event.LLMMessage{
			Role: "assistant", Content: []event.Content{event.Text("a\x00b")}, ReasoningContent: "\x00", ThinkingBlocks: []json.RawMessage{json.RawMessage(`{"type":"thinking","thinking":"\ud800","signature":"s"}`)},
			ResponsesReasoningItem: json.RawMessage(`{"id":"rs_1","summary":["\udc00"],"encrypted_content":"x"}`),
			ToolCalls: []event.ToolCall{
				{ID: "a", Name: "", Arguments: `{"command":"\ud99c"}`}, {ID: "b", Name: "functions.terminal", Arguments: "{\"x\":\"\xff\"}"},
			},
		},
		event.LLMMessage{Role: "tool", ToolCallID: "a", Name: "", Content: []event.Content{event.Text("no such \xed\xa0\x80")}},
		event.LLMMessage{Role: "tool", ToolCallID: "b", Name: "functions.terminal", Content: []event.Content{event.Text("c\x00d")}},
	)
	before, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"openai/gpt-4o", "openai/gpt-5.5", "anthropic/claude-sonnet-4-5", "gemini/gemini-3.1-pro-preview", "bedrock/us-east-1/amazon.nova-pro-v1:0", "deepseek/deepseek-reasoner"} {
		var sent string
		m := newModel(t, llm.Config{Profile: profile(t, name, `"num_retries":1`), HTTP: server(func(r *http.Request) (*http.Response, error) {
			sent = body(t, r)
			return said("ok"), nil
		}).client()})
		_, _ = m.Generate(t.Context(), req, nil) // the answer is of one dialect only
		if !utf8.ValidString(sent) || !json.Valid([]byte(sent)) || strings.Contains(sent, "u0000") || strings.Contains(sent, `"name":""`) ||
			strings.Contains(sent, "functions.terminal") || !strings.Contains(sent, `"unnamed"`) || strings.Contains(sent, "ud99c") || strings.Contains(sent, `\ud800`) || strings.Contains(sent, `\udc00`) {
			t.Errorf("%s: sent = %s", name, sent)
		}
	}
	if after, err := json.Marshal(req); err != nil || string(after) != string(before) {
		t.Errorf("the history was changed: %s, %v", after, err)
	}
}

// A history may be older than the check of what comes in.
func TestStoredImagesAreSentWithTheTypeOfTheirBytes(t *testing.T) {
	t.Parallel()
	const gif, jpeg = "R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw==", "/9j/4AAQSkZJRgABAQAAAQABAAA="
	for stored, want := range map[string]string{
		"data:image/png;base64," + gif: "data:image/gif;base64," + gif, "data:image/jpg;base64," + jpeg: "data:image/jpeg;base64," + jpeg,
		"data:image/svg+xml;base64," + jpeg: "data:image/jpeg;base64," + jpeg, "data:image/gif;base64," + gif: "data:image/gif;base64," + gif,
	} {
		req := hello("What is this?")
		req.Messages[1].Content = append(req.Messages[1].Content, event.Images(stored))
		fake := llmtest.New(t)
		fake.Reply(llmtest.Text("ok"))
		if _, err := at(t, fake.URL, `"capability_overrides":{"supports_vision":true}`).Generate(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		if got := fake.Requests()[0].Last().Images; len(got) != 1 || got[0] != want {
			t.Errorf("%s: images = %q", stored, got)
		}
		if got := req.Messages[1].Content[1].ImageURLs[0]; got != stored {
			t.Errorf("the history was changed: %s", got)
		}
	}
}

func TestLargeImagesAreScaledForClaude(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, 2500, 5))); err != nil {
		t.Fatal(err)
	}
	url := "data:image/png;base64," + base64.StdEncoding.EncodeToString(out.Bytes())
	req := hello("Look.")
	for model, fits := range map[string]bool{"openhands/claude-sonnet-4-5": true, "openhands/gpt-4o": false} {
		for _, n := range []int{20, 21} {
			req.Messages[1].Content = []event.Content{event.Images(slices.Repeat([]string{url}, n)...)}
			same := 0
			m := newModel(t, llm.Config{Profile: profile(t, model, ""), HTTP: server(func(r *http.Request) (*http.Response, error) {
				same = strings.Count(body(t, r), url)
				return said("ok"), nil
			}).client()})
			if _, err := ask(t, m); err != nil {
				t.Fatal(err)
			}
			if _, err := m.Generate(t.Context(), req, nil); err != nil {
				t.Fatal(err)
			}
			if scaled := same == 0; scaled != (fits && n > 20) || !scaled && same != n {
				t.Errorf("%s, %d images: %d were sent as they are", model, n, same)
			}
			if req.Messages[1].Content[0].ImageURLs[0] != url {
				t.Error("the request was changed")
			}
		}
	}
}

func TestLongToolTextsAreCutInTheMiddle(t *testing.T) {
	t.Parallel()
	fake := llmtest.New(t)
	fake.Reply(llmtest.Text("ok"))
	long := "begin" + strings.Repeat("ä", 60_000) + "end"
	req := hello(long)
	req.Messages = append(req.Messages,
		event.LLMMessage{Role: "assistant", ToolCalls: []event.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}}},
		event.LLMMessage{Role: "tool", ToolCallID: "a", Name: "f", Content: []event.Content{event.Text(long)}})
	if _, err := at(t, fake.URL, "").Generate(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	sent := fake.Requests()[0].Messages
	if sent[1].Text != long {
		t.Error("the user's own text was cut")
	}
	got := []rune(sent[3].Text)
	if len(got) > 50_000 || len(got) < 49_990 || !strings.HasPrefix(string(got), "begin") || !strings.HasSuffix(string(got), "end") || !strings.Contains(string(got), "10008 characters left out") {
		t.Errorf("%d characters: %.20s ... %s", len(got), string(got), string(got[len(got)-20:]))
	}
	if req.Messages[3].Content[0].Text != long {
		t.Error("the request was changed")
	}
}

// Bedrock's input and output share one window.
func TestALongHistoryLeavesRoomForTheAnswer(t *testing.T) {
	t.Parallel()
	for words, want := range map[int]string{
		10:      `{"maxTokens":64000}`,
		100_000: `{"maxTokens":33072}`, // 200,000 - 500,017 bytes of text / 3 - 256
		200_000: `{"maxTokens":1024}`,
	} {
		var got string
		p := profile(t, "bedrock/anthropic.claude-sonnet-4-5", "")
		p.ExtendedThinkingBudget = nil
		req := hello(strings.Repeat("word ", words))
		_, err := newModel(t, llm.Config{Profile: p, HTTP: server(func(r *http.Request) (*http.Response, error) {
			got = member(t, r, "inferenceConfig")
			return answer(400, "text/plain", "no"), nil
		}).client()}).Generate(t.Context(), req, nil)
		_ = failure(t, err)
		if got != want {
			t.Errorf("%d words: %s, want %s", words, got, want)
		}
	}
}

func TestRoutesOfCustomServers(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]string{
		`"model":"openai/x","base_url":"http://h/v1/chat/completions"`:                                                                   "http://h/v1/chat/completions",
		`"model":"openai/x","base_url":"https://api.openai.com/"`:                                                                        "https://api.openai.com/v1/chat/completions",
		`"model":"openai/x","base_url":"http://h/v1?tenant=a"`:                                                                           "http://h/v1/chat/completions?tenant=a",
		`"model":"anthropic/claude-x","base_url":"http://h/v1/"`:                                                                         "http://h/v1/messages",
		`"model":"ollama/x","ollama_base_url":"http://gpu:11434"`:                                                                        "http://gpu:11434/v1/chat/completions",
		`"model":"azure/x","base_url":"https://r.openai.azure.com/openai/deployments/d"`:                                                 "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-12-01-preview",
		`"model":"azure/x","base_url":"https://r.openai.azure.com/openai/v1/"`:                                                           "https://r.openai.azure.com/openai/v1/chat/completions",
		`"model":"bedrock/converse/x","aws_bedrock_runtime_endpoint":"https://vpce.example"`:                                             "https://vpce.example/model/x/converse-stream",
		`"model":"bedrock/arn:aws:bedrock:ap-southeast-2:123456789012:application-inference-profile/a1b2c3"`:                             "https://bedrock-runtime.ap-southeast-2.amazonaws.com/model/arn%3Aaws%3Abedrock%3Aap-southeast-2%3A123456789012%3Aapplication-inference-profile%2Fa1b2c3/converse-stream",
		`"model":"bedrock/converse/arn:aws-us-gov:bedrock:us-gov-west-1:123456789012:provisioned-model/x","aws_region_name":"us-east-1"`: "https://bedrock-runtime.us-gov-west-1.amazonaws.com/model/arn%3Aaws-us-gov%3Abedrock%3Aus-gov-west-1%3A123456789012%3Aprovisioned-model%2Fx/converse-stream",
		`"model":"bedrock/us-east-1/arn:aws-cn:bedrock:cn-north-1:123456789012:imported-model/y"`:                                        "https://bedrock-runtime.cn-north-1.amazonaws.com.cn/model/arn%3Aaws-cn%3Abedrock%3Acn-north-1%3A123456789012%3Aimported-model%2Fy/converse-stream",
		`"model":"bedrock/arn:aws:bedrock:eu-west-3::foundation-model/z","aws_bedrock_runtime_endpoint":"https://vpce.example"`:          "https://vpce.example/model/arn%3Aaws%3Abedrock%3Aeu-west-3%3A%3Afoundation-model%2Fz/converse-stream",
		`"model":"gemini/g","base_url":"http://h/v1beta"`:                                                                                "http://h/v1beta/models/g:streamGenerateContent?alt=sse",
		`"model":"mistral/m","base_url":"https://api.mistral.ai"`:                                                                        "https://api.mistral.ai/v1/chat/completions",
		`"model":"mistral/m","base_url":"https://eu.example/mistral/"`:                                                                   "https://eu.example/mistral/v1/chat/completions",
		`"model":"codestral/m","base_url":"http://h/v1/chat/completions"`:                                                                "http://h/v1/chat/completions",
		`"model":"dashscope/qwen3-max"`:                                                                                                  "https://dashscope.aliyuncs.com/compatible-mode/v1/chat/completions",
		`"model":"azure/gpt-5","base_url":"https://r.openai.azure.com"`:                                                                  "https://r.openai.azure.com/openai/responses?api-version=2025-04-01-preview",
		`"model":"azure/gpt-5","base_url":"https://r","api_version":"2025-03-01-preview"`:                                                "https://r/openai/responses?api-version=2025-03-01-preview",
		`"model":"azure/gpt-5","base_url":"https://r","api_mode":"chat"`:                                                                 "https://r/openai/deployments/gpt-5/chat/completions?api-version=2024-12-01-preview",
		`"model":"gpt-4.1"`:                                   "https://api.openai.com/v1/responses",
		`"model":"openai/gpt-6-luna"`:                         "https://api.openai.com/v1/responses",
		`"model":"gpt-6.2-any"`:                               "https://api.openai.com/v1/responses",
		`"model":"digitalocean/glm-5.2"`:                      "https://inference.do-ai.run/v1/chat/completions",
		`"model":"digitalocean/openai-gpt-5.6-terra"`:         "https://inference.do-ai.run/v1/responses",
		`"model":"digitalocean/own","base_url":"http://h/v2"`: "http://h/v2/chat/completions",
		`"model":"openrouter/openai/gpt-5.5"`:                 "https://openrouter.ai/api/v1/chat/completions",
		`"model":"xai/grok-4","api_mode":"responses"`:         "https://api.x.ai/v1/responses",

		`"model":"openai/gpt-5.5","capability_overrides":{"supports_responses_api":false}`: "https://api.openai.com/v1/chat/completions",
	} {
		var got string
		p := parse(t, `{"api_key":"k-0123456789","aws_access_key_id":null,`+fields+"}")
		_, err := ask(t, newModel(t, llm.Config{Profile: p, HTTP: server(func(r *http.Request) (*http.Response, error) {
			got = r.URL.String()
			return answer(400, "text/plain", "no"), nil
		}).client()}))
		_ = failure(t, err)
		if got != want {
			t.Errorf("%s: URL = %s, want %s", fields, got, want)
		}
	}
}

// A provider calls a key wrong that it never got.
func TestARefusalWithoutAKeyIsNotCalledAWrongKey(t *testing.T) {
	t.Parallel()
	refusal := func(body string, status int) replyFunc {
		return func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}, nil
		}
	}
	const said401 = `{"error":{"message":"Incorrect API key provided."}}`
	missing := func(why string) func(context.Context, string) (string, error) {
		return func(context.Context, string) (string, error) {
			return "", &llm.NoKeyError{Why: why, Repair: "Unlock it."}
		}
	}
	for name, tt := range map[string]struct {
		model string
		key   func(context.Context, string) (string, error)
		reply replyFunc
		want  string
		not   string
	}{
		"nothing is stored":      {"openai/x", none, refusal(said401, 401), "no key was sent: none is stored for the profile mine", "--replace"},
		"the keyring is shut":    {"openai/x", missing("the keyring is shut"), refusal(said401, 401), "no key was sent: the keyring is shut. Unlock it. The provider said: ", "--replace"},
		"another provider":       {"anthropic/x", missing(""), refusal(`{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, 401), "no key was sent: none is stored", "--replace"},
		"forbidden":              {"mistral/x", none, refusal(`{"error":{"message":"no"}}`, 403), "no key was sent", "--replace"},
		"a key was sent":         {"openai/x", func(context.Context, string) (string, error) { return "some-key-value", nil }, refusal(said401, 401), "ohgw keys set mine --replace", "no key was sent"},
		"something else went on": {"openai/x", none, refusal(`{"error":{"message":"no such model"}}`, 404), "no such model", "no key was sent"},
	} {
		p := profile(t, tt.model, `"base_url":"http://127.0.0.1:9/v1"`)
		_, err := ask(t, newModel(t, llm.Config{Profile: p, Name: "mine", HTTP: server(tt.reply).client(), Key: tt.key}))
		if failed := failure(t, err); !strings.Contains(failed.Detail, tt.want) || strings.Contains(failed.Detail, tt.not) {
			t.Errorf("%s: detail = %s\nwant %q and not %q", name, failed.Detail, tt.want, tt.not)
		}
	}
}

type replyFunc = func(*http.Request) (*http.Response, error)
