//go:build unix

package definition_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/definition"
)

func TestALinkLeadsOutOfTheUsersDirectoryButNotOutOfAProject(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	target := write(t, outside, "a.md", "---\nname: secret\n---\n")
	write(t, dir, ".agents/agents/b.md", "b")
	link := filepath.Join(dir, ".agents/agents/l.md")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	found, problems := definition.Load(t.Context(), definition.Dirs(dir, "", "")...)
	if len(found) != 1 || found[0].Name != "b" || len(problems) != 1 || !strings.Contains(problems[0].Msg, "leads out") {
		t.Fatal(found, problems)
	}
	found, problems = definition.Load(t.Context(), definition.Dirs("", dir, filepath.Join(dir, ".openhands"))...)
	if len(found) != 2 || found[1].Name != "secret" || found[1].Path != link || len(problems) > 0 {
		t.Fatal(found, problems)
	}
}

func TestAPipeIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	for _, user := range []bool{false, true} {
		dir := t.TempDir()
		if err := syscall.Mkfifo(filepath.Join(dir, "a.md"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("/dev/zero", filepath.Join(dir, "b.md")); err != nil {
			t.Fatal(err)
		}
		found, problems := definition.Load(t.Context(), definition.Dir{Root: dir, Place: ".", User: user})
		if len(found) > 0 || len(problems) != 2 || !problems[0].Unused || !problems[1].Unused {
			t.Fatal(found, problems)
		}
	}
}
