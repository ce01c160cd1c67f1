//go:build e2e

package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/proxytest"
)

// The prompt of an agent for a small context leaves most of it to the user, by the count
// of a real tokenizer. The chat template of SmolLM2 leaves out the tools, so they are
// counted as the JSON that is sent; with calls in text they stand in the prompt.
func TestASmallPromptIsSmallByTheServersCount(t *testing.T) {
	server := localModel(t, "smollm2", 8192)
	for _, tt := range []struct {
		name, size, fields     string
		prompt, all            int // limits, in tokens: without the tools, and with them
		leastPrompt, leastTool int // what is certainly more, so that something was counted
	}{
		{"small", "auto", "", 700, 1500, 200, 200},
		{"small, with calls in text", "auto", `,"native_tool_calling":false`, 1500, 1500, 500, 0},
		{"full", "full", "", 2500, 5000, 1000, 1000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			recorder := recordRequests(t, server)
			home := t.TempDir()
			dir := filepath.Join(home, ".openhands", "profiles")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			text := fmt.Sprintf(`{"model":"openai/smollm2","base_url":%q,"num_retries":1,"max_output_tokens":8%s}`, recorder.url+"/v1", tt.fields)
			if err := os.WriteFile(filepath.Join(dir, "local.json"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			g := start(t, plainProgram(t), home, []string{"--backend", "embedded", "--key-store", "file", "--prompt-size", tt.size}, "OPENAI_API_KEY=sk-llm-test")
			_, _ = g.askLocal(t, "", "What is the capital of France?") // the recorder refuses it
			var sent struct {
				Messages json.RawMessage   `json:"messages"`
				Tools    []json.RawMessage `json:"tools"`
			}
			if err := json.Unmarshal(*recorder.first.Load(), &sent); err != nil {
				t.Fatal(err)
			}
			prompt, tools := countPrompt(t, server, sent.Messages), 0
			for _, tool := range sent.Tools {
				tools += countTokens(t, server, string(tool))
			}
			t.Logf("%d tokens, and %d of %d tools", prompt, tools, len(sent.Tools))
			if prompt >= tt.prompt || prompt+tools >= tt.all {
				t.Errorf("%d tokens, and %d with the tools; the limits are %d and %d", prompt, prompt+tools, tt.prompt, tt.all)
			}
			if prompt < tt.leastPrompt || tools < tt.leastTool {
				t.Errorf("%d tokens, and %d of tools: that is not all", prompt, tools)
			}
		})
	}
}

// recorder is a proxy in front of a local model that keeps the first call, and answers none:
// reading a long prompt takes a minute.
type recorder struct {
	url   string
	first atomic.Pointer[[]byte]
}

func recordRequests(t *testing.T, server string) *recorder {
	t.Helper()
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{}
	proxy := proxytest.Duplex(httputil.NewSingleHostReverseProxy(target))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/chat/completions") {
			body, err := io.ReadAll(req.Body)
			if err != nil {
				t.Error(err)
			}
			r.first.CompareAndSwap(nil, &body)
			http.Error(w, `{"error":{"message":"it was only counted"}}`, http.StatusBadRequest)
			return
		}
		proxy.ServeHTTP(w, req)
	}))
	t.Cleanup(srv.Close)
	r.url = srv.URL
	return r
}

// countPrompt is how many tokens llama.cpp makes of messages, in the template of its model.
func countPrompt(t *testing.T, server string, messages json.RawMessage) int {
	t.Helper()
	var answer struct{ Prompt string }
	askServer(t, server+"/apply-template", map[string]any{"messages": messages}, &answer)
	return countTokens(t, server, answer.Prompt)
}

func countTokens(t *testing.T, server, text string) int {
	t.Helper()
	var answer struct{ Tokens []json.RawMessage }
	askServer(t, server+"/tokenize", map[string]any{"content": text, "add_special": true, "parse_special": true}, &answer)
	return len(answer.Tokens)
}

func askServer(t *testing.T, address string, question, answer any) {
	t.Helper()
	body, err := json.Marshal(question)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: status = %s", address, resp.Status)
	}
	if err := json.NewDecoder(resp.Body).Decode(answer); err != nil {
		t.Fatal(err)
	}
}
