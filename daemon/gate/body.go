package gate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/ohgw/ohgw/daemon/openai"
)

const (
	// bodyPatience is how long the answer to a request waits for a body that no
	// handler has read: one that is on its way already leaves the connection
	// usable for the next request.
	bodyPatience = 50 * time.Millisecond
	// maxDiscard is how much of such a body is read for that, in bytes.
	maxDiscard = 256 << 10
	// linger is how long a connection takes what its client still sends after
	// the answer. A connection that is closed at once can lose the answer: the
	// reset overtakes it.
	linger = time.Second
)

// longAgo is a deadline that has passed on every clock.
func longAgo() time.Time { return time.Unix(1, 0) }

// incoming is the body of a request. It knows whether all of it was read,
// because net/http waits for the rest without a deadline before it sends an
// answer, and again before it lets go of the connection.
type incoming struct {
	io.ReadCloser
	length int64 // -1: unknown
	asks   bool  // the client waits for "100 Continue" before it sends anything
	ended  bool  // nothing is left to read
}

func newIncoming(r *http.Request) *incoming {
	return &incoming{
		ReadCloser: r.Body, length: r.ContentLength,
		asks:  strings.EqualFold(r.Header.Get("Expect"), "100-continue"),
		ended: r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0,
	}
}

// Read notes the end.
func (b *incoming) Read(p []byte) (int, error) {
	b.asks = false
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || errors.Is(err, io.EOF)
	return n, err
}

// settle decides, before the header of an answer is written, whether the
// connection can serve another request: only if nothing of this one is left.
func (x *Exchange) settle() {
	b := x.body
	if b.ended || x.Header().Get("Connection") == "close" {
		return
	}
	if !b.asks && b.length <= maxDiscard {
		x.readWithin(bodyPatience, maxDiscard)
	}
	if !b.ended {
		x.Header().Set("Connection", "close")
	}
}

// part ends a connection whose client has not sent all of its request: it has
// the answer, and a moment to read it. Then nothing waits for the rest.
func (x *Exchange) part() {
	if x.body.ended {
		return
	}
	if !x.body.asks && x.Started() && x.FlushNow() == nil {
		x.readWithin(linger, x.Core.Limits.Body)
	}
	_ = x.Control.SetReadDeadline(longAgo()) // where there is none there is no connection: a test
}

// readWithin reads and forgets up to most bytes of the body.
func (x *Exchange) readWithin(limit time.Duration, most int64) {
	if x.Control.SetReadDeadline(Deadline(limit)) != nil {
		return // what cannot be bounded is not begun
	}
	_, _ = io.CopyN(io.Discard, x.body, most+1) // what became of it is in x.body
	if x.body.ended {
		_ = x.Control.SetReadDeadline(time.Time{})
	}
}

// ReadBody reads the body of a request within the limits of time and size. A
// drain that begins meanwhile ends it.
func (x *Exchange) ReadBody(r *http.Request) ([]byte, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, NewProblem(openai.CodeUnsupportedContentType, "Send Content-Type: application/json.", nil)
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, NewProblem(codeContentEncoding, "Send the body without Content-Encoding.", nil)
	}
	limit := x.Core.Limits.Body
	tooLarge := NewProblem(codeTooLarge, "The request body is larger than "+strconv.FormatInt(limit, 10)+" bytes; ohgw serve --max-body changes the limit.", nil)
	if r.ContentLength > limit {
		return nil, tooLarge
	}
	body, err := x.Receive(r, limit)
	if err == nil {
		return body, nil
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge
	}
	if errors.Is(err, errDraining) {
		return nil, NewProblem(CodeNotReady, "ohgw is shutting down; try again in a moment.", nil)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, NewProblem(codeTooSlow, "The request body did not arrive in time.", nil)
	}
	return nil, NewProblem(openai.CodeInvalidJSON, "The request body ended before it was complete.", err)
}

// errDraining ends the reading of a body when a drain begins.
var errDraining = errors.New("draining")

// Receive reads the body within the body timeout. Where it returns without an
// error, the connection has no read deadline: the run may take longer.
func (x *Exchange) Receive(r *http.Request, limit int64) ([]byte, error) {
	// Where there is no deadline there is no connection: a test.
	_ = x.Control.SetReadDeadline(Deadline(x.Core.BodyTimeout))
	cut := make(chan struct{})
	stop := context.AfterFunc(x.Core.drains, func() {
		defer close(cut)
		_ = x.Control.SetReadDeadline(longAgo())
	})
	body, err := readAll(http.MaxBytesReader(x, r.Body, limit), r.ContentLength)
	x.arrived = Deadline(0)
	if !stop() {
		<-cut
		err = errDraining
	}
	if x.body.ended {
		_ = x.Control.SetReadDeadline(time.Time{})
	}
	return body, err
}

// readAll reads everything, without room for more than a little of what was
// only announced.
func readAll(r io.Reader, size int64) ([]byte, error) {
	const most = 1 << 20
	var b bytes.Buffer
	b.Grow(int(max(0, min(size, most))) + bytes.MinRead)
	_, err := b.ReadFrom(r)
	return b.Bytes(), err
}
