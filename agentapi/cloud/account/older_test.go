package account_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
)

// old is the V0 conversation of the recordings, on a server that is its own runtime.
const (
	old   = "a67c9d9fde134aaf9a6a6eab9fa1b302"
	oldAt = "/api/conversations/" + old
)

// live is a server of the release 1.6.0, as it was recorded.
func live(t *testing.T, change map[string][]recording) *replay {
	t.Helper()
	routes := map[string][]recording{
		"GET /api/options/models":         {{file: "v0_options_models.json"}},
		"GET /api/conversations":          {{file: "live_v0_conversations.json"}},
		"GET " + oldAt:                    {{file: "live_v0_conversation_running.json"}},
		"POST " + oldAt + "/start":        {{file: "live_v0_start.json"}},
		"POST " + oldAt + "/stop":         {{file: "live_v0_stop.json"}},
		"POST " + oldAt + "/message":      {{file: "live_v0_message.json"}},
		"GET " + oldAt + "/git/changes":   {{file: "live_v0_git_changes.json"}},
		"GET " + oldAt + "/select-file":   {{file: "live_v0_select_file.json"}},
		"GET " + oldAt + "/zip-directory": {{file: "live_v1_download.zip", kind: "application/zip"}},
		"GET " + oldAt + "/trajectory":    {{file: "live_v0_trajectory.json"}},
		"GET " + oldAt + "/events":        {{file: "live_v0_events.json"}, {body: `{"events":[],"has_more":false}`}},
		"PATCH " + oldAt:                  {{file: "live_v0_rename.json"}},
		"DELETE " + oldAt:                 {{file: "live_v0_delete.json"}, {body: "false"}},
	}
	for route, list := range change {
		routes[route] = list
	}
	return newReplay(t, routes)
}

func TestTheEightCallsOfV0(t *testing.T) {
	t.Parallel()
	server := live(t, nil)
	c := newClient(t, server.URL)
	info, err := c.Probe(t.Context())
	if err != nil || !info.V0 || info.V1 || info.Kind != account.KindCloud {
		t.Fatalf("Probe() = %+v, %v", info, err)
	}
	page, err := c.List(t.Context(), account.ListQuery{Limit: 1})
	if err != nil || len(page.Conversations) != 1 || page.Conversations[0].State != account.StateRunning {
		t.Errorf("List() = %+v, %v", page, err)
	}
	conv, err := c.Get(t.Context(), strings.ToUpper(old))
	if err != nil || conv.ID != old || conv.Version != account.V0 || conv.Created.IsZero() {
		t.Errorf("Get() = %+v, %v", conv, err)
	}
	rt, err := c.Wake(t.Context(), old, nil)
	if err != nil || rt.Address != server.URL || rt.Version != account.V0 {
		t.Errorf("Wake() = %+v, %v", rt, err)
	}
	if list, _, err := c.Changes(t.Context(), old); err != nil || len(list) == 0 || list[0].Status != "added" || list[0].Path == "" {
		t.Errorf("Changes() = %v, %v", list, err)
	}
	file, err := c.File(t.Context(), old, "a.txt")
	if err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(file); err != nil || string(data) != "hello\n" {
		t.Errorf("File() = %q, %v", data, err)
	}
	for name, get := range map[string]func() (*account.Download, error){
		"live_v1_download.zip":    func() (*account.Download, error) { return c.Workspace(t.Context(), old) },
		"live_v0_trajectory.json": func() (*account.Download, error) { return c.Trajectory(t.Context(), old) },
	} {
		want, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := get()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		data, err := io.ReadAll(got)
		if err := errors.Join(err, got.Close()); err != nil || string(data) != string(want) {
			t.Errorf("%s: %d bytes, %v, want %d", name, len(data), err, len(want))
		}
	}
}

func TestTheOtherCallsOfV0(t *testing.T) {
	t.Parallel()
	server := live(t, nil)
	c := newClient(t, server.URL, knownV0)
	ctx := t.Context()
	page, err := c.Events(ctx, old, account.EventQuery{Newest: true, Limit: 2})
	if err != nil || len(page.Events) != 2 || page.Next != "8" || page.Events[1].Text != "all done" || !page.Events[1].Final || page.Events[0].Time.IsZero() {
		t.Errorf("Events() = %+v, %v", page, err)
	}
	if page, err := c.Events(ctx, old, account.EventQuery{Newest: true, Page: page.Next}); err != nil || page.Next != "" {
		t.Errorf("the last page: %+v, %v", page, err)
	}
	for name, err := range map[string]error{
		"Send": c.Send(ctx, old, "hi", nil), "Rename": c.Rename(ctx, old, "x"), "Pause": c.Pause(ctx, old), "Remove": c.Remove(ctx, old),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := c.Remove(ctx, old); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("the second removal: %v", err)
	}
	for _, line := range server.seen {
		if line.Header.Get("X-Session-API-Key") != cloudKey || line.Header.Get("Authorization") != "" {
			t.Errorf("%s %s was signed by %v", line.Method, line.URL, line.Header)
		}
	}
}

