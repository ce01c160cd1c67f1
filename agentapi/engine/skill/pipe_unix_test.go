//go:build unix

package skill_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/skill"
)

// An agent can make a pipe where skills are looked for. To wait for its other end
// would hang each conversation that opens in this workspace.
func TestAPipeInPlaceOfASkillIsSkipped(t *testing.T) {
	t.Parallel()
	repo := tree(t, map[string]string{".agents/skills/one.md": "x"})
	for _, name := range []string{"AGENTS.md", ".agents/skills/two.md"} {
		if err := syscall.Mkfifo(filepath.Join(repo, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, skipped := skill.Find(repo, skill.User{})
	if len(found) != 1 || found[0].Name != "one" {
		t.Errorf("found: %+v", found)
	}
	for _, s := range skipped {
		if !strings.Contains(s.Reason, "regular file") {
			t.Errorf("skipped: %+v", s)
		}
	}
	if len(skipped) == 0 {
		t.Error("nobody is told")
	}
}
