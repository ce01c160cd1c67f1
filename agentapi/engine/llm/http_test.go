package llm_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"
)

// body is the body of a request, which can be read again.
func body(t *testing.T, r *http.Request) string {
	t.Helper()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(data))
	return string(data)
}

// member is a member of a request's body, as JSON; empty if it has none.
func member(t *testing.T, r *http.Request, name string) string {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body(t, r)), &members); err != nil {
		t.Error(err)
	}
	return string(members[name])
}

// slowBody gives a few bytes every other second, until its request is
// cancelled.
type slowBody struct {
	io.ReadCloser
	r *http.Request
}

func (b *slowBody) Read(p []byte) (int, error) {
	select {
	case <-time.After(2 * time.Second):
	case <-b.r.Context().Done():
		return 0, b.r.Context().Err()
	}
	return b.ReadCloser.Read(p[:min(4, len(p))])
}

// hangingBody says nothing more where its stream ends.
type hangingBody struct {
	io.ReadCloser
	r *http.Request
}

func (b *hangingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == nil {
		return n, nil
	}
	<-b.r.Context().Done()
	return 0, b.r.Context().Err()
}
