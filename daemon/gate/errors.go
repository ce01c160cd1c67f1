package gate

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/clientitems"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/daemon/run/ledger"
)

// The codes of failures that daemon/openai does not know.
const (
	codeContentEncoding  = "unsupported_content_encoding"
	CodeConversationID   = "invalid_conversation_id"
	CodeContextLength    = "context_length_exceeded"
	CodeModelNotFound    = "model_not_found"
	CodeNoConversation   = "conversation_not_found"
	CodeNoItem           = "item_not_found"
	codeUnknownURL       = "unknown_url"
	codeMethod           = "method_not_allowed"
	codeMissingKey       = "missing_api_key"
	codeInvalidKey       = "invalid_api_key"
	codeForbiddenMetrics = "forbidden_metrics"
	codeForbiddenHost    = "forbidden_host"
	codeForbiddenOrigin  = "forbidden_origin"

	codeForbiddenWorkspace = "forbidden_workspace"
	CodeForbiddenConfirm   = "forbidden_confirmation"
	codeNoWorkspace        = "workspace_not_found"
	codeWorkspaceMismatch  = "workspace_mismatch"

	codeTooLarge          = "request_too_large"
	codeTooSlow           = "request_timeout"
	CodeQueueFull         = "rate_limit_exceeded"
	CodeQuota             = "insufficient_quota"
	codeConversationBusy  = "conversation_busy"
	CodeKeyConflict       = "idempotency_key_conflict"
	CodeNoCondenser       = "condenser_unavailable"
	CodeModelMismatch     = "model_mismatch"
	CodeServerUnavailable = "agent_server_unavailable"
	CodeServerError       = "agent_server_error"
	CodeServerLost        = "agent_server_lost"
	CodeAgentUnavailable  = "agent_unavailable"
	codeAgentError        = "agent_error"
	CodeAgentLost         = "agent_lost"
	CodeSandbox           = "sandbox_unavailable"
	CodeNotReady          = "not_ready"
	CodeRunError          = "run_error"
	CodeRunStuck          = "run_stuck"
	CodeRunTimeout        = "run_timeout"
	CodeRunInterrupted    = "run_interrupted"
	CodeLLM               = "llm_error"
	CodeReaderTooSlow     = "client_too_slow"
	codeStorageFull       = "storage_full"
	codeStorage           = "storage_unavailable"
	CodeInternal          = "internal_error"
	codeHeadersTooLarge   = "headers_too_large"
	codeMalformed         = "malformed_request"
	codeTooManyConns      = "too_many_connections"
	CodeResponseRunning   = "response_in_progress"
	CodeNoResponse        = "response_not_found"
	CodeNoGrants          = "sandbox_grants_unsupported"
	CodeForbiddenGrant    = "forbidden_sandbox_grant"
	CodeUnstructured      = "invalid_structured_output"
)

// Row is what a code means on the wire.
type Row struct {
	Status     int
	Kind       string // the type in the envelope
	RetryAfter int    // seconds; 0: no such header
	Final      bool   // clients are told not to repeat
}

