package secret_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/fernet"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/secret/secrettest"
)

const base = "/home/me/.openhands"

func TestTheFirstPlaceWithAKeyWins(t *testing.T) {
	t.Parallel()
	profile, provider := secret.ProfileEntry(base, "mine", ""), secret.ProviderEntry("openai", "")
	own := func() (secret.Value, error) { return secret.New("own"), nil }
	env := map[string]string{"OPENAI_API_KEY": "variable"}
	for _, tt := range []struct {
		name    string
		keys    map[string]string
		subject secret.Subject
		env     map[string]string
		want    string
		origin  secret.OriginKind
	}{
		{"the profile's entry", map[string]string{profile: "first", provider: "second"}, subject(own), env, "first", secret.FromProfileEntry},
		{"the provider's entry", map[string]string{provider: "second"}, subject(own), env, "second", secret.FromProviderEntry},
		{"the profile", nil, subject(own), env, "own", secret.FromProfile},
		{"the environment", nil, subject(nil), env, "variable", secret.FromEnvironment},
		{"nothing", nil, subject(nil), nil, "", secret.FromNowhere},
		{"another profile's entry", map[string]string{secret.ProfileEntry("/elsewhere", "mine", ""): "x"}, subject(nil), nil, "", secret.FromNowhere},
		{"a key for OpenAI stays with OpenAI", map[string]string{provider: "second"}, withURL(subject(own), "https://gateway.example.com/v1"), env, "own", secret.FromProfile},
		{"but its own URL may be written down", map[string]string{provider: "second"}, withURL(subject(own), "https://API.openai.com/v1"), env, "second", secret.FromProviderEntry},
		{"not without TLS", map[string]string{provider: "second"}, withURL(subject(own), "http://api.openai.com/v1"), env, "own", secret.FromProfile},
		{"nor to a look-alike", map[string]string{provider: "second"}, withURL(subject(own), "https://api.openai.com@evil.example/"), env, "own", secret.FromProfile},
		{"the profile's entry goes anywhere", map[string]string{profile: "first"}, withURL(subject(own), "https://gateway.example.com/v1"), env, "first", secret.FromProfileEntry},
		{
			"a proxy of one's own",
			map[string]string{secret.ProviderEntry("litellm_proxy", ""): "proxy"},
			withURL(secret.Subject{Base: base, Profile: "mine", Model: "litellm_proxy/x"}, "http://127.0.0.1:4000"), nil, "proxy", secret.FromProviderEntry,
		},
		{
			"a secret of AWS",
			map[string]string{secret.ProfileEntry(base, "mine", secret.AWSSessionToken): "aws"},
			secret.Subject{Base: base, Profile: "mine", Model: "bedrock/x", Field: secret.AWSSessionToken},
			nil, "aws", secret.FromProfileEntry,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := secret.NewResolver(secrettest.New(tt.keys), secret.Providers(), lookup(tt.env))
			got, err := r.Resolve(t.Context(), tt.subject)
			if got.Key.Reveal() != tt.want || got.Origin.Kind != tt.origin {
				t.Errorf("%q from %s, want %q from %s", got.Key.Reveal(), got.Origin, tt.want, tt.origin)
			}
			if _, none := errors.AsType[*secret.NoKeyError](err); none != (tt.want == "") {
				t.Errorf("error = %v", err)
			}
			names, err := r.Names(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if located := r.Locate(tt.subject, names); located != got.Origin {
				t.Errorf("Locate says %s, Resolve %s", located, got.Origin)
			}
		})
	}
}

