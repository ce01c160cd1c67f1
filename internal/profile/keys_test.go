package profile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/secret/secrettest"
)

func importAll(t *testing.T, s store, keys secret.Store, opts profile.ImportOptions) []string {
	t.Helper()
	done, err := s.ImportKeys(t.Context(), keys, opts)
	must(t, err)
	out, err := json.Marshal(done)
	must(t, err)
	noKey(t, "the report", string(out))
	var got []string
	for _, i := range done {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", i.Profile, i.Field, i.Action, i.Source)))
	}
	return got
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
}

func TestImportCopiesKeysAndLeavesTheProfiles(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"profiles/aws.json":       `{"model":"bedrock/x","aws_access_key_id":"id","aws_secret_access_key":"hidden"}`,
		"profiles/broken.json":    `{"api_key":`,
		"profiles/encrypted.json": `{"model":"x","api_key":"` + fixtureToken + `"}`,
		"profiles/foreign.json":   `{"model":"x","api_key":"` + foreignToken + `"}`,
		"profiles/lines.json":     `{"model":"x","api_key":"two\nlines"}`,
		"profiles/none.json":      `{"model":"x","api_key":"**********"}`,
		"profiles/plain.json":     `{"model":"x","api_key":"` + fixtureKey + `"}`,
	}
	s, keys := newStore(t, files), new(secrettest.Store)
	want(t, importAll(t, s, keys, profile.ImportOptions{}),
		"aws aws_access_key_id copied", "aws aws_secret_access_key copied", "broken  skipped",
		"encrypted api_key copied test", "foreign api_key skipped", "lines api_key skipped", "plain api_key copied")
	for name, key := range map[string]string{
		secret.ProfileEntry(s.base, "encrypted", ""):                  fixtureKey,
		secret.ProfileEntry(s.base, "plain", ""):                      fixtureKey,
		secret.ProfileEntry(s.base, "aws", secret.AWSSecretAccessKey): "hidden",
		secret.ProfileEntry(s.base, "aws", secret.AWSAccessKeyID):     "id",
	} {
		if got, err := keys.Get(t.Context(), name); err != nil || got.Reveal() != key {
			t.Errorf("%s: %v", name, err)
		}
	}
	for rel, content := range files {
		s.want(rel, content)
	}
	want(t, importAll(t, s, keys, profile.ImportOptions{Names: []string{"plain.json"}}), "plain api_key already")
}

func TestImportDoesNotReplaceAnotherKeyUnasked(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{"profiles/a.json": `{"model":"x","api_key":"` + fixtureKey + `"}`})
	name := secret.ProfileEntry(s.base, "a", "")
	keys := secrettest.New(map[string]string{name: "another"})
	want(t, importAll(t, s, keys, profile.ImportOptions{Remove: true}), "a api_key differs")
	s.want("profiles/a.json", `{"model":"x","api_key":"`+fixtureKey+`"}`)
	want(t, importAll(t, s, keys, profile.ImportOptions{Replace: true}), "a api_key copied")
	if got, _ := keys.Get(t.Context(), name); got.Reveal() != fixtureKey {
		t.Error("the key is not replaced")
	}
}

func TestImportMovesKeysByRemovingTheMember(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{
		"profiles/a.json": "{\n  \"model\": \"x\",\n  \"api_key\": \"" + fixtureToken + "\",\n  \"aws_session_token\": \"t\",\n  \"other\": 1.0\n}\n",
	})
	keys := new(secrettest.Store)
	want(t, importAll(t, s, keys, profile.ImportOptions{Remove: true}), "a api_key moved test", "a aws_session_token moved")
	s.want("profiles/a.json", "{\n  \"model\": \"x\",\n  \"other\": 1.0\n}\n")
	want(t, importAll(t, s, keys, profile.ImportOptions{Remove: true}))
}

