package profile_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/fernet"
	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/shape"
	"github.com/ohgw/ohgw/internal/optional"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
)

func TestLoadUnderstandsTheWholeEntry(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{"profiles/a.json": `{
		"model": "litellm_proxy/gpt-5.6", "base_url": "` + proxyURL + `", "api_key": "` + fixtureToken + `",
		"timeout": null, "temperature": "0.5", "num_retries": 3.0, "stream": "yes", "max_output_tokens": 1e3,
		"extra_headers": {"Authorization": "hidden-1"}, "litellm_extra_body": {"key": "hidden-2", "n": 1.50},
		"capability_overrides": {"vision": 1, "mode": "x"}, "aws_session_token": "hidden-3", "unknown": {"a": NaN}
	}`})
	p, err := s.Load("a.json")
	must(t, err)
	l := p.LLM
	got := strings.TrimSpace(fmt.Sprintln(l.Model, l.BaseURL == nil, l.Timeout == nil, *l.Temperature, l.NumRetries, l.Stream, *l.MaxOutputTokens,
		l.CapabilityOverrides, l.MaxMessageChars, *l.ReasoningEffort, l.AuthType, l.RetryMultiplier, l.DropParams))
	if want := "openhands/gpt-5.6 true true 0.5 3 true 1000 map[mode:x vision:true] 30000 high api_key 8 true"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for what, v := range map[string]secret.Value{
		fixtureKey: l.APIKey, "hidden-1": l.ExtraHeaders["Authorization"], "hidden-3": l.AWSSessionToken,
	} {
		if v.Reveal() != what {
			t.Errorf("got %q, want %q", v.Reveal(), what)
		}
	}
	body := l.ExtraBody.Reveal()
	if diff := cmp.Diff(map[string]json.RawMessage{"key": json.RawMessage(`"hidden-2"`), "n": json.RawMessage("1.50")}, body); diff != "" {
		t.Errorf("the body (-want +got):\n%s", diff)
	}
	out, err := json.Marshal(p)
	must(t, err)
	noKey(t, "the profile", string(out)+fmt.Sprintf("%+v %#v %v", *p, *p, p.LLM))
}

func TestLoadKeepsWhichLimitsAnEntryHas(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		``:                                       "whole 0, pause 300",
		`,"timeout":20`:                          "whole 20, pause 20",
		`,"stream_idle_timeout":7.5`:             "whole 0, pause 7.5",
		`,"stream_idle_timeout":7,"timeout":"9"`: "whole 9, pause 7",
		`,"timeout":null`:                        "whole 0, pause 0",
		`,"timeout":9,"stream_idle_timeout":null`: "whole 9, pause 0",
	} {
		s := newStore(t, map[string]string{"profiles/a.json": `{"model":"openai/x"` + src + `}`})
		p, err := s.Load("a")
		must(t, err)
		if got := fmt.Sprintf("whole %v, pause %v", p.LLM.Whole(), optional.Or(p.LLM.IdleTimeout, 0)); got != want {
			t.Errorf("%s: timeouts = %s, want %s", src, got, want)
		}
	}
}

