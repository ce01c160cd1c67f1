package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/responses"
	"github.com/ohgw/ohgw/daemon/run"
)

// The codes of failures that daemon/openai does not know.
const (
	codeContentEncoding  = "unsupported_content_encoding"
	codeConversationID   = "invalid_conversation_id"
	codeContextLength    = "context_length_exceeded"
	codeModelNotFound    = "model_not_found"
	codeNoConversation   = "conversation_not_found"
	codeNoItem           = "item_not_found"
	codeUnknownURL       = "unknown_url"
	codeMethod           = "method_not_allowed"
	codeMissingKey       = "missing_api_key"
	codeInvalidKey       = "invalid_api_key"
	codeForbiddenMetrics = "forbidden_metrics"
	codeForbiddenHost    = "forbidden_host"
	codeForbiddenOrigin  = "forbidden_origin"

	codeForbiddenWorkspace = "forbidden_workspace"
	codeForbiddenConfirm   = "forbidden_confirmation"
	codeNoWorkspace        = "workspace_not_found"
	codeWorkspaceMismatch  = "workspace_mismatch"

	codeTooLarge          = "request_too_large"
	codeTooSlow           = "request_timeout"
	codeQueueFull         = "rate_limit_exceeded"
	codeConversationBusy  = "conversation_busy"
	codeKeyConflict       = "idempotency_key_conflict"
	codeNoCondenser       = "condenser_unavailable"
	codeModelMismatch     = "model_mismatch"
	codeServerUnavailable = "agent_server_unavailable"
	codeServerError       = "agent_server_error"
	codeServerLost        = "agent_server_lost"
	codeAgentUnavailable  = "agent_unavailable"
	codeAgentError        = "agent_error"
	codeAgentLost         = "agent_lost"
	codeSandbox           = "sandbox_unavailable"
	codeNotReady          = "not_ready"
	codeRunError          = "run_error"
	codeRunStuck          = "run_stuck"
	codeRunTimeout        = "run_timeout"
	codeRunInterrupted    = "run_interrupted"
	codeLLM               = "llm_error"
	codeReaderTooSlow     = "client_too_slow"
	codeStorageFull       = "storage_full"
	codeStorage           = "storage_unavailable"
	codeInternal          = "internal_error"
	codeHeadersTooLarge   = "headers_too_large"
	codeMalformed         = "malformed_request"
	codeTooManyConns      = "too_many_connections"
)

// row is what a code means on the wire.
type row struct {
	status     int
	kind       string // the type in the envelope
	retryAfter int    // seconds; 0: no such header
	final      bool   // clients are told not to repeat
}

// rowOf is the table of failures: each code that the daemon can answer with.
// Clients repeat what is 408, 409, 429 or 5xx; where something may have been
// started they are told not to, and where they do it all the same daemon/run
// has the answer ready (docs/adr/0004, 0005).
func rowOf(code string) row {
	const (
		request = openai.TypeInvalidRequest
		server  = openai.TypeServer
		limit   = openai.TypeRateLimit
	)
	switch code {
	default: // everything that is wrong with the request itself
		return row{http.StatusBadRequest, request, 0, false}
	case codeMissingKey, codeInvalidKey:
		return row{http.StatusUnauthorized, request, 0, false}
	case codeForbiddenHost, codeForbiddenOrigin, codeForbiddenMetrics, codeForbiddenWorkspace, codeForbiddenConfirm, codeForbiddenGrant:
		return row{http.StatusForbidden, request, 0, false}
	case codeModelNotFound, codeUnknownURL, codeNoConversation, codeNoResponse, codeNoItem:
		return row{http.StatusNotFound, request, 0, false}
	case codeNoGrants:
		return row{http.StatusNotImplemented, request, 0, true}
	case codeMethod:
		return row{http.StatusMethodNotAllowed, request, 0, false}
	case codeTooSlow:
		return row{http.StatusRequestTimeout, request, 0, false}
	case codeTooLarge:
		return row{http.StatusRequestEntityTooLarge, request, 0, false}
	case codeKeyConflict, codeModelMismatch, codeNoCondenser, codeWorkspaceMismatch, codeResponseRunning:
		return row{http.StatusConflict, request, 0, true}
	case codeHeadersTooLarge:
		return row{http.StatusRequestHeaderFieldsTooLarge, request, 0, false}
	case codeTooManyConns:
		return row{http.StatusServiceUnavailable, server, 4, false}
	case codeQueueFull:
		return row{http.StatusTooManyRequests, limit, 4, false}
	case codeConversationBusy:
		return row{http.StatusTooManyRequests, limit, 4, false}
	case codeServerUnavailable, codeAgentUnavailable, codeNotReady:
		return row{http.StatusServiceUnavailable, server, 2, false}
	case codeServerError, codeServerLost, codeLLM, codeUnstructured:
		return row{http.StatusBadGateway, server, 0, true}
	case codeRunTimeout:
		return row{http.StatusGatewayTimeout, server, 0, true}
	case codeStorageFull, codeStorage:
		return row{http.StatusInsufficientStorage, server, 0, true}
	case codeRunError, codeRunStuck, codeRunInterrupted, codeReaderTooSlow, codeInternal, codeAgentError, codeAgentLost, codeSandbox:
		return row{http.StatusInternalServerError, server, 0, true}
	}
}

