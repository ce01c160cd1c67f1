package accounts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/servers"
)

// failure is one kind of failure for people. In its texts, NAME is the server and HOST
// its host.
type failure struct {
	kind      error
	msg, hint string
	code      fault.Code
}

// failures lists the kinds of failure, the narrow ones first.
func failures() []failure {
	return []failure{
		{account.ErrUncertain, "the server HOST did not confirm the request, which may have been carried out", "check before you repeat it: ohgw conversations list --server NAME", fault.Unreachable},
		{account.ErrUnauthorized, "the server HOST rejected the key", "log in again: ohgw login NAME; or check the key: ohgw server test NAME", fault.Credential},
		{account.ErrForbidden, "the server HOST does not allow it", "check the account in its web app: confirm the e-mail address, or use another key", fault.Credential},
		{account.ErrArchived, "the conversation is archived: its sandbox and its files were deleted", "read what was said: ohgw cloud trajectory ID; or start a new one: ohgw cloud new", fault.Failed},
		{account.ErrAsleep, "the conversation is asleep", "wake it: ohgw cloud wake ID --wait", fault.Failed},
		{account.ErrRateLimited, "too many requests to the server HOST", "try again LATER", fault.Unreachable},
		{account.ErrWrongEndpoint, "HOST does not answer as an OpenHands server", "check its URL: ohgw server test NAME", fault.Unreachable},
		{account.ErrNotFound, "there is no such conversation", "ohgw conversations list --server NAME shows the ids", fault.Failed},
		{account.ErrStart, "the conversation did not start", "try again; ohgw server test NAME checks the server", fault.Failed},
		{account.ErrUpstream, "the server HOST does not answer as it should", "check it: ohgw server test NAME", fault.Unreachable},
		{account.ErrRefused, "the server HOST refused the request", "correct the request", fault.Failed},
	}
}

// Fault explains a failure of an account to a person, with the next step.
func Fault(err error, server servers.Server) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	if many, ok := errors.AsType[*account.AmbiguousError](err); ok {
		return ambiguous(many)
	}
	later := "in a minute"
	if e, ok := errors.AsType[*transport.Error](err); ok && e.RetryAfter > 0 {
		later = "in " + e.RetryAfter.Round(time.Second).String()
	}
	fill := strings.NewReplacer("NAME", server.Name, "HOST", server.Host(), "LATER", later)
	for _, f := range failures() {
		if errors.Is(err, f.kind) {
			return &fault.Error{Msg: fill.Replace(f.msg), Hint: fill.Replace(f.hint), Code: f.code, Err: err}
		}
	}
	return fault.New("the server "+server.Host()+" cannot be used", "run the command again with --debug to see the cause", err)
}

// ambiguous lists the conversations that an id may mean.
func ambiguous(err *account.AmbiguousError) error {
	var ids []string
	for _, c := range err.Candidates {
		ids = append(ids, c.ID)
	}
	return fault.NewUsage(fmt.Sprintf("several conversations have an id that begins with %q: %s", err.Prefix, strings.Join(ids, ", ")), "type more of the id")
}
