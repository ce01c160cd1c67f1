package oauth

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/ohgw/ohgw/internal/netcause"
	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/truncate"
)

// Error is why a login failed, in words that name no secret and quote no server.
type Error struct {
	text string
	err  error
}

func failed(doing, why string) *Error { return &Error{text: "cannot " + doing + ": " + why} }

func (e *Error) Error() string { return e.text }

// Unwrap returns the cause, where it means something.
func (e *Error) Unwrap() error { return e.err }

// NeededError says that a person has to log in.
type NeededError struct {
	Scope bool // there is a login, which may do too little
}

// Error says what is the matter.
func (e *NeededError) Error() string {
	if e.Scope {
		return "its login may not do this; log in again"
	}
	return "there is no login to it, or the login has expired"
}

// Needed reports whether an error says that a person has to log in.
func Needed(err error) bool {
	_, is := errors.AsType[*NeededError](err)
	return is
}

// RefusedError says that the authorization server sent the browser back with an error.
type RefusedError struct{ Code string }

// Error says what is the matter.
func (e *RefusedError) Error() string {
	switch {
	case e.Code == "access_denied":
		return "the login was refused: access_denied"
	case isCode().MatchString(e.Code):
		return "the authorization server refused the login: " + e.Code
	}
	return "the authorization server refused the login"
}

// isCode is an error code of OAuth. Anything else is the text of a server.
var isCode = pattern.Of(`^[a-z_]{1,40}$`)

// Unfinished returns an error of [Browser.Visit] that users see as it is.
func Unfinished(err error) error { return &Error{err.Error(), err} }

// told returns an error of the SDK without any text that a server has written.
func told(doing string, err error) error {
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return &Error{refused.Error(), refused}
	}
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return retrieval(doing, refused)
	}
	if refused, ok := errors.AsType[*oauthex.ClientRegistrationError](err); ok {
		return failed(doing, "it does not register ohgw as a client"+codeOf(refused.ErrorCode)+"; set authentication.client_id")
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return failed(doing, "it does not answer")
	}
	text := netcause.Of(err).Error()
	for prefix, why := range map[string]string{
		"failed to register client": "it does not register ohgw as a client; set authentication.client_id",
		"token exchange failed":     "its answer cannot be read", "oauth2:": "its answer cannot be read",
	} {
		if strings.HasPrefix(text, prefix) { // what follows can be what the server wrote
			return failed(doing, why)
		}
	}
	return failed(doing, truncate.Bytes(strings.ToValidUTF8(text, ""), maxCause, "…"))
}

// maxCause is how much of an error of the SDK is told, in bytes.
const maxCause = 300

func codeOf(code string) string {
	if isCode().MatchString(code) {
		return " (" + code + ")"
	}
	return ""
}

// retrieval returns the error for a refusal of the token endpoint: its status and its
// code, not its text.
func retrieval(doing string, err *oauth2.RetrieveError) error {
	status := 0
	if err.Response != nil {
		status = err.Response.StatusCode
	}
	return failed(doing, fmt.Sprintf("it answered %d %s%s", status, http.StatusText(status), codeOf(err.ErrorCode)))
}

// over reports whether a refresh token is not accepted any more.
func over(err error) bool {
	refused, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		return false
	}
	switch refused.ErrorCode {
	case "invalid_grant", "invalid_client", "unauthorized_client":
		return true
	}
	return false
}

// errStored returns the error for a failure of the store, which names no secret.
func errStored(err error) error {
	return &Error{"the stored login cannot be used: " + err.Error(), err}
}
