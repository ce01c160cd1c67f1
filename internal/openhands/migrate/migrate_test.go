package migrate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/fernet"
	"github.com/ohgw/ohgw/internal/filelock"
	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/migrate"
	"github.com/ohgw/ohgw/internal/profile"
)

const (
	proxyURL  = "https://llm-proxy.app.all-hands.dev/"
	oldForm   = `{"model": "litellm_proxy/gpt-5.6", "base_url": "` + proxyURL + `", "x": 1}`
	newForm   = `{"model": "openhands/gpt-5.6", "x": 1}`
	stranded  = `{"model": "litellm_proxy/gpt-5.6", "base_url": null, "x": 1}`
	ambiguous = `{"model": "litellm_proxy/team-alias", "x": 1}`
)

// store is a base directory with some files.
type store struct {
	base string
	t    *testing.T
}

func newStore(t *testing.T, files map[string]string) store {
	t.Helper()
	s := store{t.TempDir(), t}
	for rel, content := range files {
		write(t, filepath.Join(s.base, rel), content)
	}
	return s
}

func (s store) read(rel string) string {
	s.t.Helper()
	return readFile(s.t, filepath.Join(s.base, rel))
}

func (s store) want(rel, content string) {
	s.t.Helper()
	if diff := cmp.Diff(content, s.read(rel)); diff != "" {
		s.t.Errorf("%s (-want +got):\n%s", rel, diff)
	}
}

func settings(llm, active string) string {
	return `{"agent_settings": {"llm": ` + llm + `}, "active_profile": ` + active + `}`
}

func TestEveryPlaceIsMigratedInOneRun(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{
		"profiles/a.json":     oldForm,
		"settings.json":       settings(oldForm, `"a"`),
		"agent_settings.json": `{"llm": ` + oldForm + `, "condenser": {"llm": ` + oldForm + `}}`,
	})
	other := newStore(t, map[string]string{"profiles/b.json": oldForm})
	o := options(t, s.base)
	o.Bases = append(o.Bases, other.base)
	o.Apply = true
	report := run(t, o)
	s.want("profiles/a.json", newForm)
	s.want("settings.json", settings(newForm, `"a"`))
	s.want("agent_settings.json", `{"llm": `+newForm+`, "condenser": {"llm": `+newForm+`}}`)
	other.want("profiles/b.json", newForm)
	if report.Summary != (migrate.Summary{Migrate: 5}) || report.Code() != 0 || report.Pending(true) {
		t.Errorf("summary = %+v, code %d", report.Summary, report.Code())
	}
	if !report.Items[0].Active {
		t.Error("the active profile is not marked")
	}
}

