package llm_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
)

// conversation is a history with everything in it that a dialect has to place.
func conversation() llm.Request {
	return llm.Request{
		CacheKey: "conversation-1",
		Messages: []event.LLMMessage{
			{Role: "system", Content: []event.Content{event.Text("You are an agent."), event.Text("Today is Monday.")}},
			{Role: "user", Content: []event.Content{event.Text("What is <this> & that?"), event.Images("data:image/png;base64,AAAA", "https://example.org/b.jpg")}},
			{
				Role: "assistant", Content: []event.Content{event.Text("I look.")}, ReasoningContent: "Look first.",
				ThinkingBlocks: []json.RawMessage{
					json.RawMessage(`{"type":"thinking","thinking":"Look <first>.","signature":"sig+/=="}`),
					json.RawMessage(`{"type":"redacted_thinking","data":"cmVk"}`),
				},
				ResponsesReasoningItem: json.RawMessage(`{"id":"rs_1","summary":["Look first."],"encrypted_content":"enc=="}`),
				ToolCalls: []event.ToolCall{
					{ID: "call_1__thought__c2ln", ResponsesItemID: "fc_9", Name: "terminal", Arguments: `{"command":"ls"}`},
					{ID: "call_2", Name: "file_editor", Arguments: `{"command":"view","path":"/a.png"}`},
				},
			},
			{Role: "tool", ToolCallID: "call_1__thought__c2ln", Name: "terminal", Content: []event.Content{event.Text("a.png")}},
			{Role: "tool", ToolCallID: "call_2", Name: "file_editor", Content: []event.Content{event.Text("An image."), event.Images("data:image/png;base64,BBBB")}},
			{Role: "assistant", Content: []event.Content{event.Text("It is a picture.")}},
			{Role: "user", Content: []event.Content{event.Text("Thanks. Done?")}},
		},
		Tools: []llm.Tool{
			{
				Name: "terminal", Description: "Runs a command.",
				Parameters: json.RawMessage(`{"type":"object","properties":{"security_risk":{"type":"string","enum":["LOW","HIGH"]},"summary":{"type":"string"},"command":{"type":"string"}},"required":["security_risk","command"]}`),
			},
			{Name: "file_editor", Description: "Views files."},
		},
	}
}

// golden is a request as it left for the provider.
type golden struct {
	model, fields string
	env           map[string]string
}

