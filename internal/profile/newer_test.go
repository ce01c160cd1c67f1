package profile_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
)

// newerDir has the files of an agent-server 1.58.2, as its API wrote them: two LLM
// profiles, of which "work" is active, an MCP server, a persona, tools with switch_llm,
// and confirmation. Its OH_SECRET_KEY was that of the fixtures.
const newerDir = "testdata/openhands-1.58.2"

// newNewer is a store with a copy of these files.
func newNewer(t *testing.T, edits ...string) store {
	t.Helper()
	files := map[string]string{}
	must(t, filepath.WalkDir(newerDir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		files[strings.TrimPrefix(filepath.ToSlash(path), newerDir+"/")] = string(content)
		return err
	}))
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(files["settings.json"], edits[i]) {
			t.Fatalf("the settings have no %s", edits[i])
		}
		files["settings.json"] = strings.Replace(files["settings.json"], edits[i], edits[i+1], 1)
	}
	return newStore(t, files)
}

// unknownVersion makes settings newer than all known ones.
func unknownVersion() []string { return []string{`"schema_version": 6`, `"schema_version": 7`} }

func TestTheActiveProfileOfNewerSettingsIsFound(t *testing.T) {
	t.Parallel()
	for _, edits := range [][]string{nil, unknownVersion(), {`"schema_version": 9`, `"schema_version": 12`}, {`"schema_version": 6`, `"schema_version": 3`}} {
		s := newNewer(t, edits...)
		if active, err := s.Active(); err != nil || active != "work" {
			t.Errorf("edits %v: active %q, %v", edits, active, err)
		}
		list, err := s.List(t.Context())
		must(t, err)
		var got []string
		for _, p := range list {
			if p.Active {
				got = append(got, p.Name)
			}
		}
		if diff := cmp.Diff([]string{"work"}, got); diff != "" {
			t.Errorf("edits %v: active profiles (-want +got):\n%s", edits, diff)
		}
		if p, err := s.Load("work"); err != nil || !p.Active {
			t.Errorf("edits %v: %+v, %v", edits, p, err)
		}
	}
}

func TestCheckSaysWhatItDoesWithNewerSettings(t *testing.T) {
	t.Parallel()
	const plain = `"api_key": "sk-example-not-a-real-key-0123456789"`
	old := []string{`"model": "anthropic/claude-sonnet-4-5-20250929"`, `"model": "litellm_proxy/claude-opus-5"`, `"base_url": null`, `"base_url": "` + proxyURL + `"`, `"schema_version": 9`, `"schema_version": 3`}
	for _, tt := range []struct {
		name, severity, code, text, repair string // no code: nothing is reported
		edits                              []string
	}{
		{name: "1.58.2"},
		{name: "1.48", edits: []string{`"schema_version": 6`, `"schema_version": 3`, `"schema_version": 9`, `"schema_version": 6`}},
		{name: "half a version", edits: []string{`"schema_version": 6`, `"schema_version": 3`}},
		{"unknown", "warning", "newer-openhands", "does not change it", "install a newer ohgw", unknownVersion()},
		{"a key in clear text", "warning", "key-plaintext", "not encrypted", "ohgw keys import", []string{`"api_key": "gAAAA`, plain + `, "model_canonical_name": "gAAAA`, `"model_canonical_name": null,`, ""}},
		{"an old form", "warning", "migrate", "", "ohgw profiles migrate", old},
		{"an old form in unknown ones", "warning", "migrate", "", "in OpenHands", append(unknownVersion(), old...)},
		{"a refused value", "error", "invalid-field", "stream_idle_timeout", "", []string{`"stream_idle_timeout": 300.0`, `"stream_idle_timeout": -1`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			report, err := newNewer(t, tt.edits...).Check(t.Context(), profile.CheckOptions{})
			must(t, err)
			var found bool
			for _, p := range report.Problems {
				if filepath.Base(p.Path) != "settings.json" {
					continue
				}
				if p.Code == tt.code && string(p.Severity) == tt.severity && strings.Contains(p.Text, tt.text) && strings.Contains(p.Repair, tt.repair) {
					found = true
				} else if tt.code == "" || p.Code == "unknown-field" {
					t.Errorf("unexpected: %+v", p)
				}
			}
			if found != (tt.code != "") {
				t.Errorf("problems = %+v", report.Problems)
			}
		})
	}
}

