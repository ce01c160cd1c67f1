package profile_test

import (
	"errors"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/profile"
)

// router is a meta-profile with spellings and members that stay.
const router = `{
  "classifier_model": "work",
  "classes": [ {"description": "R\u00e9vision", "model": "work", "later": 1.50},
    {"model":"cheap","description":"all else"}, {"description": "x", "model": "work.json"} ],
  "prompt_template": null,
  "model_table": null,   "later": {"model": "work"}
}`

// inline is the copy of a meta-profile in the agent's settings.
const inline = `"meta_profile": {"classifier_model": "work", "classes": [{"description": "a", "model": "work"}]},
    "meta_profile_llms": {"work": {"model": "openai/x", "api_key": "` + fixtureToken + `"}, "cheap": {"model": "openai/y"}}`

// newMeta is a store of OpenHands 1.58.2 with meta-profiles and no agent profiles.
func newMeta(t *testing.T, metas map[string]string, edits ...string) store {
	t.Helper()
	s := newNewer(t, edits...)
	must(t, os.RemoveAll(s.path("agent-profiles")))
	if metas != nil {
		must(t, os.Mkdir(s.path("meta-profiles"), 0o700))
	}
	for name, text := range metas {
		must(t, os.WriteFile(s.path("meta-profiles/"+name+".json"), []byte(text), 0o600))
	}
	return s
}

