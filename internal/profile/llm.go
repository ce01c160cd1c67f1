package profile

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/ohgw/ohgw/internal/fernet"
	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/shape"
	"github.com/ohgw/ohgw/internal/secret"
)

// LLM is an LLM entry as OpenHands 1.43.1 understands it: in its present form,
// with the defaults of what the file does not say. Durations are in seconds.
// Pointers are nil where the file has null.
type LLM struct {
	Model         string  `json:"model"`
	BaseURL       *string `json:"base_url"`
	APIVersion    *string `json:"api_version"`
	APIMode       string  `json:"api_mode"` // auto, chat or responses
	CanonicalName *string `json:"model_canonical_name"`
	UsageID       string  `json:"usage_id"`

	AuthType           string  `json:"auth_type"` // api_key or subscription
	SubscriptionVendor *string `json:"subscription_vendor"`
	Connection         *string `json:"provider_connection_id"`

	AWSRegion   *string `json:"aws_region_name"`
	AWSProfile  *string `json:"aws_profile_name"`
	AWSRole     *string `json:"aws_role_name"`
	AWSSession  *string `json:"aws_session_name"`
	AWSEndpoint *string `json:"aws_bedrock_runtime_endpoint"`

	OpenRouterSite string  `json:"openrouter_site_url"`
	OpenRouterApp  string  `json:"openrouter_app_name"`
	OllamaBaseURL  *string `json:"ollama_base_url"`

	NumRetries      int64   `json:"num_retries"`
	RetryMultiplier float64 `json:"retry_multiplier"`
	RetryMinWait    int64   `json:"retry_min_wait"`
	RetryMaxWait    int64   `json:"retry_max_wait"`
	Timeout         *int64  `json:"timeout"`

	MaxMessageChars int64    `json:"max_message_chars"`
	MaxInputTokens  *int64   `json:"max_input_tokens"`
	MaxOutputTokens *int64   `json:"max_output_tokens"`
	Temperature     *float64 `json:"temperature"`
	TopP            *float64 `json:"top_p"`
	TopK            *float64 `json:"top_k"`
	Seed            *int64   `json:"seed"`
	InputCost       *float64 `json:"input_cost_per_token"`
	OutputCost      *float64 `json:"output_cost_per_token"`

	Stream                bool    `json:"stream"`
	DropParams            bool    `json:"drop_params"`
	ModifyParams          bool    `json:"modify_params"`
	CachingPrompt         bool    `json:"caching_prompt"`
	CacheRetention        *string `json:"prompt_cache_retention"`
	NativeToolCalling     bool    `json:"native_tool_calling"`
	DisableVision         *bool   `json:"disable_vision"`
	DisableStopWord       *bool   `json:"disable_stop_word"`
	ForceStringSerializer *bool   `json:"force_string_serializer"`
	InlineImageURLs       *bool   `json:"inline_image_urls"`

	ReasoningEffort    *string `json:"reasoning_effort"`
	ReasoningSummary   *string `json:"reasoning_summary"`
	EncryptedReasoning bool    `json:"enable_encrypted_reasoning"`
	ThinkingBudget     *int64  `json:"extended_thinking_budget"`

	LogCompletions       bool    `json:"log_completions"`
	LogCompletionsFolder string  `json:"log_completions_folder"`
	CustomTokenizer      *string `json:"custom_tokenizer"`

	// CapabilityOverrides are texts and truth values.
	CapabilityOverrides map[string]any `json:"capability_overrides"`

	// Fallback names the profiles to ask when this one's provider cannot answer.
	// OpenHands reads it and never writes it.
	Fallback *Fallback `json:"fallback_strategy,omitempty"`

	// The secrets that are in the entry, decrypted. A profile with an empty
	// APIKey may have one elsewhere; see secret.Resolver.
	APIKey             secret.Value `json:"-"`
	AWSAccessKeyID     secret.Value `json:"-"`
	AWSSecretAccessKey secret.Value `json:"-"`
	AWSSessionToken    secret.Value `json:"-"`

	// ExtraHeaders and ExtraBody go to the provider as they are, and may hold
	// credentials. ExtraBody is the text of a JSON object.
	ExtraHeaders map[string]secret.Value `json:"-"`
	ExtraBody    secret.Value            `json:"-"`
}

// Fallback is a fallback strategy.
type Fallback struct {
	Profiles []string `json:"fallback_llms"`
}

// errNotRead takes the place of errors that could quote a value.
var errNotRead = errors.New("the entry cannot be read")

// allFields are the members of an entry that a release of OpenHands in use has.
func allFields() []shape.Field { return append(shape.LLM(), shape.LLMNewer()...) }

// badFields names the members of an entry that OpenHands refuses.
func badFields(entry jsonedit.Value) []string {
	var bad []string
	for _, f := range allFields() {
		if _, ok := f.Read(entry.Get(f.Name)); !ok {
			bad = append(bad, f.Name)
		}
	}
	return bad
}

