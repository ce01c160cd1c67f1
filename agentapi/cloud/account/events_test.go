package account_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/agentapi/cloud/transport"
)

const eventsRoute = "GET /api/v1/conversation/" + found + "/events/search"

func TestEventsSayWhatAPersonReads(t *testing.T) {
	t.Parallel()
	server := newReplay(t, map[string][]recording{getRoute: {{file: "v1_app_conversations_batch.json"}}, eventsRoute: {{file: "live_v1_events_search.json"}}})
	page, err := newClient(t, server.URL, knownV1).Events(t.Context(), found, account.EventQuery{})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, e := range page.Events {
		if e.Kind == "StreamingDeltaEvent" || e.ID == "" || e.Time.IsZero() || len(e.Raw) == 0 {
			t.Errorf("event %+v", e)
		}
		if e.Text != "" {
			said = append(said, fmt.Sprintf("%s %v %.20q", e.Source, e.Final, e.Text))
		}
	}
	all := strings.Join(said, "\n")
	for _, want := range []string{`agent true "all done"`, `agent false "second answer"`, `user false "SAY second answer"`, `environment false`} {
		if !strings.Contains(all, want) {
			t.Errorf("no %s in\n%s", want, all)
		}
	}
}

func TestAServerThatCannotFilterByTimeIsFilteredHere(t *testing.T) {
	t.Parallel()
	broken := recording{status: 500, body: "Internal Server Error", kind: "text/plain"}
	server := newReplay(t, map[string][]recording{
		getRoute: {{file: "v1_app_conversations_batch.json"}}, eventsRoute: {broken, broken, broken, broken, {body: `{"items":[
			{"id":"a","kind":"New","timestamp":"2031-03-01T08:00:00"},null,{"id":"b","kind":"PauseEvent","timestamp":"2031-03-01T09:00:00","action":7}],"next_page_id":"2"}`}},
	})
	page, err := newClient(t, server.URL, knownV1).Events(t.Context(), found, account.EventQuery{Since: time.Date(2031, 3, 1, 8, 30, 0, 0, time.UTC)})
	if err != nil || len(page.Events) != 1 || page.Events[0].ID != "b" || page.Next != "2" {
		t.Errorf("Events() = %+v, %v", page, err)
	}
}

func TestNoEventsDoNotProveAConversation(t *testing.T) {
	t.Parallel()
	server := newReplay(t, map[string][]recording{getRoute: {{body: "[null]"}}, eventsRoute: {{body: `{"items":[],"next_page_id":null}`}}})
	if _, err := newClient(t, server.URL, knownV1).Events(t.Context(), found, account.EventQuery{}); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("Events() = %v", err)
	}
}

func TestAStartWhoseAnswerIsLostIsFoundAgain(t *testing.T) {
	t.Parallel()
	const id = "07afa2007e8a4533ac08536f6f5b4e42"
	server := newReplay(t, map[string][]recording{
		getRoute:   {{body: "[null]"}, {body: `[{"id":"` + id + `","sandbox_status":"RUNNING"}]`}},
		startRoute: {{body: `{"id": "cut`}},
		"GET /api/v1/app-conversations/start-tasks/search": {
			{body: `{"items":[{"id":"other","request":{}}]}`},
			{body: `{"items":[null,{"id":"task","status":"READY","app_conversation_id":"` + id + `","request":{"conversation_id":"07AFA200-7e8a-4533-ac08-536f6f5b4e42"}}]}`},
		},
	})
	conv, err := newClient(t, server.URL, knownV1).Start(t.Context(), account.StartRequest{ID: id}, nil)
	if err != nil || conv.ID != id || server.count("POST") != 1 {
		t.Errorf("Start() = %+v, %v; %q", conv, err, server.requests())
	}
}

// older is an agent-server that cannot archive: it packs by a command.
func older(t *testing.T, commands *[]string, exit int) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/api/bash/execute_bash_command":
			body, _ := io.ReadAll(r.Body)
			*commands = append(*commands, string(body))
			_, _ = fmt.Fprintf(w, `{"exit_code":%d}`, exit)
		case "/api/file/download":
			w.Header().Set("Content-Type", "application/octet-stream")
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "\x1f\x8bcut")
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"detail":"Not Found"}`)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestAnOlderSandboxPacksItsWorkspaceAndItIsTidiedUp(t *testing.T) {
	t.Parallel()
	for _, exit := range []int{0, 2} {
		var commands []string
		server := newReplay(t, map[string][]recording{getRoute: {at("RUNNING", older(t, &commands, exit)+"/api/conversations/x", "k")}})
		got, err := newClient(t, server.URL, knownV1).Workspace(t.Context(), found)
		if exit == 0 {
			if err != nil {
				t.Fatal(err)
			}
			// The transfer is cut: it must not pass for a whole one.
			data, readErr := io.ReadAll(got)
			if string(data) != "\x1f\x8bcut" || !errors.Is(readErr, transport.ErrUpstream) || got.Size != 100 || got.Name != "workspace-4e5f6071.tar.gz" {
				t.Errorf("read %q, %v of %s", data, readErr, got.Name)
			}
			if err := got.Close(); err != nil {
				t.Error(err)
			}
		} else if !errors.Is(err, account.ErrRefused) {
			t.Errorf("Workspace() = %v", err)
		}
		if len(commands) != 2 || !strings.Contains(commands[0], `'/w'`) || !strings.Contains(commands[1], "rm -f /tmp/ohgw-") {
			t.Errorf("commands %q", commands)
		}
	}
}
