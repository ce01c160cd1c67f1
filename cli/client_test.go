package cli

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/secret/secrettest"
)

// clientApp is an app whose state directory has a default token.
func clientApp(t *testing.T, env map[string]string) (a *app, defaultToken string) {
	t.Helper()
	a = testApp()
	top := t.TempDir()
	dirs := paths.Set{Config: filepath.Join(top, "config"), State: filepath.Join(top, "state"), Runtime: filepath.Join(top, "run")}
	a.Paths = func() (paths.Set, error) { return dirs, nil }
	a.Getenv = func(name string) string { return env[name] }
	a.Now = time.Now
	a.HTTP = &http.Client{CheckRedirect: noRedirect, Transport: &http.Transport{DisableKeepAlives: true}}
	a.Keyring = secrettest.FileKeyring(filepath.Join(top, "keyring"))
	s, err := a.settings(nil)
	if err != nil {
		t.Fatal(err)
	}
	store, _, err := a.tokenStore(s)
	if err != nil {
		t.Fatal(err)
	}
	made, err := store.EnsureDefault(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	return a, made.Value.Reveal()
}

func TestTheDefaultTokenStaysOnThisMachine(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		env  map[string]string
		want string // "default" stands for the default token
	}{
		{"a daemon here", map[string]string{"OHGW_URL": "http://127.0.0.1:1"}, "default"},
		{"a daemon elsewhere", map[string]string{"OHGW_URL": "http://192.0.2.1:1"}, ""},
		{"a name that only begins like one of here", map[string]string{"OHGW_URL": "http://localhost.example:1"}, ""},
		{"a key for it", map[string]string{"OHGW_URL": "http://192.0.2.1:1", "OHGW_API_KEY": "mine"}, "mine"},
		{"that key first", map[string]string{"OHGW_URL": "http://127.0.0.1:1", "OHGW_API_KEY": "mine", "OHGW_API_KEYS": "a,b"}, "mine"},
		{"then the first of the daemon's", map[string]string{"OHGW_URL": "http://127.0.0.1:1", "OHGW_API_KEYS": "a,b"}, "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a, defaultToken := clientApp(t, tt.env)
			c, err := a.daemonClient(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			want := tt.want
			if want == "default" {
				want = defaultToken
			}
			if c.key != want {
				t.Errorf("shows %q, want %q", c.key, tt.want)
			}
		})
	}
}

func TestAKeyFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer thief.Close()
	here := httptest.NewServer(http.RedirectHandler(thief.URL, http.StatusTemporaryRedirect))
	defer here.Close()
	a, _ := clientApp(t, map[string]string{"OHGW_URL": here.URL})
	c, err := a.daemonClient(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.get(t.Context(), "/v1/models", &modelList{})
	if fault.CodeOf(err) != fault.Unreachable {
		t.Errorf("error = %v, want that this is no ohgw", err)
	}
}

func TestAnswersOfTheDaemonHaveExitCodes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		status int
		body   string
		want   fault.Code
	}{
		{200, `{"data":[]}`, 0},
		{200, `<html>`, fault.Unreachable},
		{401, `{"error":{"message":"Incorrect API key provided."}}`, fault.Credential},
		{403, `{"error":{"message":"This host name is not allowed."}}`, fault.Failed},
		{503, `{"error":{"message":"Not ready."}}`, fault.Unreachable},
		{502, `bad gateway`, fault.Unreachable},
		{404, `not found`, fault.Unreachable},
	}
	for _, tt := range tests {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tt.status)
			_, _ = w.Write([]byte(tt.body))
		}))
		a, _ := clientApp(t, map[string]string{"OHGW_URL": server.URL})
		c, err := a.daemonClient(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.get(t.Context(), "/v1/models", &modelList{})
		server.Close()
		if got := fault.CodeOf(err); got != tt.want {
			t.Errorf("status %d %s: %v, code %d, want %d", tt.status, tt.body, err, got, tt.want)
		}
	}
}
