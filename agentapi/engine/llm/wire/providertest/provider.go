package providertest

import (
	"bytes"
	"io"
	"net/http"
	"sync"
)

// Provider is the network: it answers with what the test says, and keeps what it
// is sent.
type Provider struct {
	Adapter
	// Answers is called with the number of the request, from 1, one call at a time.
	Answers func(n int, body []byte) (status int, kind string, answer []byte)

	mu   sync.Mutex
	sent [][]byte
}

// RoundTrip answers a request.
func (p *Provider) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = append(p.sent, body)
	status, kind, answer := p.Answers(len(p.sent), body)
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Header: http.Header{"Content-Type": {kind}},
		Body: io.NopCloser(bytes.NewReader(answer)), Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// Requests are the bodies that were sent.
func (p *Provider) Requests() [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent
}

// Done is an answer of text.
func (p *Provider) Done() (int, string, []byte) { return http.StatusOK, p.Kind, p.Frames(p.Text) }