// The active profile is in the settings once more, as OpenHands writes it.
func TestImportMovesTheKeyOutOfTheSettingsToo(t *testing.T) {
	t.Parallel()
	const plain = `{"model":"x", "api_key":"` + fixtureKey + `"}`
	settings := func(llm string) string {
		return "{\n  \"agent_settings\": {\"llm\": " + llm + ", \"odd\": 1.50},\n  \"active_profile\": \"a\"\n}\n"
	}
	for name, tt := range map[string]struct {
		profile, settings string
		opts              profile.ImportOptions
		want              []string
		left              string // entry in the settings
	}{
		"the same key":       {plain, plain, profile.ImportOptions{Remove: true}, []string{"a api_key moved", "a api_key moved"}, `{"model":"x"}`},
		"only there":         {`{"model":"x"}`, plain, profile.ImportOptions{Remove: true}, []string{"a api_key moved"}, `{"model":"x"}`},
		"only there, copied": {`{"model":"x"}`, plain, profile.ImportOptions{}, []string{"a api_key copied"}, plain},
		"not asked for":      {plain, plain, profile.ImportOptions{}, []string{"a api_key copied"}, plain},
		"another key": {
			plain, `{"model":"x","api_key":"other"}`,
			profile.ImportOptions{Remove: true},
			[]string{"a api_key moved", "a api_key differs"},
			`{"model":"x","api_key":"other"}`,
		},
		"another key that gives way": {
			plain, `{"model":"x","api_key":"other"}`, profile.ImportOptions{Remove: true, Replace: true}, []string{"a api_key moved", "a api_key moved"}, `{"model":"x"}`,
		},
		"encrypted": {plain, `{"model":"x","api_key":"` + fixtureToken + `"}`, profile.ImportOptions{Remove: true}, []string{"a api_key moved", "a api_key moved test"}, `{"model":"x"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t, map[string]string{
				"profiles/a.json": tt.profile, "profiles/b.json": `{"model":"y"}`, "settings.json": settings(tt.settings),
			})
			keys := new(secrettest.Store)
			want(t, importAll(t, s, keys, tt.opts), tt.want...)
			s.want("settings.json", settings(tt.left))
			if got, err := keys.Get(t.Context(), secret.ProfileEntry(s.base, "a", "")); err != nil || got.Reveal() != fixtureKey {
				t.Errorf("stored: %v", err)
			}
		})
	}
}

func TestCopiesOfAKeyAreFound(t *testing.T) {
	t.Parallel()
	const odd = `quote"and\\slash-0123`
	s := newStore(t, map[string]string{
		"profiles/a.json":     `{"model":"x","api_key":"` + fixtureKey + `"}`,
		"profiles/a.json.tmp": `{"model":"x","api_key":"` + fixtureKey + `"}`,
		"profiles/b.json":     `{"model":"x","api_key":"` + fixtureToken + `"}`,
		"profiles/c.json":     `{"model":"x","api_key":"` + fixtureKey + `-longer"}`,
		"settings.json":       settingsWith(`{"model":"x","api_key":"` + fixtureKey + `"}`),
		"provider-connections/provider_connections.json": `{"connections":[{"id":"c","api_key":"quote\"and\\\\slash-0123"}]}`,
		"deep/down/settings.json":                        settingsWith(`{"model":"x","api_key":"` + fixtureKey + `"}`),
	})
	paths := func(key string, more ...string) (rel []string) {
		for _, path := range s.Copies(t.Context(), secret.New(key), more...) {
			name, err := filepath.Rel(s.base, path)
			must(t, err)
			rel = append(rel, filepath.ToSlash(name))
		}
		return rel
	}
	want(t, paths(fixtureKey, s.path("deep"), s.path("none")), "deep/down/settings.json", "profiles/a.json", "profiles/a.json.tmp", "settings.json")
	want(t, paths(odd), "provider-connections/provider_connections.json")
	want(t, paths("another"))
}

// forgetful loses what it is given.
type forgetful struct{ secret.Store }

func (forgetful) Get(context.Context, string) (secret.Value, error) {
	return secret.Value{}, secret.ErrNotFound
}

func TestAKeyStaysInTheProfileUnlessItIsStored(t *testing.T) {
	t.Parallel()
	content := `{"model":"x","api_key":"` + fixtureKey + `"}`
	s := newStore(t, map[string]string{"profiles/a.json": content})
	broken := new(secrettest.Store)
	broken.Fail(&secret.UnavailableError{Reason: secret.NoAnswer})
	for _, keys := range []secret.Store{broken, forgetful{new(secrettest.Store)}} {
		want(t, importAll(t, s, keys, profile.ImportOptions{Remove: true}), "a api_key skipped")
		s.want("profiles/a.json", content)
	}
}

func TestKeysFollowARenameAndGoWithARemoval(t *testing.T) {
	t.Parallel()
	s := newStore(t, nil)
	a, b := secret.ProfileEntry(s.base, "a", ""), secret.ProfileEntry(s.base, "b", "")
	other := secret.ProfileEntry(s.base, "other", "")
	keys := secrettest.New(map[string]string{a: "key", secret.ProfileEntry(s.base, "a", secret.AWSSessionToken): "token", other: "x"})
	must(t, s.MoveKeys(t.Context(), keys, "a", "b"))
	if _, err := keys.Get(t.Context(), a); !errors.Is(err, secret.ErrNotFound) {
		t.Errorf("the old entry: %v", err)
	}
	if got, err := keys.Get(t.Context(), b); err != nil || got.Reveal() != "key" {
		t.Errorf("the new entry: %v", err)
	}
	n, err := s.RemoveKeys(t.Context(), keys, "b")
	if n != 2 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
	if names, _ := keys.List(t.Context()); len(names) != 1 || names[0] != other {
		t.Errorf("left: %v", names)
	}
	locked := secrettest.New(map[string]string{a: "key"})
	locked.Fail(&secret.UnavailableError{Reason: secret.NoAnswer})
	if err := s.MoveKeys(t.Context(), locked, "a", "b"); err == nil {
		t.Error("a locked keyring is no error")
	}
	if err := s.MoveKeys(t.Context(), locked, "nobody", "b"); err != nil {
		t.Errorf("a profile without keys: %v", err)
	}
}

// meddling changes the profile while its key is being stored.
type meddling struct {
	secret.Store
	meddle func()
}

func (m meddling) Set(ctx context.Context, name string, v secret.Value) error {
	m.meddle()
	return m.Store.Set(ctx, name, v)
}

func TestAKeyThatChangedMeanwhileIsNotRemoved(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{"profiles/a.json": `{"model":"x","api_key":"` + fixtureKey + `"}`})
	changed := `{"model":"x","api_key":"a newer key"}`
	keys := meddling{new(secrettest.Store), func() { write(t, s.path("profiles/a.json"), changed) }}
	want(t, importAll(t, s, keys, profile.ImportOptions{Remove: true}), "a api_key skipped")
	s.want("profiles/a.json", changed)
}
