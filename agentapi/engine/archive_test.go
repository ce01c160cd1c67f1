package engine_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine"
)

// archiveOf packs files by their names.
func archiveOf(t *testing.T, files map[string]string) control.Archive {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range files {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return control.Archive{File: bytes.NewReader(b.Bytes()), Size: int64(b.Len())}
}

const (
	packedID  = "11111111-2222-4333-8444-555555555555"
	packedHex = "11111111222243338444555555555555"
	packed    = `{"id":"` + packedID + `","agent":{"kind":"Agent","llm":{"model":"m","api_key":"**********"}},"workspace":{"working_dir":"/srv","kind":"LocalWorkspace"}}`
)

func TestAnArchiveThatIsNoneLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := engine.New(engine.Config{Dir: dir})
	defer func() { _ = b.Close() }() // Nothing is open.
	for name, tt := range map[string]struct {
		files map[string]string
		want  string
	}{
		"empty":       {nil, "it has no base_state.json"},
		"above":       {map[string]string{"../" + packedHex + "/base_state.json": packed}, "does not stand in the directory"},
		"two":         {map[string]string{packedHex + "/base_state.json": packed, strings.Replace(packedHex, "1", "2", 1) + "/base_state.json": packed}, "more than one"},
		"no state":    {map[string]string{packedHex + "/meta.json": "{}"}, "it has no base_state.json"},
		"bad state":   {map[string]string{packedHex + "/base_state.json": "{"}, "cannot be read"},
		"other state": {map[string]string{packedHex + "/base_state.json": strings.Replace(packed, "1", "2", 1)}, "another conversation"},
	} {
		_, err := b.Library().Import(t.Context(), archiveOf(t, tt.files))
		if !errors.Is(err, control.ErrArchive) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestAnArchiveIsUnpackedWithoutWhatIsNotAConversations(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := engine.New(engine.Config{Dir: dir})
	defer func() { _ = b.Close() }() // Nothing is open.
	from := archiveOf(t, map[string]string{
		packedHex + "/base_state.json": packed, packedHex + "/meta.json": `{"title":"Tea"}`,
		packedHex + "/events/event-00000-a.json": `{"id":"a"}`, packedHex + "/events/../../evil": "x",
		packedHex + "/owner_lease.json": "{}", packedHex + "/events/.eventlog.lock": "", packedHex + "/sandbox/tmp/x": "x",
	})
	from.Workspace = "/elsewhere"
	id, err := b.Library().Import(t.Context(), from)
	if err != nil || id != packedID {
		t.Fatal(id, err)
	}
	var names []string
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, strings.TrimPrefix(path, dir))
		}
		return err
	})
	want := []string{"base_state.json", "events/event-00000-a.json", "meta.json"}
	for i := range want {
		want[i] = filepath.FromSlash("/" + packedHex + "/" + want[i])
	}
	if err != nil || strings.Join(names, " ") != strings.Join(want, " ") {
		t.Errorf("the files of the archive: %v, want %v (%v)", names, want, err)
	}
	state, err := os.ReadFile(filepath.Join(dir, packedHex, "base_state.json"))
	if err != nil || strings.Contains(string(state), "***") || !strings.Contains(string(state), `"working_dir":"/elsewhere"`) {
		t.Errorf("the packed state = %s, %v, want one in /elsewhere without masks", state, err)
	}
	if _, err := b.Library().Import(t.Context(), from); !errors.Is(err, control.ErrTaken) {
		t.Errorf("a second time: %v", err)
	}
}