func TestRepairsByNameChangeOneEntryOnly(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"profiles/a.json": stranded, "profiles/b.json": oldForm, "profiles/c.json": ambiguous,
		"settings.json":       settings(stranded, "null"),
		"agent_settings.json": `{"llm": ` + stranded + `, "condenser": {"llm": {"model": "anthropic/x"}}}`,
	}
	repaired := strings.Replace(newForm, `, "x"`, `, "x"`, 1)
	for _, tt := range []struct {
		name   string
		with   func(*migrate.Options)
		change map[string]string // files that change
	}{
		{"as a model of OpenHands", func(o *migrate.Options) { o.AsOpenHands = []string{"a"} }, map[string]string{"profiles/a.json": repaired}},
		{"with the suffix", func(o *migrate.Options) { o.AsOpenHands = []string{"a.json"} }, map[string]string{"profiles/a.json": repaired}},
		{"the settings", func(o *migrate.Options) { o.AsOpenHands = []string{profile.TargetSettings} }, map[string]string{"settings.json": settings(repaired, "null")}},
		{"the CLI", func(o *migrate.Options) { o.AsOpenHands = []string{profile.TargetCLI} }, map[string]string{"agent_settings.json": `{"llm": ` + repaired + `, "condenser": {"llm": {"model": "anthropic/x"}}}`}},
		{"by force", func(o *migrate.Options) { o.AsOpenHands, o.Force = []string{"c"}, true }, map[string]string{"profiles/c.json": `{"model": "openhands/team-alias", "x": 1}`}},
		{"a URL in place of null", baseURL("a"), map[string]string{"profiles/a.json": `{"model": "litellm_proxy/gpt-5.6", "base_url": "https://proxy.example.com/v1", "x": 1}`}},
		{"a URL where there was none", baseURL("c"), map[string]string{"profiles/c.json": `{"model": "litellm_proxy/team-alias", "x": 1, "base_url": "https://proxy.example.com/v1"}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t, files)
			o := options(t, s.base)
			o.Apply = true
			tt.with(&o)
			report := run(t, o)
			if report.Code() != 0 || report.Summary.Migrate != 1 {
				t.Errorf("code %d, %+v", report.Code(), report.Items)
			}
			for rel, before := range files {
				if after, ok := tt.change[rel]; ok {
					s.want(rel, after)
				} else {
					s.want(rel, before)
				}
			}
			again := run(t, o)
			if again.Code() != 0 || again.Summary.Migrate != 0 || again.Backup != "" {
				t.Errorf("a second run: code %d, %+v", again.Code(), again.Items)
			}
		})
	}
}

func baseURL(name string) func(*migrate.Options) {
	return func(o *migrate.Options) { o.BaseURL, o.BaseURLFor = "https://proxy.example.com/v1", []string{name} }
}

func TestARepairOfTheActiveProfileRepairsItsCopy(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ settings, want string }{
		"its copy":         {settings(stranded, `"a"`), settings(newForm, `"a"`)},
		"something else":   {settings(ambiguous, `"a"`), settings(ambiguous, `"a"`)},
		"not active":       {settings(stranded, `"b"`), settings(stranded, `"b"`)},
		"nothing there":    {`{"active_profile": "a"}`, `{"active_profile": "a"}`},
		"another spelling": {settings(`{"base_url":null,"model":"litellm_proxy/gpt-5.6","api_key":"k"}`, `"a"`), settings(`{"model":"openhands/gpt-5.6","api_key":"k"}`, `"a"`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t, map[string]string{"profiles/a.json": stranded, "settings.json": tt.settings})
			o := options(t, s.base)
			o.Apply, o.AsOpenHands = true, []string{"a"}
			report := run(t, o)
			s.want("profiles/a.json", newForm)
			s.want("settings.json", tt.want)
			if report.Code() != 0 {
				t.Errorf("code %d: %+v", report.Code(), report.Items)
			}
			if last := report.Items[len(report.Items)-1]; tt.settings != tt.want &&
				(last.Entry != "$.agent_settings.llm" || !last.OptIn || !last.Applied || last.Action != canon.Migrate || last.After.Model.Text() != "openhands/gpt-5.6") {
				t.Errorf("the copy: %+v", last)
			}
		})
	}
}

// TestSettingsOfANewerOpenHands has them as they are, with an entry in an old form, and
// as the copy of a profile that is repaired: those of 1.58.2 are repaired and keep their
// version, those of a version that is not known stay as they are.
func TestSettingsOfANewerOpenHands(t *testing.T) {
	t.Parallel()
	settings := func(version, llm string) string {
		return strings.Replace(settings(llm, `"a"`), `{`, `{"schema_version": `+version+`, `, 1)
	}
	for name, tt := range map[string]struct {
		profile, version, before, after string
		repair                          bool
		code                            fault.Code
		want                            canon.Action
	}{
		"1.58.2, nothing to do":  {newForm, "6", newForm, newForm, false, 0, canon.Unchanged},
		"1.58.2, an old form":    {newForm, "6", oldForm, newForm, false, 0, canon.Migrate},
		"1.58.2, a copy":         {stranded, "6", stranded, newForm, true, 0, canon.Migrate},
		"unknown, nothing to do": {newForm, "7", newForm, newForm, false, 0, canon.Unchanged},
		"unknown, an old form":   {newForm, "7", oldForm, oldForm, false, fault.Partly, canon.ErrorNewer},
		"unknown, a copy":        {stranded, "7", stranded, stranded, true, fault.Partly, canon.ErrorNewer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t, map[string]string{"profiles/a.json": tt.profile, "settings.json": settings(tt.version, tt.before)})
			o := options(t, s.base)
			if o.Apply = true; tt.repair {
				o.AsOpenHands = []string{"a"}
			}
			report := run(t, o)
			s.want("profiles/a.json", newForm)
			s.want("settings.json", settings(tt.version, tt.after))
			last := report.Items[len(report.Items)-1]
			if report.Code() != tt.code || last.Action != tt.want || last.Applied != (tt.want == canon.Migrate) {
				t.Errorf("code %d: %+v", report.Code(), report.Items)
			}
			if tt.want == canon.ErrorNewer && !strings.Contains(last.Reason, "newer than 6") {
				t.Errorf("reason %q", last.Reason)
			}
		})
	}
}

func TestRepairsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, with := range map[string]func(*migrate.Options){
		"a name that OpenHands never had": func(o *migrate.Options) { o.AsOpenHands = []string{"ambiguous"} },
		"another provider":                func(o *migrate.Options) { o.AsOpenHands, o.Force = []string{"other"}, true },
		"a URL that is there":             baseURL("third"),
		"OpenHands' own URL":              func(o *migrate.Options) { o.BaseURL, o.BaseURLFor = proxyURL, []string{"ambiguous"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{
				"profiles/ambiguous.json": ambiguous, "profiles/other.json": `{"model":"anthropic/x"}`,
				"profiles/third.json": `{"model":"litellm_proxy/x","base_url":"https://p.example"}`,
			}
			s := newStore(t, files)
			o := options(t, s.base)
			o.Apply = true
			with(&o)
			report := run(t, o)
			if report.Code() != fault.Failed || len(report.Items) != 1 || !errors.Is(report.Items[0].Err, canon.ErrRefused) || report.Items[0].Error == "" {
				t.Errorf("code %d, %+v", report.Code(), report.Items)
			}
			for rel, content := range files {
				s.want(rel, content)
			}
		})
	}
	s := newStore(t, nil)
	for _, name := range []string{"nobody", "../x", "@settings2"} {
		o := options(t, s.base)
		o.AsOpenHands = []string{name}
		if _, err := migrate.Run(t.Context(), o); !errors.Is(err, profile.ErrNotFound) && !errors.Is(err, profile.ErrName) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheReportIsOneShapeWithoutKeys(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{
		"profiles/a.json": `{"model":"litellm_proxy/gpt-5.6","base_url":"` + proxyURL + `?key=hidden-1","api_key":"sk-example-hidden-2"}`,
		"profiles/b.json": stranded,
		"profiles/c.json": `{"model":"litellm_proxy/x","base_url":"https://u:hidden-3@p.example/v1"}`,
	})
	o := options(t, s.base)
	o.LookupEnv = func(string) (string, bool) { return "hidden-4", true }
	report := run(t, o)
	got, err := json.MarshalIndent(report.Items, "", " ")
	must(t, err)
	want := `[
 {
  "path": "BASE/profiles/a.json",
  "profile": "a",
  "entry": "$",
  "action": "migrate",
  "reason": "is written in an old form",
  "applied": false,
  "before": {
   "model": "litellm_proxy/gpt-5.6",
   "base_url": "https://llm-proxy.app.all-hands.dev/?key=REDACTED"
  },
  "after": {
   "model": "openhands/gpt-5.6"
  },
  "repairs": [
   "ohgw profiles migrate"
  ]
 },
 {
  "path": "BASE/profiles/b.json",
  "profile": "b",
  "entry": "$",
  "action": "report-stranded",
  "reason": "has no base URL, so requests go to LITELLM_PROXY_API_BASE or to OpenAI; OpenHands has a model of this name",
  "applied": false,
  "before": {
   "model": "litellm_proxy/gpt-5.6",
   "base_url": null
  },
  "after": {
   "model": "litellm_proxy/gpt-5.6",
   "base_url": null
  },
  "hints": [
   "a has a model of this name on OpenHands' proxy",
   "LITELLM_PROXY_API_BASE is set here; an agent-server may have another environment"
  ],
  "repairs": [
   "ohgw profiles migrate --as-openhands b",
   "ohgw profiles migrate --base-url URL b"
  ]
 },
 {
  "path": "BASE/profiles/c.json",
  "profile": "c",
  "entry": "$",
  "action": "unchanged",
  "reason": "ok",
  "applied": false,
  "before": {
   "model": "litellm_proxy/x",
   "base_url": "https://REDACTED@p.example/v1"
  },
  "after": {
   "model": "litellm_proxy/x",
   "base_url": "https://REDACTED@p.example/v1"
  }
 }
]`
	if diff := cmp.Diff(want, strings.ReplaceAll(string(got), s.base, "BASE")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	all, err := json.Marshal(report)
	must(t, err)
	if strings.Contains(string(all), "hidden") {
		t.Errorf("the report shows a credential: %s", all)
	}
	if report.Code() != 0 || report.CheckCode(false) != fault.Partly {
		t.Errorf("codes %d, %d", report.Code(), report.CheckCode(false))
	}
}

func TestEqualKeysAreAHint(t *testing.T) {
	t.Parallel()
	const token = "gAAAAABpVbkAAAECAwQFBgcICQoLDA0OD4V2gXe4gKjk4-c8purNrPlrdfZ4gmm__omhIRYonYrHWaY-0GWSOxLeQCjVjuchCDHcTS81JnT8yOc1QdzIW9t75VV5LevLcDXIUm-e-cJ9"
	ciphers := profile.FindCiphers(profile.CipherSources{
		Given:     &profile.Cipher{Source: "test", Key: fernet.NewKey("ohgw-example-secret-key-0001")},
		LookupEnv: func(string) (string, bool) { return "", false },
	})
	for name, tt := range map[string]struct {
		key     string
		ciphers *profile.Ciphers
		hint    bool
	}{
		"the same token":            {token, nil, true},
		"the same key, decrypted":   {"sk-example-not-a-real-key-0123456789", ciphers, true},
		"the same key, not known":   {"sk-example-not-a-real-key-0123456789", nil, false},
		"another key":               {"sk-example-another", ciphers, false},
		"no key, as in the profile": {"", ciphers, false},
	} {
		s := newStore(t, map[string]string{
			"profiles/mine.json": `{"model":"openhands/x","api_key":"` + token + `"}`,
			"profiles/none.json": `{"model":"openhands/x","api_key":""}`,
			"profiles/lost.json": `{"model":"litellm_proxy/gpt-5.6","api_key":"` + tt.key + `"}`,
		})
		o := options(t, s.base)
		o.Ciphers = tt.ciphers
		hints := run(t, o).Items[0].Hints
		if got := strings.Contains(strings.Join(hints, " "), "the key of mine"); got != tt.hint || len(hints) > 1 {
			t.Errorf("%s: hints %q", name, hints)
		}
	}
}

func TestAnIrregularFileIsReportedInsteadOfMigrated(t *testing.T) {
	t.Parallel()
	for _, src := range []string{
		`{"model":"x","model":"litellm_proxy/gpt-5.6","base_url":"` + proxyURL + `"}`,
		`{"model":"litellm_proxy/gpt-5.6","base_url":"` + proxyURL + `","litellm_extra_body":{"a":1,"a":2}}`,
		`{"model":"litellm_proxy/gpt-5.6","base_url":"` + proxyURL + `","temperature":NaN}`,
	} {
		s := newStore(t, map[string]string{"profiles/a.json": src})
		o := options(t, s.base)
		o.Apply = true
		if report := run(t, o); report.Items[0].Action != canon.ReportIrregular || !report.Pending(true) {
			t.Errorf("item = %+v", report.Items[0])
		}
		s.want("profiles/a.json", src)
	}
}

func TestABusyLockStopsItsFilesOnly(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{"profiles/a.json": oldForm, "settings.json": settings(oldForm, "null")})
	lock, err := filelock.Acquire(t.Context(), filepath.Join(s.base, "profiles", ".profiles.lock"), filelock.Options{})
	must(t, err)
	defer lock.Release() //nolint:errcheck // the test is over
	o := options(t, s.base)
	o.Apply, o.Locking = true, document.Locking{Timeout: time.Millisecond}
	report := run(t, o)
	if report.Code() != fault.Conflict || report.Items[0].Applied || !report.Items[1].Applied {
		t.Errorf("code %d, %+v", report.Code(), report.Items)
	}
	s.want("profiles/a.json", oldForm)
	s.want("settings.json", settings(newForm, "null"))
}

// A store has one lock and may have hundreds of files.
func TestABusyLockIsWaitedForOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		files := map[string]string{}
		for i := range 20 {
			files[fmt.Sprintf("profiles/p%02d.json", i)] = oldForm
		}
		s := newStore(t, files)
		lock, err := filelock.Acquire(t.Context(), filepath.Join(s.base, "profiles", ".profiles.lock"), filelock.Options{})
		must(t, err)
		defer lock.Release() //nolint:errcheck // the test is over
		o := options(t, s.base)
		waits := 0
		o.Apply, o.Locking = true, document.Locking{Timeout: 1100 * time.Millisecond, OnWait: func(filelock.Holder) { waits++ }}
		report := run(t, o)
		if report.Code() != fault.Conflict || report.Summary.Error != 20 || waits != 1 {
			t.Errorf("code %d, %+v, waited %d times", report.Code(), report.Summary, waits)
		}
	})
}

// A run that is killed, or a disk that is full, may leave the last line of the
// manifest without its end.
func TestABackupWithHalfALineIsStillGood(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{"profiles/a.json": oldForm, "profiles/b.json": oldForm})
	o := options(t, s.base)
	o.Apply = true
	report := run(t, o)
	manifest := filepath.Join(report.Backup, "manifest.jsonl")
	text, err := os.ReadFile(manifest)
	must(t, err)
	must(t, os.WriteFile(manifest, append(text, `{"kind":1,"path":"`...), 0o600))
	back, err := migrate.Restore(t.Context(), migrate.RestoreOptions{Backup: report.Backup, Bases: o.Bases})
	if err != nil || len(back.Items) != 2 || back.Code() != 0 {
		t.Errorf("report = %+v, error %v", back, err)
	}
	s.want("profiles/a.json", oldForm)
	must(t, os.WriteFile(manifest, append([]byte("{\n"), text...), 0o600))
	if _, err := migrate.Restore(t.Context(), migrate.RestoreOptions{Backup: report.Backup, Bases: o.Bases}); !errors.Is(err, migrate.ErrNoBackup) {
		t.Errorf("a broken line in the middle: %v", err)
	}
}

func TestADirectoryThatCannotBeReadStopsItsProfilesOnly(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{"profiles": "a file", "settings.json": settings(oldForm, "null")})
	o := options(t, s.base)
	o.Apply = true
	report := run(t, o)
	if report.Code() != fault.Partly || report.Items[0].Action != canon.ErrorUnreadable || report.Items[0].Path != filepath.Join(s.base, "profiles") || report.Summary.Migrate != 1 {
		t.Errorf("code %d, %+v", report.Code(), report.Items)
	}
	s.want("settings.json", settings(newForm, "null"))
}

func TestAnUnwritableBackupStopsTheChange(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{"profiles/a.json": oldForm, "file": ""})
	o := options(t, s.base)
	o.Apply, o.Backups = true, filepath.Join(s.base, "file", "backups")
	report := run(t, o)
	if report.Code() != fault.Partly || report.Items[0].Applied || report.Backup != "" {
		t.Errorf("code %d, %+v", report.Code(), report.Items)
	}
	s.want("profiles/a.json", oldForm)
}

func TestACancelledRunReportsWhatIsLeft(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{"profiles/a.json": oldForm, "profiles/b.json": oldForm, "profiles/c.json": oldForm})
	ctx, cancel := context.WithCancel(t.Context())
	o := options(t, s.base)
	o.Apply = true
	o.Progress = func(done, total int, path string) {
		if done != 1 || total != 3 || !strings.HasSuffix(path, "a.json") {
			t.Errorf("progress %d of %d: %s", done, total, path)
		}
		cancel()
	}
	report, err := migrate.Run(ctx, o)
	if !errors.Is(err, context.Canceled) || len(report.Items) != 3 || !report.Items[0].Applied || report.Items[1].Applied {
		t.Errorf("Run: %v, %+v", err, report.Items)
	}
	s.want("profiles/a.json", newForm)
	s.want("profiles/b.json", oldForm)
}

func TestABackupIsPrivate(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{"profiles/a.json": oldForm})
	o := options(t, s.base)
	o.Apply = true
	report := run(t, o)
	must(t, filepath.WalkDir(o.Backups, func(path string, d fs.DirEntry, err error) error {
		must(t, err)
		info, err := d.Info()
		must(t, err)
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %o", path, info.Mode().Perm())
		}
		return nil
	}))
	if base := filepath.Base(report.Backup); !strings.HasPrefix(base, "20261121T101112Z-") {
		t.Errorf("backup = %s", base)
	}
}

