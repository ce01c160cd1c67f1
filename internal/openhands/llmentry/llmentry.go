// Package llmentry is an LLM of OpenHands as a Go value: an entry of a profile file, of
// the settings, or of the agent of a conversation. It is the same value from the file to
// the call: package profile makes it of a file, and the embedded agent calls it.
//
// It decrypts nothing and looks for no keys. What OpenHands takes for a member, such as
// "yes" for true, is the matter of package shape, whose table has the same members.
//
// Invariants: no text, log or JSON that is made of an LLM has its secrets; no error quotes
// a value.
package llmentry

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/ohgw/ohgw/internal/hidden"
	"github.com/ohgw/ohgw/internal/plainjson"
)

// AzureVersion is what OpenHands takes for models of Azure without a version.
const AzureVersion = "2024-12-01-preview"

// LLM is an LLM with every member of OpenHands 1.58. Durations are in seconds. A pointer
// is nil where the entry has null.
type LLM struct {
	Model         string  `json:"model"`
	BaseURL       *string `json:"base_url"`
	APIVersion    *string `json:"api_version"`          // Azure's
	APIMode       string  `json:"api_mode"`             // auto, chat or responses
	CanonicalName *string `json:"model_canonical_name"` // looked up instead of Model
	UsageID       string  `json:"usage_id"`

	AuthType     string  `json:"auth_type"` // api_key or subscription
	Vendor       *string `json:"subscription_vendor"`
	ConnectionID *string `json:"provider_connection_id"`

	AWSRegion   *string `json:"aws_region_name"`
	AWSProfile  *string `json:"aws_profile_name"`
	AWSRole     *string `json:"aws_role_name"`
	AWSSession  *string `json:"aws_session_name"`
	AWSEndpoint *string `json:"aws_bedrock_runtime_endpoint"`

	OpenRouterSiteURL string  `json:"openrouter_site_url"`
	OpenRouterAppName string  `json:"openrouter_app_name"`
	OllamaBaseURL     *string `json:"ollama_base_url"`

	NumRetries      int     `json:"num_retries"` // requests in all, at least one
	RetryMultiplier float64 `json:"retry_multiplier"`
	RetryMinWait    float64 `json:"retry_min_wait"`
	RetryMaxWait    float64 `json:"retry_max_wait"`
	// Timeout is how long the provider may say nothing, and the whole answer may take if
	// the entry has the member; see [LLM.Whole].
	Timeout *float64 `json:"timeout"`

	MaxMessageChars int64    `json:"max_message_chars"`
	MaxInputTokens  *int64   `json:"max_input_tokens"`
	MaxOutputTokens *int64   `json:"max_output_tokens"`
	Temperature     *float64 `json:"temperature"`
	TopP            *float64 `json:"top_p"`
	TopK            *float64 `json:"top_k"`
	Seed            *int64   `json:"seed"`
	InputCost       *float64 `json:"input_cost_per_token"` // US dollars
	OutputCost      *float64 `json:"output_cost_per_token"`

	Stream                bool    `json:"stream"`      // ohgw always streams
	DropParams            bool    `json:"drop_params"` // false: an option that the model does not take is an error
	ModifyParams          bool    `json:"modify_params"`
	CachingPrompt         bool    `json:"caching_prompt"`
	PromptCacheRetention  *string `json:"prompt_cache_retention"`
	NativeToolCalling     bool    `json:"native_tool_calling"`
	DisableVision         *bool   `json:"disable_vision"`
	DisableStopWord       *bool   `json:"disable_stop_word"`
	ForceStringSerializer *bool   `json:"force_string_serializer"` // nil: as the model needs it
	InlineImageURLs       *bool   `json:"inline_image_urls"`

	ReasoningEffort          *string `json:"reasoning_effort"`
	ReasoningSummary         *string `json:"reasoning_summary"`
	EnableEncryptedReasoning bool    `json:"enable_encrypted_reasoning"`
	ExtendedThinkingBudget   *int64  `json:"extended_thinking_budget"` // tokens

	LogCompletions       bool    `json:"log_completions"`
	LogCompletionsFolder string  `json:"log_completions_folder"`
	CustomTokenizer      *string `json:"custom_tokenizer"`

	// CapabilityOverrides are texts and truth values.
	CapabilityOverrides map[string]any `json:"capability_overrides"`

	// FallbackStrategy names the profiles to ask when this one's provider cannot answer.
	// OpenHands reads it and never writes it.
	FallbackStrategy *FallbackStrategy `json:"fallback_strategy,omitempty"`

	// What follows is read and never written; see [LLM.MarshalJSON].

	// IdleTimeout is how long the provider may say nothing, if that is not Timeout.
	IdleTimeout    *float64 `json:"stream_idle_timeout,omitempty"`
	IsSubscription bool     `json:"is_subscription,omitempty"`
	SchemaVersion  int      `json:"schema_version,omitempty"`

	// The secrets that are in the entry, decrypted. An entry with an empty APIKey may have
	// one elsewhere; see secret.Resolver.
	APIKey             hidden.Text `json:"api_key,omitzero"`
	AWSAccessKeyID     hidden.Text `json:"aws_access_key_id,omitzero"`
	AWSSecretAccessKey hidden.Text `json:"aws_secret_access_key,omitzero"`
	AWSSessionToken    hidden.Text `json:"aws_session_token,omitzero"`

	// ExtraHeaders and ExtraBody go to the provider as they are, and may hold credentials.
	ExtraHeaders map[string]hidden.Text                `json:"extra_headers,omitempty"`
	ExtraBody    hidden.Of[map[string]json.RawMessage] `json:"litellm_extra_body,omitzero"`

	whole bool // the entry has timeout
}

