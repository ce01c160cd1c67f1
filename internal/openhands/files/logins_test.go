package files_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/openhands"
)

const loginSettings = `{
  "schema_version": 3,
  "agent_settings": {
    "schema_version": 6,
    "mcp_config": {
      "other": {"url": "http://h/other", "auth": {"strategy": "bearer", "value": "b"}},
      "srv": {"url": "http://h/mcp/", "headers": {"X": "y"}, "auth": {"strategy": "oauth2", "authentication": {"type": "oauth", "client_id": "c"}, "state": {"tokens": {"access_token": "access-old", "scope": "s"}, "client_info": {"client_secret": "secret-old"}, "token_expires_at": 3}}}
    }
  }
}`

func TestALoginIsKeptInTheSettings(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{"in clear text": "", "encrypted": "a key"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, base := open(t, key, map[string]string{"settings.json": loginSettings})
			if state, known, err := s.Logins.Get("http://h/mcp"); err != nil || !known || !strings.Contains(string(state), "access-old") {
				t.Fatalf("state = %s, known %v, error %v", state, known, err)
			}
			for _, url := range []string{"http://h/other", "http://h/none", ""} {
				if state, known, err := s.Logins.Get(url); known || state != nil || err != nil {
					t.Errorf("%q is known: %v", url, err)
				}
			}
			want := `{"client_info":{"client_id":"n"},"tokens":{"access_token":"access-new","expires_in":3600,"refresh_token":"refresh-new"}}`
			if err := s.Logins.Save(t.Context(), "http://h/mcp", []byte(want)); err != nil {
				t.Fatal(err)
			}
			state, known, err := s.Logins.Get("http://h/mcp")
			if err != nil || !known || string(state) != want {
				t.Errorf("state = %s, error %v", state, err)
			}
			text := read(t, base, "settings.json")
			if clear := strings.Contains(text, "refresh-new"); clear != (key == "") {
				t.Errorf("in clear text: %v", clear)
			}
			if strings.Contains(text, "old") || !strings.Contains(text, `"client_id": "c"`) || !strings.Contains(text, `"headers": {"X": "y"}`) {
				t.Error(text)
			}
			sealed, err := s.Logins.Seal([]byte(want))
			if err != nil || strings.Contains(string(sealed), "refresh-new") != (key == "") || !strings.Contains(string(sealed), `"client_id":"n"`) {
				t.Errorf("sealed = %s, error %v", sealed, err)
			}
			server, err := json.Marshal(map[string]any{"url": "http://h", "type": "shttp", "auth": map[string]any{"strategy": "oauth2", "state": sealed}})
			if err != nil {
				t.Fatal(err)
			}
			if plain := string(s.Servers.Plain(server)); !strings.Contains(plain, "refresh-new") || !strings.Contains(plain, `"transport":"http"`) {
				t.Errorf("plain = %s", plain)
			}
		})
	}
}

func TestALoginOfNoServerIsNotKept(t *testing.T) {
	t.Parallel()
	s, base := open(t, "", map[string]string{"settings.json": loginSettings})
	if err := s.Logins.Save(t.Context(), "http://h/other", []byte(`{"tokens":{"access_token":"x"}}`)); kindOf(err) != openhands.NotFound {
		t.Errorf("saving a login for a server without one: %v", err)
	}
	if err := s.Logins.Save(t.Context(), "http://h/mcp", []byte(`{"tokens":3}`)); kindOf(err) != openhands.Malformed {
		t.Errorf("saving a login that cannot be read: %v", err)
	}
	if read(t, base, "settings.json") != loginSettings {
		t.Error("the settings have changed")
	}
	if odd := string(s.Servers.Plain([]byte(`{"url":3}`))); odd != `{"url":3}` {
		t.Error(odd)
	}
}