func TestRestore(t *testing.T) {
	t.Parallel()
	newRun := func(t *testing.T) (store, migrate.RestoreOptions) {
		s := newStore(t, map[string]string{"profiles/a.json": oldForm, "settings.json": settings(oldForm, "null")})
		o := options(t, s.base)
		o.Apply = true
		return s, migrate.RestoreOptions{Backup: run(t, o).Backup, Bases: o.Bases, CLI: o.CLI}
	}
	actions := func(t *testing.T, o migrate.RestoreOptions) []migrate.RestoreAction {
		report, err := migrate.Restore(t.Context(), o)
		must(t, err)
		var out []migrate.RestoreAction
		for _, item := range report.Items {
			out = append(out, item.Action)
		}
		return out
	}
	t.Run("twice", func(t *testing.T) {
		t.Parallel()
		s, o := newRun(t)
		for _, want := range []migrate.RestoreAction{migrate.Restored, migrate.AlreadyThere} {
			if diff := cmp.Diff([]migrate.RestoreAction{want, want}, actions(t, o)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			s.want("profiles/a.json", oldForm)
			s.want("settings.json", settings(oldForm, "null"))
		}
	})
	t.Run("a file that changed since", func(t *testing.T) {
		t.Parallel()
		s, o := newRun(t)
		write(t, filepath.Join(s.base, "profiles/a.json"), "{}")
		if got := actions(t, o); got[0] != migrate.ChangedSince || got[1] != migrate.Restored {
			t.Errorf("the actions: %v", got)
		}
		s.want("profiles/a.json", "{}")
		o.Force = true
		if got := actions(t, o); got[0] != migrate.Restored {
			t.Errorf("with force: %v", got)
		}
		s.want("profiles/a.json", oldForm)
	})
	t.Run("a file that is gone", func(t *testing.T) {
		t.Parallel()
		s, o := newRun(t)
		must(t, os.Remove(filepath.Join(s.base, "profiles/a.json")))
		if got := actions(t, o); got[0] != migrate.ChangedSince {
			t.Errorf("the actions: %v", got)
		}
		o.Force = true
		if got := actions(t, o); got[0] != migrate.Restored {
			t.Errorf("with force: %v", got)
		}
	})
	t.Run("never elsewhere", func(t *testing.T) {
		t.Parallel()
		s, o := newRun(t)
		o.Bases, o.Force = []string{t.TempDir()}, true
		if got := actions(t, o); got[0] != migrate.NotRestored || got[1] != migrate.NotRestored {
			t.Errorf("the actions: %v", got)
		}
		s.want("profiles/a.json", newForm)
	})
	t.Run("never through a link", func(t *testing.T) {
		t.Parallel()
		s, o := newRun(t)
		path := filepath.Join(s.base, "profiles/a.json")
		must(t, os.Rename(path, path+".moved"))
		must(t, os.Symlink(path+".moved", path))
		o.Force = true
		if got := actions(t, o); got[0] != migrate.NotRestored {
			t.Errorf("the actions: %v", got)
		}
		s.want("profiles/a.json.moved", newForm)
	})
	t.Run("a damaged copy", func(t *testing.T) {
		t.Parallel()
		s, o := newRun(t)
		write(t, filepath.Join(o.Backup, "00001-a.json"), "{}")
		if got := actions(t, o); got[0] != migrate.NotRestored || got[1] != migrate.Restored {
			t.Errorf("the actions: %v", got)
		}
		s.want("profiles/a.json", newForm)
	})
	t.Run("no backup", func(t *testing.T) {
		t.Parallel()
		if _, err := migrate.Restore(t.Context(), migrate.RestoreOptions{Backup: t.TempDir()}); !errors.Is(err, migrate.ErrNoBackup) {
			t.Errorf("error = %v", err)
		}
	})
}

// A server writes profiles while they are migrated: what counts is the file as
// it is under the lock.
func TestAFileThatChangesMeanwhileIsDecidedAboutAgain(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{"profiles/a.json": oldForm, "profiles/b.json": oldForm, "profiles/c.json": oldForm})
	const third = `{"model":"litellm_proxy/gpt-5.6","base_url":"https://p.example"}`
	o := options(t, s.base)
	o.Apply = true
	o.Progress = func(done, _ int, _ string) {
		if done == 1 {
			write(t, filepath.Join(s.base, "profiles/b.json"), third)
			must(t, os.Remove(filepath.Join(s.base, "profiles/c.json")))
		}
	}
	report := run(t, o)
	s.want("profiles/b.json", third)
	if b := report.Items[1]; b.Action != canon.Unchanged || b.Applied || b.Error != "" {
		t.Errorf("b: %+v", b)
	}
	if c := report.Items[2]; c.Applied || c.Error == "" {
		t.Errorf("c: %+v", c)
	}
	if report.Code() != fault.Partly {
		t.Errorf("code %d", report.Code())
	}
}

// A repair is the judgement of a person about what they saw. If the file changes
// while ohgw waits for the lock, the repair is not applied.
func TestARepairOfAFileThatChangedIsNotApplied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, map[string]string{"profiles/a.json": stranded})
		lock, err := filelock.Acquire(t.Context(), filepath.Join(s.base, "profiles", ".profiles.lock"), filelock.Options{})
		must(t, err)
		o := options(t, s.base)
		o.Apply, o.AsOpenHands = true, []string{"a"}
		o.Locking.OnWait = func(filelock.Holder) {
			write(t, filepath.Join(s.base, "profiles/a.json"), ambiguous)
			must(t, lock.Release())
		}
		report := run(t, o)
		if report.Code() != fault.Partly || report.Items[0].Applied || !strings.Contains(report.Items[0].Error, "changed by another program") {
			t.Errorf("code %d, %+v", report.Code(), report.Items)
		}
		s.want("profiles/a.json", ambiguous)
	})
}
