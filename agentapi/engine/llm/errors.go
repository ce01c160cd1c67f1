package llm

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/llm/textcall"
	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/netproxy"
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
	CodeNotFound         = "NotFoundError"
	CodeNoResponse       = "LLMNoResponseError"
	CodeWindowTooSmall   = "LLMContextWindowTooSmallError"
	CodeCallValidation   = "FunctionCallValidationError"
)

// errTimeout is a provider that said nothing for too long.
var errTimeout = errors.New("the provider sent no data for too long")

// errTooSlow is an answer that was not complete in time.
var errTooSlow = errors.New("the answer took longer than the profile's timeout allows")

// errNoAnswer is an answer without an answer in it.
var errNoAnswer = errors.New("the provider sent no answer")

// errFiltered is an answer that the provider held back.
var errFiltered = errors.New("the provider's content filter blocked the answer")

// errFull is an answer that the end of the context window left no room for.
var errFull = errors.New("the conversation fills the model's context window")

// errPage is a web page in place of an answer.
var errPage = errors.New("the server sent a web page instead of an answer")

// errGaveUp is a provider that stopped before it had said anything.
var errGaveUp = errors.New("the provider stopped before the answer was complete")

// transient reports whether another try may help.
func (e *Error) transient() bool {
	switch e.Code {
	case CodeRateLimit, CodeTimeout, CodeUnavailable, CodeNoResponse:
		return true
	}
	return false
}

// errorOf makes the Error of what went wrong with one request of the profile
// with that name. safe takes keys out of a text.
func errorOf(err error, profile string, safe func(string) string) *Error {
	code, status := CodeUnavailable, 0
	refusal, refused := errors.AsType[*wire.Failure](err)
	proxy, byProxy := errors.AsType[*netproxy.RefusedError](err)
	_, broken := errors.AsType[*textcall.Error](err)
	switch {
	case refused:
		code, status = codeOf(refusal), refusal.Status
	case byProxy:
		if proxy.Status < http.StatusInternalServerError {
			code = CodeBadRequest // no other try changes its mind
		}
	case broken:
		code = CodeCallValidation
	case errors.Is(err, errTimeout), errors.Is(err, errTooSlow):
		code = CodeTimeout
	case errors.Is(err, errNoAnswer):
		code = CodeNoResponse
	case errors.Is(err, errFiltered):
		code = CodeContentPolicy
	case errors.Is(err, errFull):
		code = CodeContextWindow
	case errors.Is(err, wire.ErrTooLong), errors.Is(err, errPage), errors.Is(err, errEncoding):
		code = CodeBadRequest
	}
	detail := safe(err.Error())
	// The cause keeps the text only: what it is made of may hold a key.
	failed := newError(code, detail, errors.New(detail))
	failed.Status = status
	failed.budget = isBudget(err)
	if isEmptyAccount(err) {
		failed.Classification = event.Classification{Kind: "quota", UserAction: "settings"}
	}
	next := advice(failed, err, profile)
	if profile == "" {
		next = ownAdvice(failed, err, next)
	}
	if next != "" {
		failed.Detail = strings.TrimRight(detail, ". ") + ". " + next
	}
	return failed
}

func newError(code, detail string, cause error) *Error {
	return &Error{Code: code, Detail: detail, Classification: Classify(code, detail), Err: cause}
}

// isPage reports whether a page came in place of an answer.
func isPage(err error) bool {
	refusal, refused := errors.AsType[*wire.Failure](err)
	return errors.Is(err, errPage) || refused && refusal.Page
}

// advice returns the next step where there is one for the user.
func advice(failed *Error, err error, profile string) string {
	show := "ohgw profiles show " + profile
	proxy, byProxy := errors.AsType[*netproxy.RefusedError](err)
	gone, isGone := errors.AsType[*absentError](err)
	page := isPage(err)
	switch {
	case isGone:
		return gone.repair(profile)
	case byProxy && proxy.Status != http.StatusProxyAuthRequired:
		return "Ask the proxy's administrator to allow the host, or name the host in NO_PROXY."
	case failed.Classification.Kind == "quota":
		return "Add credit to the account at the provider, or store the key of another account: ohgw keys set " + profile + " --replace."
	case failed.Status == http.StatusProxyAuthRequired, byProxy:
		return "Set the proxy's user and password in HTTPS_PROXY as http://USER:PASSWORD@HOST:PORT, or name the host in NO_PROXY."
	case page, failed.Status == http.StatusMethodNotAllowed, failed.Status/100 == 3:
		return "Check the base URL (" + show + ") and the proxy (HTTPS_PROXY, NO_PROXY)."
	}
	switch failed.Code {
	case CodeAuthentication:
		return "Check the profile's key, and that it belongs to this provider: ohgw profiles check --live " + profile + "; to store another key: ohgw keys set " + profile + " --replace."
	case CodeRateLimit:
		return "Wait and send the message again, raise the provider's limit, or use another profile: ohgw profiles use NAME."
	case CodeTimeout, CodeUnavailable, CodeNoResponse:
		return "Try again, or check the profile's base URL: " + show + "."
	case CodeNotFound:
		return "Check the profile's model and base URL: " + show + "; ohgw profiles add " + profile + " --replace changes them."
	case CodeContextWindow:
		return "Start a new conversation, or use a model with a larger context window."
	case CodeBadRequest:
		return "Check the profile's model and options: " + show + "."
	}
	return ""
}

func tooSmall(window int64) *Error {
	return newError(CodeWindowTooSmall, fmt.Sprintf(
		"the model's context window of %d tokens is too small for an agent, which needs %d. Use another model, raise max_input_tokens, or set ALLOW_SHORT_CONTEXT_WINDOWS=1",
		window, minWindow), nil)
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
