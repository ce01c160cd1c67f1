package servers_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/servers"
)

func TestRootHasOneFormForEverySpelling(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://app.all-hands.dev":           "https://app.all-hands.dev",
		"https://app.all-hands.dev/api/":      "https://app.all-hands.dev",
		"https://APP.all-hands.dev:443/":      "https://app.all-hands.dev",
		"app.all-hands.dev":                   "https://app.all-hands.dev",
		"http://127.0.0.1:3000/api":           "http://127.0.0.1:3000",
		"https://oh.example/api/v1":           "https://oh.example",
		"http://oh.example:80":                "http://oh.example",
		"https://example.org/openhands/api":   "https://example.org/openhands",
		"https://me:pw@example.org":           "",
		"https://example.org/?key=k":          "",
		"https://example.org/#x":              "",
		"ftp://example.org":                   "",
		"https://":                            "",
		"":                                    "",
		" https://app.all-hands.dev/api/  \n": "https://app.all-hands.dev",
	} {
		got, err := servers.Root(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("Root(%q) = %q, %v; want %q", text, got, err, want)
		}
		if err != nil && fault.CodeOf(err) != fault.Usage {
			t.Errorf("Root(%q): exit code %d, want that of usage", text, fault.CodeOf(err))
		}
	}
}

func TestAListOutlivesItsStore(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "config")
	s := servers.NewStore(dir)
	work := servers.Server{Name: "work", URL: "https://oh.example", Kind: servers.Cloud, V1: true, Header: "bearer"}
	home := servers.Server{Name: "home", URL: "http://127.0.0.1:8000", Kind: servers.AgentServer}
	for _, server := range []servers.Server{work, home} {
		if err := s.Put(t.Context(), server, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Put(t.Context(), work, false); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("a second server of one name: %v, want a conflict", err)
	}
	want := servers.List{Version: 1, Default: "work", Servers: []servers.Server{home, work}}
	got, err := servers.NewStore(dir).List()
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("the list: %v, -want +got:\n%s", err, diff)
	}
	if info, err := os.Stat(s.Path()); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v; want 0600", info.Mode(), err)
	}
	if err := s.Remove(t.Context(), "work"); err != nil {
		t.Fatal(err)
	}
	if got, _ := s.List(); got.Default != "home" || len(got.Servers) != 1 {
		t.Errorf("without the default server: %+v, want home as default", got)
	}
	if err := s.Use(t.Context(), "work"); fault.CodeOf(err) != fault.Failed {
		t.Errorf("a server that is not there became the default one: %v", err)
	}
}

func TestServersAddedAtTheSameTimeAreAllKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			server := servers.Server{Name: string(rune('a' + i)), URL: "https://oh.example", Kind: servers.Cloud}
			if err := servers.NewStore(dir).Put(t.Context(), server, false); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if l, err := servers.NewStore(dir).List(); len(l.Servers) != 8 || err != nil {
		t.Errorf("%d servers are stored, %v; want 8", len(l.Servers), err)
	}
}

