package document_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/filelock"
	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
)

func TestGatesOfProfiles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, src string
		want      canon.Action
	}{
		{"a profile", `{"model":"x","schema_version":1}`, ""},
		{"no version", `{"model":"x"}`, ""},
		{"null version", `{"model":"x","schema_version":null}`, ""},
		{"version 0", `{"model":"x","schema_version":0}`, ""},
		{"falsy versions", `{"schema_version":false}`, ""},
		{"falsy float", `{"schema_version":-0.0}`, ""},
		{"falsy float with an exponent", `{"schema_version":0.0e7}`, ""},
		{"falsy text", `{"schema_version":""}`, ""},
		{"falsy list", `{"schema_version":[ ]}`, ""},
		{"falsy object", `{"schema_version":{}}`, ""},
		{"negative version", `{"schema_version":-3}`, ""},
		{"newer", `{"schema_version":2}`, canon.ErrorNewer},
		{"much newer", `{"schema_version":99999999999999999999999}`, canon.ErrorNewer},
		{"text", `{"schema_version":"1"}`, canon.ErrorSchemaType},
		{"float", `{"schema_version":1.0}`, canon.ErrorSchemaType},
		{"true", `{"schema_version":true}`, canon.ErrorSchemaType},
		{"list", `{"schema_version":[1]}`, canon.ErrorSchemaType},
		{"NaN", `{"schema_version":NaN}`, canon.ErrorSchemaType},
		{"array", `["model"]`, canon.ErrorNotObject},
		{"truncated", `{"model":`, canon.ErrorCorrupt},
		{"empty", ``, canon.ErrorCorrupt},
		{"byte order mark", "\ufeff{}", canon.ErrorCorrupt},
		{"not UTF-8", "{\"model\":\"\xe9\"}", canon.ErrorCorrupt},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			wantGate(t, put(t, document.ProfileFile(base, "p"), tt.src).Read(), tt.want)
		})
	}
}

