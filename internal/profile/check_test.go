package profile_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/secret/secrettest"
)

// resolver has no key for anything but OpenHands' models.
func resolver() *secret.Resolver {
	return secret.NewResolver(secrettest.New(map[string]string{"provider/openhands": "key"}), secret.Providers(), environ(nil))
}

// check returns the problems as "profile code severity repair".
func check(t *testing.T, s store, opts profile.CheckOptions) []string {
	t.Helper()
	report, err := s.Check(t.Context(), opts)
	must(t, err)
	out, err := json.Marshal(report)
	must(t, err)
	noKey(t, "the report", string(out))
	var got []string
	for _, p := range report.Problems {
		if p.Text == "" || p.Repair == "" || p.Path == "" || p.Severity == "" {
			t.Errorf("incomplete: %+v", p)
		}
		got = append(got, fmt.Sprintf("%s %s %s %s", p.Profile, p.Code, p.Severity, strings.ReplaceAll(p.Repair, s.base, "BASE")))
	}
	slices.Sort(got)
	return got
}

// Every fixture has the problems that expected.tsv tells, and no others.
func TestCheckFindsWhatIsWrongWithEveryFixture(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"p01": "migrate", "p02": "migrate", "p03": "", "p04": "migrate", "p05": "null-base-url", "p06": "key-missing",
		"p07": "key-missing", "p08": "key-missing", "p09": "report-stranded", "p10": "report-stranded key-missing",
		"p11": "report-stranded key-missing", "p12": "report-ambiguous key-missing", "p13": "report-retired key-missing",
		"p14": "report-unlisted key-missing", "p15": "report-unlisted key-missing", "p16": "report-near-miss key-missing",
		"p17": "report-near-miss plain-http key-missing", "p18": "report-near-miss key-missing", "p19": "key-missing",
		"p20": "migrate", "p21": "", "p22": "key-plaintext", "p23": "error-corrupt", "p24": "error-not-object",
		"p25": "error-newer", "p26": "error-schema-type", "p27": "migrate unknown-field", "p28": "error-missing-model",
		"p29": "error-invalid-name", "p30": "error-invalid-name", "p31": "error-bad-url key-missing",
		"p32": "", "p33": "", "p34": "error-corrupt", "p35": "migrate", "p36": "report-unlisted key-missing",
		"p37": "migrate", "p38": "key-undecryptable",
	}
	conns, err := os.ReadFile("testdata/fixtures/settings/s08-provider_connections.json")
	must(t, err)
	files, err := filepath.Glob("testdata/fixtures/p*.json")
	must(t, err)
	if len(files) != len(want) {
		t.Fatalf("%d fixtures, %d expectations", len(files), len(want))
	}
	for _, path := range files {
		src, err := os.ReadFile(path)
		must(t, err)
		s := newStore(t, map[string]string{
			"profiles/" + filepath.Base(path):                string(src),
			"provider-connections/provider_connections.json": string(conns),
		})
		report, err := s.Check(t.Context(), profile.CheckOptions{Keys: resolver()})
		must(t, err)
		var codes []string
		for _, p := range report.Problems {
			codes = append(codes, p.Code)
		}
		if got := strings.Join(codes, " "); got != want[filepath.Base(path)[:3]] {
			t.Errorf("%s: codes = %s, want %s", filepath.Base(path), got, want[filepath.Base(path)[:3]])
		}
	}
}

