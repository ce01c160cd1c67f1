package profile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
)

func TestListTellsWhatAPersonWantsToKnow(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{
		"profiles/old.json":                              `{"model":"litellm_proxy/gpt-5.6","base_url":"` + proxyURL + `","api_key":"` + fixtureToken + `"}`,
		"profiles/plain.json":                            `{"model":"anthropic/x","api_key":"` + fixtureKey + `"}`,
		"profiles/masked.json":                           `{"model":"anthropic/x","api_key":"**********"}`,
		"profiles/blank.json":                            `{"model":"anthropic/x","api_key":"  "}`,
		"profiles/url.json":                              `{"model":"openai/x","base_url":"https://u:hidden@h.example/v1"}`,
		"profiles/linked.json":                           `{"model":"anthropic/x","provider_connection_id":"conn"}`,
		"profiles/dangling.json":                         `{"model":"anthropic/x","provider_connection_id":"gone"}`,
		"profiles/plan.json":                             `{"model":"gpt-5.5","auth_type":"subscription"}`,
		"profiles/newer.json":                            `{"model":"openai/new","schema_version":9}`,
		"profiles/broken.json":                           `{"model":`,
		"profiles/nomodel.json":                          `{}`,
		"profiles/a b.json":                              `{"model":"openai/x"}`,
		"profiles/.x.lock":                               ``,
		"profiles/x.tmp":                                 `{"model":"openai/x"}`,
		"settings.json":                                  `{"active_profile":"old"}`,
		"provider-connections/provider_connections.json": `{"schema_version":1,"connections":[{"id":"conn","api_key":"` + fixtureToken + `","base_url":"https://c.example"}]}`,
	})
	list, err := s.List(t.Context())
	must(t, err)
	var got []string
	for _, p := range list {
		got = append(got, fmt.Sprintf("%s|%s|%s|%s|%s|%v", p.Name, p.Model, p.BaseURL, p.Key, p.Action, p.Active))
	}
	want := []string{
		"a b|openai/x||none|error-invalid-name|false",
		"blank|anthropic/x||none|unchanged|false",
		"broken|||none|error-corrupt|false",
		"dangling|anthropic/x||none|unchanged|false",
		"linked|anthropic/x|https://c.example|encrypted|unchanged|false",
		"masked|anthropic/x||redacted|unchanged|false",
		"newer|openai/new||none|error-newer|false",
		"nomodel|||none|error-missing-model|false",
		"old|openhands/gpt-5.6||encrypted|migrate|true",
		"plain|anthropic/x||plain|unchanged|false",
		"plan|gpt-5.5||none|unchanged|false",
		"url|openai/x|https://REDACTED@h.example/v1|none|unchanged|false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	out, err := json.Marshal(list)
	must(t, err)
	noKey(t, "the list", string(out)+fmt.Sprintf("%+v %#v", list, list))

	names, err := s.Names()
	must(t, err)
	if got := strings.Join(names, " "); got != "blank broken dangling linked masked newer nomodel old plain plan url" {
		t.Errorf("names = %s", got)
	}
}

func TestWhereTheKeyOfAListedProfileIs(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{
		"profiles/a.json": `{"model":"openai/x","api_key":"` + fixtureToken + `"}`,
		"profiles/b.json": `{"model":"openai/x"}`,
		"profiles/c.json": `{"model":"openai/x","provider_connection_id":"conn"}`,
		"provider-connections/provider_connections.json": `{"connections":[{"id":"conn","api_key":"k"}]}`,
	})
	list, err := s.List(t.Context())
	must(t, err)
	r := secret.NewResolver(nil, secret.Providers(), environ(map[string]string{"OPENAI_API_KEY": "x"}))
	var got []string
	for _, p := range list {
		got = append(got, r.Locate(p.Subject(), nil).String())
	}
	if diff := cmp.Diff([]string{"profile file", "environment variable OPENAI_API_KEY", "provider connection conn"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	names := []string{secret.ProfileEntry(s.base, "a", "")}
	if got := r.Locate(list[0].Subject(), names).Kind; got != secret.FromProfileEntry {
		t.Errorf("with a stored key: %s", got)
	}
}

func TestAMissingStoreIsEmpty(t *testing.T) {
	t.Parallel()
	s := profile.Open(profile.Config{Base: filepath.Join(t.TempDir(), "nothing")})
	list, err := s.List(t.Context())
	if err != nil || len(list) != 0 {
		t.Errorf("the list: %v, %v", list, err)
	}
	if active, err := s.Active(); err != nil || active != "" {
		t.Errorf("active = %q, %v", active, err)
	}
	if _, err := s.Stamp(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.Base()); err == nil {
		t.Error("listing made the directory")
	}
}

func TestListEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{"profiles/a.json": `{"model":"x"}`})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.List(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
}

