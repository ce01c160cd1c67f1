package scoped_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/openhandsapi"
	"github.com/ohgw/ohgw/daemon/openhandsapi/scoped"
	"github.com/ohgw/ohgw/daemon/openhandsapi/shell"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
)

const (
	known = "7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11"
	other = "11111111-2222-4333-8444-555555555555"
)

// served are two routes that are also below a conversation, the trajectories, and one
// that is not.
func served() []wire.Route {
	say := func(w http.ResponseWriter, r *http.Request) error {
		wire.WriteJSON(w, http.StatusOK, "served "+r.PathValue("id")+r.PathValue("sha"))
		return nil
	}
	return []wire.Route{
		{Method: http.MethodGet, Path: "/api/file/download", Handle: say},
		{Method: http.MethodGet, Path: "/api/git/commits/{sha}/changes", Handle: say},
		{Method: http.MethodGet, Path: "/api/file/download-trajectory/{id}", Handle: say},
		{Method: http.MethodGet, Path: "/api/vscode/status", Handle: say},
		{Method: http.MethodGet, Path: "/api/file/home", Handle: say},
	}
}

// TestOnlyPathsOfTheWorkspaceAreServed asks for paths inside of a workspace and outside,
// also by links, and for conversations that are not there.
func TestOnlyPathsOfTheWorkspaceAreServed(t *testing.T) {
	t.Parallel()
	above := t.TempDir()
	dir := filepath.Join(above, "work")
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	links := os.Symlink(above, filepath.Join(dir, "out")) == nil // not every Windows has them
	kept := filepath.Join(above, "kept")
	h := openhandsapi.New(openhandsapi.Config{Routes: scoped.Routes(scoped.Config{
		Served:   served(),
		Commands: shell.New(shell.Config{Now: time.Now}),
		Log:      func(string) (string, error) { return kept, nil },
		Workspace: func(_ context.Context, id string) (string, error) {
			if id != known {
				return "", agentapi.ErrConversationNotFound
			}
			return dir, nil
		},
	})})
	const (
		outside  = `{"detail":"path must be inside the conversation workspace"}`
		download = known + "/file/download?path="
	)
	at := func(elem ...string) string { return url.QueryEscape(filepath.Join(append([]string{dir}, elem...)...)) }
	for path, want := range map[string]string{
		known + "/file/download":                         `"served ` + known + `"`, // the route says what is missing
		download + at():                                  `"served ` + known + `"`,
		download + at("sub", "new", "deep"):              `"served ` + known + `"`,
		download + at("file", "x"):                       `"served ` + known + `"`,
		download + at("sub") + "%2F..%2Fa":               `"served ` + known + `"`,
		download + at("sub") + "%2F..%2F..%2Fa":          outside,
		download + at("..", "work2"):                     outside,
		download + url.QueryEscape(above):                outside,
		download + "sub":                                 outside,
		download:                                         outside,
		download + at() + "&path=%2F":                    `"served ` + known + `"`, // the first counts
		known + "/git/commits/abcd/changes?path=" + at(): `"served ` + known + `abcd"`,
		known + "/git/commits/abcd/changes?path=%2F":     outside,
		known + "/file/download-trajectory/" + known:     `"served ` + known + `"`,
		known + "/file/download-trajectory/" + strings.ReplaceAll(known, "-", ""): `"served ` + known + `"`,
		known + "/file/download-trajectory/" + other:                              `{"detail":"Trajectory must belong to the selected conversation"}`,
		known + "/file/download-trajectory/x":                                     `{"detail":"Invalid trajectory conversation id"}`,
		known + "/bash/bash_events/search":                                        `{"items":[],"next_page_id":null}`,
		known + "/bash/bash_events/search?path=%2F":                               outside,
		known + "/bash/bash_events/search?workspace_dir=%2F":                      strings.Replace(outside, "path", "workspace_dir", 1),
		known + "/bash/bash_events/search?limit=0":                                `{"detail":[{"type":"greater_than","loc":["query","limit"],"msg":"Input should be greater than 0","input":"0","ctx":{"gt":0}}]}`,
		other + "/bash/bash_events/search?limit=0":                                `{"detail":"Conversation not found: ` + other + `"}`,
		known + "/vscode/status":                                                  `"served ` + known + `"`,
		other + "/vscode/status":                                                  `{"detail":"Conversation not found: ` + other + `"}`,
		known + "/file/home":                                                      `{"detail":"Not Found"}`,
		other + "/file/download":                                                  `{"detail":"Conversation not found: ` + other + `"}`,
		other + "/file/download-trajectory/" + other:                              `{"detail":"Conversation not found: ` + other + `"}`,
	} {
		if body := get(t, h, path); body != want {
			t.Errorf("%s: body = %s, want %s", path, body, want)
		}
	}
	if body := get(t, h, "x/file/download"); !strings.Contains(body, `"loc":["path","runtime_conversation_id"]`) {
		t.Errorf("an id that is none: %s", body)
	}
	if !links {
		return
	}
	for _, name := range []string{"out", "out/new/file", "out/work/../x"} {
		if body := get(t, h, download+at()+"%2F"+url.QueryEscape(name)); body != outside {
			t.Errorf("%s: body = %s, want %s", name, body, outside)
		}
	}
}

func get(t *testing.T, h http.Handler, path string) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/conversations/"+path, nil))
	return w.Body.String()
}
