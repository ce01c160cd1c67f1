package llm

import (
	"errors"
	"net/http"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/internal/pattern"
)

// This file knows the words of providers: the same refusal has another text,
// and often another status, at each of them. The texts are in llmtest.Failures.

// codeOf classifies a refusal; the first rule that fits counts.
func codeOf(f *wire.Failure) string {
	text, kind := strings.ToLower(f.Message), strings.ToLower(f.Type)
	switch {
	case isRateLimit(f, text, kind):
		return CodeRateLimit
	case isContextError(text, kind), f.Status == http.StatusRequestEntityTooLarge:
		return CodeContextWindow
	case isHistoryError(text):
		return CodeMalformedHistory
	case isEmptyAccount(f):
		return CodeRateLimit
	case f.Status == http.StatusUnauthorized, f.Status == http.StatusForbidden, isAuthError(text):
		return CodeAuthentication
	case f.Status == http.StatusTooManyRequests:
		return CodeRateLimit
	case f.Status == http.StatusNotFound:
		return CodeNotFound
	case f.Status == http.StatusRequestTimeout, f.Status == http.StatusGatewayTimeout:
		return CodeTimeout
	case f.Status >= http.StatusInternalServerError, f.Status == http.StatusConflict, f.Status == 0:
		return CodeUnavailable
	case kind == "content_filter" || isPolicyError(text):
		return CodeContentPolicy
	}
	return CodeBadRequest
}

// isRateLimit knows limits of a minute whose words or status are those of a
// full context.
func isRateLimit(f *wire.Failure, text, kind string) bool {
	switch f.Status {
	case http.StatusTooManyRequests:
		return contains(text, "too many tokens, please wait", "per minute", "per day") && !contains(text, "context length")
	case http.StatusRequestEntityTooLarge:
		return kind == "rate_limit_exceeded" || contains(text, "per minute")
	}
	return false
}

// isContextError knows how providers say that a prompt is too long. text and
// kind are in lower case.
func isContextError(text, kind string) bool {
	switch kind {
	case "context_length_exceeded", "exceed_context_size_error", "model_max_prompt_tokens_exceeded", "request_too_large", "1261":
		return true
	}
	if contains(text, "string_above_max_length", "array_above_max_length") {
		return false // one text or list alone, of any length
	}
	return contains(text,
		// OpenHands' list.
		"contextwindowexceedederror", "prompt is too long", "input length and `max_tokens` exceed context limit",
		"please reduce the length of", "exceeds the available context size", "context length exceeded",
		"input exceeds the context window", "context window exceeds limit",

		// LiteLLM's.
		"exceed context limit", "maximum context length is", "model's maximum context limit",
		"is longer than the model's context length", "input tokens exceed the configured limit",
		"`inputs` tokens + `max_new_tokens` must be", "exceeds the maximum number of tokens allowed",
		"input is too long for requested model", "context_length_exceeded",

		"maximum prompt length is",                                                               // xAI
		"maximum context length of",                                                              // SGLang, SambaNova
		"too large for model with",                                                               // Mistral
		"exceeded model token limit",                                                             // Moonshot
		"prompt exceeds max length",                                                              // Z.ai
		"prompt 超长",                                                                              // Z.ai in Chinese
		"range of input length should be",                                                        // DashScope
		"greater than the context length", "context length of only", "reached context length of", // LM Studio
		"maximum supported sequence length is",                                   // SambaNova
		"input tokens exceeded", "number of input tokens exceeds maximum length", // Bedrock
		"is longer than the maximum model length",                              // vLLM
		"prompt too long; exceeded", "input length exceeds the context length", // Ollama
		"prompt token count of",                              // Copilot
		"context size has been exceeded",                     // llama.cpp
		"cannot truncate prompt with n_keep",                 // LM Studio
		"`inputs` must have less than",                       // TGI
		"total number of tokens in the prompt cannot exceed", // Cohere
		"exceed max message tokens",                          // Volcengine
		"but the configured context size is",                 // MLX
		"request entity too large",                           // proxies
	) || longInput().MatchString(text)
}

// longInput is a count of tokens between the words: SGLang, Poolside, Vertex.
var longInput = pattern.Of(`input length (\(?\d+( tokens)?\)?) exceeds the maximum|input token count (is \d+ but model only supports|\(\d+\) exceeds)`)

func isHistoryError(text string) bool {
	return contains(text,
		"ids were found without `tool_result` blocks immediately after",
		"must have a corresponding `tool_result` block in the next message",
		"each tool_use must have a single result", "found multiple `tool_result` blocks with id:",
		"unexpected `tool_use_id` found in `tool_result` blocks",
		"must have a corresponding `tool_use` block in the previous message",
		"must be followed by tool messages responding to each 'tool_call_id'",
		"failed to parse tool call arguments as json",
	)
}

func isAuthError(text string) bool {
	return contains(text,
		"invalid api key", "unauthorized", "missing api key", "invalid authentication", "access denied",
		"status 401", "status 403",

		"api key not valid",          // Google's, with status 400
		"incorrect api key provided", // xAI's, with status 400
		"no connected db",            // of a LiteLLM proxy without a database, which then looks for the key there
	)
}

func isPolicyError(text string) bool {
	return contains(text,
		"content_policy", "content filtering policy", "output blocked by content filtering",

		"responsibleaipolicyviolation", "content_filter_policy", "content management policy",
		"rejected as a result of our safety system",
	)
}

// cacheTooSmall recognizes a refusal to cache so little, which another try without
// marks avoids.
func cacheTooSmall(err error) bool {
	f, ok := errors.AsType[*wire.Failure](err)
	return ok && strings.Contains(strings.ToLower(f.Message), "minimum token count to start caching")
}

// isQuota recognizes an allowance that is used up by the words that OpenHands looks
// for, whatever the status.
func isQuota(f *wire.Failure) bool {
	return contains(strings.ToLower(f.Type+" "+f.Message), "insufficient_quota", "usage_limit_reached")
}

// isBudget recognizes a limit that its owner has set for all models together: no
// other profile gets past it.
func isBudget(err error) bool {
	f, ok := errors.AsType[*wire.Failure](err)
	return ok && f.Status < http.StatusInternalServerError &&
		contains(strings.ToLower(f.Type+" "+f.Message), "budget_exceeded", "budget has been exceeded")
}

// isEmptyAccount recognizes a refusal that no waiting lifts: the account has no
// credit, or its owner's limit is reached.
func isEmptyAccount(err error) bool {
	f, ok := errors.AsType[*wire.Failure](err)
	if !ok {
		return false
	}
	if isQuota(f) {
		return true
	}
	if f.Status >= http.StatusInternalServerError {
		return false
	}
	switch strings.ToLower(f.Type) {
	case "exceeded_current_quota_error", "insufficient_balance_error", "budget_exceeded",
		"credit_limit", "payment_required", "arrearage", "1113": // Z.ai
		return true
	}
	return f.Status == http.StatusPaymentRequired || contains(strings.ToLower(f.Message),
		"insufficient balance", "insufficient credit", "credit balance is too low", "requires more credits",
		"doesn't have any credits", "used all available credits", "monthly spending limit", "monthly included credits",
		"budget has been exceeded", "account is in good standing", "余额不足", "欠费",
	)
}
