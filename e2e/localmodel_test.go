//go:build e2e

package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/processtest"
	"github.com/ohgw/ohgw/internal/testkit/proxytest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// localModel starts llama.cpp with one of its real models and a context of so many tokens, and
// gives its URL. Without an installation the test is skipped, or fails in CI.
func localModel(t *testing.T, model string, ctx int) string {
	t.Helper()
	root := os.Getenv("OHGW_LOCAL_MODEL_ROOT")
	if root == "" {
		root = "/var/lib/ohgw-local-model"
	}
	if _, err := os.Stat(filepath.Join(root, model+".gguf")); err != nil {
		message := fmt.Sprintf("there is no local model: run scripts/local-model install %s (%v)", model, err)
		if os.Getenv("CI") == "true" {
			t.Fatal(message)
		}
		t.Skip(message)
	}
	address := processtest.FreeAddress(t)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "../scripts/local-model",
		"start", "--model", model, "--port", address[strings.LastIndexByte(address, ':')+1:], "--ctx", fmt.Sprint(ctx))
	cmd.Env = append(os.Environ(), "OHGW_LOCAL_MODEL_ROOT="+root)
	process, err := processtest.Start(cmd, filepath.Join(t.TempDir(), "llama.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.End(syscall.SIGKILL, patience) }) // it has no other end
	if err := process.Await(t.Context(), "http://"+address+"/health", patience); err != nil {
		t.Fatal(err)
	}
	return "http://" + address
}

// refusals is a proxy in front of a local model that notes the calls that it refused.
type refusals struct {
	URL string

	mu      sync.Mutex
	calls   int
	refused []string
	largest int // tokens of one call, prompt and answer, as the server counted them
}

func watchRefusals(t *testing.T, server string) *refusals {
	t.Helper()
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	r := &refusals{}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.FlushInterval = -1
	proxy.ModifyResponse = func(resp *http.Response) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if strings.HasSuffix(resp.Request.URL.Path, "/chat/completions") {
			if r.calls++; resp.StatusCode != http.StatusOK {
				r.refused = append(r.refused, resp.Status)
			}
			resp.Body = &counted{ReadCloser: resp.Body, count: func(tokens int) {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.largest = max(r.largest, tokens)
			}}
		}
		return nil
	}
	srv := httptest.NewServer(proxytest.Duplex(proxy))
	t.Cleanup(srv.Close)
	r.URL = srv.URL
	return r
}

// A conversation with a small model goes on beyond its context: each message is
// answered, and no request exceeds the context. The small system prompt leaves the history
// about 3,500 tokens, which these messages fill.
func TestAConversationWithALocalModelGoesOn(t *testing.T) {
	llama := watchRefusals(t, localModel(t, "smollm2", 4096))
	home := t.TempDir()
	g := startLocal(t, home, llama.URL)
	id := uuid.New()
	for i := range 8 {
		text := fmt.Sprintf("%s Answer with one word: is %d even?", strings.Repeat("The garden has a pond and an old wall. ", 60), i)
		status, answer := g.askLocal(t, id, text)
		if status != http.StatusOK || answer.Choices[0].Message.Content == "" {
			t.Fatalf("message %d: status %d, %+v", i, status, answer)
		}
	}
	if status, answer := g.askLocal(t, id, strings.Repeat("word ", 4096)); status != http.StatusBadRequest || answer.Error.Code != "context_length_exceeded" || !strings.Contains(answer.Error.Message, "4096") {
		t.Errorf("a message of 4,096 words: status %d, %+v", status, answer)
	}
	llama.mu.Lock()
	defer llama.mu.Unlock()
	if len(llama.refused) > 0 || llama.calls < 8 {
		t.Errorf("%d of %d calls were refused: %v", len(llama.refused), llama.calls, llama.refused)
	}
	if got := condensed(t, g.State, id); got < 1 {
		t.Errorf("the history was shortened %d times", got)
	}
}

// startLocal starts a gateway whose only profile is a local model with short answers:
// this one does not stop by itself.
func startLocal(t *testing.T, home, modelURL string) *gateway {
	t.Helper()
	dir := filepath.Join(home, ".openhands", "profiles")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`{"model":"openai/smollm2","base_url":%q,"num_retries":1,"max_output_tokens":48}`, modelURL+"/v1")
	if err := os.WriteFile(filepath.Join(dir, "local.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return start(t, plainProgram(t), home, []string{"--backend", "embedded", "--key-store", "file"}, "OPENAI_API_KEY=sk-llm-test")
}

type localAnswer struct {
	Choices []struct {
		Message struct{ Content string }
	}
	Error struct{ Code, Message string }
}

func (g *gateway) askLocal(t *testing.T, id, text string) (status int, answer localAnswer) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"model": "openhands_local", "messages": []map[string]string{{"role": "user", "content": text}}})
	if err != nil {
		t.Fatal(err)
	}
	resp := g.post(t, string(body), "X-OpenHands-ServerConversation-ID", id)
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, answer
}

// condensed is how often the log of a conversation was shortened.
func condensed(t *testing.T, state, id string) (n int) {
	t.Helper()
	err := filepath.WalkDir(state, func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.Contains(path, strings.ReplaceAll(id, "-", "")) || !strings.HasSuffix(path, ".json") {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(`"kind":"Condensation"`)) {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