// knownVersions are edits that make the settings those of each version since 1.43.1, as
// far as their numbers go.
func knownVersions() map[string][]string {
	return map[string][]string{
		"1.43.1":         {`"schema_version": 6`, `"schema_version": 2`, `"schema_version": 9`, `"schema_version": 5`},
		"1.48":           {`"schema_version": 6`, `"schema_version": 3`, `"schema_version": 9`, `"schema_version": 6`},
		"1.51":           {`"schema_version": 6`, `"schema_version": 5`, `"schema_version": 9`, `"schema_version": 8`},
		"1.58.2":         nil,
		"half a version": {`"schema_version": 6`, `"schema_version": 3`},
	}
}

// TestUseKeepsWhatANewerOpenHandsHas has every byte of the settings but the active profile
// and its LLM, whose members are those of the profile.
func TestUseKeepsWhatANewerOpenHandsHas(t *testing.T) {
	t.Parallel()
	for name, edits := range knownVersions() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newNewer(t, edits...)
			before := parseDoc(t, s.read("settings.json"))
			profile158 := parseDoc(t, s.read("profiles/cheap.json"))
			profile158, err := profile158.Set([]byte("true"), "modify_params")
			must(t, err)
			profile158, err = profile158.Set([]byte("7.5"), "stream_idle_timeout")
			must(t, err)
			must(t, os.WriteFile(s.path("profiles/cheap.json"), profile158.Bytes(), 0o600))
			done, err := s.Use(t.Context(), "cheap", now())
			if err != nil || !done.Changed || done.Name != "cheap" {
				t.Fatalf("Use = %+v, error %v", done, err)
			}
			after := parseDoc(t, s.read("settings.json"))
			llm := after.Root().At("agent_settings", "llm")
			if model, _ := llm.Get("model").Text(); model == "" || string(llm.Get("model").Raw()) != string(profile158.Root().Get("model").Raw()) {
				t.Errorf("the LLM is %s", llm.Raw())
			}
			if got := string(llm.Get("stream_idle_timeout").Raw()); got != "7.5" {
				t.Errorf("stream_idle_timeout %q", got)
			}
			if version, _ := after.Root().At("agent_settings", "schema_version").Int(); llm.Get("modify_params").Exists() != (version < 6) {
				t.Errorf("modify_params in version %d: %t", version, llm.Get("modify_params").Exists())
			}
			back, err := after.Set(before.Root().At("agent_settings", "llm").Raw(), "agent_settings", "llm")
			must(t, err)
			back, err = back.Set([]byte(`"work"`), "active_profile")
			must(t, err)
			if diff := cmp.Diff(string(before.Bytes()), string(back.Bytes())); diff != "" {
				t.Errorf("what else differs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUseLeavesOtherProgramsWithoutAnLLM has the settings of an ACP agent: since 1.49 they
// have none.
func TestUseLeavesOtherProgramsWithoutAnLLM(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{"6": true, "7": false, "9": false} {
		s := newStore(t, map[string]string{
			"profiles/p.json": `{"model":"openai/x"}`,
			"settings.json":   `{"schema_version":4,"agent_settings":{"schema_version":` + version + `,"agent_kind":"acp","acp_server":"codex"}}`,
		})
		_, err := s.Use(t.Context(), "p", now())
		must(t, err)
		after := parseDoc(t, s.read("settings.json")).Root()
		if active, _ := after.Get("active_profile").Text(); active != "p" || after.At("agent_settings", "llm").Exists() != want {
			t.Errorf("version %s: %s", version, s.read("settings.json"))
		}
	}
}

func parseDoc(t *testing.T, text string) *jsonedit.Doc {
	t.Helper()
	doc, err := jsonedit.Parse([]byte(text))
	must(t, err)
	return doc
}

func TestSettingsThatAreNewerThanAllKnownOnesAreNotWritten(t *testing.T) {
	t.Parallel()
	s := newNewer(t, unknownVersion()...)
	before, profiles := s.read("settings.json"), s.read("profiles/work.json")
	_, useErr := s.Use(t.Context(), "cheap", now())
	_, renameErr := s.Rename(t.Context(), "work", "job")
	must(t, os.RemoveAll(s.path("agent-profiles")))
	_, removeErr := s.Remove(t.Context(), "work")
	for what, err := range map[string]error{"use": useErr, "rename": renameErr, "remove": removeErr} {
		bad, ok := errors.AsType[*profile.SettingsError](err)
		if !ok || bad.Path != s.path("settings.json") || !strings.Contains(err.Error(), "schema_version is 7, newer than 6") {
			t.Errorf("%s: %v", what, err)
		}
	}
	s.want("settings.json", before)
	s.want("profiles/work.json", profiles)
	if _, err := s.Rename(t.Context(), "cheap", "dear"); err != nil {
		t.Errorf("rename of a profile that is not active: %v", err)
	}
}

func TestRenameAndRemoveFollowInNewerSettings(t *testing.T) {
	t.Parallel()
	s := newNewer(t)
	before := s.read("settings.json")
	done, err := s.Rename(t.Context(), "work", "job")
	if err != nil || !done.Active {
		t.Fatalf("Rename = %+v, error %v", done, err)
	}
	s.want("settings.json", strings.Replace(before, `"active_profile": "work"`, `"active_profile": "job"`, 1))
	must(t, os.RemoveAll(s.path("agent-profiles")))
	if gone, err := s.Remove(t.Context(), "job"); err != nil || !gone.Active {
		t.Fatalf("Remove = %+v, error %v", gone, err)
	}
	s.want("settings.json", strings.Replace(before, `"active_profile": "work"`, `"active_profile": null`, 1))
}

// TestKeysLeaveNewerSettings has a copy of the active profile's key in the settings: it is
// taken out where the version is known; otherwise the answer says where it still is.
func TestKeysLeaveNewerSettings(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		edits []string
		left  bool
	}{
		"1.58.2":  {nil, false},
		"unknown": {unknownVersion(), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newNewer(t, tt.edits...)
			before := s.read("settings.json")
			keys := secret.NewFile(secret.FileConfig{Path: filepath.Join(t.TempDir(), "keys.json")})
			done, err := s.ImportKeys(t.Context(), keys, profile.ImportOptions{Names: []string{"work"}, Remove: true})
			must(t, err)
			var skipped bool
			for _, i := range done {
				skipped = skipped || i.Path == s.path("settings.json") && i.Action == profile.KeySkipped && strings.Contains(i.Problem, "newer")
			}
			key := parseDoc(t, s.read("settings.json")).Root().At("agent_settings", "llm", "api_key")
			if _, has := key.Text(); skipped != tt.left || has != tt.left {
				t.Errorf("import = %+v, key %s", done, key.Raw())
			}
			if tt.left {
				s.want("settings.json", before)
			}
		})
	}
}

func TestConversationsHaveTheSettingsOfANewerOpenHands(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		edits    []string
		newer    string
		tools    string
		switches bool
	}{
		{"1.58.2", nil, "", `[{"name":"terminal","params":{}},{"name":"file_editor","params":{}}]`, true},
		{"unknown", unknownVersion(), "schema_version is 7", `[{"name":"terminal","params":{}},{"name":"file_editor","params":{}}]`, true},
		{"no switch_llm", []string{`"name": "switch_llm"`, `"name": "glob"`}, "", `[{"name":"terminal","params":{}},{"name":"file_editor","params":{}},{"name":"glob","params":{}}]`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := newNewer(t, tt.edits...).ConversationSettings()
			must(t, err)
			if got.MaxIterations != 77 || !got.Confirmation || !got.Analyzer || len(got.Lost) > 0 || !strings.Contains(got.Newer, tt.newer) || (tt.newer == "") != (got.Newer == "") {
				t.Errorf("ConversationSettings = %+v", got)
			}
			var agent struct {
				Tools   json.RawMessage `json:"tools"`
				Switch  bool            `json:"enable_switch_llm_tool"`
				Servers map[string]struct {
					Env map[string]string `json:"env"`
				} `json:"mcp_config"`
				Context struct {
					Suffix string `json:"system_message_suffix"`
				} `json:"agent_context"`
			}
			must(t, json.Unmarshal([]byte(got.Agent.Reveal()), &agent))
			if string(agent.Tools) != tt.tools || agent.Switch != tt.switches || agent.Context.Suffix != "Be brief." || agent.Servers["fetch"].Env["TOKEN"] != fixtureKey {
				t.Errorf("tools %s, switch %t, suffix %q, %d servers", agent.Tools, agent.Switch, agent.Context.Suffix, len(agent.Servers))
			}
		})
	}
}