func TestRequestsAreWhatTheProvidersWant(t *testing.T) {
	t.Parallel()
	const proxy = `"base_url":"https://proxy.example/"`
	tests := map[string]golden{
		"openai-chat":            {model: "openai/gpt-4o", fields: `"temperature":0.5,"top_p":0.9,"seed":7,"max_output_tokens":1000`},
		"openai-gpt5-responses":  {model: "openai/gpt-5.5", fields: `"reasoning_summary":"auto","temperature":0.5`},
		"openai-gpt5-chat":       {model: "gpt-5.2", fields: `"api_mode":"chat","base_url":"https://api.openai.com/v1"`},
		"openai-compatible":      {model: "openai/my-model", fields: `"base_url":"http://localhost:8000/v1","extra_headers":{"X-Team":"a"},"litellm_extra_body":{"chat_template_kwargs":{"enable_thinking":false},"stream":true}`},
		"openhands-claude":       {model: "openhands/claude-sonnet-4-5"},
		"openhands-gpt5":         {model: "openhands/gpt-5.5"},
		"litellm-opus":           {model: "litellm_proxy/prod/claude-opus-4-8", fields: proxy},
		"litellm-kimi":           {model: "litellm_proxy/kimi-k2.6", fields: proxy},
		"litellm-overrides":      {model: "litellm_proxy/own", fields: proxy + `,"temperature":0.5,"max_output_tokens":3000,"capability_overrides":{"thinking_mode":"manual","supports_prompt_cache":true}`},
		"anthropic-manual":       {model: "anthropic/claude-haiku-4-5", fields: `"extended_thinking_budget":5000,"top_k":3`},
		"anthropic-adaptive":     {model: "claude-opus-4-8", fields: `"reasoning_effort":"medium"`},
		"anthropic-plain":        {model: "anthropic/claude-3-5-haiku-20241022", fields: `"temperature":0.2,"top_k":3,"caching_prompt":false`},
		"gemini-3":               {model: "gemini/gemini-3.1-pro-preview", fields: `"temperature":1,"seed":7`},
		"gemini-2.5":             {model: "gemini-2.5-flash", fields: `"reasoning_effort":"low"`},
		"azure":                  {model: "azure/my gpt-4o", fields: `"base_url":"https://res.openai.azure.com"`},
		"azure-gpt5":             {model: "azure/gpt-5.2", fields: `"base_url":"https://res.openai.azure.com/","api_version":"2025-04-01-preview"`},
		"azure-v1":               {model: "azure/gpt-5.2", fields: `"base_url":"https://res.openai.azure.com/","api_version":"v1","api_mode":"chat"`},
		"bedrock":                {model: "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", fields: `"aws_access_key_id":"AKIDEXAMPLE","aws_secret_access_key":"aws-secret-0123456789","aws_session_token":"aws-session-0123456789","aws_region_name":"eu-central-1","api_key":null`},
		"bedrock-bearer":         {model: "bedrock/us-east-1/amazon.nova-pro-v1:0", fields: `"temperature":0.1`},
		"openrouter":             {model: "openrouter/anthropic/claude-sonnet-4.5"},
		"openrouter-minimax":     {model: "openrouter/minimax/minimax-m2"},
		"groq":                   {model: "groq/openai/gpt-oss-120b"},
		"xai":                    {model: "xai/grok-code-fast-1", fields: `"temperature":0.3`},
		"deepseek":               {model: "deepseek/deepseek-reasoner"},
		"moonshot":               {model: "moonshot/kimi-k2.6"},
		"mistral":                {model: "mistral/devstral-medium-2512", fields: `"temperature":0.3`},
		"minimax":                {model: "minimax/MiniMax-M2.1"},
		"ollama":                 {model: "ollama/qwen3:8b", fields: `"api_key":null,"top_k":20`},
		"lm-studio":              {model: "lm_studio/qwen", fields: `"api_key":null,"base_url":"http://127.0.0.1:1234"`},
		"vllm":                   {model: "hosted_vllm/Qwen/Qwen3-Coder", fields: `"api_key":null`, env: map[string]string{"HOSTED_VLLM_API_BASE": "http://gpu.example:8000/v1"}},
		"azure-gpt5-default":     {model: "azure/gpt-5", fields: `"base_url":"https://res.openai.azure.com/"`},
		"bedrock-claude3":        {model: "bedrock/anthropic.claude-3-sonnet-20240229-v1:0"},
		"bedrock-claude37":       {model: "bedrock/us.anthropic.claude-3-7-sonnet-20250219-v1:0"},
		"bedrock-gpt-oss":        {model: "bedrock/openai.gpt-oss-120b-1:0"},
		"codestral":              {model: "codestral/codestral-latest", fields: `"seed":7`},
		"custom-claude":          {model: "openai/claude-sonnet-4-5", fields: `"base_url":"https://gateway.example/v1"`},
		"gemini-openai":          {model: "openai/gemini-3-pro", fields: `"base_url":"https://generativelanguage.googleapis.com/v1beta/openai/"`},
		"gemini-gateway":         {model: "openai/gemini-3-pro", fields: `"base_url":"https://gateway.example/v1"`},
		"glm-vision":             {model: "zai/glm-4.5v"},
		"nvidia":                 {model: "nvidia_nim/moonshotai/kimi-k2-instruct"},
		"openrouter-gemini":      {model: "openrouter/google/gemini-3-pro"},
		"openrouter-gpt":         {model: "openrouter/openai/gpt-5.2"},
		"perplexity":             {model: "perplexity/sonar-pro"},
		"sambanova":              {model: "sambanova/Meta-Llama-3.3-70B-Instruct"},
		"xai-by-host":            {model: "openai/grok-4", fields: `"base_url":"https://api.x.ai/v1"`},
		"unknown-prefix":         {model: "Qwen/Qwen3-8B", fields: `"base_url":"http://localhost:8000/v1/"`},
		"text-protocol":          {model: "openai/small", fields: `"base_url":"http://localhost:8000/v1","native_tool_calling":false`},
		"text-protocol-devstral": {model: "ollama/devstral", fields: `"native_tool_calling":false,"disable_stop_word":true,"api_key":null`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compare(t, filepath.Join("testdata", "requests", name+".txt"), capture(t, tt))
		})
	}
}

// capture makes a call and writes down its request, without any secret.
func capture(t *testing.T, g golden) string {
	t.Helper()
	var out string
	m := newModel(t, llm.Config{
		Profile: profile(t, g.model, g.fields),
		Getenv:  func(name string) string { return g.env[name] },
		Now:     func() time.Time { return time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC) },
		HTTP: server(func(r *http.Request) (*http.Response, error) {
			out = written(t, r)
			return answer(400, "text/plain", ""), nil
		}).client(),
	})
	_, err := m.Generate(t.Context(), conversation(), nil)
	_ = failure(t, err)
	return out
}

func written(t *testing.T, r *http.Request) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", r.Method, r.URL)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		v := r.Header.Get(name)
		for _, secret := range []string{secretKey, "aws-session-0123456789"} {
			v = strings.ReplaceAll(v, secret, "KEY")
		}
		fmt.Fprintf(&b, "%s: %s\n", name, v)
	}
	data := []byte(body(t, r))
	if bytes.Contains(data, []byte(secretKey)) {
		t.Error("the body holds the key")
	}
	b.WriteByte('\n')
	lines(t, &b, data)
	return b.String()
}

// lines writes a JSON object with a line for each member, and for each element
// of a list.
func lines(t *testing.T, b *strings.Builder, data []byte) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	if _, err := d.Token(); err != nil {
		t.Fatalf("the body is no JSON: %v", err)
	}
	for d.More() {
		var value json.RawMessage
		name, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Decode(&value); err != nil {
			t.Fatal(err)
		}
		var list []json.RawMessage
		if json.Unmarshal(value, &list) != nil || len(list) == 0 {
			fmt.Fprintf(b, "%v: %s\n", name, value)
			continue
		}
		fmt.Fprintf(b, "%v:\n", name)
		for _, element := range list {
			fmt.Fprintf(b, "  %s\n", element)
		}
	}
}

// compare compares with a golden file, or writes it with -update.
func compare(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", path, diff)
	}
}
