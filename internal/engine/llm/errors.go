package llm

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/engine/llm/textcall"
	"github.com/ohgw/ohgw/internal/engine/llm/wire"
)

// The codes of an [Error]: OpenHands' class names.
const (
	CodeContextWindow    = "LLMContextWindowExceedError"
	CodeMalformedHistory = "LLMMalformedConversationHistoryError"
	CodeAuthentication   = "LLMAuthenticationError"
	CodeRateLimit        = "LLMRateLimitError"
	CodeTimeout          = "LLMTimeoutError"
	CodeUnavailable      = "LLMServiceUnavailableError"
	CodeContentPolicy    = "LLMContentPolicyViolationError"
	CodeBadRequest       = "LLMBadRequestError"
	CodeNoResponse       = "LLMNoResponseError"
	CodeWindowTooSmall   = "LLMContextWindowTooSmallError"
	CodeCallValidation   = "FunctionCallValidationError"
)

// errTimeout is a provider that said nothing for too long.
var errTimeout = errors.New("the provider said nothing for too long")

// errNoAnswer is an answer without an answer in it.
var errNoAnswer = errors.New("the provider sent no answer")

// errFiltered is an answer that the provider held back.
var errFiltered = errors.New("the provider held its answer back (content filter)")

// errGaveUp is a provider that stopped before it had said anything.
var errGaveUp = errors.New("the provider gave up on the answer")

// transient tells whether another try may help.
func (e *Error) transient() bool {
	switch e.Code {
	case CodeRateLimit, CodeTimeout, CodeUnavailable, CodeNoResponse:
		return true
	}
	return false
}

// errorOf makes the Error of what went wrong with one request. safe takes keys
// out of a text.
func errorOf(err error, safe func(string) string) *Error {
	code, status := CodeUnavailable, 0
	var refusal *wire.Failure
	var broken *textcall.Error
	switch {
	case errors.As(err, &refusal):
		code, status = codeOf(refusal), refusal.Status
	case errors.As(err, &broken):
		code = CodeCallValidation
	case errors.Is(err, errTimeout):
		code = CodeTimeout
	case errors.Is(err, errNoAnswer):
		code = CodeNoResponse
	case errors.Is(err, errFiltered):
		code = CodeContentPolicy
	case errors.Is(err, wire.ErrTooLong):
		code = CodeBadRequest
	}
	detail := safe(err.Error())
	// The cause keeps the text only: what it is made of may hold a key.
	full := detail
	if next := advice(code); next != "" {
		full = strings.TrimRight(detail, ". ") + ". " + next
	}
	failed := newError(code, full, errors.New(detail))
	failed.Status = status
	return failed
}

func newError(code, detail string, cause error) *Error {
	return &Error{Code: code, Detail: detail, Classification: Classify(code, detail), Err: cause}
}

// advice is the next step where there is one for the user.
func advice(code string) string {
	switch code {
	case CodeAuthentication:
		return "Check the profile's key, and that it belongs to this provider."
	case CodeRateLimit:
		return "Wait, raise the provider's limit, or use another profile."
	case CodeTimeout, CodeUnavailable, CodeNoResponse:
		return "Try again, or check the profile's base URL."
	case CodeBadRequest:
		return "Check the profile's model and options."
	}
	return ""
}

func tooSmall(window int64) *Error {
	return newError(CodeWindowTooSmall, fmt.Sprintf(
		"the model's context window of %d tokens is too small for an agent, which needs %d. Use another model, raise max_input_tokens, or set ALLOW_SHORT_CONTEXT_WINDOWS=1",
		window, minWindow), nil)
}

// codeOf is the class of a refusal; the first rule that fits counts.
func codeOf(f *wire.Failure) string {
	text, kind := strings.ToLower(f.Message), strings.ToLower(f.Type)
	switch {
	case kind == "context_length_exceeded" || isContextError(text):
		return CodeContextWindow
	case isHistoryError(text):
		return CodeMalformedHistory
	case f.Status == http.StatusUnauthorized, f.Status == http.StatusForbidden, isAuthError(text):
		return CodeAuthentication
	case f.Status == http.StatusTooManyRequests:
		return CodeRateLimit
	case f.Status == http.StatusRequestTimeout, f.Status == http.StatusGatewayTimeout:
		return CodeTimeout
	case f.Status >= http.StatusInternalServerError, f.Status == 0:
		return CodeUnavailable
	case kind == "content_filter" || isPolicyError(text):
		return CodeContentPolicy
	}
	return CodeBadRequest
}

