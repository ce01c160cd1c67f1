package skill_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/skill"
)

// tree writes files below a new directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// names are the skills as "name" with what they are.
func names(skills []skill.Skill) []string {
	var out []string
	for _, s := range skills {
		name := s.Name
		if s.Always {
			name += " always"
		}
		if s.Invocable {
			name += " invocable"
		}
		for _, trigger := range s.Triggers {
			name += " on:" + trigger
		}
		for _, path := range s.Paths {
			name += " for:" + path
		}
		out = append(out, name)
	}
	return out
}

func TestFindKnowsEveryPlaceAndForm(t *testing.T) {
	t.Parallel()
	home := tree(t, map[string]string{
		".openhands/skills/mine.md":            "---\ntriggers:\n- mine\n---\nx",
		".openhands/microagents/old.md":        "always here",
		".openhands/skills/installed/got.md":   "---\ntriggers: [got]\n---\n",
		".agents/skills/build/SKILL.md":        "the user's own: the project's counts",
		".openhands/skills/README.md":          "not a skill",
		".openhands/skills/twice.md":           "---\ntriggers: [two]\n---\n",
		".agents/skills/twice.md":              "---\ntriggers: [one]\n---\n",
		".agents/skills/hidden/SKILL.md":       "---\ndisable-model-invocation: true\n---\nx",
		".agents/skills/hidden/docs/inside.md": "belongs to the skill around it",
	})
	repo := tree(t, map[string]string{
		".git/HEAD":                            "",
		"AGENTS.md":                            "root rules",
		"sub/CLAUDE.md":                        "claude rules",
		"sub/.cursorrules":                     "cursor rules",
		"sub/.agents/skills/build/SKILL.md":    "---\nname: build\ndescription: Builds.\r\n---\r\nbody",
		"sub/.openhands/skills/deep/er/in.md":  "---\ninputs:\n- name: x\n---\n",
		"sub/.openhands/skills/rule.md":        "---\npaths: ['*.go', 'a/**']\ntriggers: [no]\n---\n",
		"sub/.agents/skills/Bad_Name/SKILL.md": "x",
		"sub/.agents/skills/bad.md":            "---\n: [\n---\n",
	})
	found, skipped := skill.Find(filepath.Join(repo, "sub"), userOf(home))
	want := []string{
		"cursorrules always", "claude always", "build invocable",
		"deep/er/in on:/deep/er/in", "rule for:*.go for:a/**",
		"agents always",
		"hidden", "twice on:one", "mine on:mine", "old always", "got on:got",
	}
	if diff := cmp.Diff(want, names(found)); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	left := map[string]string{}
	for _, s := range skipped {
		left[s.Name] = s.Reason
	}
	if diff := cmp.Diff(map[string]string{
		"bad.md":   "its front matter is not valid YAML",
		"Bad_Name": "its name must be that of its directory, in lower case with dashes",
		"build":    "another skill of this name comes first: " + filepath.Join(repo, "sub", ".agents", "skills", "build", "SKILL.md"),
		"twice":    "another skill of this name comes first: " + filepath.Join(home, ".agents", "skills", "twice.md"),
	}, left); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
}

func TestFindFollowsNoLinkOutOfTheDirectory(t *testing.T) {
	t.Parallel()
	outside := tree(t, map[string]string{"secret": "the secret", "skills/x.md": "the secret"})
	repo := tree(t, map[string]string{".openhands/x": ""})
	if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(repo, "AGENTS.md")); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink(filepath.Join(outside, "skills"), filepath.Join(repo, ".openhands", "skills")); err != nil {
		t.Fatal(err)
	}
	if found, _ := skill.Find(repo, skill.User{}); len(found) != 0 {
		t.Errorf("found %q", names(found))
	}
}

func TestOneFileUnderTwoNamesIsReadOnce(t *testing.T) {
	t.Parallel()
	repo := tree(t, map[string]string{"AGENTS.md": "rules"})
	if err := os.Symlink("AGENTS.md", filepath.Join(repo, "CLAUDE.md")); err != nil {
		t.Skip(err)
	}
	found, skipped := skill.Find(repo, skill.User{})
	if len(skipped) != 0 || cmp.Diff([]string{"agents always"}, names(found)) != "" {
		t.Errorf("found %q, %v", names(found), skipped)
	}
}

