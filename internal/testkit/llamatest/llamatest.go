// Package llamatest is a scripted server that keeps to the end of its context as
// llama.cpp's does: it counts the tokens of a prompt, refuses one that does not fit with
// its numbers, and cuts an answer at the last token with finish_reason "length". The
// forms of its answers are those of llama.cpp's server (xllamacpp 2026.10.11549).
//
// A token is three bytes here, which is more tokens than ohgw estimates.
package llamatest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Model is the name of the only model.
const Model = "small"

const bytesPerToken = 3

// Server is a running server.
type Server struct {
	URL string // base URL of the API, with /v1

	answer func(Request) string
	mu     sync.Mutex
	ctx    int
	silent bool
	asked  []Request
}

// Request is a call of the model.
type Request struct {
	Messages []Message
	Prompt   int // tokens
	Limit    int // of the answer, in tokens; 0: none
	Refused  bool
	Answer   int // tokens
}

// Message is a message as the model is shown it.
type Message struct{ Role, Text string }

// Summary reports whether the request is one for a summary: it shows events.
func (r Request) Summary() bool {
	return len(r.Messages) == 2 && strings.HasPrefix(r.Last(), "<events>")
}

// Last is the text of the newest message.
func (r Request) Last() string { return r.Messages[len(r.Messages)-1].Text }

// New starts a server whose context has so many tokens.
func New(t testing.TB, ctx int, answer func(Request) string) *Server {
	t.Helper()
	s := &Server{answer: answer, ctx: ctx}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]any{"object": "list", "data": []any{map[string]any{"id": Model, "object": "model", "owned_by": "llamacpp"}}})
	})
	mux.HandleFunc("GET /props", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]any{"default_generation_settings": map[string]any{"n_ctx": s.Context()}, "total_slots": 1})
	})
	mux.HandleFunc("POST /apply-template", func(w http.ResponseWriter, r *http.Request) {
		messages, _, _ := read(r)
		reply(w, http.StatusOK, map[string]string{"prompt": template(messages)})
	})
	mux.HandleFunc("POST /tokenize", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Content string `json:"content"`
		}
		_ = json.NewDecoder(r.Body).Decode(&in) // an empty text has no tokens
		reply(w, http.StatusOK, map[string]any{"tokens": make([]int, count(in.Content))})
	})
	mux.HandleFunc("POST /v1/chat/completions", s.complete)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/chat/completions" && !s.telling() {
			http.NotFound(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	s.URL = srv.URL + "/v1"
	return s
}

// Silent makes the server tell nothing of itself: it answers calls only.
func (s *Server) Silent() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent = true
}

// telling reports whether the server returns anything about itself.
func (s *Server) telling() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.silent
}

// Context is the size of the context.
func (s *Server) Context() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ctx
}

// Asked are the calls so far.
func (s *Server) Asked() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	messages, limit, tools := read(r)
	req := Request{Messages: messages, Prompt: count(template(messages) + tools), Limit: limit}
	size := s.Context()
	req.Refused = req.Prompt >= size
	text, finish := "", "stop"
	if !req.Refused {
		text = s.answer(req)
		room := size - req.Prompt
		if limit > 0 {
			room = min(room, limit)
		}
		if count(text) > room {
			text, finish = text[:room*bytesPerToken], "length"
		}
		req.Answer = count(text)
	}
	s.mu.Lock()
	s.asked = append(s.asked, req)
	s.mu.Unlock()
	if req.Refused {
		reply(w, http.StatusBadRequest, map[string]any{"error": map[string]any{
			"code": http.StatusBadRequest, "type": "exceed_context_size_error", "n_prompt_tokens": req.Prompt, "n_ctx": size,
			"message": fmt.Sprintf("request (%d tokens) exceeds the available context size (%d tokens), try increasing it", req.Prompt, size),
		}})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, chunk := range []any{
		map[string]any{"id": "chatcmpl-1", "model": Model, "choices": []any{map[string]any{"index": 0, "delta": map[string]string{"content": text}, "finish_reason": nil}}},
		map[string]any{"id": "chatcmpl-1", "model": Model, "choices": []any{map[string]any{"index": 0, "delta": map[string]string{}, "finish_reason": finish}}},
		map[string]any{"id": "chatcmpl-1", "model": Model, "choices": []any{}, "usage": map[string]int{"prompt_tokens": req.Prompt, "completion_tokens": req.Answer}},
	} {
		data, err := json.Marshal(chunk)
		if err != nil {
			return
		}
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// read reads a request; tools is their JSON.
func read(r *http.Request) (messages []Message, limit int, tools string) {
	var in struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
			Calls   json.RawMessage `json:"tool_calls"`
		} `json:"messages"`
		Max   int             `json:"max_tokens"`
		Newer int             `json:"max_completion_tokens"`
		Tools json.RawMessage `json:"tools"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in) // a body that is not a request has no messages
	for _, m := range in.Messages {
		messages = append(messages, Message{m.Role, textOf(m.Content) + string(m.Calls)})
	}
	return messages, max(in.Max, in.Newer), string(in.Tools)
}

func textOf(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(content, &parts) // no content, no text
	for _, p := range parts {
		text += p.Text
	}
	return text
}

func template(messages []Message) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString("<|im_start|>" + m.Role + "\n" + m.Text + "<|im_end|>\n")
	}
	return b.String() + "<|im_start|>assistant\n"
}

func count(text string) int { return (len(text) + bytesPerToken - 1) / bytesPerToken }

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that has gone reads nothing
}
