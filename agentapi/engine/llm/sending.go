package llm

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http/httptrace"
	"sync"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
)

// sending is the body of one request. A request is kept until its answer has
// been read, which may take an hour; its body is not: the bytes are released
// when they are sent, and encoded again if the transport has to repeat them.
type sending struct {
	encode func() ([]byte, error) // gives the same bytes each time

	mu       sync.Mutex
	body     *bytes.Reader // read by the transport, without mu
	data     []byte        // what body reads; nil once it is released
	repeated bool          // another reader was made; which one was sent is unknown
}

// begin returns the body as the transport reads it first. The transport knows this
// type, and sends it in one piece with the headers.
func (s *sending) begin(body []byte) *bytes.Reader {
	s.body, s.data = bytes.NewReader(body), body
	return s.body
}

// traced is a context that tells s of the sending of its request.
func (s *sending) traced(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: s.wrote})
}

// wrote releases the body after the whole of it was sent. After an error the
// transport may still read it.
func (s *sending) wrote(info httptrace.WroteRequestInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if info.Err == nil && !s.repeated {
		s.body.Reset(nil)
		wire.Release(s.data)
		s.data = nil
	}
}

// again implements http.Request.GetBody: it encodes the body for another attempt.
func (s *sending) again() (io.ReadCloser, error) {
	s.mu.Lock()
	s.repeated = true
	s.mu.Unlock()
	body, err := s.encode()
	if err != nil {
		return nil, fmt.Errorf("encode request again: %w", err)
	}
	return io.NopCloser(bytes.NewReader(body)), nil
}
