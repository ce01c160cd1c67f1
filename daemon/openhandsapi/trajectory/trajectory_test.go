package trajectory_test

import (
	"archive/zip"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/daemon/openhandsapi"
	"github.com/ohgw/ohgw/daemon/openhandsapi/nativetest"
	"github.com/ohgw/ohgw/daemon/openhandsapi/trajectory"
)

// stored is an engine whose conversations are in a directory.
type stored struct {
	*nativetest.Engine

	dir string
}

func (s stored) Log(id string) (string, error) {
	if _, err := s.Engine.Log(id); err != nil {
		return "", err
	}
	return s.dir, nil
}

const id = "7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11"

func TestAnArchiveHasTheConversationAndNoSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "events"), 0o700); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "outside.json")
	for name, text := range map[string]string{
		filepath.Join(dir, "base_state.json"):         `{"agent":{"llm":{"api_key":"sk-1234","model":"m"}},"list":["gAAAAAsealed"]}`,
		filepath.Join(dir, "meta.json"):               `{"title":null}`,
		filepath.Join(dir, "owner_lease.json"):        `{}`,
		filepath.Join(dir, "events", "event-00.json"): `{"id":"e1","n":1.50}`,
		filepath.Join(dir, "events", "event-01.json"): `no JSON`,
		filepath.Join(dir, "events", "note.txt"):      `x`,
		outside:                                       `{"secret":"of others"}`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_ = os.Symlink(outside, filepath.Join(dir, "events", "event-02.json")) // where there are links
	engine := stored{&nativetest.Engine{}, dir}
	if _, _, err := engine.Start(t.Context(), control.Start{ID: id}); err != nil {
		t.Fatal(err)
	}
	h := openhandsapi.New(openhandsapi.Config{Routes: trajectory.Routes(trajectory.Config{Engine: engine})})
	get := func(id string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/file/download-trajectory/"+id, http.NoBody))
		return w
	}
	w := get(id)
	hex := strings.ReplaceAll(id, "-", "")
	if w.Code != http.StatusOK || w.Header().Get("Content-Disposition") != `attachment; filename="`+hex+`.zip"` {
		t.Fatalf("%d %v", w.Code, w.Header())
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
		got[strings.TrimPrefix(file.Name, hex+"/")] = string(text)
	}
	want := map[string]string{
		"base_state.json": `{"agent":{"llm":{"api_key":"**********","model":"m"}},"list":["**********"]}`, "meta.json": `{"title":null}`,
		"events/event-00.json": `{"id":"e1","n":1.50}`, "events/event-01.json": `no JSON`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if w := get("7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b12"); w.Code != http.StatusNotFound {
		t.Errorf("an unknown conversation: %d", w.Code)
	}
}
