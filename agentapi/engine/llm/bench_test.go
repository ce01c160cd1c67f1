package llm_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
)

const (
	chunkBegin = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1790000000,"model":"test","choices":[{"index":0,"delta":{"content":"`
	chunkEnd   = ` "},"finish_reason":null}]}` + "\n\n"
	lastChunks = `data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n" +
		`data: {"id":"chatcmpl-1","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":10}}` + "\n\ndata: [DONE]\n\n"
)

// BenchmarkTokenToDelta is the way of one token from the provider's socket to
// the listener: the provider sends the next one when the last one was heard.
func BenchmarkTokenToDelta(b *testing.B) {
	heard := make(chan struct{})
	n := 0
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		flush := http.NewResponseController(w)
		for range n {
			_, _ = io.WriteString(w, chunkBegin+"word"+chunkEnd)
			_ = flush.Flush()
			<-heard
		}
		_, _ = io.WriteString(w, lastChunks)
	}))
	defer provider.Close()
	m := newModel(b, llm.Config{Profile: profile(b, "openai/test", `"base_url":"`+provider.URL+`"`)})
	b.ReportAllocs()
	n = b.N
	b.ResetTimer()
	if _, err := m.Generate(b.Context(), hello("Go."), func(llm.Delta) { heard <- struct{}{} }); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkCall is a whole call of a provider that answers at once.
func BenchmarkCall(b *testing.B) {
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, chunkBegin+"word"+chunkEnd+lastChunks)
	}))
	defer provider.Close()
	m := newModel(b, llm.Config{Profile: profile(b, "openai/test", `"base_url":"`+provider.URL+`"`)})
	req := conversation()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Generate(b.Context(), req, func(llm.Delta) {}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNew is what switching a model costs.
func BenchmarkNew(b *testing.B) {
	cfg := llm.Config{Profile: profile(b, "anthropic/claude-sonnet-4-5", ""), HTTP: llm.NewHTTPClient(nil)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := llm.New(cfg); err != nil {
			b.Fatal(err)
		}
	}
}
