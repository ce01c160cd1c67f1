package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"
)

// lostError says that a connection broke, or an answer that is worth another
// try: the question is sent again.
type lostError struct{ err error }

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

// errSilent ends a connection on which nothing comes any more.
var errSilent = errors.New("no data and no keep-alive for a while")

// errCut is a stream that ended before its answer did.
var errCut = errors.New("the connection was closed before the answer was complete")

// unreachable returns the error for a gateway that does not answer, or ctx's.
func (c *Client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &Error{Kind: Unreachable, Message: "Nothing answers at " + c.place() + ".", Err: err}
}

// stranger is the error for what is not a gateway. What tells what came instead.
func (c *Client) stranger(what string, err error) *Error {
	return &Error{Kind: Stranger, Message: fmt.Sprintf("The server at %s is not an ohgw gateway: it sent %s.", c.place(), what), Err: err}
}

// describe reports what an answer is, in a few words and without its content.
func describe(res *http.Response) string {
	kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case err != nil:
		kind = "something"
	case kind == "text/html":
		kind = "a web page"
	}
	if res.StatusCode == http.StatusOK {
		return kind
	}
	return fmt.Sprintf("%s with the status %d", kind, res.StatusCode)
}

// envelope is OpenAI's form of every failure.
type envelope struct {
	Error *struct {
		Message string `json:"message"`
		Code    string `json:"code"`
	} `json:"error"`
}

// refused reads the error out of an answer that is not 200.
func (c *Client) refused(res *http.Response) *Error {
	// What cannot be read is not an envelope either.
	data, _ := io.ReadAll(io.LimitReader(res.Body, maxError))
	var body envelope
	if err := json.Unmarshal(data, &body); err != nil || body.Error == nil || body.Error.Message == "" {
		e := c.stranger(describe(res), nil)
		e.Status = res.StatusCode
		switch res.StatusCode {
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			e.Kind, e.Message = Unreachable, fmt.Sprintf("The gateway at %s cannot be reached: the proxy in front of it answers with status %d.", c.place(), res.StatusCode)
		}
		return e
	}
	return &Error{
		Kind: kindOf(res.StatusCode), Status: res.StatusCode, Code: body.Error.Code, Message: body.Error.Message,
		Conversation: res.Header.Get(headerConversation), RetryAfter: retryAfter(res.Header),
	}
}

// kindOf is what a status of the gateway means.
func kindOf(status int) Kind {
	switch {
	case status == http.StatusUnauthorized:
		return Locked
	case status == http.StatusTooManyRequests:
		return Busy
	case status == http.StatusServiceUnavailable:
		return Unreachable
	case status >= http.StatusInternalServerError:
		return Failed
	}
	return Refused
}

// retryAfter is how long a gateway asks to wait; 0 where it does not say.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 || seconds > int(time.Hour/time.Second) {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
