package secret_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/secret/secrettest"
)

// hosted is a store whose keys have hosts.
type hosted struct {
	secret.Store
	*secret.Hosts
}

func newHosted(t *testing.T, keys map[string]string) hosted {
	t.Helper()
	return hosted{secrettest.New(keys), &secret.Hosts{Path: filepath.Join(t.TempDir(), "state", "hosts.json")}}
}

func TestOneHostHasOneForm(t *testing.T) {
	t.Parallel()
	env := map[string]string{"ANTHROPIC_API_BASE": "https://proxy.example.com/anthropic", "LM_STUDIO_API_BASE": "http://127.0.0.1:1235/v1"}
	r := secret.NewResolver(nil, secret.Providers(), lookup(env))
	for _, tt := range []struct{ model, base, endpoint, want string }{
		{"openai/gpt-5", "", "", "provider openai"},
		{"gpt-5", "", "", "provider openai"},
		{"openai/gpt-5", "https://API.openai.com./v1", "", "provider openai"},
		{"openai/gpt-5", "https://api.openai.com:443", "", "provider openai"},
		{"openai/gpt-5", "https://api.anthropic.com", "", "provider anthropic"},
		{"openai/gpt-5", "http://api.openai.com/v1", "", "http://api.openai.com"},
		{"openai/gpt-5", "https://api.openai.com:8443/v1", "", "https://api.openai.com:8443"},
		{"openai/gpt-5", "https://api.openai.com@evil.example/v1", "", "https://evil.example"},
		{"openai/gpt-5", "https://user:pw@gw.example/v1?x=y", "", "https://gw.example"},
		{"openai/gpt-5", " https://GW.example:443/a ", "", "https://gw.example"},
		{"openai/gpt-5", "http://[::1]:1234/v1", "", "http://[::1]:1234"},
		{"openai/gpt-5", "http://localhost:1234/v1", "", "http://localhost:1234"},
		{"openai/gpt-5", "http://127.0.0.1:1235/v1", "", "http://127.0.0.1:1235"},
		{"anthropic/claude", "", "", "https://proxy.example.com"},
		{"lm_studio/x", "", "", "http://127.0.0.1:1235"},
		{"bedrock/x", "", "", "provider bedrock"},
		{"bedrock/x", "", "https://bedrock-runtime.eu-west-1.amazonaws.com", "provider bedrock"},
		{"bedrock/x", "", "https://vpce-0a1.bedrock-runtime.us-gov-east-1.vpce.amazonaws.com", "provider bedrock"},
		{"bedrock/x", "", "https://bedrock-runtime.s3.amazonaws.com", "https://bedrock-runtime.s3.amazonaws.com"},
		{"bedrock/x", "https://a.example", "https://b.example", "https://b.example"},
	} {
		if got := r.HostOf(secret.Subject{Model: tt.model, BaseURL: tt.base, Endpoint: tt.endpoint}); got != tt.want {
			t.Errorf("%+v: host = %q", tt, got)
		}
	}
}

// A key that was stored for a profile is sent to the host that the profile had then.
func TestAStoredKeyIsForItsHostOnly(t *testing.T) {
	t.Parallel()
	openai := secret.Subject{Base: base, Profile: "mine", Model: "openai/gpt-5"}
	gateway := withURL(openai, "https://gw.example/v1")
	local := withURL(openai, "http://127.0.0.1:1234/v1")
	claude := secret.Subject{Base: base, Profile: "mine", Model: "anthropic/claude"}
	for _, tt := range []struct {
		name        string
		stored, now secret.Subject
		env         map[string]string
		given       bool
	}{
		{"the same", openai, openai, nil, true},
		{"another path of a host", gateway, withURL(openai, "https://gw.example/other"), nil, true},
		{"another provider at a gateway", gateway, withURL(claude, "https://gw.example/v1"), nil, true},
		{"the provider's URL written out", openai, withURL(openai, "https://api.openai.com/v1"), nil, true},
		{"another host", gateway, withURL(openai, "https://gw.example.evil.example/v1"), nil, false},
		{"another port", gateway, withURL(openai, "https://gw.example:444/v1"), nil, false},
		{"without TLS", gateway, withURL(openai, "http://gw.example/v1"), nil, false},
		{"a URL where there was none", openai, gateway, nil, false},
		{"no URL where there was one", gateway, openai, nil, false},
		{"another provider", openai, claude, nil, false},
		{"another port of this machine", local, withURL(openai, "http://127.0.0.1:1235/v1"), nil, false},
		{"another name of this machine", local, withURL(openai, "http://localhost:1234/v1"), nil, false},
		{"a variable with a URL", openai, openai, map[string]string{"OPENAI_BASE_URL": "https://evil.example/v1"}, false},
		{"another variable with a URL", claude, claude, map[string]string{"ANTHROPIC_API_BASE": "http://127.0.0.1:9"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			entry := secret.ProfileEntry(base, "mine", "")
			store := newHosted(t, map[string]string{entry: "the-key"})
			if err := secret.NewResolver(store, secret.Providers(), lookup(nil)).Bind(t.Context(), tt.stored); err != nil {
				t.Fatal(err)
			}
			r := secret.NewResolver(store, secret.Providers(), lookup(tt.env))
			for range 2 { // what was refused once is not bound again
				got, err := r.Resolve(t.Context(), tt.now)
				stored, storedErr := r.Stored(t.Context(), tt.now, []string{entry})
				if (got.Key.Reveal() == "the-key") != tt.given || (stored.Reveal() == "the-key") != tt.given {
					t.Fatalf("given %v and %v", !got.Key.IsZero(), !stored.IsZero())
				}
				if at := r.Locate(tt.now, []string{entry}); (at.Kind == secret.FromProfileEntry) != tt.given {
					t.Errorf("located in the %s", at)
				}
				for _, err := range []error{err, storedErr, r.Refused(tt.now, []string{entry})} {
					elsewhere, refused := errors.AsType[*secret.HostError](err)
					if refused == tt.given {
						t.Errorf("error %v", err)
					}
					if refused && !mentions(elsewhere.Error(), `"mine"`, elsewhere.For, elsewhere.Now, "ohgw keys set mine --replace") {
						t.Errorf("error %v", err)
					}
				}
			}
		})
	}
}