// RowOf returns the row of a code in the table of failures, which has each code that
// the daemon can answer with. Clients repeat what is 408, 409, 429 or 5xx; where
// something may have been started they are told not to, and where they do it all the
// same daemon/run has the answer ready (docs/adr/0004, 0005).
func RowOf(code string) Row {
	const (
		request = openai.TypeInvalidRequest
		server  = openai.TypeServer
		limit   = openai.TypeRateLimit
	)
	switch code {
	default: // everything that is wrong with the request itself
		return Row{http.StatusBadRequest, request, 0, false}
	case codeMissingKey, codeInvalidKey:
		return Row{http.StatusUnauthorized, request, 0, false}
	case codeForbiddenHost, codeForbiddenOrigin, codeForbiddenMetrics, codeForbiddenWorkspace, CodeForbiddenConfirm, CodeForbiddenGrant:
		return Row{http.StatusForbidden, request, 0, false}
	case CodeModelNotFound, codeUnknownURL, CodeNoConversation, CodeNoResponse, CodeNoItem:
		return Row{http.StatusNotFound, request, 0, false}
	case CodeNoGrants:
		return Row{http.StatusNotImplemented, request, 0, true}
	case codeMethod:
		return Row{http.StatusMethodNotAllowed, request, 0, false}
	case codeTooSlow:
		return Row{http.StatusRequestTimeout, request, 0, false}
	case codeTooLarge:
		return Row{http.StatusRequestEntityTooLarge, request, 0, false}
	case CodeKeyConflict, CodeModelMismatch, CodeNoCondenser, codeWorkspaceMismatch, CodeResponseRunning:
		return Row{http.StatusConflict, request, 0, true}
	case codeHeadersTooLarge:
		return Row{http.StatusRequestHeaderFieldsTooLarge, request, 0, false}
	case codeTooManyConns:
		return Row{http.StatusServiceUnavailable, server, 4, false}
	case CodeQueueFull:
		return Row{http.StatusTooManyRequests, limit, 4, false}
	case codeConversationBusy:
		return Row{http.StatusTooManyRequests, limit, 4, false}
	case CodeQuota: // as OpenAI's; with the time of the renewal as Retry-After
		return Row{http.StatusTooManyRequests, CodeQuota, 0, true}
	case CodeServerUnavailable, CodeAgentUnavailable, CodeNotReady:
		return Row{http.StatusServiceUnavailable, server, 2, false}
	case CodeServerError, CodeServerLost, CodeLLM, CodeUnstructured:
		return Row{http.StatusBadGateway, server, 0, true}
	case CodeRunTimeout:
		return Row{http.StatusGatewayTimeout, server, 0, true}
	case codeStorageFull, codeStorage:
		return Row{http.StatusInsufficientStorage, server, 0, true}
	case CodeRunError, CodeRunStuck, CodeRunInterrupted, CodeReaderTooSlow, CodeInternal, codeAgentError, CodeAgentLost, CodeSandbox:
		return Row{http.StatusInternalServerError, server, 0, true}
	}
}

// hidden reports whether a code says that there is nothing of an id, or nothing that
// is open to the client.
func hidden(code string) bool {
	switch code {
	case CodeNoConversation, CodeNoResponse, CodeNoItem, openai.CodePreviousNotFound:
		return true
	}
	return false
}

// Problem is a failure as the client sees it.
type Problem struct {
	Wire  openai.Error
	Row   Row
	Allow string // of a wrong method
	Cause error  // for the log; nil where the code says it all
	// Hides: what the client named may belong to another token. The time that the
	// answer takes does not tell.
	Hides bool
}

// Error is the code and the cause, for the log: the message may quote the
// client.
func (p *Problem) Error() string {
	if p.Cause != nil {
		return p.Wire.Code + ": " + p.Cause.Error()
	}
	return p.Wire.Code
}

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Cause }

// NewProblem returns the failure that a code of the table means. The message is for the
// client, the cause for the log; nil where the code says it all.
func NewProblem(code, message string, cause error) *Problem {
	r := RowOf(code)
	return &Problem{Wire: openai.Error{Message: message, Type: r.Kind, Code: code}, Row: r, Cause: cause, Hides: hidden(code)}
}

// About names the field, or the header, that the problem is in.
func (p *Problem) About(param string) *Problem {
	p.Wire.Param = param
	return p
}

// databaseAway is what clients are told where what gateways share does not answer.
const databaseAway = "The database that the gateways share does not answer, so nothing was started; try again in a moment."

