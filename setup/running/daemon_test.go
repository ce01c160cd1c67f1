package running

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/setuptest"
)

// clientEnv is an Env whose state directory has a default token.
func clientEnv(t *testing.T, env map[string]string) (a *setup.Env, defaultToken string) {
	t.Helper()
	a = setuptest.New(t, env)
	s, err := a.Settings(nil)
	if err != nil {
		t.Fatal(err)
	}
	store, _, err := a.TokenStore(s)
	if err != nil {
		t.Fatal(err)
	}
	made, err := store.EnsureDefault(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return a, made.Value.Reveal()
}

// findClient finds the daemon that the environment names.
func findClient(t *testing.T, a *setup.Env) (*Daemon, error) {
	t.Helper()
	s, err := a.Settings(nil)
	if err != nil {
		t.Fatal(err)
	}
	return Require(t.Context(), a, s)
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
			a, defaultToken := clientEnv(t, tt.env)
			c, err := findClient(t, a)
			if err != nil {
				t.Fatal(err)
			}
			want := tt.want
			if want == "default" {
				want = defaultToken
			}
			if c.Key != want {
				t.Errorf("shows %q, want %q", c.Key, tt.want)
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
	a, _ := clientEnv(t, map[string]string{"OHGW_URL": here.URL})
	c, err := findClient(t, a)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Get(t.Context(), "/v1/models", new(any))
	if fault.CodeOf(err) != fault.Unreachable {
		t.Errorf("error = %v, want that this is not an ohgw daemon", err)
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
		a, _ := clientEnv(t, map[string]string{"OHGW_URL": server.URL})
		c, err := findClient(t, a)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Get(t.Context(), "/v1/models", new(any))
		server.Close()
		if got := fault.CodeOf(err); got != tt.want {
			t.Errorf("status %d %s: %v, code %d, want %d", tt.status, tt.body, err, got, tt.want)
		}
	}
}
