package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/ohgw/ohgw/internal/hidden"
)

// Profile is an LLM as OpenHands 1.43 stores it, every field of it. [Ignored]
// tells which of those that are set have no effect here. A pointer is nil
// where the file says null.
//
// Who loads a profile decrypts its secrets first, and puts the key and URL of
// a provider connection in place.
type Profile struct {
	Model          string      `json:"model"`
	APIKey         hidden.Text `json:"api_key"`
	BaseURL        string      `json:"base_url"`
	APIVersion     string      `json:"api_version"` // Azure's
	AuthType       string      `json:"auth_type"`   // api_key or subscription
	Vendor         string      `json:"subscription_vendor"`
	IsSubscription bool        `json:"is_subscription"`
	ConnectionID   string      `json:"provider_connection_id"`

	AWSAccessKeyID     hidden.Text `json:"aws_access_key_id"`
	AWSSecretAccessKey hidden.Text `json:"aws_secret_access_key"`
	AWSSessionToken    hidden.Text `json:"aws_session_token"`
	AWSRegion          string      `json:"aws_region_name"`
	AWSProfile         string      `json:"aws_profile_name"`
	AWSRole            string      `json:"aws_role_name"`
	AWSSession         string      `json:"aws_session_name"`
	AWSEndpoint        string      `json:"aws_bedrock_runtime_endpoint"`

	OpenRouterSiteURL string `json:"openrouter_site_url"`
	OpenRouterAppName string `json:"openrouter_app_name"`
	OllamaBaseURL     string `json:"ollama_base_url"`

	NumRetries      int     `json:"num_retries"` // requests in all, at least one
	RetryMultiplier float64 `json:"retry_multiplier"`
	RetryMinWait    float64 `json:"retry_min_wait"` // seconds
	RetryMaxWait    float64 `json:"retry_max_wait"` // seconds
	// Timeout is how long the provider may say nothing, in seconds, and the whole
	// answer may take if a profile has the field.
	Timeout *float64 `json:"timeout"`
	// IdleTimeout is how long it may say nothing, if that is not Timeout.
	IdleTimeout *float64 `json:"stream_idle_timeout"`
	hardTimeout bool     // Timeout is for the whole answer

	MaxMessageChars int64    `json:"max_message_chars"`
	Temperature     *float64 `json:"temperature"`
	TopP            *float64 `json:"top_p"`
	TopK            *float64 `json:"top_k"`
	Seed            *int64   `json:"seed"`
	MaxInputTokens  *int64   `json:"max_input_tokens"`
	MaxOutputTokens *int64   `json:"max_output_tokens"`

	CanonicalName       string         `json:"model_canonical_name"` // looked up instead of Model
	APIMode             string         `json:"api_mode"`             // auto, chat or responses
	CapabilityOverrides map[string]any `json:"capability_overrides"`

	ExtraHeaders map[string]hidden.Text                `json:"extra_headers"`
	ExtraBody    hidden.Of[map[string]json.RawMessage] `json:"litellm_extra_body"`

	InputCost  *float64 `json:"input_cost_per_token"` // US dollars
	OutputCost *float64 `json:"output_cost_per_token"`

	Stream       bool `json:"stream"`      // answers are always streamed
	DropParams   bool `json:"drop_params"` // false: an option that the model does not take is an error
	ModifyParams bool `json:"modify_params"`

	DisableVision         *bool  `json:"disable_vision"`
	DisableStopWord       *bool  `json:"disable_stop_word"`
	CachingPrompt         bool   `json:"caching_prompt"`
	NativeToolCalling     bool   `json:"native_tool_calling"`
	ForceStringSerializer *bool  `json:"force_string_serializer"` // nil: as the model needs it
	InlineImageURLs       *bool  `json:"inline_image_urls"`
	LogCompletions        bool   `json:"log_completions"`
	LogCompletionsFolder  string `json:"log_completions_folder"`
	CustomTokenizer       string `json:"custom_tokenizer"`

	ReasoningEffort          string `json:"reasoning_effort"`
	ReasoningSummary         string `json:"reasoning_summary"`
	EnableEncryptedReasoning bool   `json:"enable_encrypted_reasoning"`
	PromptCacheRetention     string `json:"prompt_cache_retention"`
	ExtendedThinkingBudget   int64  `json:"extended_thinking_budget"` // tokens

	UsageID          string            `json:"usage_id"`
	FallbackStrategy *FallbackStrategy `json:"fallback_strategy"`
	SchemaVersion    int               `json:"schema_version"`
}

// FallbackStrategy names the profiles to ask, in order, when this one's
// provider cannot answer.
type FallbackStrategy struct {
	Profiles []string `json:"fallback_llms"`
	StoreDir string   `json:"profile_store_dir"`
}