// Explain turns err into a problem. An error that it does not know becomes an internal
// one, whose cause is for the log.
func Explain(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if e, ok := errors.AsType[*openai.RequestError](err); ok {
		return NewProblem(e.Code, e.Message, nil).About(e.Param)
	}
	if e, ok := errors.AsType[*run.WorkspaceError](err); ok {
		return mismatch(e)
	}
	if p := itemsProblem(err); p != nil {
		return p
	}
	if p := storageProblem(err); p != nil {
		return p
	}
	if e, ok := errors.AsType[*run.TimeoutError](err); ok {
		limit := strconv.FormatFloat(e.After.Seconds(), 'f', -1, 64)
		return NewProblem(CodeRunTimeout, "The run was stopped after "+limit+" s; the conversation keeps the work done so far.", nil)
	}
	for _, known := range [...]struct {
		err           error
		code, message string
	}{
		{run.ErrQueueFull, CodeQueueFull, "Too many agents are running; try again in a few seconds, or start ohgw serve with a higher --max-runs."},
		{run.ErrConversationBusy, codeConversationBusy, "Too many requests are waiting for this conversation; try again in a few seconds."},
		{run.ErrKeyConflict, CodeKeyConflict, "This Idempotency-Key was already used for a different request; choose a new one."},
		{run.ErrFloor, CodeForbiddenConfirm, "This API key needs a confirmation mode (ohgw tokens create NAME --confirm MODE) that the agent cannot set; upgrade the agent-server, or use another key."},
		{run.ErrConfirmation, CodeForbiddenConfirm, "This API key may not lower the confirmation mode of the conversation; use the token \"default\", or one created with ohgw tokens create NAME --workspace DIR."},
		{run.ErrDraining, CodeNotReady, "ohgw is shutting down; try again in a moment."},
		{run.ErrReleased, CodeNotReady, "This ohgw is shutting down; another one continues the request. Send the same request again to get its answer."},
		{run.ErrTakenOver, CodeNotReady, "Another ohgw has taken the request over. Send the same request again to get its answer."},
		{run.ErrLedger, CodeNotReady, databaseAway},
		{ledger.ErrAway, CodeNotReady, databaseAway},
		{run.ErrStopped, CodeRunInterrupted, "The request was cancelled before its run started."},
		{run.ErrInterrupted, CodeRunInterrupted, "The run was interrupted when ohgw stopped; the conversation keeps the work done so far."},
		{run.ErrAbandoned, CodeRunInterrupted, "The run was stopped because its client disconnected; the conversation keeps the work done so far. Use a new Idempotency-Key to run it again."},
		{run.ErrForm, CodeUnstructured, "The answer of the agent is not in the JSON format that was asked for."},
		{run.ErrBehind, CodeReaderTooSlow, "The client read the answer too slowly, so the rest was not sent. The conversation has the whole answer."},
		{run.ErrTrimmed, CodeReaderTooSlow, "The answer is too long to be streamed again from its beginning. Send the request without \"stream\" to get its end; the conversation has all of it."},
		{agentapi.ErrUnavailable, CodeServerUnavailable, "The agent-server cannot be reached; nothing was started."},
		{agentapi.ErrTooLong, CodeContextLength, "The message does not fit into the model's context; nothing was started."},
		{agentapi.ErrSandbox, CodeSandbox, "The sandbox of the agent cannot be set up; nothing was done outside of it."},
		{agentapi.ErrUnauthorized, CodeServerError, "The agent-server rejected ohgw's key; nothing was started."},
		{agentapi.ErrRefused, CodeServerError, "The agent-server refused the request; nothing was started."},
		{agentapi.ErrUncertain, CodeServerError, "The agent-server did not confirm the request; check the conversation before you send the request again."},
		{agentapi.ErrLost, CodeServerLost, "The connection to the agent-server was lost during the run; the conversation keeps the work done so far."},
		{agentapi.ErrBusy, codeConversationBusy, "The conversation is running a request of another client; wait until that is done."},
		{agentapi.ErrUnsupported, CodeModelMismatch, "The agent-server cannot change the model of a conversation; use the model that the conversation was started with."},
		{agentapi.ErrProfileNotFound, CodeModelNotFound, "The LLM profile of this model no longer exists; GET /v1/models lists the models."},
		{agentapi.ErrConversationNotFound, CodeNoConversation, "The conversation no longer exists."},
	} {
		if errors.Is(err, known.err) {
			return NewProblem(CodeOf(known.code, err), agentapi.PublicMessage(err, known.message), err)
		}
	}
	return NewProblem(CodeInternal, "Internal error in ohgw; its log has the cause.", err)
}

