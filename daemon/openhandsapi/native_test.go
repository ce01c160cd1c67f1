package openhandsapi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/daemon/openhandsapi"
	"github.com/ohgw/ohgw/daemon/openhandsapi/probes"
	"github.com/ohgw/ohgw/daemon/openhandsapi/through"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
)

func handler() *openhandsapi.Handler {
	return openhandsapi.New(openhandsapi.Config{Routes: probes.Routes(probes.Config{Now: time.Now})})
}

func get(t *testing.T, h http.Handler, method, path string) (int, string, http.Header) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, nil))
	return w.Code, w.Body.String(), w.Header()
}

func TestWhatIsNotServedSaysWhy(t *testing.T) {
	t.Parallel()
	h := handler()
	for _, m := range openhandsapi.Missing() {
		path := strings.NewReplacer("{id}", "7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11", "{name}", "x", "{job}", "1").Replace(m.Path)
		status, body, _ := get(t, h, m.Method, path)
		if status != http.StatusNotImplemented || !strings.Contains(body, `"exception":"501: ohgw does not serve this: `) {
			t.Errorf("%s %s: status = %d, want 501, body = %s", m.Method, path, status, body)
		}
	}
	for path, want := range map[string]string{
		"/api/canvas-extensions/installed": `{"canvas_extensions":[]}`,
		"/api/plugins/marketplace":         `{"plugins":[]}`,
		"/api/skills/marketplace":          `{"skills":[]}`,
		"/api/vscode/url":                  `{"detail":"Internal Server Error","exception":"503: VSCode is disabled in configuration. Set enable_vscode=true to enable."}`,
		"/api/none":                        `{"detail":"Not Found"}`,
	} {
		if _, body, _ := get(t, h, http.MethodGet, path); body != want {
			t.Errorf("%s: body = %s, want %s", path, body, want)
		}
	}
	status, body, header := get(t, h, http.MethodDelete, "/api/skills/sync")
	if status != http.StatusMethodNotAllowed || body != `{"detail":"Method Not Allowed"}` || header.Get("Allow") != http.MethodPost {
		t.Errorf("wrong method: %d %s %v", status, body, header)
	}
	for path, want := range map[string]int{"/api/skills/sync": http.StatusMethodNotAllowed, "/api/none": http.StatusNotFound} {
		w := httptest.NewRecorder()
		h.Options(w, httptest.NewRequestWithContext(t.Context(), http.MethodOptions, path, nil))
		if w.Code != want || (w.Header().Get("Allow") == http.MethodPost) != (want == http.StatusMethodNotAllowed) {
			t.Errorf("OPTIONS %s: %d %v", path, w.Code, w.Header())
		}
	}
}

func TestAPathWithTheOtherEndIsARedirect(t *testing.T) {
	t.Parallel()
	answer := func(w http.ResponseWriter, _ *http.Request) error { wire.WriteJSON(w, http.StatusOK, 1); return nil }
	h := openhandsapi.New(openhandsapi.Config{Routes: []wire.Route{
		{Method: http.MethodGet, Path: "/api/things/{$}", Handle: answer},
		{Method: http.MethodGet, Path: "/api/things/{id}", Handle: answer},
		{Method: http.MethodPost, Path: "/api/things/all", Handle: answer}, // more specific than the one before it
	}})
	for path, want := range map[string]string{"/api/things?a=b": "/api/things/?a=b", "/api/things/1/": "/api/things/1"} {
		if status, _, header := get(t, h, http.MethodGet, path); status != http.StatusTemporaryRedirect || header.Get("Location") != want {
			t.Errorf("%s: status = %d, want 307, header = %v", path, status, header)
		}
	}
	if status, _, header := get(t, h, http.MethodDelete, "/api/things/all"); status != http.StatusMethodNotAllowed || header.Get("Allow") != "GET, POST" {
		t.Errorf("status = %d, want 405, header = %v", status, header)
	}
}