func mentions(text string, all ...string) bool {
	for _, part := range all {
		if part == "" || !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

// Keys of an older ohgw have no host.
func TestAKeyWithoutAHostIsBoundByItsFirstUse(t *testing.T) {
	t.Parallel()
	entry := secret.ProfileEntry(base, "mine", "")
	store := newHosted(t, map[string]string{entry: "the-key"})
	r := secret.NewResolver(store, secret.Providers(), lookup(nil))
	first := secret.Subject{Base: base, Profile: "mine", Model: "openai/gpt-5", BaseURL: "https://gw.example"}
	if at := r.Locate(first, []string{entry}); at.Kind != secret.FromProfileEntry {
		t.Errorf("located in the %s", at)
	}
	if host, err := store.Host(entry); host != "" || err != nil {
		t.Errorf("a list has bound the key to %q, %v", host, err)
	}
	for _, use := range []struct {
		subject secret.Subject
		want    string
	}{{first, "the-key"}, {withURL(first, "https://evil.example"), ""}, {first, "the-key"}} {
		got, _ := r.Resolve(t.Context(), use.subject)
		if got.Key.Reveal() != use.want {
			t.Errorf("%s gets the key: %v", use.subject.BaseURL, !got.Key.IsZero())
		}
	}
}

func TestHostsOfADamagedFileGetNoKey(t *testing.T) {
	t.Parallel()
	entry := secret.ProfileEntry(base, "mine", "")
	for _, text := range []string{"", "{", `{"version":2,"hosts":{}}`, `{"version":1,"hosts":[]}`} {
		store := newHosted(t, map[string]string{entry: "the-key"})
		if err := os.MkdirAll(filepath.Dir(store.Path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(store.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := secret.NewResolver(store, secret.Providers(), lookup(nil)).Resolve(t.Context(), subject(nil))
		if !got.Key.IsZero() || err == nil || !strings.Contains(err.Error(), store.Path) {
			t.Errorf("%q: given %v, %v", text, !got.Key.IsZero(), err)
		}
		if err := store.SetHost(t.Context(), entry, "https://evil.example"); err == nil {
			t.Errorf("%q was replaced", text)
		}
	}
}

func TestHostsOutliveTheirStore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "hosts.json")
	ctx := context.WithoutCancel(t.Context())
	one, two := &secret.Hosts{Path: path}, &secret.Hosts{Path: path}
	for _, step := range []struct {
		by         *secret.Hosts
		name, host string
	}{{one, "a", "x"}, {two, "b", "y"}, {one, "b", "z"}, {two, "a", ""}} {
		if err := step.by.SetHost(ctx, step.name, step.host); err != nil {
			t.Fatal(err)
		}
		for _, h := range []*secret.Hosts{one, two} {
			if got, err := h.Host(step.name); got != step.host || err != nil {
				t.Errorf("%+v: host = %q, error %v", step, got, err)
			}
		}
	}
	if got, err := one.Host("b"); got != "z" || err != nil {
		t.Errorf("the other key has the host %q, %v", got, err)
	}
}
