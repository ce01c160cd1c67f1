package installed_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/skill"
	"github.com/ohgw/ohgw/daemon/native"
	"github.com/ohgw/ohgw/daemon/native/installed"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// boxes shows every directory but one, and nothing outside of it.
type boxes struct{ hidden string }

func (b boxes) Below(_ context.Context, dir string) (sandbox.Streams, string, func(), error) {
	if dir == b.hidden {
		return nil, "", nil, sandbox.ErrOutside
	}
	s, err := sandbox.StreamsOf(sandbox.Outside(sandbox.Off, sandbox.Mark{}), dir, true)
	return s, dir, func() { _ = s.Close() }, err
}

// world is a home directory, one with skills to install, and the API.
type world struct {
	t          *testing.T
	home, from string
	api        http.Handler
}

func newWorld(t *testing.T) *world {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, home: home, from: filepath.Join(home, "from")}
	w.write("from/tea/SKILL.md", "---\nname: tea\ndescription: Makes tea.\n---\nBoil.\n")
	w.write("from/tea/scripts/boil", "boil\n")
	w.write("from/tea/.git/config", "")
	w.write("from/bad/README.md", "")
	w.write("secret", "secret\n")
	w.api = native.New(native.Config{Routes: installed.Routes(installed.Config{
		Home: home, Boxes: boxes{filepath.Join(w.from, "hidden")}, Describe: skill.Describe,
		Now: func() time.Time { return time.Unix(1_800_000_000, 0) },
	})})
	return w
}

func (w *world) write(name, text string) {
	w.t.Helper()
	at := filepath.Join(w.home, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600)); err != nil {
		w.t.Fatal(err)
	}
}

// at is a file among the installed skills.
func (w *world) at(name string) string {
	return filepath.Join(w.home, ".openhands/skills/installed", filepath.FromSlash(name))
}

func (w *world) want(status int, method, path, body, want string) {
	w.t.Helper()
	r := httptest.NewRequestWithContext(w.t.Context(), method, path, strings.NewReader(body))
	res := httptest.NewRecorder()
	w.api.ServeHTTP(res, r)
	if res.Code != status || !strings.Contains(res.Body.String(), want) {
		w.t.Errorf("%s %s %s: %d %s\nwant %d %s", method, path, body, res.Code, res.Body, status, want)
	}
}