func TestV0SaysNoInManyWays(t *testing.T) {
	t.Parallel()
	stopped := map[string][]recording{"GET " + oldAt: {{file: "live_v0_conversation_stopped.json"}}}
	with := func(route string, r recording) map[string][]recording { return map[string][]recording{route: {r}} }
	for name, tt := range map[string]struct {
		routes map[string][]recording
		call   func(*account.Client) error
		want   error
	}{
		"unknown, 200 null":    {with("GET "+oldAt, recording{file: "live_v0_conversation_unknown.json"}), get, account.ErrNotFound},
		"unknown, 404":         {with("GET "+oldAt, recording{status: 404, file: "v0_conversation_not_found.json"}), get, account.ErrNotFound},
		"no key":               {with("GET "+oldAt, recording{status: 401, file: "v0_unauthorized.json"}), get, account.ErrUnauthorized},
		"asleep: changes":      {stopped, changes, account.ErrAsleep},
		"asleep: workspace":    {stopped, workspace, account.ErrAsleep},
		"missing file":         {with("GET "+oldAt+"/select-file", recording{status: 500, file: "live_v0_select_file_missing.json"}), file, account.ErrNotFound},
		"binary file":          {with("GET "+oldAt+"/select-file", recording{status: 415, file: "v0_select_file_binary.json"}), file, account.ErrRefused},
		"a page for a zip":     {with("GET "+oldAt+"/zip-directory", recording{file: "spa_fallback.html", kind: "text/html"}), workspace, account.ErrWrongEndpoint},
		"a text for a zip":     {with("GET "+oldAt+"/zip-directory", recording{body: "{}"}), workspace, account.ErrWrongEndpoint},
		"not a repository":     {with("GET "+oldAt+"/git/changes", recording{status: 404, file: "v0_git_changes_no_repo.json"}), changes, nil},
		"words for letters":    {with("GET "+oldAt+"/git/changes", recording{file: "v0_git_changes_word_form.json"}), changes, nil},
		"start fails":          {map[string][]recording{"GET " + oldAt: stopped["GET "+oldAt], "POST " + oldAt + "/start": {{status: 500, file: "v0_start_failed.json"}}}, wake, account.ErrUpstream},
		"nothing for no route": {with("GET "+oldAt+"/trajectory", recording{status: 404, file: "live_v0_trajectory_unknown.json"}), trajectory, account.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := tt.call(newClient(t, live(t, tt.routes).URL, knownV0)); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

func get(c *account.Client) error     { _, err := c.Get(context.Background(), old); return err }
func changes(c *account.Client) error { _, _, err := c.Changes(context.Background(), old); return err }

func workspace(c *account.Client) error { _, err := c.Workspace(context.Background(), old); return err }

func trajectory(c *account.Client) error {
	_, err := c.Trajectory(context.Background(), old)
	return err
}
func file(c *account.Client) error { _, err := c.File(context.Background(), old, "x"); return err }
func wake(c *account.Client) error { _, err := c.Wake(context.Background(), old, nil); return err }

func TestAV0ConversationIsWoken(t *testing.T) {
	t.Parallel()
	server := live(t, map[string][]recording{
		"GET " + oldAt:             {{file: "live_v0_conversation_stopped.json"}, {file: "v0_conversation_path_routed.json"}, {file: "live_v0_conversation_running.json"}},
		"POST " + oldAt + "/start": {{file: "live_v0_start_stopped.json"}},
	})
	c := newClient(t, server.URL, knownV0)
	if rt, err := c.Wake(t.Context(), old, nil); err != nil || rt.Address != server.URL || server.count("POST") != 1 {
		t.Errorf("Wake() = %+v, %v; %q", rt, err, server.requests())
	}
}

func TestAV0StartIsOneRequest(t *testing.T) {
	t.Parallel()
	const made = "1b2c3d4e5f60718293a4b5c6d7e8f90a"
	server := newReplay(t, map[string][]recording{
		"POST /api/conversations": {{file: "v0_create_ok.json"}},
		"GET /api/conversations/" + made: {
			{body: `{"conversation_id":"` + made + `","status":"STOPPED","url":null}`},
			{body: `{"conversation_id":"` + made + `","status":"RUNNING","runtime_status":null,"url":"https://rt.example/api/conversations/x","last_updated_at":"2031-02-03T04:05:06.000Z.789012Z","new":{}}`},
		},
		"POST /api/conversations/" + made + "/start": {{file: "v0_start_ok.json"}},
	})
	c := newClient(t, server.URL, knownV0)
	conv, err := c.Start(t.Context(), account.StartRequest{Text: "hello"}, nil)
	if err != nil || conv.State != account.StateRunning || conv.Updated.IsZero() || server.count("POST") != 2 {
		t.Errorf("Start() = %+v, %v; %q", conv, err, server.requests())
	}
	if _, err := c.Start(t.Context(), account.StartRequest{Model: "m"}, nil); !errors.Is(err, account.ErrRefused) {
		t.Errorf("Start() with a model: %v", err)
	}
	lost := newReplay(t, map[string][]recording{"POST /api/conversations": {{status: 502, kind: "text/html"}}})
	if _, err := newClient(t, lost.URL, knownV0).Start(t.Context(), account.StartRequest{Text: "x"}, nil); !errors.Is(err, account.ErrUncertain) || lost.count("POST") != 1 {
		t.Errorf("Start() whose answer is lost: %v", err)
	}
}

func TestAPathRoutedRuntimeKeepsItsPrefixAndGetsItsOwnKey(t *testing.T) {
	t.Parallel()
	var path, key string
	runtime := newReplay(t, nil)
	runtime.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, key = r.URL.Path, r.Header.Get("X-Session-API-Key")+r.Header.Get("Authorization")
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `[]`)
	})
	server := newReplay(t, map[string][]recording{"GET " + oldAt: {{body: `{"conversation_id":"` + old + `","status":"RUNNING","runtime_status":"STATUS$READY",
		"url":"` + runtime.URL + `/rt7` + oldAt + `","session_api_key":"own-key","created_at":"` + time.Now().Format(time.RFC3339) + `"}`}}})
	if _, _, err := newClient(t, server.URL, knownV0).Changes(t.Context(), old); err != nil || path != "/rt7"+oldAt+"/git/changes" || key != "own-key" {
		t.Errorf("asked %s with key %q: %v", path, key, err)
	}
}