// CodeOf is a code of the table, or where the agent that failed is in this
// process, the code that names no server.
func CodeOf(code string, err error) string {
	if e, ok := errors.AsType[*agentapi.Error](err); !ok || !e.InProcess {
		return code
	}
	switch code {
	case CodeServerUnavailable:
		return CodeAgentUnavailable
	case CodeServerError:
		return codeAgentError
	case CodeServerLost:
		return CodeAgentLost
	}
	return code
}

// WriteProblem writes the envelope with the status and headers of its row.
func (x *Exchange) WriteProblem(p *Problem) error {
	x.Seen.Code = p.Wire.Code
	h := x.Header()
	switch p.Row.Status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	case http.StatusMethodNotAllowed:
		h.Set("Allow", p.Allow)
	case http.StatusRequestTimeout, http.StatusRequestEntityTooLarge:
		h.Set("Connection", "close") // the rest of the body is not wanted
	}
	switch {
	case errors.Is(p.Cause, run.ErrReleased), errors.Is(p.Cause, run.ErrTakenOver): // the load balancer has another gateway
		h.Set("Retry-After", "0")
		h.Set("X-Should-Retry", "true")
	case p.Row.RetryAfter > 0:
		h.Set("Retry-After", strconv.Itoa(p.Row.RetryAfter))
	}
	if p.Row.Final {
		h.Set("X-Should-Retry", "false")
	}
	x.Note(slog.String("code", p.Wire.Code))
	return x.WriteJSON(p.Row.Status, append(p.Wire.AppendEnvelope(nil), '\n'))
}

// UnknownURL answers requests to paths that there are not.
func UnknownURL(x *Exchange, r *http.Request) error {
	path := r.URL.Path
	if x.versioned { // as the client wrote it
		path = "/v1" + path
	}
	return NewProblem(codeUnknownURL, fmt.Sprintf("Unknown request URL: %s %s.", r.Method, LogPath(path)), nil)
}

// WrongMethod answers for a path that exists.
func WrongMethod(methods []string) Handler {
	return func(x *Exchange, r *http.Request) error {
		if strings.HasPrefix(r.URL.Path, "/responses/") && !strings.HasPrefix(r.PathValue("id"), openai.ResponsePrefix) {
			return UnknownURL(x, r) // such as OpenAI's /responses/compact, which names no response
		}
		p := NewProblem(codeMethod, fmt.Sprintf("%s is not allowed here; use %s.", r.Method, strings.Join(methods, " or ")), nil)
		p.Allow = strings.Join(methods, ", ")
		return p
	}
}

// CodeIs reports whether err is a problem with a code.
func CodeIs(err error, code string) bool {
	p, ok := errors.AsType[*Problem](err)
	return ok && p.Wire.Code == code
}

// itemsProblem is the problem of what clients added to a conversation; nil: err is
// about something else.
func itemsProblem(err error) *Problem {
	switch {
	case errors.Is(err, clientitems.ErrNewer):
		return NewProblem(CodeInternal, "The items that clients added to this conversation were stored by a newer ohgw; upgrade ohgw to read them.", err)
	case errors.Is(err, clientitems.ErrDamaged):
		return NewProblem(CodeInternal, "The file of the items that clients added to this conversation is damaged. Restore the directory client-items from a backup, or delete the conversation.", err)
	case errors.Is(err, clientitems.ErrFull):
		return NewProblem(openai.CodeArrayTooLong, fmt.Sprintf("Clients have added %d items, or 16 MiB, to this conversation; delete some, or create a new conversation.", clientitems.MaxItems), err).About("items")
	}
	return nil
}