// TestNoToolsInNewerSettingsAreTheStandardOnes has null in place of a list, which since
// 1.51 means switch_llm, too.
func TestNoToolsInNewerSettingsAreTheStandardOnes(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{"settings.json": `{"schema_version":5,"agent_settings":{"schema_version":8,"tools":null}}`})
	got, err := s.ConversationSettings()
	must(t, err)
	if text := got.Agent.Reveal(); strings.Contains(text, `"tools"`) || !strings.Contains(text, `"enable_switch_llm_tool":true`) {
		t.Error(text)
	}
}

// An agent profile follows a rename in its own version, all else of it as it was. One that
// is newer than all known ones would have to change, so nothing does.
func TestAgentProfilesOfNewerVersionsFollowARename(t *testing.T) {
	t.Parallel()
	const file = "agent-profiles/default.json"
	for _, version := range []string{"2", "3", "4"} {
		s := newNewer(t)
		before := strings.Replace(s.read(file), `"schema_version": 4`, `"schema_version": `+version, 1)
		before = strings.Replace(before, `"revision": 0`, `"later": [1.50, "\u00fc"],   "revision": 0`, 1)
		must(t, os.WriteFile(s.path(file), []byte(before), 0o600))
		done, err := s.Rename(t.Context(), "work", "job")
		if err != nil || len(done.AgentProfiles) != 1 {
			t.Errorf("Rename = %+v, error %v", done, err)
		}
		s.want(file, strings.Replace(before, `"llm_profile_ref": "work"`, `"llm_profile_ref": "job"`, 1))
	}
	s := newNewer(t)
	before, settings := strings.Replace(s.read(file), `"schema_version": 4`, `"schema_version": 99`, 1), s.read("settings.json")
	must(t, os.WriteFile(s.path(file), []byte(before), 0o600))
	_, err := s.Rename(t.Context(), "work", "job")
	bad, ok := errors.AsType[*profile.NewerFileError](err)
	if !ok || bad.Path != s.path(file) || !strings.Contains(err.Error(), "schema_version is 99, newer than 4") {
		t.Errorf("Rename: %v", err)
	}
	s.want(file, before)
	s.want("settings.json", settings)
	if _, err := s.Load("work"); err != nil {
		t.Errorf("the profile was renamed: %v", err)
	}
	if _, err := s.Rename(t.Context(), "cheap", "dear"); err != nil {
		t.Errorf("rename of a profile that it does not use: %v", err)
	}
	if _, err := s.Remove(t.Context(), "work"); !errors.Is(err, profile.ErrInUse) {
		t.Errorf("remove: %v", err)
	}
	report, err := s.Check(t.Context(), profile.CheckOptions{})
	must(t, err)
	if len(report.Problems) != 1 || report.Problems[0].Code != "newer-openhands" || report.Problems[0].Path != s.path(file) {
		t.Errorf("problems = %+v", report.Problems)
	}
}
