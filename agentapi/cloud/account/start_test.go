package account_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
)

const (
	startRoute = "POST /api/v1/app-conversations"
	tasksRoute = "GET /api/v1/app-conversations/start-tasks"
	getRoute   = "GET /api/v1/app-conversations"
	found      = "4e5f60718293a4b5c6d7e8f90a1b2c3d" // in v1_app_conversations_batch.json
)

// count is how many requests begin so.
func (r *replay) count(prefix string) int {
	n := 0
	for _, line := range r.requests() {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}

func TestAStartFollowsItsTask(t *testing.T) {
	t.Parallel()
	server := newReplay(t, map[string][]recording{
		startRoute: {{file: "v1_start_task_working.json"}},
		tasksRoute: {{body: `[null]`}, {status: 502, kind: "text/html", body: "x"}, {file: "v1_start_tasks_ready.json"}},
		getRoute:   {{body: `[null]`}, {file: "v1_app_conversations_batch.json"}},
		"PATCH /api/v1/app-conversations/" + found: {{file: "live_v1_renamed.json"}},
	})
	c := newClient(t, server.URL, knownV1)
	var steps []string
	conv, err := c.Start(t.Context(), account.StartRequest{Text: "Polish the handle", Repo: "acme/teapot", Title: "Mine\n"}, func(p account.Progress) { steps = append(steps, p.State) })
	if err != nil || conv.ID != found || conv.Title != "Mine" || conv.State != account.StateRunning {
		t.Fatalf("Start() = %+v, %v", conv, err)
	}
	if want := []string{"WORKING", "READY"}; !slices.Equal(steps, want) {
		t.Errorf("steps %q, want %q", steps, want)
	}
	if n := server.count(startRoute); n != 1 {
		t.Errorf("%d starts", n)
	}
}

func TestAFailedStartLeavesNoSandbox(t *testing.T) {
	t.Parallel()
	for name, users := range map[string]string{"alone": `{"items":[]}`, "shared": `{"items":[{"id":"` + found + `"}]}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newReplay(t, map[string][]recording{
				startRoute:                             {{file: "v1_start_task_working.json"}},
				tasksRoute:                             {{file: "v1_start_tasks_error.json"}},
				"GET /api/v1/app-conversations/search": {{body: users}},
				"DELETE /api/v1/sandboxes/5sQdemoBoxA1b2C3d4E5f6": {{file: "v1_success.json"}},
			})
			c := newClient(t, server.URL, knownV1)
			_, err := c.Start(t.Context(), account.StartRequest{Text: "x"}, nil)
			if !errors.Is(err, account.ErrStart) || !strings.Contains(err.Error(), "120") {
				t.Errorf("Start() = %v, want the server's reason", err)
			}
			want := map[string]int{"alone": 1, "shared": 0}[name]
			if n := server.count("DELETE /api/v1/sandboxes/5sQdemoBoxA1b2C3d4E5f6?sandbox_id=5sQdemoBoxA1b2C3d4E5f6"); n != want {
				t.Errorf("the sandbox was deleted %d times, want %d: %q", n, want, server.requests())
			}
		})
	}
}

// The server stores the conversation of a start before the start has failed.
func TestTheConversationOfAFailedStartIsNoUserOfItsSandbox(t *testing.T) {
	t.Parallel()
	const own, other = found, "0123456789abcdef0123456789abcdef"
	for name, tt := range map[string]struct {
		users   string
		deleted int
	}{
		"alone":                    {`{"id":"` + own + `"}`, 1},
		"with dashes":              {`{"id":"4e5f6071-8293-a4b5-c6d7-e8f90a1b2c3d"}`, 1},
		"beside another":           {`{"id":"` + own + `"},{"id":"` + other + `"}`, 0},
		"another, and none itself": {`{"id":"` + other + `"}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newReplay(t, map[string][]recording{
				startRoute: {{body: `{"id":"t","status":"WORKING"}`}}, tasksRoute: {{body: `[{"id":"t","status":"ERROR","detail":"no luck","sandbox_id":"box","app_conversation_id":null}]`}},
				"GET /api/v1/app-conversations/search": {{body: `{"items":[` + tt.users + `]}`}},
				"DELETE /api/v1/sandboxes/box":         {{file: "v1_success.json"}},
			})
			_, err := newClient(t, server.URL, knownV1).Start(t.Context(), account.StartRequest{ID: own, Text: "x"}, nil)
			if n := server.count("DELETE /api/v1/sandboxes/box?"); n != tt.deleted || !errors.Is(err, account.ErrStart) {
				t.Errorf("Start() = %v; the sandbox was deleted %d times, want %d: %q", err, n, tt.deleted, server.requests())
			}
		})
	}
}