// TestAPathIsTakenAsItIs has names with dots and slashes, plain and escaped: they reach the
// route of that many parts and no other, and nothing is cleaned.
func TestAPathIsTakenAsItIs(t *testing.T) {
	t.Parallel()
	named := func(as string) wire.Handler {
		return func(w http.ResponseWriter, r *http.Request) error {
			wire.WriteJSON(w, http.StatusOK, as+" "+r.PathValue("name"))
			return nil
		}
	}
	h := openhandsapi.New(openhandsapi.Config{Routes: []wire.Route{
		{Method: http.MethodGet, Path: "/api/things", Handle: named("all")},
		{Method: http.MethodGet, Path: "/api/things/{name}", Handle: named("one")},
		{Method: http.MethodGet, Path: "/api/pages/{name...}", Handle: named("page")},
	}})
	const none = `{"detail":"Not Found"}`
	for path, want := range map[string]string{
		"/api/things/..":                 `"one .."`,
		"/api/things/.":                  `"one ."`,
		"/api/things/%2e%2E":             `"one .."`,
		"/api/things/a..b":               `"one a..b"`,
		"/api/things/...":                `"one ..."`,
		"/api/things/a%25b":              `"one a%b"`,
		"/api/things/%252e":              `"one %2e"`,
		"/api/things/..%2fx":             none,
		"/api/things/x%2Fy":              none,
		"/api/things/x/../y":             none,
		"/api/pages/../things":           `"page ../things"`,
		"/api/pages/a%2f..%2f..%2fx":     `"page a/../../x"`,
		"/api/other/../things":           none,
		"/api/../api/things":             none,
		"/api/things/x/%2e%2e/../%2e%2e": none,
	} {
		if _, body, _ := get(t, h, http.MethodGet, path); body != want {
			t.Errorf("%s: body = %s, want %s", path, body, want)
		}
	}
	if status, _, header := get(t, h, http.MethodDelete, "/api/things/.."); status != http.StatusMethodNotAllowed || header.Get("Allow") != http.MethodGet {
		t.Errorf("another method: %d %v", status, header)
	}
}

func TestAnAgentServerHasTheSamePublicPaths(t *testing.T) {
	t.Parallel()
	h, server, public := handler(), &through.Handler{}, 0
	for _, route := range h.List() {
		if h.Public(route.Path) != server.Public(route.Path) {
			t.Errorf("%s is public: %t, in front of an agent-server %t", route.Path, h.Public(route.Path), server.Public(route.Path))
		}
		if h.Public(route.Path) {
			public++
		}
	}
	if public < 5 {
		t.Errorf("only %d routes are public", public)
	}
}

// TestTheDocumentationHasTheTable compares docs/native.md with the program.
func TestTheDocumentationHasTheTable(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/native.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range openhandsapi.Missing() {
		if row := "| `" + m.Method + " " + m.Path + "` | " + m.Why + " |\n"; !strings.Contains(string(doc), row) {
			t.Errorf("docs/native.md lacks the row %s", row)
		}
	}
}

func TestTheRoutesAreDocumented(t *testing.T) {
	t.Parallel()
	h := openhandsapi.New(openhandsapi.Config{Routes: []wire.Route{
		{Method: http.MethodGet, Path: "/api/things/{id}/{rest...}", Summary: "A thing <b>", Query: []string{"limit"}, Body: true, Handle: func(http.ResponseWriter, *http.Request) error { return nil }},
	}})
	_, body, _ := get(t, h, http.MethodGet, "/openapi.json")
	var doc struct {
		OpenAPI string `json:"openapi"`
		Paths   map[string]map[string]struct {
			Summary    string `json:"summary"`
			Parameters []struct {
				Name, In string
			} `json:"parameters"`
		} `json:"paths"`
	}
	if err := json.Unmarshal([]byte(body), &doc); err != nil {
		t.Fatal(err)
	}
	thing := doc.Paths["/api/things/{id}/{rest}"]["get"]
	if doc.OpenAPI != "3.1.0" || thing.Summary != "A thing <b>" || len(thing.Parameters) != 3 || thing.Parameters[2].In != "query" {
		t.Errorf("the operation = %+v", thing)
	}
	_, page, header := get(t, h, http.MethodGet, "/docs")
	if !strings.Contains(page, "<td>A thing &lt;b&gt;</td>") || !strings.HasPrefix(header.Get("Content-Type"), "text/html") {
		t.Error(page)
	}
}