// unknownFields names the members of an entry that OpenHands ignores and
// forgets when it writes the file the next time.
func unknownFields(entry jsonedit.Value) []string {
	known := map[string]bool{}
	for _, f := range allFields() {
		known[f.Name] = true
	}
	for _, name := range shape.LLMIgnored() {
		known[name] = true
	}
	var unknown []string
	for name := range entry.Members() {
		if !known[name] {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// readLLM reads an entry, but not its secrets: only what they are. The error is
// a *shape.FieldError for the first member that OpenHands refuses.
func readLLM(entry jsonedit.Value, models *canon.List) (LLM, error) {
	plain := map[string]json.RawMessage{}
	for _, f := range allFields() {
		value, ok := f.Read(entry.Get(f.Name))
		if !ok {
			return LLM{}, &shape.FieldError{Field: f.Name}
		}
		if f.Kind != shape.HeadersKind && f.Kind != shape.FreeKind {
			plain[f.Name] = value
		}
	}
	src, err := json.Marshal(plain)
	if err != nil {
		return LLM{}, errNotRead
	}
	var llm LLM
	if err := json.Unmarshal(src, &llm); err != nil {
		return LLM{}, errNotRead
	}
	if headers := entry.Get("extra_headers"); headers.Kind() == jsonedit.Object {
		llm.ExtraHeaders = map[string]secret.Value{}
		for name, v := range headers.Members() {
			text, _ := v.Text()
			llm.ExtraHeaders[name] = secret.New(text)
		}
	}
	llm.ExtraBody = secret.New(string(entry.Get("litellm_extra_body").Raw()))
	for name, v := range llm.CapabilityOverrides {
		if n, ok := v.(float64); ok {
			llm.CapabilityOverrides[name] = n == 1
		}
	}
	if v := entry.Get(fallbackMember); v.Exists() && v.Kind() != jsonedit.Null {
		if llm.Fallback = readFallback(v); llm.Fallback == nil {
			return LLM{}, &shape.FieldError{Field: fallbackMember}
		}
	}
	llm.settle(models)
	return llm, nil
}

const fallbackMember = "fallback_strategy"

// readFallback is nil for what OpenHands refuses.
func readFallback(v jsonedit.Value) *Fallback {
	list := v.Get("fallback_llms")
	if list.Kind() != jsonedit.Array {
		return nil
	}
	out := &Fallback{Profiles: []string{}}
	for item := range list.Elements() {
		name, ok := item.Text()
		if !ok {
			return nil
		}
		out.Profiles = append(out.Profiles, name)
	}
	return out
}

// azureVersion is what OpenHands takes for models of Azure without a version.
const azureVersion = "2024-12-01-preview"

// settle does what OpenHands does to every entry that it loads.
func (l *LLM) settle(models *canon.List) {
	e := canon.Entry{Model: l.Model}
	if l.BaseURL != nil {
		e.URL = canon.URL{State: canon.URLText, Text: *l.BaseURL}
	}
	if d := models.Decide(e); d.Action == canon.Migrate {
		l.Model, l.BaseURL = d.Model, nil
	}
	if strings.HasPrefix(l.Model, "azure") && (l.APIVersion == nil || *l.APIVersion == "") {
		version := azureVersion
		l.APIVersion = &version
	}
	if strings.HasPrefix(l.Model, "openai/") && l.BaseURL != nil && strings.TrimSuffix(*l.BaseURL, "/") == "https://api.openai.com" {
		l.BaseURL = nil
	}
}

// baseURL is the base URL, or "".
func (l *LLM) baseURL() string {
	if l.BaseURL == nil {
		return ""
	}
	return *l.BaseURL
}

// endpoint is where requests go by a member of its own.
func (l *LLM) endpoint() string {
	text := func(p *string) string {
		if p == nil {
			return ""
		}
		return *p
	}
	return Endpoint(l.Model, l.baseURL(), text(l.AWSEndpoint), text(l.OllamaBaseURL))
}

// Endpoint is the member that goes before the base URL, or stands for it; "" where none
// does.
func Endpoint(model, base, aws, ollama string) string {
	switch provider := secret.ProviderOf(model); {
	case provider == "bedrock":
		return aws
	case strings.HasPrefix(provider, "ollama") && strings.TrimSpace(base) == "":
		return ollama
	}
	return ""
}

// KeyState is how a secret is written in a file.
type KeyState string

// The states of secrets in files.
const (
	KeyNone      KeyState = "none"
	KeyRedacted  KeyState = "redacted"  // the mask was written in its place: the key is lost
	KeyPlain     KeyState = "plain"     // readable for whoever reads the file
	KeyEncrypted KeyState = "encrypted" // looks like it; whether it can be decrypted is another matter
)

// keyState reports how OpenHands takes the value of a secret.
func keyState(v jsonedit.Value) KeyState {
	text, _ := v.Text()
	switch {
	case strings.TrimSpace(text) == "":
		return KeyNone
	case text == secret.Redacted:
		return KeyRedacted
	case fernet.IsToken(text):
		return KeyEncrypted
	}
	return KeyPlain
}

// readSecret returns the secret in a member; the zero Value when there is none.
func readSecret(v jsonedit.Value, ciphers *Ciphers) (secret.Value, error) {
	text, _ := v.Text()
	switch keyState(v) {
	case KeyPlain:
		return secret.New(text), nil
	case KeyEncrypted:
		key, _, err := ciphers.Decrypt(text)
		return key, err
	}
	return secret.Value{}, nil
}
