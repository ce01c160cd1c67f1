package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	"github.com/ohgw/ohgw/internal/redact"
)

// fault says what a failed call to the account means for the caller: ctx's own
// error, or an *agentapi.Error. what is the thing that was asked for, for a person.
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
	for _, f := range []func(string, error) error{b.noAccess, b.notNow, b.no} {
		if found := f(what, err); found != nil {
			return found
		}
	}
	return b.unreachable(err)
}

// noAccess returns the error of a key that the account refuses, wholly or for this
// call; nil for other errors.
func (b *Backend) noAccess(what string, err error) error {
	switch {
	case errors.Is(err, account.ErrUnauthorized):
		return &agentapi.Error{Kind: agentapi.ErrUnauthorized, Err: err, Msg: b.account.URL() + " rejected the key of ohgw. Get a new one with ohgw login."}
	case errors.Is(err, account.ErrForbidden):
		return refused(fmt.Sprintf("%s does not let this key %s%s. Confirm the account's e-mail address, or use another key.", b.account.URL(), what, because(said(err))), err)
	case said(err).Status == http.StatusPaymentRequired:
		return refused(fmt.Sprintf("The account at %s has no credits left%s. Add some in its settings, under billing.", b.account.URL(), because(said(err))), err)
	}
	return nil
}

// notNow returns the error of a call that may work later, or may have worked; nil for
// other errors.
func (b *Backend) notNow(what string, err error) error {
	switch {
	case errors.Is(err, account.ErrUncertain):
		return &agentapi.Error{Kind: agentapi.ErrUncertain, Err: err, Msg: fmt.Sprintf("The connection to %s broke, and it is not known whether it was able to %s. Look at its conversations before you try again.", b.account.URL(), what)}
	case errors.Is(err, account.ErrRateLimited):
		return &agentapi.Error{Kind: agentapi.ErrUnavailable, Err: err, Msg: fmt.Sprintf("%s got too many requests for this account. Try again%s.", b.account.URL(), after(said(err)))}
	}
	return nil
}

// no returns the error of a call that will not work however often it is repeated; nil
// for other errors.
func (b *Backend) no(what string, err error) error {
	switch {
	case errors.Is(err, account.ErrArchived):
		return archived(err)
	case errors.Is(err, account.ErrWrongEndpoint):
		return refused(fmt.Sprintf("What answers at %s is not OpenHands Cloud. Check the address: ohgw server test.", b.account.URL()), err)
	case errors.Is(err, account.ErrStart):
		return refused(fmt.Sprintf("OpenHands Cloud could not start the conversation: %s. Try again; if that does not help, check the account with ohgw server test.", reason(err)), err)
	case said(err).Status >= http.StatusBadRequest && said(err).Status < http.StatusInternalServerError:
		return refused(fmt.Sprintf("%s refused to %s%s.", b.account.URL(), what, because(said(err))), err)
	}
	return nil
}

// said is the answer that err is about; the zero value if there was none.
func said(err error) transport.Error {
	if e, ok := errors.AsType[*transport.Error](err); ok {
		return *e
	}
	return transport.Error{}
}

// reason is what the server says of a failed start.
func reason(err error) string {
	_, text, found := strings.Cut(err.Error(), account.ErrStart.Error()+": ")
	if !found || text == "" {
		return "it gives no reason"
	}
	return strings.TrimRight(redact.Text(text), ".")
}

// after is how long to wait, as the end of a sentence.
func after(e transport.Error) string {
	if e.RetryAfter <= 0 {
		return " in a minute"
	}
	return " in " + e.RetryAfter.Round(time.Second).String()
}

// because is what the server itself says, as the end of a sentence.
func because(e transport.Error) string {
	if e.Text == "" {
		return ""
	}
	return " (" + e.Text + ")"
}

func (b *Backend) unreachable(err error) error {
	return &agentapi.Error{Kind: agentapi.ErrUnavailable, Err: err, Msg: b.account.URL() + " does not answer as it should. Check the network and the address, or try again later."}
}

func refused(msg string, err error) error {
	return &agentapi.Error{Kind: agentapi.ErrRefused, Msg: msg, Err: err}
}

func unsupported(msg string) error {
	return &agentapi.Error{Kind: agentapi.ErrUnsupported, Msg: msg}
}

func archived(err error) error {
	return refused("The conversation is archived: its sandbox was deleted with its files. It can be read, but not continued; start a new one.", err)
}

func profileNotFound(name string, err error) error {
	return &agentapi.Error{Kind: agentapi.ErrProfileNotFound, Err: err, Msg: fmt.Sprintf("The account has no LLM profile %q. GET /v1/models lists its profiles.", name)}
}

func conversationNotFound(id string, err error) error {
	return &agentapi.Error{Kind: agentapi.ErrConversationNotFound, Err: err, Msg: fmt.Sprintf("The account has no conversation %s.", id)}
}