func TestCheckTellsWhatTheEmbeddedAgentIgnores(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{
		"profiles/some.json": `{"model":"ollama/x","log_completions":true,"api_key":"` + fixtureToken + `"}`,
		"profiles/none.json": `{"model":"ollama/y"}`,
		"settings.json":      `{"agent_settings":{"llm":{"model":"ollama/x","log_completions":true}}}`,
	})
	ignored := func(entry []byte) []string {
		if strings.Contains(string(entry), "log_completions") {
			return []string{"log_completions"}
		}
		return nil
	}
	want := []string{"some engine-ignores note use an agent-server, or ${EDITOR:-vi} BASE/profiles/some.json"}
	if diff := cmp.Diff(want, check(t, s, profile.CheckOptions{Keys: resolver(), Ignored: ignored})); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestCheckNamesTheCommandThatRepairs(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{
		"profiles/stranded.json":  `{"model":"litellm_proxy/gpt-5.6","api_key":"` + fixtureToken + `"}`,
		"profiles/ambiguous.json": `{"model":"litellm_proxy/x","api_key":"` + fixtureToken + `"}`,
		"profiles/plain.json":     `{"model":"openai/x","api_key":"` + fixtureKey + `"}`,
		"profiles/lines.json":     `{"model":"openai/x","api_key":"two\nlines"}`,
		"profiles/masked.json":    `{"model":"openai/x","api_key":"**********"}`,
		"profiles/foreign.json":   `{"model":"openai/x","api_key":"` + foreignToken + `"}`,
		"profiles/fields.json":    `{"model":"openhands/x","timeout":"soon","top_p":2,"mystery":1,"max_input_tokens":100}`,
		"profiles/twice.json":     `{"model":"openhands/x","model":"openhands/y"}`,
		"profiles/nan.json":       `{"model":"openhands/x","litellm_extra_body":{"a":NaN}}`,
		"profiles/gone.json":      `{"model":"openhands/x","provider_connection_id":"gone"}`,
		"profiles/it's.json":      `{"model":"openhands/x"}`,
		"profiles/a\n\"b\".json":  `{"model":"openhands/x"}`,
		"profiles/con.json":       `{"model":"openhands/x"}`,
		"profiles/CON.json":       `{"model":"openhands/x"}`,
		"profiles/local.json":     `{"model":"ollama/x"}`,
		"profiles/newer.json":     `{"model":"openhands/x","schema_version":7}`,
		"agent-profiles/one.json": agentProfile,
		"settings.json":           `{"agent_settings":{"llm":{"model":"litellm_proxy/gpt-5.6","api_key":"` + fixtureKey + `"}},"active_profile":"nobody"}`,
		"agent_settings.json":     `{"llm":{"model":"litellm_proxy/x","api_key":"` + fixtureKey + `","old_member":1}}`,
	})
	must(t, os.Chmod(s.path("agent_settings.json"), 0o644))
	must(t, os.Symlink("local.json", s.path("profiles/link.json")))
	got := check(t, s, profile.CheckOptions{Keys: resolver(), CLI: s.base})
	want := []string{
		" active-missing warning ohgw profiles use CON",
		" agent-profile-dangling error ohgw profiles add a",
		" key-plaintext note chmod 600 BASE/agent_settings.json",
		" key-plaintext warning ohgw profiles add default --from-settings && ohgw profiles use default",
		" readable-by-others warning chmod 600 BASE/agent_settings.json",
		" report-ambiguous warning ohgw profiles migrate --base-url URL @cli",
		" report-stranded error ohgw profiles migrate --as-openhands @settings",
		"CON device-name note ohgw profiles rename CON profile-CON",
		"a\n\"b\" error-invalid-name error ohgw profiles rename $'a\\n\"b\"' a-b",
		"ambiguous report-ambiguous warning ohgw profiles migrate --base-url URL ambiguous",
		"con device-name note ohgw profiles rename con profile-con",
		"con twin-name note ohgw profiles rename con con-2",
		"fields invalid-field error ${EDITOR:-vi} BASE/profiles/fields.json",
		"fields invalid-field error ${EDITOR:-vi} BASE/profiles/fields.json",
		"fields small-window warning ${EDITOR:-vi} BASE/profiles/fields.json",
		"fields unknown-field note ${EDITOR:-vi} BASE/profiles/fields.json",
		"foreign key-undecryptable error ohgw keys set foreign",
		"gone connection-missing error ohgw profiles add gone --replace",
		"it's error-invalid-name error ohgw profiles rename 'it'\\''s' it-s",
		"lines key-malformed error ohgw keys set lines",
		"lines key-plaintext warning ohgw keys import --remove-from-profile lines",
		"link error-symlink warning cp BASE/profiles/link.json BASE/profiles/link.json.tmp && mv BASE/profiles/link.json.tmp BASE/profiles/link.json",
		"masked key-missing error ohgw keys set masked",
		"nan not-a-number warning ${EDITOR:-vi} BASE/profiles/nan.json",
		"newer error-newer error install a newer ohgw",
		"plain key-plaintext warning ohgw keys import --remove-from-profile plain",
		"stranded report-stranded error ohgw profiles migrate --as-openhands stranded",
		"twice duplicate-member warning ${EDITOR:-vi} BASE/profiles/twice.json",
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
}