func TestRenameReachesMetaProfiles(t *testing.T) {
	t.Parallel()
	direct := `{"classifier_model": "cheap", "prompt_template": "{{ instance_text }} work"}`
	s := newMeta(t, map[string]string{"router": router, "direct": direct}, `"meta_profile": null,
    "meta_profile_llms": {}`, inline)
	before := s.read("settings.json")
	done, err := s.Rename(t.Context(), "work", "job")
	must(t, err)
	if diff := cmp.Diff(profile.Renaming{Old: "work", New: "job", Active: true, AgentProfiles: []string{}, MetaProfiles: []string{"router"}}, done); diff != "" {
		t.Error(diff)
	}
	want := strings.NewReplacer(`"classifier_model": "work"`, `"classifier_model": "job"`, `"R\u00e9vision", "model": "work"`, `"R\u00e9vision", "model": "job"`, `"work.json"`, `"job"`).Replace(router)
	s.want("meta-profiles/router.json", want)
	s.want("meta-profiles/direct.json", direct)
	after := parseDoc(t, s.read("settings.json")).Root()
	agent := after.Get("agent_settings")
	if name, _ := after.Get("active_profile").Text(); name != "job" {
		t.Errorf("active profile %q", name)
	}
	if got := string(agent.Get("meta_profile").Raw()); got != `{"classifier_model": "job", "classes": [{"description": "a", "model": "job"}]}` {
		t.Errorf("the copy is %s", got)
	}
	if key, _ := agent.At("meta_profile_llms", "job", "api_key").Text(); key != fixtureToken || agent.At("meta_profile_llms", "work").Exists() {
		t.Errorf("the LLMs are %s", agent.Get("meta_profile_llms").Raw())
	}
	// Back again, all is as it was, but the order of the LLMs and the name with a suffix.
	_, err = s.Rename(t.Context(), "job", "work")
	must(t, err)
	s.want("meta-profiles/router.json", strings.Replace(router, `"work.json"`, `"work"`, 1))
	without := func(text string) string {
		doc, err := parseDoc(t, text).Delete("agent_settings", "meta_profile_llms")
		must(t, err)
		return string(doc.Bytes())
	}
	if diff := cmp.Diff(without(before), without(s.read("settings.json"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The copy in the settings follows also where another profile is active.
func TestRenameReachesTheCopyOfAMetaProfile(t *testing.T) {
	t.Parallel()
	s := newMeta(t, nil, `"active_profile": "work"`, `"active_profile": "cheap"`, `"meta_profile": null`, `"meta_profile": {"classifier_model": "work"}`)
	before := s.read("settings.json")
	done, err := s.Rename(t.Context(), "work", "job")
	if err != nil || done.Active {
		t.Errorf("Rename = %+v, error %v", done, err)
	}
	s.want("settings.json", strings.Replace(before, `"classifier_model": "work"`, `"classifier_model": "job"`, 1))
	if _, err := os.Stat(s.path("meta-profiles")); !os.IsNotExist(err) {
		t.Errorf("a directory is made: %v", err)
	}
}

func TestAProfileOfAMetaProfileIsNotRemoved(t *testing.T) {
	t.Parallel()
	s := newMeta(t, map[string]string{"router": router, "damaged": `{"classifier_model": "cheap", "classes": 5}`})
	_, err := s.Remove(t.Context(), "work")
	used, ok := errors.AsType[*profile.InUseError](err)
	if !ok || !errors.Is(err, profile.ErrInUse) || len(used.By) > 0 || !cmp.Equal(used.Meta, []string{"router"}) {
		t.Errorf("Remove: %v", err)
	}
	if _, err := s.Load("work"); err != nil {
		t.Error(err)
	}
	must(t, os.Remove(s.path("meta-profiles/router.json")))
	if _, err := s.Remove(t.Context(), "cheap"); err != nil {
		t.Errorf("only a meta-profile that OpenHands does not load uses it: %v", err)
	}
}

// A meta-profile that cannot be changed keeps the profile's name; nothing is half done.
func TestRenameWithAnUnwritableMetaProfileChangesNothing(t *testing.T) {
	t.Parallel()
	twice := `{"classifier_model": "work", "later": 1, "later": 2}`
	s := newMeta(t, map[string]string{"router": router, "twice": twice})
	settings := s.read("settings.json")
	if _, err := s.Rename(t.Context(), "work", "job"); err == nil || !strings.Contains(err.Error(), `"twice"`) {
		t.Errorf("Rename: %v", err)
	}
	s.want("meta-profiles/router.json", router)
	s.want("meta-profiles/twice.json", twice)
	s.want("settings.json", settings)
	if _, err := s.Load("work"); err != nil {
		t.Error(err)
	}
}

// badMetas are meta-profiles that OpenHands does not load, and a part of the reason.
func badMetas() map[string]string {
	return map[string]string{
		`{no json`:                   "JSON",
		`[]`:                         "not a JSON object",
		`{}`:                         "classifier_model",
		`{"classifier_model": null}`: "classifier_model",
		`{"classifier_model": 5}`:    "classifier_model",
		`{"classifier_model": "work", "classes": null}`:                                                                            "classes",
		`{"classifier_model": "work", "classes": [5]}`:                                                                             "classes",
		`{"classifier_model": "work", "classes": [{"model": "work"}]}`:                                                             "classes",
		`{"classifier_model": "work", "classes": [{"description": "a"}]}`:                                                          "classes",
		`{"classifier_model": "work", "prompt_template": 5}`:                                                                       "prompt_template",
		`{"classifier_model": "work", "prompt_template": "instance_text"}`:                                                         "{{ instance_text }}",
		`{"classifier_model": "work", "prompt_template": "","classes": []}`:                                                        "{{ instance_text }}",
		`{"classifier_model": "work", "model_table": []}`:                                                                          "model_table",
		`{"classifier_model": "work", "prompt_template": "{{instance_text}}", "classes": [{"description": "a", "model": "work"}]}`: "both",
	}
}

func goodMetas() []string {
	return []string{
		`{"classifier_model": "work"}`, strings.ReplaceAll(router, "work.json", "work"), `{"classifier_model": "work", "classes": [], "model_table": "x", "later": 1}`,
		`{"classifier_model": "work", "prompt_template": "a {{  instance_text}} b", "classes": []}`,
		"{\"classifier_model\": \"work\", \"prompt_template\": \"{{\\ninstance_text\\t}}\"}",
	}
}

func TestCheckFindsDamagedMetaProfiles(t *testing.T) {
	t.Parallel()
	want := maps.Clone(badMetas())
	for _, src := range goodMetas() {
		want[src] = ""
	}
	for src, part := range want {
		report, err := newMeta(t, map[string]string{"m": src, "not a name": "{"}).Check(t.Context(), profile.CheckOptions{})
		must(t, err)
		switch p := report.Problems; {
		case part == "" && len(p) > 0:
			t.Errorf("%s: problems = %+v", src, p)
		case part != "" && (len(p) != 1 || p[0].Code != "meta-profile-damaged" || p[0].Severity != profile.Error || !strings.Contains(p[0].Text, part) || p[0].Repair == ""):
			t.Errorf("%s: problems = %+v, want %q", src, p, part)
		}
	}
}

func TestCheckFindsMetaProfilesWithoutTheirProfiles(t *testing.T) {
	t.Parallel()
	s := newMeta(t, map[string]string{"router": router}, "\n  \"active_meta_profile\": null", "\n  \"active_meta_profile\": \"gone\"")
	must(t, os.Remove(s.path("profiles/cheap.json")))
	report, err := s.Check(t.Context(), profile.CheckOptions{})
	must(t, err)
	var got []string
	for _, p := range report.Problems {
		got = append(got, p.Code+" "+string(p.Severity)+" "+p.Text+" | "+p.Repair)
	}
	want := []string{
		`meta-profile-dangling error the meta-profile router uses the profile "cheap", which does not exist | ohgw profiles add cheap`,
		`active-meta-missing warning the active meta-profile "gone" does not exist | activate another meta-profile in OpenHands`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// "work.json" is the profile "work", and an agent profile may name a meta-profile.
func TestReferencesOfAgentProfiles(t *testing.T) {
	t.Parallel()
	const file = "agent-profiles/default.json"
	s := newNewer(t)
	text := strings.NewReplacer(`"llm_profile_ref": "work"`, `"llm_profile_ref": "work.json"`, `"meta_profile_ref": null`, `"meta_profile_ref": "gone"`).Replace(s.read(file))
	must(t, os.WriteFile(s.path(file), []byte(text), 0o600))
	report, err := s.Check(t.Context(), profile.CheckOptions{})
	must(t, err)
	if p := report.Problems; len(p) != 1 || p[0].Code != "meta-profile-missing" || p[0].Path != s.path(file) || !strings.Contains(p[0].Text, `"gone"`) {
		t.Errorf("problems = %+v", p)
	}
	if _, err := s.Remove(t.Context(), "work"); !errors.Is(err, profile.ErrInUse) {
		t.Errorf("Remove: %v", err)
	}
	_, err = s.Rename(t.Context(), "work", "job")
	must(t, err)
	s.want(file, strings.Replace(text, `"work.json"`, `"job"`, 1))
}
