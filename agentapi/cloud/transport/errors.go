package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/redact"
	"github.com/ohgw/ohgw/internal/truncate"
)

// The kinds of failure, for errors.Is.
var (
	// ErrUnauthorized: the server rejected the key, or there is no key.
	ErrUnauthorized = errors.New("the server rejected the key")
	// ErrForbidden: the key may not do that.
	ErrForbidden = errors.New("the server does not allow it")
	// ErrNotFound: the server does not have it.
	ErrNotFound = errors.New("not found on the server")
	// ErrNotRunning: it needs a running sandbox, and the sandbox is asleep.
	ErrNotRunning = errors.New("the sandbox is not running")
	// ErrArchived: the sandbox was deleted; what was said can still be read.
	ErrArchived = errors.New("the conversation is archived")
	// ErrRefused: the server understood the request and said no.
	ErrRefused = errors.New("the server refused the request")
	// ErrUnreadable: the file is too large, or not a text.
	ErrUnreadable = errors.New("the server cannot return the file")
	// ErrRateLimited: too many requests.
	ErrRateLimited = errors.New("too many requests to the server")
	// ErrUpstream: the server failed, or cannot be reached.
	ErrUpstream = errors.New("the server failed")
	// ErrWrongEndpoint: what answers is not the API that was asked.
	ErrWrongEndpoint = errors.New("not an OpenHands API")
)

// Error is a call that failed.
type Error struct {
	Method, Host, Path string
	Status             int           // 0: no answer
	Kind               error         // one of the kinds above
	Text               string        // the server's own words, without keys
	Code               string        // the server's own code, as STATUS$ERROR_LLM_AUTHENTICATION
	RetryAfter         time.Duration // how long the server wants the client to wait; 0: not said
	Interval           time.Duration // between questions, as the device flow wants it
	Err                error         // the cause where there was no answer
}

// Error names the call, its status and the server's words.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s%s: ", e.Method, e.Host, e.Path)
	if e.Status != 0 {
		fmt.Fprintf(&b, "status %d: ", e.Status)
	}
	b.WriteString(e.Kind.Error())
	if e.Text != "" {
		b.WriteString(": " + e.Text)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Is reports the kind. A file that cannot be returned is also a refusal.
func (e *Error) Is(target error) bool {
	return target == e.Kind || target == ErrRefused && e.Kind == ErrUnreadable
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Declined reports whether the server certainly did nothing: it said no, or was
// never reached. After another error of a request that changes something, it may
// have been done.
func Declined(err error) bool {
	if e, ok := errors.AsType[*Error](err); ok && e.Status >= 400 && e.Status < 500 && e.Status != http.StatusRequestTimeout {
		return true
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return true
	}
	return errors.Is(err, errNotSent)
}

// errNotSent marks a request that ended before anything was sent.
var errNotSent = errors.New("not sent")

// kindOf classifies an answer.
func kindOf(status int, text string) error {
	switch status {
	case http.StatusUnauthorized:
		return ErrUnauthorized
	case http.StatusForbidden:
		return ErrForbidden
	case http.StatusNotFound:
		return ErrNotFound
	case http.StatusConflict:
		return ErrNotRunning
	case http.StatusGone:
		return ErrArchived
	case http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType:
		return ErrUnreadable
	case http.StatusTooManyRequests:
		return ErrRateLimited
	}
	switch {
	case status < 400:
		return ErrWrongEndpoint
	case status < 500:
		return ErrRefused
	case strings.Contains(text, "File not found"): // V0 answers 500 for a missing file
		return ErrNotFound
	}
	return ErrUpstream
}

// body is every error body there is, in one shape.
type body struct {
	Detail  json.RawMessage `json:"detail"`
	Message json.RawMessage `json:"message"`
	Error   json.RawMessage `json:"error"`
	Code    json.RawMessage `json:"msg_id"`

	// Of OAuth; then error is a code.
	Description json.RawMessage `json:"error_description"`
	Interval    float64         `json:"interval"`
}

// explain takes the server's explanation and its code out of an error's body.
func (e *Error) explain(data []byte, contentType string) {
	var b body
	if json.Unmarshal(data, &b) != nil && !json.Valid(data) { // a field of another type leaves the others
		if strings.HasPrefix(contentType, "text/plain") {
			e.Text = oneLine(string(data))
		}
		return
	}
	for _, field := range []json.RawMessage{b.Message, b.Detail, b.Description, b.Error} {
		if e.Text = oneLine(fieldText(field)); e.Text != "" {
			break
		}
	}
	if e.Code = oneLine(fieldText(b.Code)); e.Code == "" && !strings.Contains(fieldText(b.Error), " ") {
		e.Code = oneLine(fieldText(b.Error))
	}
	if b.Interval > 0 && b.Interval < 3600 {
		e.Interval = time.Duration(b.Interval * float64(time.Second))
	}
}

// fieldText reads a text, or the messages of a failed validation.
func fieldText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var list []*struct {
		Loc []any  `json:"loc"`
		Msg string `json:"msg"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return ""
	}
	var parts []string
	for _, item := range list {
		if item == nil {
			continue
		}
		var where []string
		for _, loc := range item.Loc {
			where = append(where, fmt.Sprint(loc))
		}
		parts = append(parts, strings.TrimPrefix(strings.Join(where, ".")+": ", ": ")+item.Msg)
	}
	return strings.Join(parts, "; ")
}

const maxWords = 500

// oneLine turns a text from outside into one line that a message can have.
func oneLine(text string) string {
	return truncate.Marked(redact.Text(strings.Join(strings.Fields(text), " ")), maxWords, "…")
}

// ended reports whether the caller's own context is over.
func ended(ctx context.Context) bool { return ctx.Err() != nil }
