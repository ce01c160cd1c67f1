// Package apierr makes errors of the seam out of the engine's own, in words for people. It
// decides no kind that its callers could not see from the error.
package apierr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/store"
)

// Refused returns the error of a request that cannot be carried out as it is.
func Refused(msg string, err error) error {
	return &agentapi.Error{Kind: agentapi.ErrRefused, Msg: msg, Err: err}
}

// NotFound returns the error of an unknown conversation.
func NotFound(id string) error {
	return &agentapi.Error{Kind: agentapi.ErrConversationNotFound, Msg: fmt.Sprintf("There is no conversation %s; start a new one.", id)}
}

// Of makes err an error of the seam, unless it is one already or ctx's.
func Of(ctx context.Context, err, kind error, msg string) error {
	if err == nil || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return err
	}
	if _, ok := errors.AsType[*agentapi.Error](err); ok {
		return err
	}
	return &agentapi.Error{Kind: kind, Msg: msg, Err: err}
}

// Sentence is an error as a sentence.
func Sentence(err error) string {
	text := []rune(err.Error())
	return strings.ToUpper(string(text[:1])) + string(text[1:]) + "."
}

// Opening words the errors of opening a conversation, or its files.
type Opening struct {
	Dir string       // of all conversations
	Log *slog.Logger // gets what a client may not see
}

// Explain returns why a conversation could not be opened, in words for people.
func (o Opening) Explain(ctx context.Context, id string, err error) error {
	held, isHeld := errors.AsType[*store.HeldError](err)
	switch {
	case isHeld:
		return &agentapi.Error{
			Kind: agentapi.ErrBusy,
			Msg:  fmt.Sprintf("The conversation is open in another process (%d on %s); close it there, or wait until %s.", held.PID, held.Host, held.Until.Format(time.TimeOnly)),
			Err:  err,
		}
	case errors.Is(err, store.ErrNotFound):
		return NotFound(id)
	case errors.Is(err, store.ErrExists):
		return Refused("A conversation with this id already exists; open it instead of creating it.", errors.Join(control.ErrTaken, err))
	case errors.Is(err, store.ErrCorrupt):
		return o.damaged(id, err)
	case errors.Is(err, fs.ErrPermission):
		return Of(ctx, err, agentapi.ErrUnavailable,
			"The conversation cannot be opened: "+foreignText)
	}
	return Of(ctx, err, agentapi.ErrUnavailable,
		"The conversation cannot be opened; check that the disk has free space and that ohgw's conversations directory is writable.")
}

// damaged logs the path of a damaged file and returns the error for the client without it:
// a client has no business with directories of the server.
func (o Opening) damaged(id string, err error) error {
	o.Log.Error("a conversation is damaged", "conversation", id, "directory", store.Path(o.Dir, id), "err", err)
	d, ok := errors.AsType[*store.DamageError](err)
	switch {
	case !ok:
		return Refused("The conversation's files are damaged; the log of ohgw serve names the file. Restore it from a backup, or start a new conversation.", err)
	case errors.Is(d, fs.ErrNotExist):
		return Refused(fmt.Sprintf("The conversation has events, but its file %s is missing; restore the file from a backup, or start a new conversation with another id.", d.File), err)
	case d.Follows > 0:
		return Refused(fmt.Sprintf("The conversation's file %s is damaged, and %d more events follow it; restore it from a backup, or move it and the events after it away to continue with the events before it.",
			d.File, d.Follows), err)
	}
	return Refused(fmt.Sprintf("The conversation's file %s is damaged; restore it from a backup, or start a new conversation.", d.File), err)
}

// Unreadable is why a conversation is in no list, in words for people.
func Unreadable(err error) string {
	d, ok := errors.AsType[*store.DamageError](err)
	switch {
	case ok && errors.Is(d, fs.ErrNotExist):
		return fmt.Sprintf("it has events, but its file %s is missing. Restore the file from a backup, or delete the conversation.", d.File)
	case ok:
		return fmt.Sprintf("its file %s is damaged. Send it a message: the file is then made again from the events, if they are there.", d.File)
	case errors.Is(err, fs.ErrPermission):
		return foreignText
	}
	return "its files cannot be read. Check the disk."
}

const foreignText = "the user that runs ohgw may not read or write its files in ohgw's conversations directory. Make that user their owner, as chown -R does."