// hidden reports whether a code says that there is nothing of an id, or nothing that
// is open to the client.
func hidden(code string) bool {
	switch code {
	case codeNoConversation, codeNoResponse, codeNoItem, openai.CodePreviousNotFound:
		return true
	}
	return false
}

// problem is a failure as the client sees it.
type problem struct {
	wire  openai.Error
	row   row
	allow string // of a wrong method
	cause error  // for the log; nil where the code says it all
	// hides: what the client named may belong to another token. The time that the
	// answer takes does not tell.
	hides bool
}

// Error is the code and the cause, for the log: the message may quote the
// client.
func (p *problem) Error() string {
	if p.cause != nil {
		return p.wire.Code + ": " + p.cause.Error()
	}
	return p.wire.Code
}

// Unwrap returns the cause.
func (p *problem) Unwrap() error { return p.cause }

func newProblem(code, message string, cause error) *problem {
	r := rowOf(code)
	return &problem{wire: openai.Error{Message: message, Type: r.kind, Code: code}, row: r, cause: cause, hides: hidden(code)}
}

// about names the field, or the header, that the problem is in.
func (p *problem) about(param string) *problem {
	p.wire.Param = param
	return p
}

// explain is the problem that err is.
func explain(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if e, ok := errors.AsType[*openai.RequestError](err); ok {
		return newProblem(e.Code, e.Message, nil).about(e.Param)
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
		return newProblem(codeRunTimeout, "The run was stopped after "+limit+" s; the conversation keeps the work done so far.", nil)
	}
	for _, known := range [...]struct {
		err           error
		code, message string
	}{
		{run.ErrQueueFull, codeQueueFull, "Too many agents are running; try again in a few seconds, or start ohgw serve with a higher --max-runs."},
		{run.ErrConversationBusy, codeConversationBusy, "Too many requests are waiting for this conversation; try again in a few seconds."},
		{run.ErrKeyConflict, codeKeyConflict, "This Idempotency-Key was already used for a different request; choose a new one."},
		{run.ErrFloor, codeForbiddenConfirm, "This API key needs a confirmation mode (ohgw tokens create NAME --confirm MODE) that the agent cannot set; upgrade the agent-server, or use another key."},
		{run.ErrConfirmation, codeForbiddenConfirm, "This API key may not lower the confirmation mode of the conversation; use the token \"default\", or one created with ohgw tokens create NAME --workspace DIR."},
		{run.ErrDraining, codeNotReady, "ohgw is shutting down; try again in a moment."},
		{run.ErrStopped, codeRunInterrupted, "The request was cancelled before its run started."},
		{run.ErrInterrupted, codeRunInterrupted, "The run was interrupted when ohgw stopped; the conversation keeps the work done so far."},
		{run.ErrAbandoned, codeRunInterrupted, "The run was stopped because its client disconnected; the conversation keeps the work done so far. Use a new Idempotency-Key to run it again."},
		{run.ErrForm, codeUnstructured, "The answer of the agent is not in the JSON format that was asked for."},
		{run.ErrBehind, codeReaderTooSlow, "The client read the answer too slowly, so the rest was not sent. The conversation has the whole answer."},
		{run.ErrTrimmed, codeReaderTooSlow, "The answer is too long to be streamed again from its beginning. Send the request without \"stream\" to get its end; the conversation has all of it."},
		{agentapi.ErrUnavailable, codeServerUnavailable, "The agent-server cannot be reached; nothing was started."},
		{agentapi.ErrTooLong, codeContextLength, "The message does not fit into the model's context; nothing was started."},
		{agentapi.ErrSandbox, codeSandbox, "The sandbox of the agent cannot be set up; nothing was done outside of it."},
		{agentapi.ErrUnauthorized, codeServerError, "The agent-server rejected ohgw's key; nothing was started."},
		{agentapi.ErrRefused, codeServerError, "The agent-server refused the request; nothing was started."},
		{agentapi.ErrUncertain, codeServerError, "The agent-server did not confirm the request; check the conversation before you send the request again."},
		{agentapi.ErrLost, codeServerLost, "The connection to the agent-server was lost during the run; the conversation keeps the work done so far."},
		{agentapi.ErrBusy, codeConversationBusy, "The conversation is running a request of another client; wait until that is done."},
		{agentapi.ErrUnsupported, codeModelMismatch, "The agent-server cannot change the model of a conversation; use the model that the conversation was started with."},
		{agentapi.ErrProfileNotFound, codeModelNotFound, "The LLM profile of this model no longer exists; GET /v1/models lists the models."},
		{agentapi.ErrConversationNotFound, codeNoConversation, "The conversation no longer exists."},
	} {
		if errors.Is(err, known.err) {
			return newProblem(codeOf(known.code, err), agentapi.PublicMessage(err, known.message), err)
		}
	}
	return newProblem(codeInternal, "Internal error in ohgw; its log has the cause.", err)
}

