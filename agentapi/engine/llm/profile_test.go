package llm_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/internal/fault"
)

func parse(t *testing.T, data string) llm.Profile {
	t.Helper()
	p, err := llm.ParseProfile([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAbsentFieldsHaveTheirDefaults(t *testing.T) {
	t.Parallel()
	p := parse(t, `{"model":"openai/gpt-4o"}`)
	if p.NumRetries != 5 || p.RetryMultiplier != 8 || p.RetryMinWait != 8 || p.RetryMaxWait != 64 || *p.Timeout != 300 ||
		!p.DropParams || !p.CachingPrompt || !p.NativeToolCalling || *p.ReasoningEffort != "high" || *p.ExtendedThinkingBudget != 200_000 ||
		p.APIMode != "auto" || *p.PromptCacheRetention != "24h" || !p.EnableEncryptedReasoning || p.UsageID != "default" || !p.APIKey.IsZero() {
		t.Errorf("defaults are wrong: %#v", reflect.ValueOf(p))
	}
	if v := *parse(t, `{"model":"azure/x"}`).APIVersion; v != "2024-12-01-preview" {
		t.Errorf("api_version of Azure is %q", v)
	}
}

func TestNullTakesADefaultAway(t *testing.T) {
	t.Parallel()
	p := parse(t, `{"model":"m/x","timeout":null,"reasoning_effort":null,"prompt_cache_retention":null,"extended_thinking_budget":null,"temperature":null,"num_retries":null}`)
	if p.Timeout != nil || p.ReasoningEffort != nil || p.PromptCacheRetention != nil || p.ExtendedThinkingBudget != nil || p.Temperature != nil {
		t.Errorf("null kept a default: %#v", reflect.ValueOf(p))
	}
	if p.NumRetries != 5 {
		t.Errorf("num_retries %d: null is no number there", p.NumRetries)
	}
}

func TestAPauseHasALimitOfItsOwn(t *testing.T) {
	t.Parallel()
	for data, want := range map[string][2]float64{
		`"timeout":25,"stream_idle_timeout":10`: {25, 10},
		`"stream_idle_timeout":10,"timeout":25`: {25, 10},
		`"stream_idle_timeout":10`:              {300, 10},
		`"timeout":25`:                          {25, 25},
	} {
		p := parse(t, `{"model":"m/x",`+data+`}`)
		if got := [2]float64{*p.Timeout, *p.IdleTimeout}; got != want {
			t.Errorf("%s: the limits are %v, want %v", data, got, want)
		}
	}
}

// Every field that OpenHands 1.43.1 writes is read.
func TestEveryFieldIsKnown(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for i := range reflect.TypeFor[llm.Profile]().NumField() {
		name, _, _ := strings.Cut(reflect.TypeFor[llm.Profile]().Field(i).Tag.Get("json"), ",")
		if known[name] = true; name == "" { // our own
			delete(known, name)
		}
	}
	for _, name := range strings.Fields(`model api_key provider_connection_id auth_type subscription_vendor base_url api_version
		aws_access_key_id aws_secret_access_key aws_session_token aws_region_name aws_profile_name aws_role_name aws_session_name
		aws_bedrock_runtime_endpoint openrouter_site_url openrouter_app_name num_retries retry_multiplier retry_min_wait retry_max_wait
		timeout stream_idle_timeout max_message_chars temperature top_p top_k max_input_tokens max_output_tokens model_canonical_name api_mode
		capability_overrides extra_headers input_cost_per_token output_cost_per_token ollama_base_url stream drop_params modify_params
		disable_vision disable_stop_word caching_prompt log_completions log_completions_folder custom_tokenizer native_tool_calling
		force_string_serializer inline_image_urls reasoning_effort reasoning_summary enable_encrypted_reasoning prompt_cache_retention
		extended_thinking_budget seed usage_id litellm_extra_body is_subscription schema_version fallback_strategy`) {
		if !known[name] {
			t.Errorf("field %s is not read", name)
		}
		delete(known, name)
	}
	if len(known) > 0 {
		t.Errorf("fields that OpenHands does not have: %v", known)
	}
}

func TestWhatIsNoKeyIsNone(t *testing.T) {
	t.Parallel()
	for _, key := range []string{`null`, `""`, `"  "`, `"**********"`} {
		if p := parse(t, `{"model":"m/x","api_key":`+key+`}`); !p.APIKey.IsZero() {
			t.Errorf("%s is a key", key)
		}
	}
	if p := parse(t, `{"model":"m/x","api_key":"*********"}`); p.APIKey.Reveal() != "*********" {
		t.Error("nine asterisks are no key")
	}
}

func TestWhatIsWrongIsNamedWithoutItsValue(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		`{"model":"m/x","timeout":"s3cret"}`:               `parse profile: field "timeout" is of the wrong type`,
		`{"model":"m/x","api_key":["s3cret"]}`:             "parse profile: a secret value is of the wrong type",
		`{"model":"m/x","extra_headers":{"a":["s3cret"]}}`: "parse profile: a secret value is of the wrong type",
		`{"model":"m/x","litellm_extra_body":"s3cret"}`:    "parse profile: a secret value is of the wrong type",
		`{"model":"m/x","num_retries":-1}`:                 `parse profile: field "num_retries" must be at least 0`,
		`{"model":"m/x","max_output_tokens":0}`:            `parse profile: field "max_output_tokens" must be at least 1`,
		`{"model":"m/x","top_p":1.5}`:                      `parse profile: field "top_p" must be at most 1`,
		`{"model":"m/x","api_mode":"other"}`:               `parse profile: field "api_mode" must be auto, chat or responses`,
		`{"model":" "}`:                                    `parse profile: field "model" is missing`,
		`["s3cret"]`:                                       "parse profile: not a JSON object",
		`{"s3cret`:                                         "parse profile: not a JSON object",
	}
	for data, want := range tests {
		if _, err := llm.ParseProfile([]byte(data)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", data, err, want)
		}
	}
}

func TestIgnoredNamesWhatHasNoEffect(t *testing.T) {
	t.Parallel()
	if got := llm.Ignored(parse(t, `{"model":"openai/gpt-4o","schema_version":1,"stream":false,"is_subscription":false}`)); len(got) > 0 {
		t.Errorf("a plain profile: %v", got)
	}
	got := llm.Ignored(parse(t, `{"model":"bedrock/x","aws_profile_name":"a","aws_role_name":"b","aws_session_name":"c","max_message_chars":5,"inline_image_urls":true,
		"log_completions":true,"custom_tokenizer":"t","fallback_strategy":{"fallback_llms":[],"profile_store_dir":"/x"},"auth_type":"subscription"}`))
	want := []string{
		"aws_profile_name", "aws_role_name", "aws_session_name", "max_message_chars", "inline_image_urls",
		"log_completions", "custom_tokenizer", "fallback_strategy.profile_store_dir", "auth_type",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestNoSecretShowsHoweverItIsPrinted(t *testing.T) {
	t.Parallel()
	const secret = "s3cret-0123456789"
	p := parse(t, strings.ReplaceAll(`{"model":"anthropic/claude-sonnet-4-5","api_key":"S","aws_access_key_id":"S","aws_secret_access_key":"S","aws_session_token":"S",
		"extra_headers":{"X-Key":"S"},"litellm_extra_body":{"user_key":"S"}}`, "S", secret))
	cfg := llm.Config{Profile: p}
	model, err := llm.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	hidden := struct {
		inner llm.Profile
		cfg   llm.Config
		model llm.Model
	}{p, cfg, model}
	var log bytes.Buffer
	logger := debugLog(&log)
	for name, v := range map[string]any{
		"profile": p, "pointer": &p, "config": cfg, "model": model, "inside": hidden, "key": p.APIKey, "headers": p.ExtraHeaders, "body": p.ExtraBody,
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			if out := fmt.Sprintf(verb, v); strings.Contains(out, secret) || strings.Contains(out, fmt.Sprintf("%x", secret)) {
				t.Errorf("%s with %s: %s", name, verb, out)
			}
		}
		logger.Info("here", "value", v)
		if out, err := json.Marshal(v); err == nil && bytes.Contains(out, []byte(secret)) {
			t.Errorf("%s as JSON: %s", name, out)
		}
	}
	slog.New(slog.NewJSONHandler(&log, nil)).Info("here", "profile", p, "headers", p.ExtraHeaders, "key", p.APIKey)
	if strings.Contains(log.String(), secret) {
		t.Errorf("the log shows the key:\n%s", log.String())
	}
}

func TestModelsThatCannotWorkSayWhatToDo(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ profile, hint string }{
		"Vertex AI":        {`"model":"vertex_ai/gemini-2.5-pro"`, "gemini/NAME"},
		"Azure AI":         {`"model":"azure_ai/x","base_url":"https://x.example"`, "azure/DEPLOYMENT"},
		"unknown provider": {`"model":"nobody/x"`, "openai/NAME and set base_url"},
		"unknown name":     {`"model":"wonder-model"`, "openai/wonder-model"},
		"no URL":           {`"model":"azure/x"`, "base_url"},
		"proxy, no URL":    {`"model":"litellm_proxy/x"`, "base_url"},
		"no URL at all":    {`"model":"openai/x","base_url":"localhost:8000"`, "http://localhost:8000"},
		"another scheme":   {`"model":"openai/x","base_url":"file:///etc/passwd"`, "https://HOST/PATH"},
		"subscription":     {`"model":"openai/gpt-5.5","auth_type":"subscription"`, "API key"},
		"strict options":   {`"model":"openai/gpt-5.5","temperature":1,"top_k":3,"seed":1,"drop_params":false`, "drop_params"},
	}
	for name, tt := range tests {
		_, err := llm.New(llm.Config{Profile: parse(t, "{"+tt.profile+"}")})
		wrong, ok := errors.AsType[*fault.Error](err)
		if !ok || !strings.Contains(wrong.Hint, tt.hint) {
			t.Errorf("%s: %v, want a hint with %q", name, err, tt.hint)
		}
	}
}

func TestATooSmallWindowIsRefused(t *testing.T) {
	t.Parallel()
	p := parse(t, `{"model":"openai/x","max_input_tokens":8192}`)
	_, err := llm.New(llm.Config{Profile: p})
	if failed := failure(t, err); failed.Code != llm.CodeWindowTooSmall {
		t.Errorf("error %v", failed)
	}
	for value, want := range map[string]bool{"true": true, "1": true, "YES": true, "0": false, "": false} {
		_, err := llm.New(llm.Config{Profile: p, Getenv: func(name string) string {
			if name != "ALLOW_SHORT_CONTEXT_WINDOWS" {
				return ""
			}
			return value
		}})
		if (err == nil) != want {
			t.Errorf("ALLOW_SHORT_CONTEXT_WINDOWS=%q: %v", value, err)
		}
	}
}