func TestCheckLooksAtEverySecret(t *testing.T) {
	t.Parallel()
	const conns = "provider-connections/provider_connections.json"
	s := newStore(t, map[string]string{
		conns:                   `{"connections":[{"id":"right","api_key":"` + fixtureToken + `"},{"id":"foreign","api_key":"` + foreignToken + `"}]}`,
		"profiles/aws.json":     `{"model":"bedrock/x","aws_access_key_id":"AKIAEXAMPLE","aws_secret_access_key":"` + fixtureToken + `","aws_session_token":"` + foreignToken + `"}`,
		"profiles/right.json":   `{"model":"openai/x","provider_connection_id":"right"}`,
		"profiles/foreign.json": `{"model":"openai/x","provider_connection_id":"foreign"}`,
	})
	must(t, os.Chmod(s.path(conns), 0o640))
	got := check(t, s, profile.CheckOptions{Keys: resolver()})
	want := []string{
		" readable-by-others warning chmod 600 BASE/" + conns,
		"aws key-plaintext warning ohgw keys import --remove-from-profile aws",
		"aws key-undecryptable error ohgw keys set aws --field aws_session_token",
		"foreign key-undecryptable error change the provider connection in OpenHands",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestCheckFindsWhatOthersHaveLeft(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{
		"profiles/a.json": `{"model":"openhands/x"}`, "profiles/.ohgw-123.tmp": `{"model"`, "settings.tmp.17.0011aabb": `{`, "profiles/tmp.json": `{"model":"openhands/x"}`,
	})
	older := newStore(t, map[string]string{"settings.json": `{}`})
	got := check(t, s, profile.CheckOptions{CLI: s.base, Older: []profile.Location{{Base: older.base}, {Base: s.base}}})
	want := []string{
		" left-over note rm BASE/profiles/.ohgw-123.tmp",
		" left-over note rm BASE/settings.tmp.17.0011aabb",
		" older-store note OH_PERSISTENCE_DIR=" + older.base + " ohgw profiles check",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestCheckOfNamedProfilesLooksAtThemOnly(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{
		"profiles/a.json": `{"model":"openhands/x"}`, "profiles/b.json": `{`, "settings.json": `{`,
	})
	report, err := s.Check(t.Context(), profile.CheckOptions{Names: []string{"a.json"}})
	if err != nil || report.Checked != 1 || len(report.Problems) != 0 || report.Worst() != "" {
		t.Errorf("report = %+v, error %v", report, err)
	}
	report, err = s.Check(t.Context(), profile.CheckOptions{})
	if err != nil || report.Checked != 3 || report.Worst() != profile.Error {
		t.Errorf("report = %+v, error %v", report, err)
	}
	for name, want := range map[string]error{"nobody": profile.ErrNotFound, "a/b": profile.ErrName} {
		if _, err := s.Check(t.Context(), profile.CheckOptions{Names: []string{name}}); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAKeyWithoutItsSecretIsANoteOnly(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{"profiles/a.json": `{"model":"openai/x","api_key":"` + fixtureToken + `"}`})
	without := store{profile.Open(profile.Config{Base: s.base}), s.base, t}
	got := check(t, without, profile.CheckOptions{Keys: resolver()})
	if len(got) != 1 || got[0] != "a key-no-secret note set OH_SECRET_KEY_PATH to the file with OpenHands' secret" {
		t.Errorf("problems = %q", got)
	}
}

func TestAStoreWithTooManyProfilesIsNoted(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range profile.MaxProfiles + 1 {
		files[fmt.Sprintf("profiles/p%d.json", i)] = `{"model":"openhands/x"}`
	}
	got := check(t, newStore(t, files), profile.CheckOptions{Keys: resolver()})
	if len(got) != 1 || !strings.HasPrefix(got[0], " over-limit note") {
		t.Errorf("problems = %q", got)
	}
}
