package skill_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/skill"
)

// TestSkillsAndCommandsOfPlugins has a plugin of the user, one of the workspace and one
// that is a skill itself.
func TestSkillsAndCommandsOfPlugins(t *testing.T) {
	t.Parallel()
	work, home := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		filepath.Join(home, ".agents/plugins/city/.claude-plugin/plugin.json"):      `{"name":"city-weather"}`,
		filepath.Join(home, ".agents/plugins/city/skills/any_Name/SKILL.md"):        "---\nname: Any Name\ndescription: D.\n---\nBody.",
		filepath.Join(home, ".agents/plugins/city/skills/any_Name/references/x.md"): "no skill",
		filepath.Join(home, ".agents/plugins/city/skills/word.md"):                  "---\ntriggers: [cloud]\n---\nOn clouds.",
		filepath.Join(home, ".agents/plugins/city/skills/README.md"):                "no skill",
		filepath.Join(home, ".agents/plugins/city/commands/now.md"):                 "---\ndescription: Weather now.\nargument-hint: [city, unit]\n---\nLook it up.",
		filepath.Join(home, ".agents/plugins/city/commands/bare.md"):                "Do it.",
		filepath.Join(work, ".openhands/plugins/single/SKILL.md"):                   "---\ndescription: One.\n---\nAlone.",
		filepath.Join(home, ".agents/skills/word.md"):                               "---\ntriggers: [cloud]\n---\nThe plugin's comes first.",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, skipped := skill.Find(work, home)
	type row struct {
		Description, Body string
		Own, Always       bool
		Triggers          []string
		Invocable         bool
	}
	got := map[string]row{}
	for _, s := range found {
		got[s.Name] = row{s.Description, s.Body, s.Own, s.Always, s.Triggers, s.Invocable}
	}
	want := map[string]row{
		"Any Name": {"D.", "Body.", true, false, nil, true},
		"word":     {"", "On clouds.", true, false, []string{"cloud"}, false},
		"city-weather:now": {
			"Weather now.", "## now\n\nWeather now.\n\n**Arguments**: `$ARGUMENTS` - city unit\n\n\nLook it up.", true, false,
			[]string{"/city-weather:now"},
			false,
		},
		"city-weather:bare": {"Command bare from city-weather", "Do it.", true, false, []string{"/city-weather:bare"}, false},
		"single":            {"One.", "Alone.", false, false, nil, true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(skipped) != 1 || skipped[0].Name != "word" {
		t.Errorf("%+v", skipped)
	}
	for _, s := range found {
		if want := s.Name == "city-weather:now"; (s.Triggered("please /city-weather:now Tokyo") != "") != want {
			t.Errorf("%s is called for: %v", s.Name, !want)
		}
	}
}