// A profile decides where its key goes, and another person may have written it.
func TestTheKeyOfAProviderStaysAtItsHosts(t *testing.T) {
	t.Parallel()
	stored := map[string]string{secret.ProviderEntry("openai", ""): "stored"}
	env := func(base string) map[string]string {
		return map[string]string{"OPENAI_API_KEY": "variable", "OPENAI_BASE_URL": base}
	}
	const elsewhere, here = "https://gateway.example.com/v1", "http://127.0.0.1:4000/v1"
	for _, tt := range []struct {
		name     string
		keys     map[string]string
		url      string
		env      map[string]string
		want     string
		withheld secret.OriginKind
	}{
		{"the variable, at another host", nil, elsewhere, env(""), "", secret.FromEnvironment},
		{"at its own", nil, "https://api.openai.com/v1/", env(""), "variable", secret.FromNowhere},
		{"at nobody's", nil, " ", env(""), "variable", secret.FromNowhere},
		{"on this machine", nil, here, env(""), "variable", secret.FromNowhere},
		{"at a look-alike of this machine", nil, "http://127.0.0.1.example.com", env(""), "", secret.FromEnvironment},
		{"both of the environment", nil, "", env(elsewhere), "variable", secret.FromNowhere},
		{"the profile's host, whatever the environment says", nil, elsewhere, env(elsewhere), "", secret.FromEnvironment},
		{"the stored one, at another host", stored, elsewhere, nil, "", secret.FromProviderEntry},
		{"at a host of the environment", stored, "", map[string]string{"OPENAI_API_BASE": elsewhere}, "", secret.FromProviderEntry},
		{"on this machine, where anybody may listen", stored, here, nil, "", secret.FromProviderEntry},
		{"neither", stored, elsewhere, env(""), "", secret.FromProviderEntry},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := secret.NewResolver(secrettest.New(tt.keys), secret.Providers(), lookup(tt.env))
			s := withURL(subject(nil), tt.url)
			got, err := r.Resolve(t.Context(), s)
			if got.Key.Reveal() != tt.want {
				t.Errorf("%q from %s, want %q; %v", got.Key.Reveal(), got.Origin, tt.want, err)
			}
			names, err := r.Names(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if located := r.Locate(s, names); located != got.Origin {
				t.Errorf("Locate says %s, Resolve %s", located, got.Origin)
			}
			if withheld := r.Withheld(s, names); withheld.Kind != tt.withheld {
				t.Errorf("withheld: %s, want %s", withheld.Kind, tt.withheld)
			}
		})
	}
}

func TestAPlaceThatCannotBeAskedIsSkipped(t *testing.T) {
	t.Parallel()
	locked := &secret.UnavailableError{Reason: secret.NoAnswer}
	keys := new(secrettest.Store)
	keys.Fail(locked)
	undecryptable := subject(func() (secret.Value, error) { return secret.Value{}, fernet.ErrWrongKey })

	r := secret.NewResolver(keys, secret.Providers(), lookup(map[string]string{"OPENAI_API_KEY": "variable"}))
	got, err := r.Resolve(t.Context(), undecryptable)
	if err != nil || got.Key.Reveal() != "variable" || len(got.Skipped) != 3 {
		t.Errorf("Resolve = %+v, error %v", got, err)
	}

	r = secret.NewResolver(keys, secret.Providers(), lookup(nil))
	_, err = r.Resolve(t.Context(), undecryptable)
	for _, want := range []error{locked, fernet.ErrWrongKey} {
		if !errors.Is(err, want) {
			t.Errorf("the error %v does not tell %v", err, want)
		}
	}
	for _, want := range []string{`profile "mine"`, "key stored for the profile", "key stored for openai", "profile file"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}

func TestResolveEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := secret.NewResolver(secrettest.New(nil), secret.Providers(), lookup(map[string]string{"OPENAI_API_KEY": "x"}))
	if _, err := r.Resolve(ctx, subject(nil)); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
}

func TestWithoutAStoreTheRestIsAsked(t *testing.T) {
	t.Parallel()
	r := secret.NewResolver(nil, secret.Providers(), lookup(map[string]string{"OPENAI_API_KEY": "x"}))
	if got, err := r.Resolve(t.Context(), subject(nil)); err != nil || got.Origin.String() != "environment variable OPENAI_API_KEY" {
		t.Errorf("origin = %s, error %v", got.Origin, err)
	}
	if names, err := r.Names(t.Context()); names != nil || err != nil {
		t.Errorf("Names = %v, %v", names, err)
	}
}

func TestKeylessModels(t *testing.T) {
	t.Parallel()
	r := secret.NewResolver(nil, secret.Providers(), lookup(nil))
	for model, want := range map[string]bool{"ollama/x": true, "bedrock/x": true, "openai/x": false, "gpt-5.5": false, "nobody/x": false} {
		if got := r.Keyless(secret.Subject{Model: model}); got != want {
			t.Errorf("Keyless(%s) = %v", model, got)
		}
	}
	if got := r.Variables("gpt-5.5"); len(got) != 1 || got[0] != "OPENAI_API_KEY" {
		t.Errorf("Variables = %v", got)
	}
}

func subject(own func() (secret.Value, error)) secret.Subject {
	return secret.Subject{Base: base, Profile: "mine", Model: "openai/gpt-5.5", Own: own, OwnOrigin: secret.Origin{Kind: secret.FromProfile}}
}

func withURL(s secret.Subject, url string) secret.Subject {
	s.BaseURL = url
	return s
}

func lookup(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}
