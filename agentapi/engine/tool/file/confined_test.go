package file_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/tool/file"
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
