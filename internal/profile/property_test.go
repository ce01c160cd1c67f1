package profile_test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret/secrettest"
)

// Whatever is in the files and in whatever order things are done: a profile
// that is activated or renamed keeps every byte, and so does every member of the
// settings and of the agent profiles that the operation is not about.
func TestOperationsKeepWhatTheyAreNotAbout(t *testing.T) {
	t.Parallel()
	root, n := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		base := filepath.Join(root, strconv.Itoa(n))
		s := store{profile.Open(profile.Config{Base: base, Ciphers: ciphers()}), base, t}
		content := drawObject(rt, "profile", `"model":"openai/x"`, `"api_key" : "`+fixtureToken+`"`)
		settings := drawObject(rt, "settings", `"agent_settings":`+drawObject(rt, "agent", `"llm": {"model":"old"}`), `"active_profile":null`)
		agent := drawObject(rt, "agent profile", `"llm_profile_ref": "p"`)
		write(t, s.path("profiles/p.json"), content)
		write(t, s.path("settings.json"), settings)
		write(t, s.path("agent-profiles/a.json"), agent)

		name := "p"
		for i, op := range rapid.SliceOfN(rapid.SampledFrom([]string{"use", "rename", "import"}), 1, 5).Draw(rt, "operations") {
			switch op {
			case "use":
				_, err := s.Use(t.Context(), name, now())
				must(t, err)
			case "rename":
				next := fmt.Sprintf("p%d", i)
				_, err := s.Rename(t.Context(), name, next)
				must(t, err)
				name = next
			case "import":
				_, err := s.ImportKeys(t.Context(), new(secrettest.Store), profile.ImportOptions{})
				must(t, err)
			}
		}
		if got := s.read("profiles/" + name + ".json"); got != content {
			rt.Fatalf("the profile %q became %q", content, got)
		}
		same(rt, settings, s.read("settings.json"), "agent_settings", "active_profile")
		same(rt, object(rt, settings, "agent_settings"), object(rt, s.read("settings.json"), "agent_settings"), "llm")
		same(rt, agent, s.read("agent-profiles/a.json"), "llm_profile_ref")

		_, err := s.ImportKeys(t.Context(), new(secrettest.Store), profile.ImportOptions{Remove: true})
		must(t, err)
		same(rt, content, s.read("profiles/"+name+".json"), "api_key")
	})
}

// same compares the members of two objects, but for some, and what is around
// their brackets.
func same(t *rapid.T, before, after string, except ...string) {
	t.Helper()
	if diff := cmp.Diff(members(t, before, except), members(t, after, except)); diff != "" {
		t.Fatalf("other members (-before +after):\n%s", diff)
	}
	if strings.HasSuffix(before, "\n") != strings.HasSuffix(after, "\n") {
		t.Fatalf("the end of %q became that of %q", before, after)
	}
}

func members(t *rapid.T, src string, except []string) []string {
	doc, err := jsonedit.Parse([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for name, v := range doc.Root().Members() {
		if !strings.Contains(" "+strings.Join(except, " ")+" ", " "+name+" ") {
			out = append(out, name+" = "+string(v.Raw()))
		}
	}
	return out
}

func object(t *rapid.T, src, name string) string {
	doc, err := jsonedit.Parse([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return string(doc.Root().Get(name).Raw())
}

// drawObject draws an object with these members and some unknown ones, in some layout.
func drawObject(t *rapid.T, label string, known ...string) string {
	pick := func(what string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label+" "+what) }
	all := append([]string{}, known...)
	for i := range rapid.IntRange(0, 4).Draw(t, label+" others") {
		all = append(all, fmt.Sprintf("\"m%d\" :%s", i, pick("value", `1.50e0`, `"\u00fc"`, `"ü"`, `{ "llm": null }`, `[ ]`, `-0`, `"\/"`)))
	}
	all = rapid.Permutation(all).Draw(t, label+" order")
	blank := pick("blank", "", " ", "\n  ", "\r\n\t")
	return "{" + blank + strings.Join(all, pick("comma", ",", " , ", ",\n  ")) + blank + "}" + pick("end", "", "\n")
}