// DefaultProfile is a profile of which only the model is known, with the
// defaults of OpenHands 1.43.
func DefaultProfile(model string) Profile {
	const seconds = 300.0
	timeout, idle := seconds, seconds // apart: what is read into one must not change the other
	return Profile{
		Model: model, AuthType: "api_key", APIMode: "auto", UsageID: "default",
		OpenRouterSiteURL: "https://docs.all-hands.dev/", OpenRouterAppName: "OpenHands",
		NumRetries: 5, RetryMultiplier: 8, RetryMinWait: 8, RetryMaxWait: 64, Timeout: &timeout, IdleTimeout: &idle,
		MaxMessageChars: 30_000, DropParams: true, ModifyParams: true, CachingPrompt: true, NativeToolCalling: true,
		LogCompletionsFolder: "logs/completions", ReasoningEffort: "high", EnableEncryptedReasoning: true,
		PromptCacheRetention: "24h", ExtendedThinkingBudget: 200_000,
	}
}

// nullable are the fields with a default that null takes away.
func nullable() []string {
	return []string{"reasoning_effort", "prompt_cache_retention", "extended_thinking_budget"}
}

// ParseProfile reads the JSON of an LLM: a profile file, or the llm of an agent. Absent
// fields have their defaults; unknown fields are skipped. No error quotes a value.
func ParseProfile(data []byte) (Profile, error) {
	p := DefaultProfile("")
	if err := json.Unmarshal(data, &p); err != nil {
		wrongType, ok := errors.AsType[*json.UnmarshalTypeError](err)
		switch {
		case ok && wrongType.Field != "":
			return Profile{}, fmt.Errorf("parse profile: field %q is of the wrong type", wrongType.Field)
		case errors.Is(err, hidden.ErrType):
			return Profile{}, fmt.Errorf("parse profile: %w", err)
		}
		return Profile{}, errors.New("parse profile: not a JSON object")
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return Profile{}, errors.New("parse profile: not a JSON object")
	}
	_, p.hardTimeout = raw["timeout"]
	if _, own := raw["stream_idle_timeout"]; !own {
		p.IdleTimeout = p.Timeout
	}
	for _, name := range nullable() {
		if string(raw[name]) == "null" {
			p.clear(name)
		}
	}
	if p.APIVersion == "" && strings.HasPrefix(p.Model, "azure") {
		p.APIVersion = "2024-12-01-preview"
	}
	return p, p.validate()
}

func (p *Profile) clear(name string) {
	switch name {
	case "reasoning_effort":
		p.ReasoningEffort = ""
	case "prompt_cache_retention":
		p.PromptCacheRetention = ""
	case "extended_thinking_budget":
		p.ExtendedThinkingBudget = 0
	}
}

// validate checks the limits that OpenHands checks.
func (p *Profile) validate() error {
	if strings.TrimSpace(p.Model) == "" {
		return errors.New(`parse profile: field "model" is missing`)
	}
	for _, f := range []struct {
		name  string
		value float64
		least float64
	}{
		{"num_retries", float64(p.NumRetries), 0},
		{"retry_multiplier", p.RetryMultiplier, 0},
		{"retry_min_wait", p.RetryMinWait, 0},
		{"retry_max_wait", p.RetryMaxWait, 0},
		{"timeout", value(p.Timeout, 0), 0},
		{"stream_idle_timeout", value(p.IdleTimeout, 0), 0},
		{"max_message_chars", float64(p.MaxMessageChars), 1},
		{"temperature", value(p.Temperature, 0), 0},
		{"top_p", value(p.TopP, 0), 0},
		{"top_k", value(p.TopK, 0), 0},
		{"max_input_tokens", float64(value(p.MaxInputTokens, 1)), 1},
		{"max_output_tokens", float64(value(p.MaxOutputTokens, 1)), 1},
		{"input_cost_per_token", value(p.InputCost, 0), 0},
		{"output_cost_per_token", value(p.OutputCost, 0), 0},
	} {
		if f.value < f.least {
			return fmt.Errorf("parse profile: field %q must be at least %v", f.name, f.least)
		}
	}
	if value(p.TopP, 0) > 1 {
		return errors.New(`parse profile: field "top_p" must be at most 1`)
	}
	switch p.APIMode {
	case "auto", "chat", "responses":
		return nil
	}
	return errors.New(`parse profile: field "api_mode" must be auto, chat or responses`)
}

func value[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// Format shows the model and nothing else.
func (p Profile) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "llm.Profile("+p.Model+")") }

// LogValue is the model.
func (p Profile) LogValue() slog.Value { return slog.StringValue(p.Model) }

// secrets are the values in the profile that no text may show.
func (p *Profile) secrets() []string {
	out := []string{
		p.APIKey.Reveal(), p.AWSAccessKeyID.Reveal(), p.AWSSecretAccessKey.Reveal(), p.AWSSessionToken.Reveal(),
	}
	for _, v := range p.ExtraHeaders {
		out = append(out, v.Reveal())
		_, word, found := strings.Cut(v.Reveal(), " ") // "Bearer KEY"
		if found {
			out = append(out, word)
		}
	}
	for _, raw := range p.ExtraBody.Reveal() {
		var text string
		if json.Unmarshal(raw, &text) == nil {
			out = append(out, text)
		}
	}
	return out
}
