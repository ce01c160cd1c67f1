//go:build e2e_webui

package webui_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/proxytest"
)

// recorder stands between Open WebUI and the gateway and keeps what passes.
type recorder struct {
	URL string

	mu   sync.Mutex
	seen []exchange
}

// exchange is a request for a completion, and what the gateway's headers said.
type exchange struct {
	Header http.Header
	Body   json.RawMessage
	Status int
	Answer http.Header
}

func record(t *testing.T, gateway string) *recorder {
	t.Helper()
	target, err := url.Parse(gateway)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.FlushInterval = -1
	proxy.ModifyResponse = func(res *http.Response) error {
		if body, ok := res.Request.Context().Value(bodyKey{}).([]byte); ok {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.seen = append(r.seen, exchange{Header: res.Request.Header.Clone(), Body: body, Status: res.StatusCode, Answer: res.Header.Clone()})
		}
		return nil
	}
	passOn := proxytest.Duplex(proxy)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/chat/completions") {
			body, err := io.ReadAll(req.Body)
			if err != nil {
				return
			}
			req.Body = io.NopCloser(bytes.NewReader(body))
			req = req.WithContext(withBody(req.Context(), body))
		}
		passOn.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	r.URL = server.URL
	return r
}

// all are the exchanges so far.
func (r *recorder) all() []exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]exchange(nil), r.seen...)
}

// chats returns the exchanges that were not housekeeping.
func (r *recorder) chats() []exchange {
	var list []exchange
	for _, e := range r.all() {
		if e.Answer.Get("X-OpenHands-Task") == "" {
			list = append(list, e)
		}
	}
	return list
}

// bodyKey is under which a request knows its own body.
type bodyKey struct{}

func withBody(ctx context.Context, body []byte) context.Context {
	return context.WithValue(ctx, bodyKey{}, body)
}
