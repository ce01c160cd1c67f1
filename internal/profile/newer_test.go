package profile_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/profile/canon"
	"github.com/ohgw/ohgw/internal/profile/document"
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
			t.Errorf("%v: active %q, %v", edits, active, err)
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
			t.Errorf("%v: active profiles (-want +got):\n%s", edits, diff)
		}
		if p, err := s.Load("work"); err != nil || !p.Active {
			t.Errorf("%v: %+v, %v", edits, p, err)
		}
	}
}

func TestCheckSaysWhatItDoesWithNewerSettings(t *testing.T) {
	t.Parallel()
	const plain = `"api_key": "sk-example-not-a-real-key-0123456789"`
	for _, tt := range []struct {
		name, severity, code, text, repair string
		edits                              []string
	}{
		{"1.58.2", "note", "newer-openhands", "changes only the active profile", "in OpenHands", nil},
		{"unknown", "warning", "newer-openhands", "does not change it", "install a newer ohgw", unknownVersion()},
		{"a key in clear text", "warning", "key-plaintext", "not encrypted", "set OH_SECRET_KEY", []string{`"api_key": "gAAAA`, plain + `, "was": "gAAAA`}},
		{"an old form", "warning", "migrate", "", "in OpenHands", []string{`"model": "anthropic/claude-sonnet-4-5-20250929"`, `"model": "litellm_proxy/claude-opus-4-8"`, `"base_url": null`, `"base_url": "` + proxyURL + `"`, `"schema_version": 9`, `"schema_version": 3`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			report, err := newNewer(t, tt.edits...).Check(t.Context(), profile.CheckOptions{})
			must(t, err)
			found := slices.ContainsFunc(report.Problems, func(p profile.Problem) bool {
				return filepath.Base(p.Path) == "settings.json" && p.Code == tt.code && string(p.Severity) == tt.severity &&
					strings.Contains(p.Text, tt.text) && strings.Contains(p.Repair, tt.repair)
			})
			if !found || report.Worst() == profile.Error {
				t.Errorf("%+v", report.Problems)
			}
			for _, p := range report.Problems {
				if filepath.Base(p.Path) == "settings.json" && p.Code == "unknown-field" {
					t.Errorf("a member of a newer OpenHands is called unknown: %+v", p)
				}
			}
		})
	}
}

// TestUseChangesOneValueOfNewerSettings compares every byte of the file.
func TestUseChangesOneValueOfNewerSettings(t *testing.T) {
	t.Parallel()
	s := newNewer(t)
	before := s.read("settings.json")
	for _, tt := range []struct {
		name    string
		use     func(context.Context, string) (profile.Activation, error)
		changed bool
	}{
		{"cheap", func(ctx context.Context, name string) (profile.Activation, error) { return s.Use(ctx, name, now()) }, true},
		{"cheap", func(ctx context.Context, name string) (profile.Activation, error) {
			return s.UseWithKey(ctx, name, now())
		}, false},
	} {
		done, err := tt.use(t.Context(), tt.name)
		must(t, err)
		if diff := cmp.Diff(profile.Activation{Name: "cheap", Changed: tt.changed, Key: profile.KeyNone, ActiveOnly: true}, done); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		s.want("settings.json", strings.Replace(before, `"active_profile": "work"`, `"active_profile": "cheap"`, 1))
	}
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
		t.Fatalf("%+v, %v", done, err)
	}
	s.want("settings.json", strings.Replace(before, `"active_profile": "work"`, `"active_profile": "job"`, 1))
	must(t, os.RemoveAll(s.path("agent-profiles")))
	if gone, err := s.Remove(t.Context(), "job"); err != nil || !gone.Active {
		t.Fatalf("%+v, %v", gone, err)
	}
	s.want("settings.json", strings.Replace(before, `"active_profile": "work"`, `"active_profile": null`, 1))
}

// TestKeysOfNewerSettingsStay has a copy of the active profile's key in settings that
// are not changed: the key is stored, and the answer says where it still is.
func TestKeysOfNewerSettingsStay(t *testing.T) {
	t.Parallel()
	s := newNewer(t)
	before := s.read("settings.json")
	keys := secret.NewFile(secret.FileConfig{Path: filepath.Join(t.TempDir(), "keys.json")})
	done, err := s.ImportKeys(t.Context(), keys, profile.ImportOptions{Names: []string{"work"}, Remove: true})
	must(t, err)
	var kept bool
	for _, i := range done {
		kept = kept || i.Path == s.path("settings.json") && i.Action == profile.KeySkipped && strings.Contains(i.Problem, "newer")
	}
	if !kept {
		t.Errorf("%+v", done)
	}
	s.want("settings.json", before)
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
				t.Errorf("%+v", got)
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

func TestNewerSettingsHaveNoRepairHere(t *testing.T) {
	t.Parallel()
	snap := document.SettingsFile(newNewer(t).base).Read()
	if snap.Gate != nil || !snap.ActiveOnly || snap.Sealed.Action != canon.ErrorNewer || len(snap.Entries()) != 1 {
		t.Errorf("gate %v, sealed %v, %d entries", snap.Gate, snap.Sealed, len(snap.Entries()))
	}
}
