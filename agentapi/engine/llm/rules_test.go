package llm_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/event"
)

// A provider gets prompt_cache_key only where it has such a field: others refuse the call.
func TestCallsOfAConversationAreGroupedAsTheProviderKnows(t *testing.T) {
	t.Parallel()
	proxy := `"base_url":"https://gateway.example"`
	for _, tt := range []struct {
		model, fields string
		key, session  bool
	}{
		{"openai/gpt-4o-mini", "", true, false},
		{"openai/gpt-6-astra", "", true, false},
		{"azure/gpt-4o", `"base_url":"https://r.openai.azure.com"`, true, false},
		{"openai/some-model", proxy, false, false},
		{"openhands/gpt-6.1-sol", "", true, false},
		{"openhands/gpt-5.6", `"api_mode":"chat"`, true, false},
		{"openhands/claude-haiku-5-5", "", false, false},
		{"openhands/gemini-3.8-flash", "", false, false},
		{"openhands/kimi-k3", "", true, false},
		{"litellm_proxy/o4-mini", proxy, true, false},
		{"litellm_proxy/team/claude-sonnet-5", proxy, false, false},
		{"litellm_proxy/gpt-oss-20b", proxy, false, false},
		{"litellm_proxy/mine", proxy + `,"capability_overrides":{"supports_prompt_cache_key":true}`, true, false},
		{"openai/gpt-4o", `"capability_overrides":{"supports_prompt_cache_key":false}`, false, false},
		{"digitalocean/openai-gpt-5.6-luna", "", false, false},
		{"moonshot/kimi-k2.7-code", "", true, false},
		{"xai/grok-4", "", false, false},
		{"openrouter/z-ai/glm-5.2", "", true, true},
		{"openai/z-ai/glm-5.2", `"base_url":"https://openrouter.ai/api/v1"`, true, true},
		{"openrouter/x/y", `"litellm_extra_body":{"session_id":"own"}`, true, true},
	} {
		got := sent(t, tt.model, tt.fields, hello("Hi."))
		_, key := got["prompt_cache_key"]
		_, session := got["session_id"]
		if key != tt.key || session != tt.session {
			t.Errorf("%s, %s: key %v, session %v, want %v, %v", tt.model, tt.fields, key, session, tt.key, tt.session)
		}
	}
	if got := sent(t, "openrouter/x/y", `"litellm_extra_body":{"session_id":"own"}`, hello("Hi."))["session_id"]; got != "own" {
		t.Errorf("the profile's session_id became %v", got)
	}
}

// Strings are for a few models; a picture is never lost by them.
func TestOnlyAFewModelsGetContentsAsStrings(t *testing.T) {
	t.Parallel()
	proxy := `"base_url":"https://gateway.example"`
	for model, want := range map[string]struct {
		fields string
		text   bool
	}{
		"litellm_proxy/deepseek-v3.2-exp":    {proxy, true},
		"openrouter/deepseek/deepseek-v3.2":  {"", true},
		"litellm_proxy/deepseek-v4.1-flash":  {proxy, false},
		"openhands/deepseek-v4-pro":          {"", false},
		"openhands/glm-5.3-flash":            {"", true},
		"deepseek/deepseek-v4-flash":         {"", true}, // DeepSeek's own API
		"openhands/qwen3.7-plus":             {`"force_string_serializer":true`, true},
		"openhands/claude-sonnet-5-5":        {`"force_string_serializer":true`, true},
		"openrouter/minimax/minimax-m3":      {"", true},
		"digitalocean/deepseek-v4-flash":     {"", false},
		"digitalocean/glm-5.3":               {"", true},
		"groq/moonshotai/kimi-k2-instruct-1": {"", false},
	} {
		content := func(req []event.Content) any {
			fields := want.fields
			if fields != "" {
				fields += ","
			}
			call := hello("")
			call.Messages[1].Content = req
			return sent(t, model, fields+`"capability_overrides":{"supports_vision":true}`, call)["messages"].([]any)[1].(map[string]any)["content"]
		}
		_, text := content([]event.Content{event.Text("Hi.")}).(string)
		if text != want.text {
			t.Errorf("%s: a string is %v, want %v", model, text, want.text)
		}
		with, _ := json.Marshal(content([]event.Content{event.Text("See."), {Type: event.TypeImage, ImageURLs: []string{"https://example.com/a.png"}}}))
		if list := []map[string]any{}; json.Unmarshal(with, &list) != nil || len(list) != 2 {
			t.Errorf("%s: the picture is lost: %s", model, with)
		}
	}
}

func TestBedrockGetsNoStopWordsForModelsOfOpenAI(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]bool{
		"bedrock/openai.gpt-oss-20b-1:0": false, "bedrock/us.openai.gpt-6-luna": false, "bedrock/amazon.nova-lite-v1:0": true,
	} {
		req := calling("c1")
		config, _ := sent(t, model, `"native_tool_calling":false,"api_mode":"chat","aws_access_key_id":"AKIAEXAMPLE","aws_secret_access_key":"hidden-value"`, req)["inferenceConfig"].(map[string]any)
		if _, stop := config["stopSequences"]; stop != want {
			t.Errorf("%s: stop words %v, want %v", model, stop, want)
		}
	}
}

func TestNewModelsOfAnthropicHaveCacheMarks(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"anthropic/claude-sonnet-5-5", "openhands/claude-haiku-5-5", "bedrock/us.anthropic.claude-sonnet-5", "digitalocean/anthropic-claude-sonnet-5.5"} {
		body, _ := json.Marshal(sent(t, model, `"aws_access_key_id":"AKIAEXAMPLE","aws_secret_access_key":"hidden-value"`, hello("Hi.")))
		if !strings.Contains(string(body), `"cache_control":`) && !strings.Contains(string(body), `"cachePoint":`) {
			t.Errorf("%s: no mark in %s", model, body)
		}
	}
}