func TestADamagedListIsNeitherReadNorReplaced(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{`, `{"version":2}`, `{"version":1,"servers":[{"name":"a","url":"https://a.example/api","kind":"cloud"}]}`,
		`{"version":1,"servers":[{"name":"../a","url":"https://a.example","kind":"cloud"}]}`,
		`{"version":1,"servers":[{"name":"a","url":"https://a.example","kind":"other"}]}`,
		`{"version":1,"servers":[{"name":"a","url":"https://a.example","kind":"cloud"},{"name":"a","url":"https://b.example","kind":"cloud"}]}`,
	} {
		dir := t.TempDir()
		s := servers.NewStore(dir)
		if err := os.WriteFile(s.Path(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.List(); err == nil {
			t.Errorf("%s was read", text)
		}
		if err := s.Put(t.Context(), servers.Server{Name: "b", URL: "https://b.example", Kind: servers.Cloud}, false); err == nil {
			t.Errorf("%s was replaced", text)
		}
		if after, _ := os.ReadFile(s.Path()); string(after) != text {
			t.Errorf("%s became %s", text, after)
		}
	}
}

// keys is a key store in memory.
type keys map[string]secret.Value

func (k keys) Get(_ context.Context, name string) (secret.Value, error) {
	if v, ok := k[name]; ok {
		return v, nil
	}
	return secret.Value{}, secret.ErrNotFound
}
func (k keys) Set(context.Context, string, secret.Value) error { return nil }
func (k keys) Delete(context.Context, string) error            { return nil }
func (k keys) List(context.Context) ([]string, error)          { return nil, nil }

// finder is a Finder with two servers, of which work is the default one.
func finder(t *testing.T, env map[string]string) servers.Finder {
	t.Helper()
	s := servers.NewStore(t.TempDir())
	stored := keys{}
	for name, root := range map[string]string{"work": "https://work.example", "play": "https://play.example"} {
		if err := s.Put(t.Context(), servers.Server{Name: name, URL: root, Kind: servers.Cloud}, false); err != nil {
			t.Fatal(err)
		}
		stored[secret.ServerEntry(root, name)] = secret.New("stored-" + name)
	}
	if err := s.Use(t.Context(), "work"); err != nil {
		t.Fatal(err)
	}
	return servers.Finder{Store: s, Keys: stored, Getenv: func(name string) string { return env[name] }}
}

func TestAKeyGoesToTheServerThatItIsForOnly(t *testing.T) {
	t.Parallel()
	tests := []struct {
		about      string
		env        map[string]string
		at, server string
		url, value string
	}{
		{about: "the default server", url: "https://work.example", value: "stored-work"},
		{about: "a named server", server: "play", url: "https://play.example", value: "stored-play"},
		{about: "a variable is for the default server", env: map[string]string{"OH_API_KEY": "env"}, url: "https://work.example", value: "env"},
		{about: "a variable is not for another server", env: map[string]string{"OH_API_KEY": "env"}, server: "play", url: "https://play.example", value: "stored-play"},
		{
			about: "a variable is for the server of the URL variable", server: "play", url: "https://play.example", value: "env",
			env: map[string]string{"OPENHANDS_CLOUD_API_KEY": "env", "OPENHANDS_CLOUD_API_URL": "https://play.example/api"},
		},
		{
			about: "and then not for the default one", server: "work", url: "https://work.example", value: "stored-work",
			env: map[string]string{"OPENHANDS_CLOUD_API_KEY": "env", "OPENHANDS_CLOUD_API_URL": "https://play.example/api"},
		},
		{
			about: "a URL that is not stored", url: "https://else.example", value: "env",
			env: map[string]string{"OHGW_CLOUD_API_KEY": "env", "OHGW_CLOUD_URL": "https://else.example"},
		},
		{about: "a URL that is not stored has no stored key", env: map[string]string{"OHGW_CLOUD_URL": "https://else.example"}, url: "https://else.example"},
		{
			about: "the URL of the settings comes before that of a variable, and has the key", at: "https://play.example/", url: "https://play.example", value: "env",
			env: map[string]string{"OH_API_KEY": "env", "OHGW_CLOUD_URL": "https://else.example"},
		},
		{
			about: "the first variable wins", url: "https://work.example", value: "1",
			env: map[string]string{"OPENHANDS_CLOUD_API_KEY": "4", "OPENHANDS_API_KEY": "3", "OH_API_KEY": "2", "OHGW_CLOUD_API_KEY": "1"},
		},
	}
	for _, tt := range tests {
		f := finder(t, tt.env)
		f.URL = tt.at
		server, err := f.Find(tt.server)
		if err != nil || server.URL != tt.url {
			t.Errorf("%s: the server is %q, %v; want %q", tt.about, server.URL, err, tt.url)
		}
		key, err := f.Key(t.Context(), server)
		if key.Value.Reveal() != tt.value || (err == nil) != (tt.value != "") {
			t.Errorf("%s: the key is %q, %v; want %q", tt.about, key.Value.Reveal(), err, tt.value)
		}
		if err != nil && fault.CodeOf(err) != fault.Credential {
			t.Errorf("%s: exit code %d, want %d", tt.about, fault.CodeOf(err), fault.Credential)
		}
	}
}

func TestAKeyDoesNotFollowAURLThatWasChangedInTheFile(t *testing.T) {
	t.Parallel()
	f := finder(t, nil)
	src, err := os.ReadFile(f.Store.Path())
	if err != nil {
		t.Fatal(err)
	}
	src = []byte(strings.ReplaceAll(string(src), "https://work.example", "https://thief.example"))
	if err := os.WriteFile(f.Store.Path(), src, 0o600); err != nil {
		t.Fatal(err)
	}
	server, err := f.Find("work")
	if err != nil || server.URL != "https://thief.example" {
		t.Fatalf("the server is %+v, %v", server, err)
	}
	if key, err := f.Key(t.Context(), server); err == nil {
		t.Errorf("it got the key %q", key.Value.Reveal())
	}
}

func TestWithoutServersAKeyIsForTheHostedCloud(t *testing.T) {
	t.Parallel()
	env := map[string]string{}
	f := servers.Finder{Store: servers.NewStore(t.TempDir()), Getenv: func(name string) string { return env[name] }}
	if _, err := f.Find(""); fault.CodeOf(err) != fault.Credential {
		t.Errorf("without a server and without a key: %v", err)
	}
	env["OPENHANDS_API_KEY"] = "env"
	server, err := f.Find("")
	if err != nil || server.URL != servers.HostedURL || server.Name != servers.HostedName {
		t.Fatalf("the server is %+v, %v", server, err)
	}
	if key, err := f.Key(t.Context(), server); key.Value.Reveal() != "env" || key.Origin != "variable OPENHANDS_API_KEY" {
		t.Errorf("the key is from %q, %v", key.Origin, err)
	}
	env["OPENHANDS_API_KEY"] = "two words"
	if _, err := f.Key(t.Context(), server); fault.CodeOf(err) != fault.Usage || strings.Contains(err.Error(), "two words") {
		t.Errorf("a key that is not one: %v", err)
	}
}
