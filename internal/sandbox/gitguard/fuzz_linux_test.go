package gitguard

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// read are the settings of a configuration as git itself reads them. It is empty where git
// refuses the file.
func read(t *testing.T, text string) map[setting]int {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "config")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "config", "--file", file, "--null", "--list")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
	listed, err := cmd.Output()
	if err != nil {
		return nil
	}
	found := map[setting]int{}
	for entry := range bytes.SplitSeq(bytes.TrimSuffix(listed, []byte{0}), []byte{0}) {
		key, value, _ := strings.Cut(string(entry), "\n")
		section, rest, ok := strings.Cut(key, ".")
		if !ok {
			continue // the rest of a value with a zero byte
		}
		subsection, name := "", rest
		if at := strings.LastIndexByte(rest, '.'); at >= 0 {
			subsection, name = rest[:at], rest[at+1:]
		}
		found[setting{section + " " + subsection + " " + name, value}]++
	}
	return found
}

// FuzzConfiguration reads configurations of git that an agent could write. In what the
// guard keeps of one, git finds harmless settings only.
func FuzzConfiguration(f *testing.F) {
	const before = "[core]\n\tbare = false\n[user]\n\tname = Ada\n"
	for _, after := range []string{
		before + "[remote \"origin\"]\n\turl = https://example.com/a.git\n",
		before + "[core]\n\tfsmonitor = evil\n[alias]\n\tst = !evil\n",
		before + "[user]\n\tname = Eve\\\n[core]\n\tfsmonitor = evil\n",
		before + "[user]\n\tname = \"Eve\n[core]\n\tfsmonitor = evil\n",
		before + "[user]\n\tname = Eve\r[core]\r\tfsmonitor = evil\n",
		before + "[branch \"x\\\"] [core]\"]\n\tmerge = a\n",
		before + "[remote \"o url=x\"]\n\tuploadpack = evil\n[submodule \"x url=y\"]\n\tupdate = !evil\n",
		"\ufeff" + before, "[core] hooksPath = evil\n[include]\n\tpath = evil # x\n", "[Core \"x\"]\n\tWorktree = /\n[", "[user \"core\"]\n\tname = \x00\n",
	} {
		f.Add(before, after)
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		kept := harmlessOf(after)
		if again := harmlessOf(kept); again != kept {
			t.Errorf("%q is kept of %q, and %q of that", kept, after, again)
		}
		for s := range read(t, kept) {
			if !isHarmless(s) && !isOfNew(s) {
				t.Errorf("git finds %q in %q, which is kept of %q", s, kept, after)
			}
		}
		left, ok := withoutHarm(before, after)
		if onlyHarmless(before, after) && (!ok || left != after) {
			t.Errorf("left = %q, %v, of the harmless %q after %q", left, ok, after, before)
		}
		if !ok {
			return
		}
		old := read(t, before)
		for s, n := range read(t, left) {
			if n > old[s] && !isHarmless(s) {
				t.Errorf("git finds %q in %q, which is left of %q after %q", s, left, after, before)
			}
		}
	})
}