func TestStampNoticesEveryChange(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{"profiles/a.json": `{"model":"x"}`, "profiles/b.json": `{"model":"x"}`})
	must(t, os.Symlink("b.json", s.path("profiles/link.json")))
	last, err := s.Stamp()
	must(t, err)
	if again, err := s.Stamp(); err != nil || again != last {
		t.Errorf("it changes by itself: %v", err)
	}
	later := time.Now().Add(time.Hour)
	for name, change := range map[string]func() error{
		"a new profile":   func() error { return os.WriteFile(s.path("profiles/c.json"), []byte(`{}`), 0o600) },
		"a lost profile":  func() error { return os.Remove(s.path("profiles/a.json")) },
		"a rename":        func() error { return os.Rename(s.path("profiles/c.json"), s.path("profiles/d.json")) },
		"a time":          func() error { return os.Chtimes(s.path("profiles/b.json"), later, later) },
		"a size":          func() error { return os.WriteFile(s.path("profiles/b.json"), []byte(`{"model":"yy"}`), 0o600) },
		"new settings":    func() error { return os.WriteFile(s.path("settings.json"), []byte(`{}`), 0o600) },
		"new connections": func() error { write(t, s.path("provider-connections/provider_connections.json"), "{}"); return nil },
		"a dangling link": func() error { return os.Symlink("nowhere", s.path("profiles/z.json")) },
		"a replaced file": func() error {
			write(t, s.path("x"), `{"model":"zz"}`)
			return os.Rename(s.path("x"), s.path("profiles/b.json"))
		},
	} {
		if strings.HasPrefix(name, "a rename") {
			write(t, s.path("profiles/c.json"), "{}")
			last, err = s.Stamp()
			must(t, err)
		}
		must(t, change())
		next, err := s.Stamp()
		must(t, err)
		if next == last && name != "a dangling link" {
			t.Errorf("%s is not noticed", name)
		}
		last = next
	}
	write(t, s.path("profiles/.profiles.lock"), "")
	if next, err := s.Stamp(); err != nil || next != last {
		t.Errorf("a lock file changes it: %v", err)
	}
}

func TestLocate(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	fallback := filepath.Join(home, ".openhands")
	server := filepath.Join(t.TempDir(), "server")
	bases := func(vars map[string]string) []string {
		var out []string
		for _, l := range profile.Locate(environ(vars), home, dir).Stores {
			out = append(out, l.Base)
		}
		return out
	}
	same := func(what string, want, got []string) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	same("nothing set", []string{fallback}, bases(nil))
	same("set to nothing", []string{fallback}, bases(map[string]string{"OH_PERSISTENCE_DIR": ""}))
	same("set", []string{server}, bases(map[string]string{"OH_PERSISTENCE_DIR": server + "/x/.."}))
	same("relative", []string{filepath.Join(dir, "rel")}, bases(map[string]string{"OH_PERSISTENCE_DIR": "rel"}))
	same("below the home directory", []string{filepath.Join(home, "x")}, bases(map[string]string{"OH_PERSISTENCE_DIR": "~/x"}))
	same("the home directory", []string{home}, bases(map[string]string{"OH_PERSISTENCE_DIR": "~"}))
	same("a tilde in a name", []string{filepath.Join(dir, "~x", "~")}, bases(map[string]string{"OH_PERSISTENCE_DIR": "~x/~"}))
	private := func(vars map[string]string) []string { return profile.Locate(environ(vars), home, dir).Private() }
	same("private", []string{fallback}, private(nil))
	same("private, set", []string{server, fallback}, private(map[string]string{"OH_PERSISTENCE_DIR": server}))
	same("private, set to the usual one", []string{fallback}, private(map[string]string{"OH_PERSISTENCE_DIR": "~/.openhands"}))

	write(t, filepath.Join(fallback, "profiles", "a.json"), "{}")
	same("both in use", []string{server, fallback}, bases(map[string]string{"OH_PERSISTENCE_DIR": server}))
	must(t, os.Symlink(fallback, server))
	same("both the same", []string{server}, bases(map[string]string{"OH_PERSISTENCE_DIR": server}))

	if got := profile.Locate(environ(map[string]string{"OPENHANDS_PERSISTENCE_DIR": "/cli"}), home, dir).CLI; got != "/cli" {
		t.Errorf("CLI = %s", got)
	}
	if got := profile.Locate(environ(nil), home, dir).CLI; got != fallback {
		t.Errorf("CLI = %s", got)
	}

	write(t, filepath.Join(dir, "workspace", ".openhands", "settings.json"), "{}")
	var below []string
	for _, l := range profile.Below(dir) {
		below = append(below, l.Base)
	}
	same("below", []string{filepath.Join(dir, "workspace", ".openhands")}, below)
}

func TestCleanName(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{"a": "a", "a.json": "a", "a.json.json": "a.json", "A.b-c_9": "A.b-c_9"} {
		if got, err := profile.CleanName(given); got != want || err != nil {
			t.Errorf("CleanName(%q) = %q, %v", given, got, err)
		}
	}
	for _, given := range []string{"", ".json", ".", "..", "a/b", `a\b`, "/a", "a b", "a\n", "ä", strings.Repeat("x", 65)} {
		if got, err := profile.CleanName(given); !errors.Is(err, profile.ErrName) {
			t.Errorf("CleanName(%q) = %q, %v", given, got, err)
		}
	}
}

// fullProfile is a profile as OpenHands writes it, with all its members.
func fullProfile(t testing.TB) string {
	t.Helper()
	src, err := os.ReadFile("testdata/full.json")
	must(t, err)
	return string(src)
}

func BenchmarkListOfTenThousand(b *testing.B) {
	base := b.TempDir()
	src := []byte(fullProfile(b))
	must(b, os.MkdirAll(document.ProfilesDir(base), 0o700))
	for i := range 10_000 {
		must(b, os.WriteFile(document.ProfileFile(base, fmt.Sprintf("profile-%05d", i)).Path, src, 0o600))
	}
	s := profile.Open(profile.Config{Base: base})
	b.Run("list", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			list, err := s.List(b.Context())
			if err != nil || len(list) != 10_000 || list[0].Action != canon.Unchanged {
				b.Fatal(len(list), err)
			}
		}
	})
	b.Run("names", func(b *testing.B) {
		for b.Loop() {
			if names, err := s.Names(); err != nil || len(names) != 10_000 {
				b.Fatal(len(names), err)
			}
		}
	})
	b.Run("stamp", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Stamp(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