func TestGatesOfSettings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, src string
		want      canon.Action
	}{
		{"empty", `{}`, ""},
		{"current", `{"schema_version":2,"agent_settings":{"schema_version":5},"conversation_settings":{"schema_version":1}}`, ""},
		{"old", `{"schema_version":false,"agent_settings":{"schema_version":null}}`, ""},
		{"newer", `{"schema_version":3}`, ""},
		{"much newer", `{"schema_version":99999999999999999999999}`, ""},
		{"newer, not a number", `{"schema_version":"3"}`, canon.ErrorSchemaType},
		{"agent version false", `{"agent_settings":{"schema_version":false}}`, canon.ErrorSchemaType},
		{"agent version text", `{"agent_settings":{"schema_version":""}}`, canon.ErrorSchemaType},
		{"negative agent version", `{"agent_settings":{"schema_version":-1}}`, canon.ErrorSchemaType},
		{"no agent settings", `{"agent_settings":null}`, canon.ErrorSchema},
		{"first OpenHands", `{"llm_model":"x","language":"en"}`, canon.ReportLegacyV0},
		{"first OpenHands, key only", `{"llm_api_key":null}`, canon.ReportLegacyV0},
		{"a member with that name", `{"agent_settings":{},"llm_model":"x"}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantGate(t, put(t, document.SettingsFile(t.TempDir()), tt.src).Read(), tt.want)
		})
	}
}

func TestWhatIsNoFileIsNotRead(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	good := put(t, document.ProfileFile(base, "good"), `{"model":"x"}`)
	for name, make := range map[string]func(path string) error{
		"dir":      func(path string) error { return os.Mkdir(path, 0o700) },
		"dangling": func(path string) error { return os.Symlink("nowhere.json", path) },
		"link":     func(path string) error { return os.Symlink("good.json", path) },
		"hard":     func(path string) error { return os.Link(good.Path, path) },
		"dirlink":  func(path string) error { return os.Symlink(base, path) },
	} {
		if err := make(document.ProfileFile(base, name).Path); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]struct{ gate, sealed canon.Action }{
		"dir":      {canon.ErrorUnreadable, ""},
		"dangling": {canon.ErrorUnreadable, canon.ErrorSymlink},
		"dirlink":  {canon.ErrorUnreadable, canon.ErrorSymlink},
		"missing":  {canon.ErrorUnreadable, ""},
		"link":     {"", canon.ErrorSymlink},
		"hard":     {"", canon.ErrorHardlink},
	} {
		s := document.ProfileFile(base, name).Read()
		if got := action(s.Gate); got != want.gate {
			t.Errorf("%s: gate %q, want %q", name, got, want.gate)
		}
		if got := action(s.Sealed); got != want.sealed {
			t.Errorf("%s: sealed %q, want %q", name, got, want.sealed)
		}
		_, err := document.ProfileFile(base, name).Update(t.Context(), document.Locking{}, setModel(`"y"`))
		if name != "missing" && err == nil {
			t.Errorf("%s was updated", name)
		}
	}
	if got := read(t, good); got != `{"model":"x"}` {
		t.Errorf("good.json is now %s", got)
	}
}

func TestInvalidNamesAreShownAllTheSame(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	for _, name := range []string{"with space", "профиль", ".hidden", strings.Repeat("x", 65)} {
		s := put(t, document.ProfileFile(base, name), `{"model":"x"}`).Read()
		wantGate(t, s, canon.ErrorName)
		if entries := s.Entries(); len(entries) != 1 || entries[0].Model() != "x" {
			t.Errorf("%s: entries %v", name, entries)
		}
	}
}

func TestValidNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"a": true, "A-b_c.d9": true, strings.Repeat("x", 64): true, "9": true, "a.json": true,
		"": false, ".": false, "..": false, "a/b": false, "a//b": false, ".a": false, "-a": false, "_a": false,
		"a b": false, "a@b": false, "a$": false, strings.Repeat("x", 65): false, "a\n": false, "ä": false,
	} {
		if got := document.ValidName(name); got != want {
			t.Errorf("ValidName(%q) = %v", name, got)
		}
	}
}

func TestEntries(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		file func(string) document.File
		src  string
		want []string // path, model, gate, whether it is for the bill
	}{
		{"profile", profileFile, `{"model":"a"}`, []string{"$ a  false"}},
		{"profile without a model", profileFile, `{"model":""}`, []string{"$  error-missing-model false"}},
		{"model is a number", profileFile, `{"model":5}`, []string{"$  error-missing-model false"}},
		{"settings", document.SettingsFile, `{"agent_settings":{"llm":{"model":"a"}},"misc_settings":{"llm":{"model":"b"}}}`, []string{"$.agent_settings.llm a  false"}},
		{"settings without an entry", document.SettingsFile, `{"agent_settings":{}}`, nil},
		{"settings with null", document.SettingsFile, `{"agent_settings":{"llm":null}}`, []string{"$.agent_settings.llm  error-schema false"}},
		{"ACP", document.SettingsFile, `{"agent_settings":{"agent_kind":"acp","llm":{"model":"a"}}}`, []string{"$.agent_settings.llm a  true"}},
		{
			"CLI", document.CLIFile,
			`{"llm":{"model":"r","llms_for_routing":{"a":{"model":"b"},"x":1}},"condenser":{"llm":{"model":"c","llms_for_routing":{"d":{"model":"e"}}}}}`,
			[]string{"$.llm r  false", "$.llm.llms_for_routing.a b  false", "$.llm.llms_for_routing.x  error-schema false", "$.condenser.llm c  false", "$.condenser.llm.llms_for_routing.d e  false"},
		},
		{"CLI without entries", document.CLIFile, `{"condenser":null}`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, e := range put(t, tt.file(t.TempDir()), tt.src).Read().Entries() {
				bill := "false"
				if e.BillOnly {
					bill = "true"
				}
				got = append(got, strings.Join([]string{e.JSONPath(), e.Model(), string(e.Gate), bill}, " "))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCanonOfAnEntry(t *testing.T) {
	t.Parallel()
	known := func(id string) bool { return id == "known" }
	for _, tt := range []struct {
		src  string
		want canon.Entry
	}{
		{`{"schema_version":4,"llm":{"model":"a","base_url":null}}`, canon.Entry{Model: "a", URL: canon.URL{State: canon.URLNull}, Tolerant: true}},
		{`{"schema_version":3,"llm":{"model":"a","base_url":"u","provider_connection_id":"known"}}`, canon.Entry{Model: "a", URL: canon.URL{State: canon.URLText, Text: "u"}, Linked: true}},
		{`{"llm":{"model":"a","provider_connection_id":"gone"}}`, canon.Entry{Model: "a"}},
	} {
		s := put(t, document.SettingsFile(t.TempDir()), `{"agent_settings":`+tt.src+`}`).Read()
		if diff := cmp.Diff(tt.want, s.Entries()[0].Canon(known)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.src, diff)
		}
	}
}

func TestUpdateWritesUnderTheLock(t *testing.T) {
	t.Parallel()
	for _, file := range []document.File{profileFile(t.TempDir()), document.SettingsFile(t.TempDir())} {
		put(t, file, `{"model":"x","z":1}`)
		if err := os.Chmod(file.Path, 0o644); err != nil {
			t.Fatal(err)
		}
		changed, err := file.Update(t.Context(), document.Locking{}, func(s document.Snapshot) (*jsonedit.Doc, error) {
			if _, err := filelock.Acquire(t.Context(), file.Lock, filelock.Options{Timeout: -1}); err == nil {
				t.Error("the lock is free")
			}
			return s.Doc.Set([]byte(`"y"`), "model")
		})
		if err != nil || !changed || read(t, file) != `{"model":"y","z":1}` {
			t.Errorf("changed %v, %v: %s", changed, err, read(t, file))
		}
		if info, err := os.Stat(file.Path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode = %v, %v", info.Mode(), err)
		}
	}
}

func TestUpdateWithoutAChangeWritesNothing(t *testing.T) {
	t.Parallel()
	file := put(t, profileFile(t.TempDir()), `{"model":"x"}`)
	old := time.Unix(1_000_000_000, 0)
	if err := os.Chtimes(file.Path, old, old); err != nil {
		t.Fatal(err)
	}
	changed, err := file.Update(t.Context(), document.Locking{}, setModel(`"x"`))
	if err != nil || changed {
		t.Errorf("changed %v, %v", changed, err)
	}
	if info, err := os.Stat(file.Path); err != nil || !info.ModTime().Equal(old) {
		t.Errorf("the file was written: %v, %v", info.ModTime(), err)
	}
}

func TestUpdateRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, src string
		change    func(document.Snapshot) (*jsonedit.Doc, error)
		want      canon.Action
	}{
		{"a newer file", `{"schema_version":2}`, setModel(`"y"`), canon.ErrorNewer},
		{"a damaged file", `{"model"`, setModel(`"y"`), canon.ErrorCorrupt},
		{"an outcome that is not loaded", `{"model":"x"}`, func(s document.Snapshot) (*jsonedit.Doc, error) { return s.Doc.Set([]byte(`7`), "schema_version") }, canon.ErrorNewer},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file := put(t, profileFile(t.TempDir()), tt.src)
			changed, err := file.Update(t.Context(), document.Locking{}, tt.change)
			if got, ok := document.ActionOf(err); changed || !ok || got != tt.want {
				t.Errorf("changed %v, %v; want %s", changed, err, tt.want)
			}
			if got := read(t, file); got != tt.src {
				t.Errorf("the file is now %s", got)
			}
		})
	}
}

func TestSettingsNewerThanAllKnownOnesAreReadAndSealed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, src, want string }{
		{"1.43.1", `{"schema_version":2,"agent_settings":{"schema_version":5},"conversation_settings":{"schema_version":1}}`, ""},
		{"no version", `{"agent_settings":{}}`, ""},
		{"1.48", `{"schema_version":3,"agent_settings":{"schema_version":6}}`, ""},
		{"1.58.2", `{"schema_version":6,"agent_settings":{"schema_version":9}}`, ""},
		{"half a version", `{"schema_version":3,"agent_settings":{"schema_version":9}}`, ""},
		{"agent settings only", `{"agent_settings":{"schema_version":6}}`, ""},
		{"not known", `{"schema_version":7}`, "schema_version is 7, newer than 6, the newest version that ohgw knows"},
		{"agent settings not known", `{"schema_version":6,"agent_settings":{"schema_version":10}}`, "agent_settings.schema_version is 10, newer than 9, the newest version that ohgw knows"},
		{"conversation settings not known", `{"conversation_settings":{"schema_version":2}}`, "conversation_settings.schema_version is 2, newer than 1, the newest version that ohgw knows"},
		{"99", `{"schema_version":99,"agent_settings":{"schema_version":9}}`, "schema_version is 99, newer than 6, the newest version that ohgw knows"},
		{"much newer", `{"schema_version":99999999999999999999999}`, "newer than 6, the newest version that ohgw knows"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file := put(t, document.SettingsFile(t.TempDir()), tt.src)
			snap := file.Read()
			got := ""
			if snap.Sealed != nil {
				got = snap.Sealed.Error()
			}
			if snap.Gate != nil || (got == "") != (tt.want == "") || !strings.HasSuffix(got, tt.want) {
				t.Errorf("gate %v, sealed %q, want %q", snap.Gate, got, tt.want)
			}
			changed, err := file.Update(t.Context(), document.Locking{}, func(s document.Snapshot) (*jsonedit.Doc, error) {
				return s.Doc.Set([]byte(`"b"`), "active_profile")
			})
			action, _ := document.ActionOf(err)
			if changed != (tt.want == "") || (action == canon.ErrorNewer) != (tt.want != "") {
				t.Errorf("changed %t, %v", changed, err)
			}
			if after := read(t, file); tt.want != "" && after != tt.src || !strings.HasPrefix(after, strings.TrimSuffix(tt.src, "}")) {
				t.Errorf("the file is now %s", after)
			}
		})
	}
}

func TestUpdateMakesAMissingFile(t *testing.T) {
	t.Parallel()
	file := document.SettingsFile(filepath.Join(t.TempDir(), "new", "base"))
	changed, err := file.Update(t.Context(), document.Locking{}, func(s document.Snapshot) (*jsonedit.Doc, error) {
		if !errors.Is(s.Gate, fs.ErrNotExist) {
			t.Errorf("gate = %v", s.Gate)
		}
		return jsonedit.Parse([]byte(`{}`))
	})
	if err != nil || !changed || read(t, file) != `{}` {
		t.Errorf("changed %v, %v", changed, err)
	}
	if info, err := os.Stat(filepath.Dir(file.Path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directory: %v, %v", info.Mode(), err)
	}
}

func TestALockThatIsHeldIsToldAndNotWaitedForForEver(t *testing.T) {
	t.Parallel()
	file := put(t, profileFile(t.TempDir()), `{"model":"x"}`)
	lock, err := filelock.Acquire(t.Context(), file.Lock, filelock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release() //nolint:errcheck // the test is over
	_, err = file.Update(t.Context(), document.Locking{Timeout: time.Millisecond}, setModel(`"y"`))
	if !document.IsLockError(err) {
		t.Errorf("error = %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = file.Update(ctx, document.Locking{}, setModel(`"y"`)); !errors.Is(err, context.Canceled) || document.IsLockError(err) {
		t.Errorf("error = %v", err)
	}
	if got := read(t, file); got != `{"model":"x"}` {
		t.Errorf("the file is now %s", got)
	}
}

func TestAFileWithoutALockIsNotOverwrittenBlindly(t *testing.T) {
	t.Parallel()
	file := put(t, document.CLIFile(t.TempDir()), `{"model":"x"}`)
	changed, err := file.Update(t.Context(), document.Locking{}, func(s document.Snapshot) (*jsonedit.Doc, error) {
		put(t, file, `{"model":"theirs"}`)
		return s.Doc.Set([]byte(`"ours"`), "model")
	})
	if changed || !errors.Is(err, document.ErrChanged) || read(t, file) != `{"model":"theirs"}` {
		t.Errorf("changed %v, %v: %s", changed, err, read(t, file))
	}
}

func TestTheCLIFileKeepsItsMode(t *testing.T) {
	t.Parallel()
	file := put(t, document.CLIFile(t.TempDir()), `{"model":"x"}`)
	if err := os.Chmod(file.Path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Update(t.Context(), document.Locking{}, setModel(`"y"`)); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file.Path); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode = %v, %v", info.Mode(), err)
	}
}

func profileFile(base string) document.File { return document.ProfileFile(base, "p") }

func setModel(raw string) func(document.Snapshot) (*jsonedit.Doc, error) {
	return func(s document.Snapshot) (*jsonedit.Doc, error) {
		if s.Doc == nil {
			return nil, s.Gate
		}
		return s.Doc.Set([]byte(raw), "model")
	}
}

func put(t *testing.T, f document.File, src string) document.File {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.Path, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	return f
}

func read(t *testing.T, f document.File) string {
	t.Helper()
	src, err := os.ReadFile(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}

func action(g *document.GateError) canon.Action {
	if g == nil {
		return ""
	}
	return g.Action
}

func wantGate(t *testing.T, s document.Snapshot, want canon.Action) {
	t.Helper()
	if got := action(s.Gate); got != want {
		t.Errorf("gate %q (%v), want %q", got, s.Gate, want)
	}
}
