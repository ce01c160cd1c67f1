//go:build unix

package skill_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/skill"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// invoked is what the model reads of a skill with that body.
func invoked(t *testing.T, s skill.Skill, dir string) string {
	t.Helper()
	s.Name, s.Invocable = "one", true
	read := skill.Tool(skill.ToolConfig{
		Skills: []skill.Skill{s}, Workspace: dir, Env: []string{"PATH=" + os.Getenv("PATH")},
		Invoked: func(context.Context, string) error { return nil },
	})
	result, err := read.Run(t.Context(), tool.Call{Args: json.RawMessage(`{"name":"one"}`)})
	if err != nil {
		t.Fatal(err)
	}
	return result.Content[0].Text
}

func TestEndlessOutputOfASkillIsCutWhileItComes(t *testing.T) {
	t.Parallel()
	// "printed too much" is said only where the output ended the command; the end
	// of its time has another text.
	text := invoked(t, skill.Skill{Own: true, Body: "It says !`yes 0123456789`."}, t.TempDir())
	if len(text) > 60_000 || !strings.HasPrefix(text, "It says 0123456789\n") || !strings.Contains(text, "printed too much") {
		t.Errorf("%d bytes: %.80q ... %.200q", len(text), text, text[max(0, len(text)-200):])
	}
}

func TestCommandsOfASkillEndWithWhatTheyStarted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := invoked(t, skill.Skill{Own: true, Body: "!`sleep 1000 >/dev/null 2>&1 & echo $! > child; echo done`"}, dir)
	if text != "done" {
		t.Errorf("text = %q", text)
	}
	data, err := os.ReadFile(filepath.Join(dir, "child"))
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if err := json.Unmarshal(data, &pid); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, waittest.Patience, "the command's child ends", func() (any, bool) {
		err := syscall.Kill(pid, 0)
		return err, err != nil || zombie(pid)
	})
}

// zombie reports whether a process is dead and its parent has not waited for it yet.
func zombie(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func TestSkillsOfAWorkspaceRunNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := invoked(t, skill.Skill{Body: "Look: !`touch made`"}, dir)
	if !strings.Contains(text, "`touch made`, which was not run") {
		t.Errorf("text = %q", text)
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); err == nil {
		t.Error("the command of a workspace's skill ran")
	}
}

func TestSkillsOfTheHomeDirectoryAreTheUsersOwn(t *testing.T) {
	t.Parallel()
	home := tree(t, map[string]string{".agents/skills/mine/SKILL.md": "x"})
	repo := tree(t, map[string]string{".agents/skills/theirs/SKILL.md": "x"})
	for _, workspace := range []string{repo, home} {
		found, skipped := skill.Find(workspace, userOf(home))
		if len(skipped) != 0 {
			t.Errorf("skipped in %s: %+v", workspace, skipped)
		}
		for _, s := range found {
			if s.Own != (s.Name == "mine") {
				t.Errorf("%s in %s: own %v", s.Name, workspace, s.Own)
			}
		}
	}
}