// codeOf is a code of the table, or where the agent that failed is in this
// process, the code that names no server.
func codeOf(code string, err error) string {
	if e, ok := errors.AsType[*agentapi.Error](err); !ok || !e.InProcess {
		return code
	}
	switch code {
	case codeServerUnavailable:
		return codeAgentUnavailable
	case codeServerError:
		return codeAgentError
	case codeServerLost:
		return codeAgentLost
	}
	return code
}

// writeProblem writes the envelope with the status and headers of its row.
func (x *exchange) writeProblem(p *problem) error {
	x.seen.code = p.wire.Code
	h := x.Header()
	switch p.row.status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	case http.StatusMethodNotAllowed:
		h.Set("Allow", p.allow)
	case http.StatusRequestTimeout, http.StatusRequestEntityTooLarge:
		h.Set("Connection", "close") // the rest of the body is not wanted
	}
	if p.row.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.row.retryAfter))
	}
	if p.row.final {
		h.Set("X-Should-Retry", "false")
	}
	x.note(slog.String("code", p.wire.Code))
	return x.writeJSON(p.row.status, append(p.wire.AppendEnvelope(nil), '\n'))
}

func unknownURL(x *exchange, r *http.Request) error {
	path := r.URL.Path
	if x.versioned { // as the client wrote it
		path = "/v1" + path
	}
	return newProblem(codeUnknownURL, fmt.Sprintf("Unknown request URL: %s %s.", r.Method, logPath(path)), nil)
}

// wrongMethod answers for a path that exists.
func wrongMethod(methods []string) handler {
	return func(x *exchange, r *http.Request) error {
		if strings.HasPrefix(r.URL.Path, "/responses/") && !strings.HasPrefix(r.PathValue("id"), responses.Prefix) {
			return unknownURL(x, r) // such as OpenAI's /responses/compact, which is no response
		}
		p := newProblem(codeMethod, fmt.Sprintf("%s is not allowed here; use %s.", r.Method, strings.Join(methods, " or ")), nil)
		p.allow = strings.Join(methods, ", ")
		return p
	}
}

// codeIs reports whether err is a problem with a code.
func codeIs(err error, code string) bool {
	p, ok := errors.AsType[*problem](err)
	return ok && p.wire.Code == code
}