func TestAStartThatTakesTooLongEnds(t *testing.T) {
	t.Parallel()
	server := newReplay(t, map[string][]recording{
		startRoute: {{file: "v1_start_task_working.json"}}, tasksRoute: {{body: `[{"id":"t","status":"A_NEW_STATE"}]`}},
	})
	c := newClient(t, server.URL, knownV1, func(o *account.Options) { o.StartLimit = time.Minute })
	if _, err := c.Start(t.Context(), account.StartRequest{}, nil); err == nil || !strings.Contains(err.Error(), "within 1m0s") {
		t.Errorf("Start() = %v", err)
	}
}

func TestAnAnswerThatIsLostIsNoSecondStart(t *testing.T) {
	t.Parallel()
	server := newReplay(t, map[string][]recording{
		startRoute: {{status: 502, kind: "text/html", body: "<html>"}},
		"GET /api/v1/app-conversations/start-tasks/search": {{file: "live_v1_start_tasks_search.json"}},
	})
	c := newClient(t, server.URL, knownV1)
	_, err := c.Start(t.Context(), account.StartRequest{Text: "x"}, nil)
	if !errors.Is(err, account.ErrUncertain) || server.count(startRoute) != 1 {
		t.Errorf("Start() = %v after %d starts", err, server.count(startRoute))
	}
}

func TestAnIDThatIsThereIsNotStarted(t *testing.T) {
	t.Parallel()
	server := newReplay(t, map[string][]recording{getRoute: {{file: "v1_app_conversations_batch.json"}}})
	c := newClient(t, server.URL, knownV1)
	for _, id := range []string{found, "not-an-id"} {
		if _, err := c.Start(t.Context(), account.StartRequest{ID: id}, nil); !errors.Is(err, account.ErrRefused) || server.count(startRoute) != 0 {
			t.Errorf("Start(%s) = %v", id, err)
		}
	}
}

func TestAnotherProfileIsSwitchedToBeforeTheFirstMessage(t *testing.T) {
	t.Parallel()
	below := "POST /api/v1/app-conversations/" + found
	server := newReplay(t, map[string][]recording{
		"GET /api/v1/settings/profiles": {{file: "live_v1_profiles.json"}},
		startRoute:                      {{file: "v1_start_task_working.json"}},
		tasksRoute:                      {{file: "v1_start_tasks_ready.json"}},
		getRoute:                        {{file: "v1_app_conversations_batch.json"}},
		below + "/switch_profile":       {{file: "live_v1_switch_profile.json"}},
		below + "/send-message":         {{file: "live_v1_send_message_ok.json"}},
	})
	c := newClient(t, server.URL, knownV1)
	if _, err := c.Start(t.Context(), account.StartRequest{Text: "x", Profile: "fast"}, nil); err != nil {
		t.Fatal(err)
	}
	if list := server.requests(); !strings.HasSuffix(list[len(list)-1], "/send-message") || server.count(below+"/switch_profile") != 1 {
		t.Errorf("requests %q", list)
	}
	n := len(server.requests())
	if _, err := c.Start(t.Context(), account.StartRequest{Profile: "nope"}, nil); !errors.Is(err, account.ErrNotFound) || len(server.requests()) != n+1 {
		t.Errorf("an unknown profile: %v", err)
	}
}

func TestAMessageIsSentOnce(t *testing.T) {
	t.Parallel()
	route := "POST /api/v1/app-conversations/" + found + "/send-message"
	for file, tt := range map[string]struct {
		status int
		want   error
	}{
		"live_v1_send_message_ok.json":      {200, nil},
		"v1_send_message_not_running.json":  {409, account.ErrAsleep},
		"v1_send_message_archived.json":     {410, account.ErrArchived},
		"live_v1_send_message_missing.json": {404, account.ErrArchived},
		"live_v1_send_message_empty.json":   {422, account.ErrRefused},
		"v1_rate_limited.json":              {429, account.ErrRateLimited},
		"v1_success.json":                   {503, account.ErrUncertain},
	} {
		server := newReplay(t, map[string][]recording{getRoute: {{file: "v1_app_conversations_batch.json"}}, route: {{status: tt.status, file: file}}})
		c := newClient(t, server.URL, knownV1)
		if err := c.Send(t.Context(), found, "hello", nil); !errors.Is(err, tt.want) || server.count(route) != 1 {
			t.Errorf("%s: Send() = %v after %d requests, want %v", file, err, server.count(route), tt.want)
		}
	}
}

func TestACancelledStartRemovesItsSandbox(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	server := newReplay(t, map[string][]recording{
		startRoute:                             {{body: `{"id":"t","status":"WAITING_FOR_SANDBOX","sandbox_id":"box"}`}},
		"GET /api/v1/app-conversations/search": {{body: `{"items":[]}`}},
		"DELETE /api/v1/sandboxes/box":         {{file: "v1_success.json"}},
	})
	c := newClient(t, server.URL, knownV1)
	_, err := c.Start(ctx, account.StartRequest{Text: "x"}, func(account.Progress) { cancel() })
	if !errors.Is(err, context.Canceled) || server.count("DELETE /api/v1/sandboxes/box?") != 1 {
		t.Errorf("Start() = %v; %q", err, server.requests())
	}
}
