package trajectory_test

import (
	"archive/zip"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/enginetest"
	"github.com/ohgw/ohgw/daemon/openhandsapi"
	"github.com/ohgw/ohgw/daemon/openhandsapi/trajectory"
)

const id = "7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11"

// seal only looks like encryption.
func seal(v string) (string, error) { return "gAAAAA" + hex.EncodeToString([]byte(v)), nil }

// newEngine is the embedded agent with one conversation, which nothing has been said in.
func newEngine(t *testing.T) (e control.Engine, dir string) {
	t.Helper()
	cfg := enginetest.Config(t, "", enginetest.NewProfiles())
	cfg.Files, cfg.Seal = enginetest.Disk{}, seal
	backend := engine.New(cfg)
	t.Cleanup(func() {
		if err := backend.Close(); err != nil {
			t.Error(err)
		}
	})
	e = backend.Control()
	c, created, err := e.Start(t.Context(), control.Start{
		ID: id, Workspace: t.TempDir(), Agent: json.RawMessage(`{"kind":"Agent","llm":{"model":"m","api_key":"sk-1234","provider_connection_id":"gAAAAAsealed"}}`),
		Secrets: map[string]json.RawMessage{"T": json.RawMessage(`{"kind":"StaticSecret","value":"sk-5678"}`)},
	})
	if err != nil || !created {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if dir, err = e.Log(id); err != nil {
		t.Fatal(err)
	}
	return e, dir
}

// Other programs have written to the directory of the conversation, too.
func TestAnArchiveHasTheConversationAndNoSecrets(t *testing.T) {
	t.Parallel()
	engine, dir := newEngine(t)
	outside := filepath.Join(t.TempDir(), "outside.json")
	for name, text := range map[string]string{
		filepath.Join(dir, "events", "event-00.json"): `{"id":"e1","n":1.50}`,
		filepath.Join(dir, "events", "event-01.json"): `no JSON`,
		filepath.Join(dir, "events", "event-03.json"): `{"list":["gAAAAAsealed"]}`,
		filepath.Join(dir, "events", "note.txt"):      `x`,
		outside:                                       `{"secret":"of others"}`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_ = os.Symlink(outside, filepath.Join(dir, "events", "event-02.json")) // where there are links
	h := openhandsapi.New(openhandsapi.Config{Routes: trajectory.Routes(trajectory.Config{Engine: engine})})
	get := func(id string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/file/download-trajectory/"+id, http.NoBody))
		return w
	}
	w := get(id)
	name := strings.ReplaceAll(id, "-", "")
	if w.Code != http.StatusOK || w.Header().Get("Content-Disposition") != `attachment; filename="`+name+`.zip"` {
		t.Fatalf("status = %d, want 200, header = %v", w.Code, w.Header())
	}
	archive, err := zip.NewReader(bytes.NewReader(w.Body.Bytes()), int64(w.Body.Len()))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, file := range archive.File {
		r, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		got[strings.TrimPrefix(file.Name, name+"/")] = string(text)
	}
	if state := got["base_state.json"]; strings.Count(state, `"**********"`) != 3 || !strings.Contains(state, `"model":"m"`) {
		t.Errorf("the state: %s", state)
	}
	if meta := got["meta.json"]; !strings.Contains(meta, `"title":null`) {
		t.Errorf("the description: %s", meta)
	}
	for name, text := range got {
		if strings.Contains(text, "sk-") || strings.Contains(text, "gAAAAA") {
			t.Errorf("%s has a secret: %s", name, text)
		}
	}
	delete(got, "base_state.json")
	delete(got, "meta.json")
	want := map[string]string{
		"events/event-00.json": `{"id":"e1","n":1.50}`, "events/event-01.json": `no JSON`, "events/event-03.json": `{"list":["**********"]}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if w := get("7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b12"); w.Code != http.StatusNotFound {
		t.Errorf("an unknown conversation: %d", w.Code)
	}
}
