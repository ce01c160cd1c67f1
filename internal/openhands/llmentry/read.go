package llmentry

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ohgw/ohgw/internal/hidden"
	"github.com/ohgw/ohgw/internal/optional"
)

// Default is an LLM of which only the model is known, with the defaults of OpenHands.
func Default(model string) LLM {
	const seconds = 300.0
	timeout, idle := seconds, seconds // apart: what is read into one must not change the other
	effort, retention, budget, stopWords := "high", "24h", int64(200_000), false
	return LLM{
		Model: model, AuthType: "api_key", APIMode: "auto", UsageID: "default",
		OpenRouterSiteURL: "https://docs.all-hands.dev/", OpenRouterAppName: "OpenHands",
		NumRetries: 5, RetryMultiplier: 8, RetryMinWait: 8, RetryMaxWait: 64, Timeout: &timeout, IdleTimeout: &idle,
		MaxMessageChars: 30_000, DropParams: true, ModifyParams: true, CachingPrompt: true, NativeToolCalling: true,
		LogCompletionsFolder: "logs/completions", ReasoningEffort: &effort, EnableEncryptedReasoning: true,
		PromptCacheRetention: &retention, ExtendedThinkingBudget: &budget, DisableStopWord: &stopWords,
		CapabilityOverrides: map[string]any{},
	}
}

// Read reads the JSON of an LLM with its secrets in the clear. Absent members have their
// defaults; unknown members are skipped. It does not check limits.
func Read(data []byte) (LLM, error) {
	l := Default("")
	if err := json.Unmarshal(data, &l); err != nil {
		wrongType, ok := errors.AsType[*json.UnmarshalTypeError](err)
		switch {
		case ok && wrongType.Field != "":
			return LLM{}, fmt.Errorf("parse profile: field %q is of the wrong type", wrongType.Field)
		case errors.Is(err, hidden.ErrType):
			return LLM{}, fmt.Errorf("parse profile: %w", err)
		}
		return LLM{}, errors.New("parse profile: not a JSON object")
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(data, &given); err != nil {
		return LLM{}, errors.New("parse profile: not a JSON object")
	}
	_, l.whole = given["timeout"]
	if _, own := given["stream_idle_timeout"]; !own {
		l.IdleTimeout = l.Timeout
	}
	if strings.HasPrefix(l.Model, "azure") && optional.Or(l.APIVersion, "") == "" {
		version := AzureVersion
		l.APIVersion = &version
	}
	return l, nil
}

// Check checks the limits that OpenHands checks.
func (l *LLM) Check() error {
	if strings.TrimSpace(l.Model) == "" {
		return errors.New(`parse profile: field "model" is missing`)
	}
	for _, f := range []struct {
		name  string
		value float64
		least float64
	}{
		{"num_retries", float64(l.NumRetries), 0},
		{"retry_multiplier", l.RetryMultiplier, 0},
		{"retry_min_wait", l.RetryMinWait, 0},
		{"retry_max_wait", l.RetryMaxWait, 0},
		{"timeout", optional.Or(l.Timeout, 0), 0},
		{"stream_idle_timeout", optional.Or(l.IdleTimeout, 0), 0},
		{"max_message_chars", float64(l.MaxMessageChars), 1},
		{"temperature", optional.Or(l.Temperature, 0), 0},
		{"top_p", optional.Or(l.TopP, 0), 0},
		{"top_k", optional.Or(l.TopK, 0), 0},
		{"max_input_tokens", float64(optional.Or(l.MaxInputTokens, 1)), 1},
		{"max_output_tokens", float64(optional.Or(l.MaxOutputTokens, 1)), 1},
		{"input_cost_per_token", optional.Or(l.InputCost, 0), 0},
		{"output_cost_per_token", optional.Or(l.OutputCost, 0), 0},
	} {
		if f.value < f.least {
			return fmt.Errorf("parse profile: field %q must be at least %v", f.name, f.least)
		}
	}
	if optional.Or(l.TopP, 0) > 1 {
		return errors.New(`parse profile: field "top_p" must be at most 1`)
	}
	switch l.APIMode {
	case "auto", "chat", "responses":
		return nil
	}
	return errors.New(`parse profile: field "api_mode" must be auto, chat or responses`)
}
