//go:build e2e

package e2e_test

import (
	"bytes"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// someID stands for every parameter of a path.
const someID = "7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11"

// TestStrangersReachNothingOfOpenHandsOwnAPI sends to every route of an agent-server what
// a web page, a rebinding name, or a program without the right key can send.
func TestStrangersReachNothingOfOpenHandsOwnAPI(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	forChat, native := storedToken(t, home, "chat"), storedToken(t, home, "native", "--native")
	g := start(t, racyProgram(t), home, []string{
		"--backend", "embedded", "--key-store", "file", "--native", "--sandbox", "off", "--allow-origin", "http://localhost:3000",
	}, "OHGW_API_KEYS=")
	if res := send(t, http.MethodGet, g.URL+"/api/settings", "", "X-Session-API-Key", native); res.StatusCode != http.StatusOK {
		t.Fatalf("a friend: %s", res.Status)
	}
	strangers := []struct {
		name   string
		header []string
		status int
	}{
		{"no key", nil, 401},
		{"a wrong key", []string{"X-Session-API-Key", "wrong"}, 401},
		{"a wrong bearer token", []string{"Authorization", "Bearer wrong"}, 401},
		{"a wrong cookie", []string{"Cookie", "oh_workspace_session_key=wrong"}, 401},
		{"a key for /v1", []string{"X-Session-API-Key", forChat}, 403},
		{"a page", []string{"X-Session-API-Key", native, "Origin", "https://attacker.example"}, 403},
		{"a page of no origin", []string{"X-Session-API-Key", native, "Origin", "null"}, 403},
		{"a page of a longer origin", []string{"X-Session-API-Key", native, "Origin", "http://localhost:3000.attacker.example"}, 403},
		{"another site", []string{"X-Session-API-Key", native, "Sec-Fetch-Site", "cross-site"}, 403},
		{"another port", []string{"X-Session-API-Key", native, "Sec-Fetch-Site", "same-site"}, 403},
		{"a frame of another site", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Referer", "http://localhost:3000/"}, 403},
		{"a rebinding name", []string{"X-Session-API-Key", native, "Host", "attacker.example"}, 403},
		{"a preflight of a page", []string{"Origin", "https://attacker.example", "Access-Control-Request-Method", "POST"}, 403},
	}
	routes := agentServerRoutes(t)
	for _, s := range strangers {
		for _, r := range routes {
			res := send(t, r.method, g.URL+r.path, "{}", append(append([]string{"Content-Type", "application/json"}, r.header...), s.header...)...)
			want := s.status
			switch {
			case r.header != nil && want == 401 && s.name != "a wrong key" && s.name != "a wrong bearer token":
				continue // it has time to send the key in a frame
			case r.header != nil:
				want = 403 // as an agent-server answers
			}
			if allowed := res.Header.Get("Access-Control-Allow-Origin"); res.StatusCode != want || allowed != "" {
				t.Errorf("%s: %s %s: %d, want %d; origin %q", s.name, r.method, r.path, res.StatusCode, want, allowed)
			}
			_ = res.Body.Close() // It was not read.
		}
	}
	if len(routes) < 110 {
		t.Errorf("only %d routes", len(routes))
	}
}

// storedToken makes a token in the store of a home.
func storedToken(t *testing.T, home string, args ...string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(home, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	create := exec.CommandContext(t.Context(), racyProgram(t), append([]string{"tokens", "create", "--key-store", "file", "--json"}, args...)...)
	create.Env = environment(home)
	out, err := create.Output()
	var made struct {
		Token string `json:"token"`
	}
	if err == nil {
		err = json.Unmarshal(out, &made)
	}
	if err != nil || made.Token == "" {
		t.Fatalf("ohgw tokens create: %v: %s", err, out)
	}
	return made.Token
}

// route is one of an agent-server, with what makes it a WebSocket.
type route struct {
	method, path string
	header       []string
}

// agentServerRoutes are those that need a key.
func agentServerRoutes(t *testing.T) []route {
	t.Helper()
	text, err := os.ReadFile("../daemon/openhandsapi/testdata/routes.tsv")
	if err != nil {
		t.Fatal(err)
	}
	parameter := regexp.MustCompile(`\{\w+\}`)
	var routes []route
	for line := range strings.Lines(string(text)) {
		method, path, _ := strings.Cut(strings.TrimSpace(line), "\t")
		r := route{method: method, path: parameter.ReplaceAllString(path, someID)}
		if method == "WS" {
			r.method = http.MethodGet
			r.header = []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}
		}
		if strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/sockets/") {
			routes = append(routes, r)
		}
	}
	return routes
}

// TestPathsOfOpenHandsOwnAPIStayInside asks all routes with paths for what is beside the
// workspace of the gateway.
func TestPathsOfOpenHandsOwnAPIStayInside(t *testing.T) {
	t.Parallel()
	llm := llmtest.New(t)
	outer, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	inner, beside := filepath.Join(outer, "inner"), filepath.Join(outer, "beside")
	for _, dir := range []string{inner, beside} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(beside, "file"), []byte("canary"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(beside, filepath.Join(inner, "link")); err != nil {
		t.Fatal(err)
	}
	g := serveEmbedded(t, racyProgram(t), llm.URL, "--native", "--workspace", inner)
	id := startAt(t, g, llm.URL, inner)
	for _, trick := range []string{
		inner + "/../beside/file", inner + "/%2e%2e/beside/file", inner + "/./../beside", inner + "/link/file", inner + "/link", beside, beside + "/new",
		"/etc/passwd", "/proc/self/environ", inner + "/a\x00b", inner + "\x00/../beside/file", "../beside/file", "~/x", "", "file://" + beside + "/file",
		`C:\Windows\win.ini`, `C:file`, `\\?\C:\Windows`, `\\server\share\file`, `//server/share/file`, `..\beside\file`, inner + `\..\beside\file`,
	} {
		staysInside(t, g, id, trick)
	}
	for _, trick := range []string{"%2e%2e/beside/file", "../beside/file", "..%2fbeside%2ffile", "%2e%2e%5cbeside%5cfile", "link/file", "%00", "/etc/passwd"} {
		res := send(t, http.MethodGet, g.URL+"/api/conversations/"+id+"/workspace/"+trick, "", "X-Session-API-Key", gatewayKey)
		if body := bodyOf(t, res); res.StatusCode < 400 {
			t.Errorf("%s: status = %s, body %.200s", trick, res.Status, body)
		}
	}
	left, err := os.ReadDir(beside)
	content, readErr := os.ReadFile(filepath.Join(beside, "file"))
	if err != nil || readErr != nil || len(left) != 1 || string(content) != "canary" {
		t.Errorf("beside the workspace: %v, %q, %v, %v", left, content, err, readErr)
	}
}

// startAt starts a conversation in a directory, which is not run.
func startAt(t *testing.T, g *gateway, llmURL, dir string) (id string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{
		"agent":     map[string]any{"kind": "Agent", "llm": map[string]any{"model": "openai/test", "base_url": llmURL, "api_key": "sk-llm-test", "usage_id": "agent"}},
		"workspace": map[string]any{"working_dir": dir},
	})
	if err != nil {
		t.Fatal(err)
	}
	res := send(t, http.MethodPost, g.URL+"/api/conversations", string(body), "X-Session-API-Key", gatewayKey, "Content-Type", "application/json")
	answer := bodyOf(t, res)
	var info struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal([]byte(answer), &info); err != nil || info.ID == "" {
		t.Fatalf("%s %s: %v", res.Status, answer, err)
	}
	return info.ID
}

// staysInside asks for a path by each route that takes one.
func staysInside(t *testing.T, g *gateway, id, trick string) {
	t.Helper()
	upload := &bytes.Buffer{}
	form := multipart.NewWriter(upload)
	part, err := form.CreateFormFile("file", "name")
	if err == nil {
		_, err = part.Write([]byte("overwritten"))
	}
	if err != nil || form.Close() != nil {
		t.Fatal(err)
	}
	q := "?path=" + url.QueryEscape(trick)
	page := "/api/conversations/" + id + "/workspace/"
	for _, r := range [][3]string{
		{http.MethodGet, "/api/file/download" + q},
		{http.MethodGet, "/api/file/search_subdirs" + q},
		{http.MethodPost, "/api/file/create_directory" + q},
		{http.MethodPost, "/api/file/upload" + q, upload.String()},
		{http.MethodGet, "/api/git/changes" + q},
		{http.MethodGet, "/api/git/diff" + q},
		{http.MethodGet, "/api/git/commits" + q},
		{http.MethodGet, page + url.PathEscape(trick)},
		{http.MethodGet, page + url.PathEscape(strings.TrimPrefix(trick, "/"))},
		{http.MethodGet, page + strings.ReplaceAll(url.PathEscape(strings.TrimPrefix(trick, "/")), "%2F", "/")},
	} {
		kind := "application/json"
		if r[2] != "" {
			kind = form.FormDataContentType()
		}
		res := send(t, r[0], g.URL+r[1], r[2], "X-Session-API-Key", gatewayKey, "Content-Type", kind)
		body := bodyOf(t, res)
		// Git refuses a directory that is not a repository, and %2e is a name where it was
		// decoded once.
		allowed := strings.HasPrefix(r[1], "/api/git/") || strings.Contains(trick, "%2e") || trick == "" && strings.Contains(r[1], "/workspace/")
		if res.StatusCode < 400 && !allowed || strings.Contains(body, "canary") || strings.Contains(body, "root:") || strings.Contains(body, "sk-llm-test") {
			t.Errorf("%q: %s %s: %s %.200s", trick, r[0], r[1], res.Status, body)
		}
	}
}
