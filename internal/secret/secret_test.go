package secret_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ohgw/ohgw/internal/secret"
)

// inside says, in the environment of this test binary, that it runs beside a
// real keyring. The D-Bus library then keeps its connection until the end.
const inside = "SECRET_TEST_INSIDE"

func TestMain(m *testing.M) {
	if os.Getenv(inside) != "" {
		os.Exit(m.Run())
	}
	goleak.VerifyTestMain(m)
}

const fixtureKey = "sk-example-not-a-real-key-0123456789"

func TestParseRefusesWhatIsNoKey(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]error{
		"":                    secret.ErrEmpty,
		"**********":          secret.ErrMasked,
		"gAAAAABpVbkAAAECAwQ": secret.ErrEncrypted,
		"sk-1\nsk-2":          secret.ErrNotOneKey,
		"sk 1":                secret.ErrNotOneKey,
		"sk-1\x00":            secret.ErrNotOneKey,
		"sk-1\u200b":          secret.ErrNotOneKey,
		"\ufeffsk-1":          secret.ErrNotOneKey,
		"sk-\xff":             secret.ErrNotOneKey,
	} {
		v, err := secret.Parse(in)
		if !errors.Is(err, want) || !v.IsZero() {
			t.Errorf("Parse(%q): %v, want %v", in, err, want)
		}
	}
	if v, err := secret.Parse(fixtureKey); err != nil || v.Reveal() != fixtureKey {
		t.Errorf("Parse of a key: %v", err)
	}
}

func TestReadTakesTheLineBreakAway(t *testing.T) {
	t.Parallel()
	for _, in := range []string{fixtureKey, fixtureKey + "\n", fixtureKey + "\r\n", "  " + fixtureKey + "\n\n"} {
		if v, err := secret.Read(strings.NewReader(in)); err != nil || v.Reveal() != fixtureKey {
			t.Errorf("Read(%q): %v", in, err)
		}
	}
	for in, want := range map[string]error{"\n": secret.ErrEmpty, "a\nb": secret.ErrNotOneKey, strings.Repeat("x", 70_000): secret.ErrTooBig} {
		if _, err := secret.Read(strings.NewReader(in)); !errors.Is(err, want) {
			t.Errorf("Read of %d bytes: %v, want %v", len(in), err, want)
		}
	}
}

func TestLooksLikeKey(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]bool{
		fixtureKey:                     true,
		"sk-proj-abcdefghijkl":         true,
		"gAAAAABpVbkAAAECAwQFBgcI":     true,
		"AIzaSyAexampleexample":        true,
		"0a1b2c3d4e5f60718293a4b5c6d7": true,
		"my_0a1b2c3d4e5f60718293a4b5":  true,

		"openai":                              false,
		"sk-profile":                          false,
		"claude-opus-4-8-production":          false,
		"gpt-5.1-codex-max-2026-01-01":        false,
		"nemotron-3-super-120b-a12b":          false,
		"a-very-long-profile-name-of-mine":    false,
		"averylongprofilenamewithoutdashes":   false,
		"internationalization2026":            true, // a price: a word with a year at its end
		"claude-opus-4-5-20251101":            false,
		"openhands_claude-sonnet-4-5-2025092": false,
	} {
		if got := secret.LooksLikeKey(arg); got != want {
			t.Errorf("LooksLikeKey(%q) = %v, want %v", arg, got, want)
		}
	}
}

func TestEntryNames(t *testing.T) {
	t.Parallel()
	const id = "81c499845cd4" // of /home/me/.openhands
	for _, tt := range []struct {
		name string
		want secret.Entry
	}{
		{secret.ProfileEntry("/home/me/.openhands/", "gpt", secret.APIKey), secret.Entry{Name: "profile/" + id + "/gpt", BaseID: id, Profile: "gpt"}},
		{secret.ProfileEntry("/home/me/x/../.openhands", "gpt", secret.AWSSecretAccessKey), secret.Entry{Name: "profile/" + id + "/gpt/aws_secret_access_key", BaseID: id, Profile: "gpt", Field: "aws_secret_access_key"}},
		{secret.ProviderEntry("openai", secret.APIKey), secret.Entry{Name: "provider/openai", Provider: "openai"}},
		{secret.ProviderEntry("bedrock", secret.AWSSessionToken), secret.Entry{Name: "provider/bedrock/aws_session_token", Provider: "bedrock", Field: "aws_session_token"}},
		{secret.TokenEntry("/home/me/.openhands", "default"), secret.Entry{Name: "token/" + id + "/default", BaseID: id, Token: "default"}},
		{"something else", secret.Entry{Name: "something else"}},
		{"profile", secret.Entry{Name: "profile"}},
	} {
		if diff := cmp.Diff(tt.want, secret.ParseEntry(tt.name)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// check fails when the output holds the key, as text or as numbers.
func check(t *testing.T, how, out string) {
	t.Helper()
	for _, leak := range []string{"example", "sk-", "736b2d", "736B2D", "115 107 45", "0x73, 0x6b", "0x73 0x6b"} {
		if strings.Contains(out, leak) {
			t.Errorf("%s shows %q: %s", how, leak, out)
		}
	}
}

func TestAVariableIsCheckedAsAnInputIs(t *testing.T) {
	t.Parallel()
	const key = "sk-of-the-variable"
	for name, tt := range map[string]struct {
		text string
		want error // nil: the key is used
	}{
		"a key":               {key, nil},
		"blanks around it":    {" " + key + "\r\n", nil},
		"a line break":        {key[:5] + "\n" + key[5:], secret.ErrNotOneKey},
		"two keys":            {key + "\n" + key, secret.ErrNotOneKey},
		"a scheme":            {"Bearer " + key, secret.ErrNotOneKey},
		"a byte order mark":   {"\ufeff" + key, secret.ErrNotOneKey},
		"a zero-width space":  {key + "\u200b", secret.ErrNotOneKey},
		"a control character": {key + "\x00", secret.ErrNotOneKey},
		"not UTF-8":           {key + "\xff", secret.ErrNotOneKey},
		"blanks only":         {" \t", secret.ErrEmpty},
		"a mask":              {secret.Redacted, secret.ErrMasked},
		"an encrypted key":    {"gAAAAABnAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==", secret.ErrEncrypted},
	} {
		for _, variable := range []string{"ANTHROPIC_API_KEY", "AWS_SESSION_TOKEN"} {
			r := secret.NewResolver(nil, secret.Providers(), func(n string) (string, bool) { return tt.text, n == variable })
			subject := secret.Subject{Profile: "mine", Model: "anthropic/claude"}
			if variable == "AWS_SESSION_TOKEN" {
				subject = secret.Subject{Profile: "mine", Model: "bedrock/x", Field: secret.AWSSessionToken}
			}
			got, err := r.Resolve(t.Context(), subject)
			if tt.want == nil {
				if got.Key.Reveal() != key || err != nil {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			for _, err := range []error{err, r.Unusable(subject, err), r.Refused(subject, nil)} {
				if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), variable) || strings.Contains(err.Error(), "of-the-variable") {
					t.Errorf("%s: error %v", name, err)
				}
			}
			if at := r.Locate(subject, nil); at.Kind != secret.FromNowhere {
				t.Errorf("%s: a list finds the key in the %s", name, at)
			}
		}
	}
}