// isContextError knows how OpenHands' providers say that a prompt is too long,
// in lower case; behind the empty line, how LiteLLM's others do.
func isContextError(text string) bool {
	if strings.Contains(text, "string_above_max_length") {
		return false
	}
	return contains(text,
		"contextwindowexceedederror", "prompt is too long", "input length and `max_tokens` exceed context limit",
		"please reduce the length of", "exceeds the available context size", "context length exceeded",
		"input exceeds the context window", "context window exceeds limit",

		"exceed context limit", "maximum context length is", "model's maximum context limit",
		"is longer than the model's context length", "input tokens exceed the configured limit",
		"`inputs` tokens + `max_new_tokens` must be", "exceeds the maximum number of tokens allowed",
		"input is too long for requested model", "context_length_exceeded",
	)
}

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

		"api key not valid", // Google's, with status 400
	)
}

func isPolicyError(text string) bool {
	return contains(text,
		"content_policy", "content filtering policy", "output blocked by content filtering",

		"responsibleaipolicyviolation", "content_filter_policy", "content management policy",
		"rejected as a result of our safety system",
	)
}

// cacheTooSmall tells a refusal to cache so little, which another try without
// marks avoids.
func cacheTooSmall(err error) bool {
	var f *wire.Failure
	return errors.As(err, &f) && strings.Contains(strings.ToLower(f.Message), "minimum token count to start caching")
}

// hopeless tells a rate limit that no waiting lifts: the account is empty.
func hopeless(err error) bool {
	var f *wire.Failure
	return errors.As(err, &f) && f.Type == "insufficient_quota"
}

// Classify says what sort of failure an error event tells of, as OpenHands
// does: by its code where that is enough, else by its text.
func Classify(code, detail string) event.Classification {
	settings := func(kind string) event.Classification {
		return event.Classification{Kind: kind, UserAction: "settings"}
	}
	retry := func(kind string) event.Classification {
		return event.Classification{Kind: kind, Retryable: true, UserAction: "retry"}
	}
	switch code {
	case CodeAuthentication, "ACPAuthRequired":
		return settings("auth")
	case CodeRateLimit:
		return retry("rate_limit")
	case "MaxBudgetReached":
		return settings("quota")
	case CodeBadRequest, "ACPInitError", "ACPSpawnError", "ACPPromptError", "NotFoundError", "LibTmuxException":
		return settings("config")
	case CodeContextWindow, CodeMalformedHistory:
		return retry("agent_action")
	case "MaxIterationsReached", "ConversationOwnershipLostError":
		return event.Classification{Kind: "agent_action", UserAction: "none"}
	}
	text := strings.ToLower(detail)
	switch {
	case contains(text, "invalid api key", "incorrect api key", "authentication required", "invalid bearer token", "invalid proxy server token",
		"unauthorized", "error code: 401", `status": 401`, "token_not_found", "api key is missing"):
		return settings("auth")
	case contains(text, "weekly usage limit", "daily quota", "session usage limit", "insufficient balance", "more credits", "budget has been exceeded"):
		return settings("quota")
	case contains(text, "rate limit", "error code: 429", `status": 429`):
		return retry("rate_limit")
	case contains(text, "provider not provided", "no models loaded", "does not support thinking", "model is no longer available",
		"model not found", "invalid params", "inactive_service", "powershell is not available"):
		return settings("config")
	case contains(text, "timeout", "connection error", "connection closed", "service temporarily unavailable", "bad gateway", "cloudflare",
		"cannot connect", "name or service not known", "error code: 5"):
		return retry("transient")
	}
	switch code {
	case CodeUnavailable, CodeTimeout, CodeNoResponse, "MCPTimeoutError", "HTTPStatusError":
		return retry("transient")
	}
	return event.Classification{Kind: "unknown", UserAction: "none"}
}
