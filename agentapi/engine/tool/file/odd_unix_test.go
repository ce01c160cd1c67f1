//go:build unix

package file_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/tool/file"
)

func TestAPipeIsRefusedWithoutWaiting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, confined := range []bool{false, true} {
		e := editor(t, file.Config{Dir: dir, Confined: confined})
		for _, a := range []args{
			{"command": "view"},
			{"command": "str_replace", "old_str": "a", "new_str": "b"},
			{"command": "insert", "insert_line": 0, "new_str": "b"},
		} {
			a["path"] = pipe
			if got := run(t, e, a); !got.IsError || !strings.Contains(got.Text, "is not a regular file") {
				t.Errorf("%s, confined %t: %+v", a["command"], confined, got)
			}
		}
		if got := run(t, e, args{"command": "create", "path": pipe, "file_text": "x"}); !got.IsError || !strings.Contains(got.Text, "exists already") {
			t.Errorf("create, confined %t: %+v", confined, got)
		}
	}
}