// source is the body of an installation.
func (w *world) source(name, more string) string {
	data, err := json.Marshal(filepath.Join(w.from, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return `{"source":` + string(data) + more + `}`
}

// has reports whether the agent has the skill.
func (w *world) has(name string) bool {
	found, _ := skill.Find(filepath.Join(w.home, "from"), w.home)
	for _, s := range found {
		if s.Name == name {
			return true
		}
	}
	return false
}

func TestASkillFromItsInstallationToItsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const all, tea = "/api/skills/installed", "/api/skills/installed/tea"
	w.want(200, "GET", all, "", `{"skills":[]}`)
	w.want(404, "GET", tea, "", `"Skill 'tea' is not installed"`)
	w.want(200, "POST", "/api/skills/install", w.source("tea", ""), `"name":"tea","version":"1.0.0","description":"Makes tea.","enabled":true,`)
	if data, err := os.ReadFile(w.at("tea/scripts/boil")); err != nil || string(data) != "boil\n" {
		t.Errorf("its script: %q, %v", data, err)
	}
	if _, err := os.Stat(w.at("tea/.git")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its repository was copied: %v", err)
	}
	w.want(409, "POST", "/api/skills/install", w.source("tea", ""), "Use force=true to overwrite.")
	w.want(200, "GET", tea, "", `"installed_at":"2027-01-15T08:00:00.000000+00:00"`)
	if !w.has("tea") {
		t.Error("the agent lacks the skill")
	}
	w.want(200, "PATCH", tea, `{"enabled":false}`, `{"enabled":false,"name":"tea"}`)
	if w.has("tea") {
		t.Error("the agent has a skill that was switched off")
	}
	w.write("from/tea/new.txt", "new\n")
	if err := os.Remove(filepath.Join(w.from, "tea/scripts/boil")); err != nil {
		t.Fatal(err)
	}
	w.want(200, "POST", tea+"/refresh", "", `"message":"Skill 'tea' updated","skill":{"name":"tea","version":"1.0.0","description":"Makes tea.","enabled":false,`)
	if _, err := os.Stat(w.at("tea/scripts/boil")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an old file is still there: %v", err)
	}
	if _, err := os.Stat(w.at("tea/new.txt")); err != nil {
		t.Error(err)
	}
	w.want(200, "DELETE", tea, "", `{"message":"Skill 'tea' uninstalled"}`)
	w.want(404, "DELETE", tea, "", "not installed")
	entries, err := os.ReadDir(w.at(""))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != ".installed.json" && e.Name() != ".installed.lock" {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}

func TestTheListFollowsTheDirectories(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(".openhands/skills/installed/.installed.json", `{"skills":{"gone":{"name":"gone","source":"x"},"milk":{"name":"milk","enabled":false,"source":"github:a/b","repo_path":"milk"}}}`)
	w.write(".openhands/skills/installed/milk/SKILL.md", "Milk.")
	w.write(".openhands/skills/installed/by-hand/SKILL.md", "---\ndescription: By hand.\n---\n")
	w.write(".openhands/skills/installed/no-skill/README.md", "")
	w.want(200, "GET", "/api/skills/installed", "", `{"skills":[{"name":"by-hand","version":"1.0.0","description":"By hand.","enabled":true,"source":"local"`)
	w.want(200, "GET", "/api/skills/installed", "", `},{"name":"milk","version":"","description":"","enabled":false,"source":"github:a/b","resolved_ref":null,"repo_path":"milk",`)
	w.want(404, "GET", "/api/skills/installed/gone", "", "not installed")
	w.want(501, "POST", "/api/skills/installed/milk/refresh", "", "501: ohgw fetches no skills from the network.")
	w.want(400, "POST", "/api/skills/installed/by-hand/refresh", "", "Failed to fetch skill source.")
	if !w.has("by-hand") || w.has("milk") {
		t.Error("the agent has other skills")
	}
}

func TestInstallationsThatAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("from/out/SKILL.md", "Out.")
	if err := os.Symlink(filepath.Join(w.home, "secret"), filepath.Join(w.from, "out/link")); err != nil {
		t.Skip(err)
	}
	w.write("from/deep/SKILL.md", "Deep.")
	w.write("from/deep/"+strings.Repeat("x/", 17)+"y", "")
	w.write("from/big/SKILL.md", "Big.")
	w.write("from/big/data", "")
	if err := os.Truncate(filepath.Join(w.from, "big/data"), 65<<20); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		body   string
		status int
		want   string
	}{
		{w.source("bad", ""), 422, "Ensure the source contains a valid SKILL.md."},
		{w.source("none", ""), 400, "Failed to fetch skill source."},
		{w.source("hidden", ""), 400, "Failed to fetch skill source."},
		{w.source("out", ""), 400, "Failed to fetch skill source."},
		{w.source("deep", ""), 422, "more than 2000 files"},
		{w.source("big", ""), 422, "64 MiB"},
		{w.source("tea", `,"repo_path":"x"`), 400, "Failed to fetch skill source."},
		{`{"source":"tea"}`, 400, "Failed to fetch skill source."},
		{`{"source":"github:OpenHands/extensions/skills/github"}`, 501, "Clone the repository"},
		{`{"source":"https://example.com/skills.git"}`, 501, "Clone the repository"},
		{`{"source":"git@example.com:skills.git"}`, 501, "Clone the repository"},
		{`{"source":""}`, 422, "at least 1 character"},
		{`{}`, 422, `"loc":["body","source"]`},
		{`{"source":null}`, 422, `"loc":["body","source"]`},
	} {
		w.want(tt.status, "POST", "/api/skills/install", tt.body, tt.want)
	}
	w.want(422, "GET", "/api/skills/installed/Tea", "", "string_pattern_mismatch")
	w.want(422, "DELETE", "/api/skills/installed/..%2Fx", "", "string_pattern_mismatch")
	w.want(422, "PATCH", "/api/skills/installed/tea", "{}", `"loc":["body","enabled"]`)
	w.want(200, "GET", "/api/skills/installed", "", `{"skills":[]}`)
}