func TestLoadDoesWhatOpenHandsDoesToEveryEntry(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		`{"model":"azure/x"}`:                                            "azure/x|nil|2024-12-01-preview",
		`{"model":"azure/x","api_version":""}`:                           "azure/x|nil|2024-12-01-preview",
		`{"model":"azure/x","api_version":"v1"}`:                         "azure/x|nil|v1",
		`{"model":"openai/x","base_url":"https://api.openai.com/"}`:      "openai/x|nil|nil",
		`{"model":"openai/x","base_url":"https://api.openai.com/v1"}`:    "openai/x|https://api.openai.com/v1|nil",
		`{"model":"openhands/x","base_url":"` + proxyURL + `"}`:          "openhands/x|nil|nil",
		`{"model":"litellm_proxy/o3","base_url":"` + proxyURL + `"}`:     "litellm_proxy/o3|" + proxyURL + "|nil",
		`{"model":"openhands/x","base_url":"","schema_version":[]}`:      "openhands/x||nil",
		`{"model":"x","schema_version":-1,"is_subscription":"whatever"}`: "x|nil|nil",
	} {
		s := newStore(t, map[string]string{"profiles/a.json": src})
		p, err := s.Load("a")
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		show := func(s *string) string {
			if s == nil {
				return "nil"
			}
			return *s
		}
		if got := p.LLM.Model + "|" + show(p.LLM.BaseURL) + "|" + show(p.LLM.APIVersion); got != want {
			t.Errorf("%s: got %s, want %s", src, got, want)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{
		"profiles/broken.json":  `{"api_key":"` + fixtureKey,
		"profiles/newer.json":   `{"model":"x","schema_version":2}`,
		"profiles/nomodel.json": `{"model":null}`,
		"profiles/url.json":     `{"model":"openhands/x","base_url":"https://[::1"}`,
		"profiles/field.json":   `{"model":"x","timeout":"` + fixtureKey + `"}`,
		"profiles/aws.json":     `{"model":"bedrock/x","aws_secret_access_key":"` + foreignToken + `"}`,
		"profiles/linked.json":  `{"model":"x","provider_connection_id":"gone"}`,
	})
	if _, err := s.Load("nobody"); !errors.Is(err, profile.ErrNotFound) {
		t.Errorf("nobody: %v", err)
	}
	if _, err := s.Load("../settings"); !errors.Is(err, profile.ErrName) {
		t.Errorf("a name with slashes: %v", err)
	}
	for name, want := range map[string]string{
		"broken": string(canon.ErrorCorrupt), "newer": string(canon.ErrorNewer), "nomodel": string(canon.ErrorModel),
		"url": string(canon.ErrorBadURL), "field": "timeout", "aws": "decrypt", "linked": "provider connection not found",
	} {
		_, err := s.Load(name)
		if err == nil {
			t.Errorf("%s is loaded", name)
			continue
		}
		noKey(t, name, err.Error())
		got := err.Error()
		if action, ok := document.ActionOf(err); ok {
			got = string(action)
		}
		if e, ok := errors.AsType[*profile.EntryError](err); ok {
			got = string(e.Action)
		}
		if e, ok := errors.AsType[*shape.FieldError](err); ok {
			got = e.Field
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

func TestAKeyThatCannotBeDecryptedIsToldAndNotUsed(t *testing.T) {
	t.Parallel()
	files := map[string]string{"profiles/a.json": `{"model":"openai/x","api_key":"` + foreignToken + `"}`, "profiles/b.json": `{"model":"openai/x","api_key":"` + fixtureToken + `"}`}
	s := newStore(t, files)
	p, err := s.Load("a")
	must(t, err)
	if !errors.Is(p.KeyErr, fernet.ErrWrongKey) || !p.LLM.APIKey.IsZero() {
		t.Errorf("KeyErr = %v", p.KeyErr)
	}
	r := secret.NewResolver(nil, secret.Providers(), environ(nil))
	if _, err := r.Resolve(t.Context(), p.Subject(secret.APIKey)); !errors.Is(err, fernet.ErrWrongKey) {
		t.Errorf("Resolve: %v", err)
	}

	without := profile.Open(profile.Config{Base: s.base})
	p, err = without.Load("b")
	must(t, err)
	if !errors.Is(p.KeyErr, fernet.ErrNoKey) || !p.LLM.APIKey.IsZero() {
		t.Errorf("without a secret: %v", p.KeyErr)
	}
}

func TestAConnectionGivesTheURLAndTheKey(t *testing.T) {
	t.Parallel()
	const conns = "provider-connections/provider_connections.json"
	for name, tt := range map[string]struct {
		connection, profile string
		key, url            string
		fails               bool
		from                secret.OriginKind
	}{
		"both":                      {`{"id":"c","api_key":"` + fixtureToken + `","base_url":"https://c.example"}`, `"base_url":"https://old.example"`, fixtureKey, "https://c.example", false, secret.FromConnection},
		"no URL":                    {`{"id":"c","api_key":"k","base_url":null}`, `"base_url":"https://old.example"`, "k", "nil", false, secret.FromConnection},
		"no key":                    {`{"id":"c","base_url":null}`, `"api_key":"own"`, "own", "nil", false, secret.FromProfile},
		"not there, but a key":      {`{"id":"d"}`, `"api_key":"own","base_url":"https://own.example"`, "own", "https://own.example", false, secret.FromProfile},
		"not there":                 {`{"id":"d"}`, `"usage_id":"x"`, "", "", true, ""},
		"a key that does not fit":   {`{"id":"c","api_key":"` + foreignToken + `"}`, `"api_key":"own"`, "", "", true, ""},
		"a file that is not known":  {`{"id":"c"}],"schema_version":2,"x":[1`, `"api_key":"own"`, "", "", true, ""},
		"a file that is not a file": {`{`, `"api_key":"own"`, "", "", true, ""},
	} {
		s := newStore(t, map[string]string{
			conns:             `{"connections":[` + tt.connection + `]}`,
			"profiles/a.json": `{"model":"anthropic/x","provider_connection_id":"c",` + tt.profile + `}`,
		})
		p, err := s.Load("a")
		if _, ok := errors.AsType[*profile.ConnectionError](err); ok != tt.fails {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		url := "nil"
		if p.LLM.BaseURL != nil {
			url = *p.LLM.BaseURL
		}
		if p.LLM.APIKey.Reveal() != tt.key || url != tt.url {
			t.Errorf("%s: key %q, URL %s", name, p.LLM.APIKey.Reveal(), url)
		}
		if got := p.Subject(secret.APIKey).OwnOrigin.Kind; got != tt.from {
			t.Errorf("%s: origin %s", name, got)
		}
	}
}

func TestFindCiphersLooksWhereOpenHandsDoes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	base := dir + "/base"
	write(t, dir+"/given", "from-path\n")
	write(t, base+"/agent-canvas/secret-key.txt", "  from-canvas\n")
	write(t, dir+"/workspace/openhands_agent_server_config.json", `{"secret_key":"from-config","previous_secret_keys":["old-config"," "]}`)
	c := profile.FindCiphers(profile.CipherSources{
		Bases: []string{base}, Dir: dir,
		LookupEnv: environ(map[string]string{
			"OH_SECRET_KEY": "", "OH_SECRET_KEY_PATH": dir + "/given", "SESSION_API_KEY": "session", "OH_SESSION_API_KEYS_0": "zero",
			"OH_PREVIOUS_SECRET_KEYS": `["old", ""]`, "OH_PREVIOUS_SECRET_KEYS_0": "older", "OH_PREVIOUS_SECRET_KEYS_1": "oldest",
		}),
	})
	want := []string{
		"OH_SECRET_KEY", dir + "/given", base + "/agent-canvas/secret-key.txt",
		dir + "/workspace/openhands_agent_server_config.json", dir + "/workspace/openhands_agent_server_config.json",
		"SESSION_API_KEY", "OH_SESSION_API_KEYS_0",
		"OH_PREVIOUS_SECRET_KEYS", "OH_PREVIOUS_SECRET_KEYS_0", "OH_PREVIOUS_SECRET_KEYS_1",
	}
	if diff := cmp.Diff(want, c.Sources()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i, text := range []string{"", "from-path", "from-canvas", "from-config", "old-config", "session", "zero", "old", "older", "oldest"} {
		token, err := fernet.NewKey(text).Encrypt([]byte("key"), now(), strings.NewReader("0123456789abcdef"))
		must(t, err)
		key, source, err := c.Decrypt(token)
		if err != nil || key.Reveal() != "key" || source != want[i] {
			t.Errorf("%q: %v, from %s", text, err, source)
		}
	}
	if _, _, err := c.Decrypt(foreignToken); !errors.Is(err, fernet.ErrWrongKey) {
		t.Errorf("a foreign token: %v", err)
	}
	if _, _, err := c.Decrypt("gAAAAAx"); !errors.Is(err, fernet.ErrMalformed) {
		t.Errorf("no token: %v", err)
	}
	for _, none := range []*profile.Ciphers{nil, profile.FindCiphers(profile.CipherSources{LookupEnv: environ(nil), Dir: t.TempDir()})} {
		if _, _, err := none.Decrypt(foreignToken); !errors.Is(err, fernet.ErrNoKey) || none.Sources() != nil {
			t.Errorf("without any: %v, %v", err, none.Sources())
		}
	}
	token, err := fernet.NewKey("").Encrypt([]byte("\xff"), now(), strings.NewReader("0123456789abcdef"))
	must(t, err)
	if _, _, err := c.Decrypt(token); !errors.Is(err, fernet.ErrMalformed) {
		t.Errorf("a key that is no text: %v", err)
	}
}

// TestARotatedSecretIsReplacedByTheCurrentOne has a key in clear text beside tokens of the
// secret before a rotation.
func TestARotatedSecretIsReplacedByTheCurrentOne(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		vars   map[string]string
		config string // of the agent-server
		want   string // the secret that the key is encrypted with
	}{
		"rotated":                    {map[string]string{"OH_SECRET_KEY": "current", "OH_PREVIOUS_SECRET_KEYS": `["` + fixtureSecret + `"]`}, "", "current"},
		"no rotation":                {map[string]string{"OH_SECRET_KEY": fixtureSecret, "OH_PREVIOUS_SECRET_KEYS_0": "older"}, "", fixtureSecret},
		"no current one":             {map[string]string{"OH_PREVIOUS_SECRET_KEYS_0": fixtureSecret}, "", fixtureSecret},
		"a blank current one":        {map[string]string{"OH_SECRET_KEY": "", "OH_PREVIOUS_SECRET_KEYS_0": fixtureSecret}, "", fixtureSecret},
		"rotated by the config file": {nil, `{"secret_key":"current","previous_secret_keys":["` + fixtureSecret + `"]}`, "current"},
		"rotated by both":            {map[string]string{"OH_SECRET_KEY": "newest"}, `{"secret_key":"current","previous_secret_keys":["` + fixtureSecret + `"]}`, "newest"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			if tt.config != "" {
				write(t, filepath.Join(base, "workspace", "openhands_agent_server_config.json"), tt.config)
			}
			write(t, filepath.Join(base, "profiles", "old.json"), `{"model":"openai/x","api_key":"`+fixtureToken+`"}`)
			write(t, filepath.Join(base, "profiles", "p.json"), `{"model":"openai/x","api_key":"`+fixtureKey+`"}`)
			s := profile.Open(profile.Config{Base: base, Ciphers: profile.FindCiphers(profile.CipherSources{LookupEnv: environ(tt.vars), Dir: base})})
			done, err := s.Use(t.Context(), "p", now())
			if err != nil || done.Key != profile.KeyEncrypted {
				t.Fatalf("Use = %+v, error %v", done, err)
			}
			settings, err := os.ReadFile(filepath.Join(base, "settings.json"))
			must(t, err)
			token, _ := parseDoc(t, string(settings)).Root().At("agent_settings", "llm", "api_key").Text()
			if plain, err := fernet.NewKey(tt.want).Decrypt(token); err != nil || string(plain) != fixtureKey {
				t.Errorf("not encrypted with %q: %v", tt.want, err)
			}
			if p, err := s.Load("old"); err != nil || p.LLM.APIKey.Reveal() != fixtureKey {
				t.Errorf("the key of before: %v", err)
			}
		})
	}
}
