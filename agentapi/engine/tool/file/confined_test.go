package file_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/tool/file"
	"github.com/ohgw/ohgw/internal/sandbox"
)

func TestConfinedEditorDoesNotWriteWhatGitRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, d := range []string{".git/hooks", "sub/.git", "gitless"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	config := filepath.Join(dir, ".git", "config")
	if err := os.WriteFile(config, []byte("[core]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, ".git"), filepath.Join(dir, "gitless", "link")); err != nil {
		t.Skip(err)
	}
	e := editor(t, file.Config{Dir: dir, Confined: true})
	for _, path := range []string{".git/hooks/post-checkout", ".git/commondir", "sub/.git/config", "gitless/.git", "gitless/link/x"} {
		path = filepath.Join(dir, path)
		if got := run(t, e, map[string]any{"command": "create", "path": path, "file_text": "x"}); !got.IsError || !strings.Contains(got.Text, "belongs to git") {
			t.Errorf("create %s: %+v", path, got)
		}
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s was made", path)
		}
	}
	if got := run(t, e, map[string]any{"command": "str_replace", "path": config, "old_str": "core", "new_str": "x"}); !got.IsError {
		t.Errorf("result = %+v", got)
	}
	if got := run(t, e, map[string]any{"command": "view", "path": config}); got.IsError || !strings.Contains(got.Text, "[core]") {
		t.Errorf("result = %+v", got)
	}
	if got := run(t, e, map[string]any{"command": "create", "path": filepath.Join(dir, ".gitignore"), "file_text": "x"}); got.IsError {
		t.Errorf("result = %+v", got)
	}
}

// A confined editor with one more directory uses both, and no link out of either.
func TestAConfinedEditorWithOneMoreDirectory(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, notes, secret := filepath.Join(root, "work"), filepath.Join(root, "base/memory"), filepath.Join(root, "base/key")
	for _, d := range []string{dir, notes} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(secret, []byte("sk-secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{filepath.Join(notes, "link"), filepath.Join(dir, "link")} {
		if err := os.Symlink(secret, link); err != nil {
			t.Skip(err)
		}
	}
	also, err := sandbox.Confined(notes)
	if err != nil {
		t.Fatal(err)
	}
	e := editor(t, file.Config{Dir: dir, Confined: true, Also: notes, AlsoFiles: also})
	if text := e.Definition().Description; !strings.Contains(text, "Paths outside of it are refused, but for "+notes+".") {
		t.Errorf("the model is told %s", text)
	}
	note := filepath.Join(notes, "MEMORY.md")
	for _, args := range []map[string]any{
		{"command": "create", "path": note, "file_text": "tea\n"},
		{"command": "str_replace", "path": note, "old_str": "tea", "new_str": "cake"},
		{"command": "insert", "path": note, "insert_line": 0, "new_str": "and"},
		{"command": "view", "path": notes},
		{"command": "create", "path": filepath.Join(dir, "a.go"), "file_text": "x"},
	} {
		if got := run(t, e, args); got.IsError {
			t.Errorf("result of %v: %+v", args, got)
		}
	}
	if data, err := os.ReadFile(note); err != nil || string(data) != "and\ncake\n" {
		t.Errorf("the note has %q, %v", data, err)
	}
	for _, path := range []string{
		secret, filepath.Join(notes, "link"), filepath.Join(dir, "link"), filepath.Join(notes, "../key"), filepath.Dir(notes), root, notes + "2/x",
	} {
		if got := run(t, e, map[string]any{"command": "view", "path": path}); !got.IsError || strings.Contains(got.Text, "sk-secret") {
			t.Errorf("view %s: %+v", path, got)
		}
	}
	if got := run(t, e, map[string]any{"command": "create", "path": filepath.Join(notes, "sub/x.md"), "file_text": "x"}); !strings.Contains(got.Text, "There is no directory") {
		t.Errorf("a directory that is missing: %+v", got)
	}
	if got := run(t, e, map[string]any{"command": "create", "path": filepath.Join(notes, ".git/config"), "file_text": "x"}); !got.IsError {
		t.Errorf("what belongs to git: %+v", got)
	}
}

func TestEditOfAHardLinkChangesOnlyItsName(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "authorized_keys")
	if err := os.WriteFile(outside, []byte("key one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Link(outside, link); err != nil {
		t.Skip(err)
	}
	e := editor(t, file.Config{Dir: dir, Confined: true})
	for _, args := range []map[string]any{
		{"command": "str_replace", "path": link, "old_str": "one", "new_str": "two"},
		{"command": "insert", "path": link, "insert_line": 0, "new_str": "key zero"},
		{"command": "undo_edit", "path": link},
	} {
		if got := run(t, e, args); got.IsError {
			t.Errorf("result = %+v", got)
		}
		if data, err := os.ReadFile(outside); err != nil || string(data) != "key one\n" {
			t.Errorf("the file outside holds %q, %v after %v", data, err, args["command"])
		}
	}
}
