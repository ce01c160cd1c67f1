package transport_test

import (
	"errors"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/transport"
)

func TestParseRoot(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://app.all-hands.dev":          "https://app.all-hands.dev",
		"https://app.all-hands.dev/api/":     "https://app.all-hands.dev",
		" https://APP.example/api/v1 ":       "https://app.example",
		"app.example":                        "https://app.example",
		"http://127.0.0.1:3000/":             "http://127.0.0.1:3000",
		"https://acme.example/openhands/":    "https://acme.example/openhands",
		"https://acme.example/openhands/api": "https://acme.example/openhands",
	} {
		if got, err := transport.ParseRoot(text); err != nil || got.String() != want {
			t.Errorf("ParseRoot(%q) = %v, %v, want %s", text, got, err, want)
		}
	}
	for _, bad := range []string{"", "ftp://x", "https://", "https://user:pw@x", "https://x?key=1", "http://[::1", "://"} {
		if got, err := transport.ParseRoot(bad); !errors.Is(err, transport.ErrRefused) {
			t.Errorf("ParseRoot(%q) = %v, %v", bad, got, err)
		}
	}
}

func TestRuntimeBaseIsWhatStandsBeforeTheAPI(t *testing.T) {
	t.Parallel()
	root, err := transport.ParseRoot("https://cloud.example/oh")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"https://abc.prod-runtime.example/api/conversations/1": "https://abc.prod-runtime.example",
		"https://runtimes.example/rt7/api/conversations/1":     "https://runtimes.example/rt7",
		"https://runtimes.example/api/acp/conversations/1":     "https://runtimes.example",
		"/api/conversations/1":                                 "https://cloud.example/oh",
		"http://localhost:38401":                               "http://localhost:38401",
		"https://key@evil.example/api/x":                       "",
		"javascript:alert(1)":                                  "",
		"":                                                     "",
	} {
		got := ""
		if base := transport.RuntimeBase(root, text); base != nil {
			got = base.String()
		}
		if got != want {
			t.Errorf("RuntimeBase(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestEveryFormOfATimeIsRead(t *testing.T) {
	t.Parallel()
	want := time.Date(2031, 2, 3, 4, 5, 6, 789012000, time.UTC)
	for _, text := range []string{
		"2031-02-03T04:05:06.789012Z", "2031-02-03T04:05:06.789012+00:00", "2031-02-03T04:05:06.789012", "2031-02-03T05:05:06.789012+01:00",
		"2031-02-03T04:05:06.000Z.789012Z", "2031-02-03T04:05:06.000Z.789012", "2031-02-03 04:05:06.789012",
	} {
		if got := transport.ParseTime(text); !got.Equal(want) {
			t.Errorf("ParseTime(%q) = %v", text, got)
		}
	}
	for _, text := range []string{`null`, `""`, `"soon"`, `7`, `{}`} {
		var got transport.Time
		if err := got.UnmarshalJSON([]byte(text)); err != nil || !got.IsZero() {
			t.Errorf("%s is %v, %v", text, got, err)
		}
	}
}

func TestHexIsTheIDWithoutDashes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"4E5F6071-8293-a4b5-c6d7-e8f90a1b2c3d": "4e5f60718293a4b5c6d7e8f90a1b2c3d", " 4e5f60718293a4b5c6d7e8f90a1b2c3d ": "4e5f60718293a4b5c6d7e8f90a1b2c3d",
		"5sQdemoBoxA1b2": "5sQdemoBoxA1b2", "": "", "a-b": "a-b",
	} {
		if got := transport.Hex(text); got != want {
			t.Errorf("Hex(%q) = %q, want %q", text, got, want)
		}
	}
}
