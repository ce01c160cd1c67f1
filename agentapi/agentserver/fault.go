package agentserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/internal/truncate"
)

// fault says what a failed call means for the caller: ctx's own error, or an
// *agentapi.Error. what is the thing that was asked for, for a person.
func (b *Backend) fault(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	if _, done := errors.AsType[*agentapi.Error](err); done {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e, ok := errors.AsType[*answerError](err)
	switch {
	case errors.Is(err, errGarbled):
		return b.stranger(err)
	case !ok:
		return b.unreachable(err)
	}
	switch {
	case e.status == http.StatusUnauthorized, e.status == http.StatusForbidden:
		return b.unauthorized(err)
	case e.status == http.StatusConflict && strings.Contains(e.text, "already running"):
		return &agentapi.Error{
			Kind: agentapi.ErrBusy, Err: err,
			Msg: fmt.Sprintf("The agent-server is busy and cannot %s now%s. Try again later.", what, because(e)),
		}
	case e.status == http.StatusTooManyRequests, e.status == http.StatusServiceUnavailable,
		!e.native && (e.status == http.StatusBadGateway || e.status == http.StatusGatewayTimeout):
		return &agentapi.Error{
			Kind: agentapi.ErrUnavailable, Err: err,
			Msg: fmt.Sprintf("The agent-server at %s is not ready to %s%s. Try again in a moment.", b.address, what, because(e)),
		}
	case !e.native:
		return b.stranger(err)
	case e.status >= http.StatusInternalServerError:
		return &agentapi.Error{
			Kind: agentapi.ErrRefused, Err: err,
			Msg: fmt.Sprintf("The agent-server could not %s%s. %s", what, because(e), b.known().remarks()),
		}
	default:
		return &agentapi.Error{
			Kind: agentapi.ErrRefused, Err: err,
			Msg: fmt.Sprintf("The agent-server refused to %s%s. %s", what, because(e), b.known().remarks()),
		}
	}
}

// known is what the server last said about itself; zero if it was not asked yet.
func (b *Backend) known() serverInfo {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.server
}

func (b *Backend) unreachable(err error) error {
	msg := "The agent-server at %s does not answer. Start it, or check its address."
	if timedOut(err) {
		msg = "The agent-server at %s did not answer in time. It may be overloaded or stopped; check it and try again."
	}
	return &agentapi.Error{Kind: agentapi.ErrUnavailable, Msg: fmt.Sprintf(msg, b.address), Err: err}
}

// stranger returns the error for answers that no agent-server gives.
func (b *Backend) stranger(err error) error {
	return &agentapi.Error{
		Kind: agentapi.ErrRefused, Err: err,
		Msg: fmt.Sprintf("What answers at %s is not an OpenHands agent-server. Check the address.", b.address),
	}
}

func timedOut(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return errors.Is(err, context.DeadlineExceeded) || (ok && timeout.Timeout())
}

func (b *Backend) unauthorized(err error) error {
	msg := "The agent-server rejected ohgw's key. Set OHGW_AGENT_SERVER_KEY to one of its session keys."
	if b.client.key() == "" {
		msg = "The agent-server requires a key. Set OHGW_AGENT_SERVER_KEY to one of its session keys."
	}
	return &agentapi.Error{Kind: agentapi.ErrUnauthorized, Msg: msg, Err: err}
}

func profileNotFound(name string, err error) error {
	return &agentapi.Error{
		Kind: agentapi.ErrProfileNotFound, Err: err,
		Msg: fmt.Sprintf("The agent-server has no LLM profile %q. GET /v1/models lists its profiles.", name),
	}
}

func conversationNotFound(id string, err error) error {
	return &agentapi.Error{
		Kind: agentapi.ErrConversationNotFound, Err: err,
		Msg: fmt.Sprintf("The agent-server has no conversation %s.", id),
	}
}

func unsupported(msg string) error {
	return &agentapi.Error{Kind: agentapi.ErrUnsupported, Msg: msg}
}

// maxReason is the longest explanation, in bytes, that is handed on.
const maxReason = 300

// because is what the server itself says, as the end of a sentence.
func because(e *answerError) string {
	reason := strings.Join(strings.Fields(strings.ToValidUTF8(e.text, "")), " ")
	reason = strings.TrimRight(reason, ".")
	if reason == "" {
		return ""
	}
	return " (" + truncate.Bytes(reason, maxReason, "…") + ")"
}
