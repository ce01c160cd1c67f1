//go:build e2e_canvas

package canvas_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// get is what ohgw answers beside the page.
func (w *world) get(t *testing.T, path string) string {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, w.gateway+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Session-API-Key", gatewayKey)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %d, %v\n%s", path, res.StatusCode, err, body)
	}
	return string(body)
}

// conversation is the id of the one that the page shows.
func (w *world) conversation() string {
	return strings.TrimPrefix(w.path(), "/conversations/")
}

// written are the names of the files that agents have made in directories of conversations.
func (w *world) written(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(w.home, "workspace", "project", "*", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for i, file := range files {
		files[i] = filepath.Base(file)
	}
	return strings.Join(files, " ")
}

// read is what an agent has written into a file.
func (w *world) read(t *testing.T, name string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(w.home, "workspace", "project", "*", name))
	if err != nil || len(files) != 1 {
		t.Fatalf("there are the files %v called %s (%v)", files, name, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// asked is the last request of an agent to the LLM. That for a title can come later.
func (w *world) asked() *llmtest.Request {
	for _, r := range slices.Backward(w.llm.Requests()) {
		if len(r.Tools) > 0 {
			return r
		}
	}
	return &llmtest.Request{}
}

// keyed says whether every request to the LLM had this key.
func (w *world) keyed(t *testing.T, key string) {
	t.Helper()
	for _, r := range w.llm.Requests() {
		if got := r.Header.Get("Authorization"); got != "Bearer "+key {
			t.Errorf("the LLM was asked with %q, want the key %q", got, key)
		}
	}
}
