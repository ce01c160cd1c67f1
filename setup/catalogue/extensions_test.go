//go:build unix

package catalogue

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/skill"
	"github.com/ohgw/ohgw/daemon/openhandsapi/extensions"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/setup"
)

// TestInstalledPluginsOfTheAPI installs a plugin and a skill, and finds them where they
// are listed.
func TestInstalledPluginsOfTheAPI(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	source := filepath.Join(home, "good")
	for name, text := range map[string]string{
		"good/.plugin/plugin.json": `{"name":"good"}`, "good/commands/greet.md": "---\ndescription: Greets.\n---\nx",
		"good/SKILL.md": "---\nname: good\n---\nx", "project/.openhands/plugins/mine/x": "",
	} {
		file := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := &setup.Env{Now: time.Now, Getenv: func(string) string { return "" }}
	mux := http.NewServeMux()
	for _, route := range extensions.Routes(Extensions(env, skill.User{Home: home, Base: filepath.Join(home, ".openhands")}, slog.New(slog.DiscardHandler))) {
		mux.Handle(route.Method+" "+route.Path, wire.Answer(slog.New(slog.DiscardHandler), route.Handle))
	}
	for _, try := range []struct{ method, path, body, want string }{
		{http.MethodPost, "/api/plugins/install", `{"source":"` + source + `"}`, `"skills":[{"name":"good","description":null},{"name":"good:greet","description":"Greets."}],"files":[".plugin/plugin.json","SKILL.md","commands/greet.md"]`},
		{http.MethodPost, "/api/skills/install", `{"source":"` + source + `"}`, `"install_path":"` + filepath.Join(home, ".openhands/skills/installed/good")},
		{http.MethodGet, "/api/plugins/installed", "", `"name":"good"`},
		{http.MethodPost, "/api/plugins", `{"project_dir":"` + filepath.Join(home, "project") + `"}`, `"name":"mine"`},
		{http.MethodPost, "/api/plugins/fetch", `{"source":"` + source + `"}`, `"commands":["greet"]`},
		{http.MethodPost, "/api/plugins/fetch", `{"source":"x"}`, `"code":"invalid_source"`},
	} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), try.method, try.path, strings.NewReader(try.body)))
		if !strings.Contains(w.Body.String(), try.want) {
			t.Errorf("%s %s: body = %s", try.method, try.path, w.Body)
		}
	}
}