// FallbackStrategy is which profiles to ask, in order, when a provider cannot answer.
type FallbackStrategy struct {
	Profiles []string `json:"fallback_llms"`
	StoreDir string   `json:"profile_store_dir,omitempty"`
}

// The members with secrets.
const (
	FieldAPIKey             = "api_key"
	FieldAWSAccessKeyID     = "aws_access_key_id"
	FieldAWSSecretAccessKey = "aws_secret_access_key"
	FieldAWSSessionToken    = "aws_session_token"
)

// Whole is how long a whole answer may take, in seconds; 0 is without a limit. An entry
// without a timeout may have a slow model of the user's own: there only silence counts.
func (l *LLM) Whole() float64 {
	if !l.whole || l.Timeout == nil {
		return 0
	}
	return *l.Timeout
}

// Secret is the place of a secret by the name of its member; nil for another member.
func (l *LLM) Secret(field string) *hidden.Text {
	switch field {
	case FieldAPIKey:
		return &l.APIKey
	case FieldAWSAccessKeyID:
		return &l.AWSAccessKeyID
	case FieldAWSSecretAccessKey:
		return &l.AWSSecretAccessKey
	case FieldAWSSessionToken:
		return &l.AWSSessionToken
	}
	return nil
}

// Secrets lists the values in the LLM that no text may show.
func (l *LLM) Secrets() []string {
	out := []string{
		l.APIKey.Reveal(), l.AWSAccessKeyID.Reveal(), l.AWSSecretAccessKey.Reveal(), l.AWSSessionToken.Reveal(),
	}
	for _, v := range l.ExtraHeaders {
		out = append(out, v.Reveal())
		_, word, found := strings.Cut(v.Reveal(), " ") // "Bearer KEY"
		if found {
			out = append(out, word)
		}
	}
	for _, raw := range l.ExtraBody.Reveal() {
		var text string
		if json.Unmarshal(raw, &text) == nil {
			out = append(out, text)
		}
	}
	return out
}

// MarshalJSON writes the members that a conversation stores and a person may see.
func (l LLM) MarshalJSON() ([]byte, error) {
	type members LLM
	l.APIKey, l.AWSAccessKeyID, l.AWSSecretAccessKey, l.AWSSessionToken = hidden.Text{}, hidden.Text{}, hidden.Text{}, hidden.Text{}
	l.ExtraHeaders, l.ExtraBody = nil, hidden.Of[map[string]json.RawMessage]{}
	l.IdleTimeout, l.IsSubscription, l.SchemaVersion = nil, false, 0
	return plainjson.Marshal(members(l))
}

// Format shows the model and nothing else.
func (l LLM) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "LLM("+l.Model+")") }

// LogValue is the model.
func (l LLM) LogValue() slog.Value { return slog.StringValue(l.Model) }
