package account_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
)

// at is a V1 conversation with this status of its sandbox.
func at(status, url, key string) recording {
	return recording{body: `[{"id":"` + found + `","sandbox_id":"box","sandbox_status":"` + status + `","tags":{"archiveworkspacepath":"/w"},
		"conversation_url":` + quoted(url) + `,"session_api_key":` + quoted(key) + `}]`}
}

func quoted(s string) string {
	if s == "" {
		return "null"
	}
	return `"` + s + `"`
}

// sandbox is an agent-server that takes one key.
func sandbox(t *testing.T, key string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("X-Session-API-Key") != key {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch r.URL.Path {
		case "/api/git/changes":
			_, _ = io.WriteString(w, `[{"status":"UPDATED","path":"\"n/303/244me.txt\""},null,{"status":"MOVED","path":"b"},{"status":"ODD","path":"\"a/b\""}]`)
		case "/api/file/download":
			if r.URL.Query().Get("path") != "/w/sub/a" {
				w.WriteHeader(http.StatusNotFound)
				_, _ = io.WriteString(w, `{"detail":"File not found"}`)
				return
			}
			w.Header().Set("Content-Type", "application/octet-stream")
			_, _ = io.WriteString(w, "bytes\x00")
		default:
			_, _ = io.WriteString(w, `"OK"`)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestASandboxIsWokenAndMayComeBackElsewhere(t *testing.T) {
	t.Parallel()
	agent := sandbox(t, "new-key")
	const gone = "http://127.0.0.1:1" // where nothing listens
	server := newReplay(t, map[string][]recording{
		getRoute: {
			at("PAUSED", "", ""), at("PAUSED", "", ""), at("RUNNING", gone+"/api/conversations/x", "old-key"), at("RUNNING", agent+"/api/conversations/x", "old-key"),
			at("RUNNING", agent+"/api/conversations/x", "new-key"),
		},
		"GET /api/v1/sandboxes": {
			{body: `[{"id":"box","status":"PAUSED"}]`},
			{body: `[{"id":"box","status":"STARTING","status_detail":"pulling"}]`},
			{body: `[{"id":"box","status":"RUNNING"}]`},
		},
		"POST /api/v1/sandboxes/box/resume": {{file: "v1_success.json"}},
	})
	c := newClient(t, server.URL, knownV1)
	var steps []string
	rt, err := c.Wake(t.Context(), found, func(p account.Progress) { steps = append(steps, p.State+p.Detail) })
	if err != nil || rt.Address != agent || rt.Key.Reveal() != "new-key" || rt.Directory != "/w" || rt.ConversationID != found {
		t.Fatalf("Wake() = %+v, %v", rt, err)
	}
	if got := strings.Join(steps, " "); got != "PAUSED STARTINGpulling READY" {
		t.Errorf("steps %s", got)
	}
	if n := server.count("POST /api/v1/sandboxes/box/resume"); n != 1 {
		t.Errorf("%d resumes", n)
	}
}

func TestWhatCannotBeWokenIsArchived(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status string
		box    recording
		resume recording
	}{
		"deleted":          {"MISSING", recording{body: `[null]`}, recording{}},
		"in error":         {"ERROR", recording{body: `[{"id":"box","status":"ERROR","status_detail":"no disk"}]`}, recording{}},
		"gone when asked":  {"PAUSED", recording{body: `[{"id":"box","status":"PAUSED"}]`}, recording{status: 404, file: "live_v1_sandbox_resume_missing.json"}},
		"gone by the list": {"PAUSED", recording{body: `[]`}, recording{}},
	} {
		server := newReplay(t, map[string][]recording{
			getRoute: {at(tt.status, "", "")}, "GET /api/v1/sandboxes": {tt.box}, "POST /api/v1/sandboxes/box/resume": {tt.resume},
		})
		if _, err := newClient(t, server.URL, knownV1).Wake(t.Context(), found, nil); !errors.Is(err, account.ErrArchived) {
			t.Errorf("%s: Wake() = %v", name, err)
		}
	}
}

func TestARuntimeIsNotWoken(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]error{"PAUSED": account.ErrAsleep, "STARTING": account.ErrAsleep, "MISSING": account.ErrArchived, "ERROR": account.ErrArchived, "NEW": account.ErrAsleep} {
		server := newReplay(t, map[string][]recording{getRoute: {at(status, "", "")}})
		c := newClient(t, server.URL, knownV1)
		if _, err := c.Runtime(t.Context(), found); !errors.Is(err, want) || server.count("POST") != 0 {
			t.Errorf("%s: Runtime() = %v, want %v", status, err, want)
		}
		if _, _, err := c.Changes(t.Context(), found); !errors.Is(err, want) {
			t.Errorf("%s: Changes() = %v, want %v", status, err, want)
		}
	}
}

func TestFilesAndChangesComeFromTheSandbox(t *testing.T) {
	t.Parallel()
	agent := sandbox(t, "new-key")
	// The key was changed since: the first request is refused, the details say the new one.
	server := newReplay(t, map[string][]recording{getRoute: {
		at("RUNNING", agent+"/api/conversations/x", "old-key"), at("RUNNING", agent+"/api/conversations/x", "new-key"),
	}})
	c := newClient(t, server.URL, knownV1)
	list, note, err := c.Changes(t.Context(), found)
	if err != nil || len(list) != 3 || list[0] != (account.Change{Path: "näme.txt", Status: "modified"}) || list[1].Status != "renamed" || list[2] != (account.Change{Path: `"a/b"`, Status: "ODD"}) || note == "" {
		t.Errorf("Changes() = %q, %q, %v", list, note, err)
	}
	file, err := c.File(t.Context(), found, "sub/a")
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(file)
	if err := errors.Join(err, file.Close()); err != nil || string(data) != "bytes\x00" {
		t.Errorf("the file has %q, %v", data, err)
	}
	for _, name := range []string{"nope", "/etc/x"} {
		if _, err := c.File(t.Context(), found, name); !errors.Is(err, account.ErrNotFound) {
			t.Errorf("File(%s) = %v", name, err)
		}
	}
}