func TestTriggersAreWholeWords(t *testing.T) {
	t.Parallel()
	s := skill.Skill{Triggers: []string{"Docker", "c++", "/plan"}}
	for text, want := range map[string]string{
		"use docker": "Docker", "DOCKER!": "Docker", "dockerize": "", "my_docker": "", "undocker docker": "Docker",
		"in c++": "c++", "/plan it": "/plan", "plan it": "", "ädocker": "", "": "",
	} {
		if got := s.Triggered(text); got != want {
			t.Errorf("Triggered(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestRulesMatchLikeGlobs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, path string
		want          bool
	}{
		{"*.go", "a.go", true},
		{"*.go", "x/y/a.go", true},
		{"src/*.go", "src/a.go", true},
		{"src/*.go", "src/x/a.go", false},
		{"src/**", "src/x/a.go", true},
		{"**/*.py", "a.py", true},
		{"**/*.py", "x/a.py", true},
		{"a?.md", "ab.md", true},
		{"a?.md", "a/.md", false},
		{"**/test/**", "x/test/y", true},
		{"(x.go", "(x.go", true},
		{"./a.go", "a.go", true},
		{"a.go", "aXgo", false},
		{"übung/*.md", "übung/größe.md", true},
		{"**/文档/?.md", "x/文档/好.md", true},
		{"naïve*", "a/naïve.txt", true},
		{"ä", "a", false},
	} {
		if got := (skill.Skill{Paths: []string{tt.pattern}}).About(tt.path); got != tt.want {
			t.Errorf("%q about %q: %v", tt.pattern, tt.path, got)
		}
	}
}

func TestNestedRulesAreThoseAboveTheFile(t *testing.T) {
	t.Parallel()
	ws := tree(t, map[string]string{"AGENTS.md": "root", "a/AGENTS.md": "in a", "a/b/CLAUDE.md": "in b", "c/AGENTS.md": "in c"})
	got := names(skill.Nested(ws, "a/b/x/file.go"))
	if diff := cmp.Diff([]string{"claude:a/b", "agents:a"}, got); diff != "" {
		t.Error(diff)
	}
}

// userOf are the places of a user without OH_PERSISTENCE_DIR.
func userOf(home string) skill.User {
	return skill.User{Home: home, Base: filepath.Join(home, ".openhands")}
}

// OpenHands' directory is where OH_PERSISTENCE_DIR says, also as a link. What is in the
// home directory under its usual name is not the user's then.
func TestSkillsFollowTheDirectoryOfOpenHands(t *testing.T) {
	t.Parallel()
	home, data, workspace := t.TempDir(), t.TempDir(), t.TempDir()
	write := func(name string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte("---\nname: "+strings.TrimSuffix(filepath.Base(name), ".md")+"\n---\nBody."), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(home, ".agents", "skills", "a.md"))
	write(filepath.Join(home, ".openhands", "skills", "hidden.md"))
	write(filepath.Join(data, "skills", "b.md"))
	write(filepath.Join(data, "microagents", "c.md"))
	write(filepath.Join(data, "skills", "installed", "d.md"))
	write(filepath.Join(workspace, ".openhands", "skills", "e.md"))
	base := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(data, base); err != nil {
		t.Skip("there are no links here")
	}
	found, skipped := skill.Find(workspace, skill.User{Home: home, Base: base})
	got := map[string]bool{}
	for _, s := range found {
		got[s.Name] = s.Own
	}
	if diff := cmp.Diff(map[string]bool{"a": true, "b": true, "c": true, "d": true, "e": false}, got); diff != "" || len(skipped) > 0 {
		t.Errorf("skills (-want +got):\n%s\nskipped = %+v", diff, skipped)
	}
}

// The file is the one in which OpenHands keeps what is installed.
func TestAnInstalledSkillThatIsSwitchedOffIsNotFound(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	for name, text := range map[string]string{
		"on/SKILL.md": "---\nname: on\n---\nx", "off/SKILL.md": "---\nname: off\n---\nx", ".new-1/copy/SKILL.md": "---\nname: copy\n---\nx",
		".installed.json": `{"extensions":{"on":{"enabled":true},"off":{"enabled":false}}}`,
	} {
		file := filepath.Join(base, "skills/installed", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, skipped := skill.Find("", skill.User{Base: base})
	if len(found) != 1 || found[0].Name != "on" || len(skipped) != 0 {
		t.Errorf("skills = %+v, skipped %+v", found, skipped)
	}
	list := filepath.Join(base, "skills/installed/.installed.json")
	if err := os.WriteFile(list, []byte(`{"extensions":`), 0o600); err != nil {
		t.Fatal(err)
	}
	found, skipped = skill.Find("", skill.User{Base: base})
	if len(found) != 0 || len(skipped) != 1 || skipped[0].Path != list || !strings.Contains(skipped[0].Reason, "remove the file") {
		t.Errorf("with a torn list: %+v, %+v", found, skipped)
	}
}
