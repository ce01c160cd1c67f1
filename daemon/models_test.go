package daemon_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/daemontest"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/openai"
)

func listed(t testing.TB, res response) openai.ModelList {
	t.Helper()
	if res.status != http.StatusOK {
		t.Fatalf("status %d: %s", res.status, res.body)
	}
	valid(t, "model-list", []byte(res.body))
	var list openai.ModelList
	if err := json.Unmarshal([]byte(res.body), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func ids(list openai.ModelList) []string {
	names := make([]string, 0, len(list.Data))
	for _, m := range list.Data {
		names = append(names, m.ID)
	}
	return names
}

// The list fits the schema; each model has a time above 0 and an owner, which
// strict clients want.
func TestModelsFitTheSchemaAndHaveATimeAndAnOwner(t *testing.T) {
	t.Parallel()
	b := daemontest.New()
	b.SetProfiles(
		agentapi.Profile{Name: "cheap", Model: "ollama/llama"},
		agentapi.Profile{Name: "default", Model: "anthropic/claude", Active: true, Modified: time.Unix(1790000000, 0)},
	)
	g := serve(t, b)
	list := listed(t, g.do(http.MethodGet, "/v1/models", ""))
	if diff := cmp.Diff([]string{"openhands", "openhands_cheap", "openhands_default"}, ids(list)); diff != "" {
		t.Fatal(diff)
	}
	for _, m := range list.Data {
		if m.Created <= 0 || m.OwnedBy != "openhands" || m.Object != "model" || m.Name == "" {
			t.Errorf("%+v", m)
		}
	}
	want := openai.Model{
		ID: "openhands_default", Object: "model", Created: 1790000000, OwnedBy: "openhands",
		Name: "OpenHands (default)", Description: "anthropic claude",
		Info: openai.ModelInfo{Meta: openai.ModelMeta{
			Description: "An agent with its own shell and files, on anthropic claude.", Capabilities: openai.Capabilities{Usage: true, Vision: true},
		}},
		Extension: openai.ModelExtension{Kind: "agent", Profile: "default", LLM: "anthropic/claude"},
	}
	if n := len(list.Data[2].Info.Meta.Suggestions); n == 0 {
		t.Error("there is nothing to begin with")
	}
	list.Data[2].Info.Meta.Suggestions = nil
	if diff := cmp.Diff(want, list.Data[2]); diff != "" {
		t.Error(diff)
	}
}

func TestModelsOfAnEmptyStoreAreAnEmptyList(t *testing.T) {
	t.Parallel()
	g := serve(t, daemontest.New())
	res := g.do(http.MethodGet, "/v1/models", "")
	if want := `{"object":"list","data":[]}` + "\n"; res.body != want {
		t.Errorf("body %q, want %q", res.body, want)
	}
}

// A model with a slash in its id is found, escaped or not; an unknown one is 404.
func TestOneModelEqualsItsEntryInTheList(t *testing.T) {
	t.Parallel()
	g := serve(t, daemontest.New("default", "team/a b"))
	entry := make(map[string]openai.Model)
	for _, m := range listed(t, g.do(http.MethodGet, "/v1/models", "")).Data {
		entry[m.ID] = m
	}
	for path, id := range map[string]string{
		"openhands_default":           "openhands_default",
		"openhands":                   "openhands",
		"openhands_team/a%20b":        "openhands_team/a b",
		"openhands_team%2Fa%20b":      "openhands_team/a b",
		"%6fpenhands_team%2fa%20b/":   "openhands_team/a b",
		"openhands_default?limit=100": "openhands_default",
	} {
		res := g.do(http.MethodGet, "/v1/models/"+path, "")
		valid(t, "model", []byte(res.body))
		var m openai.Model
		if err := json.Unmarshal([]byte(res.body), &m); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(entry[id], m); diff != "" || m.ID != id {
			t.Errorf("%s: %s", path, diff)
		}
	}
	envelope(t, g.do(http.MethodGet, "/v1/models/openhands_x", ""), http.StatusNotFound, "model_not_found", "model")
	envelope(t, g.do(http.MethodGet, "/v1/models/gpt-4o", ""), http.StatusNotFound, "model_not_found", "model")
}

// Models answer from memory while the backend is down, and with 503 if it never was
// there.
func TestModelsAnswerWhileTheBackendIsDown(t *testing.T) {
	t.Parallel()
	t.Run("seen before", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			g := serve(t, daemontest.New("default"))
			want := listed(t, g.do(http.MethodGet, "/v1/models", ""))
			g.backend.SetDown(daemontest.Unavailable())
			for range 3 {
				time.Sleep(time.Minute)
				began := time.Now()
				if diff := cmp.Diff(want, listed(t, g.do(http.MethodGet, "/v1/models", ""))); diff != "" {
					t.Error(diff)
				}
				if took := time.Since(began); took >= time.Second {
					t.Errorf("took %v", took)
				}
			}
		})
	})
	t.Run("seen before, and it hangs", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			g := serve(t, daemontest.New("default"))
			want := listed(t, g.do(http.MethodGet, "/v1/models", ""))
			release := g.backend.HoldProfiles()
			defer release()
			for _, most := range []time.Duration{100 * time.Millisecond, time.Second, time.Second} {
				time.Sleep(time.Minute)
				began := time.Now()
				if diff := cmp.Diff(want, listed(t, g.do(http.MethodGet, "/v1/models", ""))); diff != "" {
					t.Error(diff)
				}
				if took := time.Since(began); took > most {
					t.Errorf("took %v", took)
				}
			}
		})
	})
	t.Run("never seen", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := daemontest.New("default")
			b.SetDown(daemontest.Unavailable())
			g := serve(t, b)
			res := g.do(http.MethodGet, "/v1/models", "")
			envelope(t, res, http.StatusServiceUnavailable, "agent_server_unavailable", "")
			if res.header.Get("Retry-After") != "2" {
				t.Errorf("Retry-After %q", res.header.Get("Retry-After"))
			}
			b.SetDown(nil)
			if got := ids(listed(t, g.do(http.MethodGet, "/v1/models", ""))); len(got) != 2 {
				t.Errorf("after its return: %v", got)
			}
		})
	})
	t.Run("never seen, and it hangs", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := daemontest.New("default")
			release := b.HoldProfiles()
			defer release()
			g := serve(t, b)
			began := time.Now()
			envelope(t, g.do(http.MethodGet, "/v1/models", ""), http.StatusServiceUnavailable, "agent_server_unavailable", "")
			if took := time.Since(began); took >= time.Second {
				t.Errorf("took %v", took)
			}
		})
	})
}

func TestTheListIsAskedForOnceInTwoSecondsAndFollowsTheFiles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := serve(t, daemontest.New("default"))
		for range 100 {
			g.do(http.MethodGet, "/v1/models", "")
		}
		if n := g.backend.Asked(); n != 1 {
			t.Errorf("asked %d times, want 1", n)
		}
		g.backend.SetProfiles(agentapi.Profile{Name: "new"})
		time.Sleep(3 * time.Second)
		if diff := cmp.Diff([]string{"openhands_new"}, ids(listed(t, g.do(http.MethodGet, "/v1/models", "")))); diff != "" {
			t.Error(diff)
		}
	})
}

func TestClientsThatAskTogetherShareOneQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := daemontest.New("default")
		release := b.HoldProfiles()
		g := serve(t, b)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { listed(t, g.do(http.MethodGet, "/v1/models", "")) })
		}
		synctest.Wait()
		release()
		wg.Wait()
		if n := b.Asked(); n != 1 {
			t.Errorf("asked %d times, want 1", n)
		}
	})
}

// A backend that is slow must not delay the first byte.
func TestAnOldListIsUsedWhereTheBackendIsSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := serve(t, daemontest.New("default"))
		g.do(http.MethodGet, "/v1/models", "")
		time.Sleep(time.Hour)
		release := g.backend.HoldProfiles()
		defer release()
		began := time.Now()
		g.cut(ask("go", streamed), 1)
		if took := time.Since(began); took != 0 {
			t.Errorf("the first byte took %v", took)
		}
	})
}

// A model that an old list does not have may be new: a backend that does not answer in time
// is unavailable, and that the model does not exist is not known.
func TestAModelIsUnknownOnlyWhereTheBackendAnswers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		delay  time.Duration
		status int
		code   string
	}{
		"a slow backend":       {2 * time.Second, http.StatusNotFound, "model_not_found"},
		"a backend that hangs": {time.Minute, http.StatusServiceUnavailable, "agent_server_unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := serve(t, daemontest.New("default"))
				g.do(http.MethodGet, "/v1/models", "")
				time.Sleep(time.Hour)
				release := sync.OnceFunc(g.backend.HoldProfiles())
				defer release()
				defer time.AfterFunc(tt.delay, release).Stop()
				res := g.chat(strings.Replace(ask("go"), "openhands_default", "openhands_new", 1))
				if res.status != tt.status || !strings.Contains(res.body, tt.code) {
					t.Errorf("status %d, body %s", res.status, res.body)
				}
			})
		})
	}
}

func TestABackendThatHangsIsUnavailableToAChat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := daemontest.New("default")
		release := b.HoldProfiles()
		defer release()
		g := serve(t, b)
		for range 2 { // the first asks, the second is told of it
			envelope(t, g.chat(ask("go")), http.StatusServiceUnavailable, "agent_server_unavailable", "")
		}
	})
}

// The active profile is the choice of the user, not a guess.
func TestTheActiveProfileIsAskedForWhereTheListIsOld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := serve(t, daemontest.New("default", "cheap"))
		g.do(http.MethodGet, "/v1/models", "")
		time.Sleep(time.Hour)
		g.backend.SetProfiles(agentapi.Profile{Name: "default"}, agentapi.Profile{Name: "cheap", Active: true})
		completed(t, g.chat(strings.Replace(ask("hi"), "openhands_default", "openhands", 1)))
		if got := g.backend.Opened()[0].Profile; got != "cheap" {
			t.Errorf("profile %q", got)
		}
	})
}

func TestAnOldListIsRenewedByARequestThatUsesIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := serve(t, daemontest.New("default"))
		g.do(http.MethodGet, "/v1/models", "")
		time.Sleep(time.Hour)
		asked := g.backend.Asked()
		completed(t, g.chat(ask("hi")))
		synctest.Wait()
		if n := g.backend.Asked() - asked; n != 1 {
			t.Errorf("asked %d times, want 1", n)
		}
	})
}

func TestCloseEndsTheQuestionToTheBackend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := daemontest.New("default")
		defer b.HoldProfiles()()
		g := serve(t, b)
		synctest.Wait()
		if b.Waiting() != 1 {
			t.Fatalf("%d questions", b.Waiting())
		}
		if err := errors.Join(g.stop(), g.daemon.Close()); err != nil || b.Waiting() != 0 {
			t.Errorf("the end of the daemon: %v, %d questions", err, b.Waiting())
		}
	})
}

func TestAProfileMadeAMomentAgoCanBeUsed(t *testing.T) {
	t.Parallel()
	g := serve(t, daemontest.New("default"))
	g.do(http.MethodGet, "/v1/models", "")
	g.backend.SetProfiles(agentapi.Profile{Name: "default"}, agentapi.Profile{Name: "new"})
	body := strings.Replace(ask("hi"), "openhands_default", "openhands_new", 1)
	completed(t, g.chat(body))
	if got := g.backend.Opened()[0].Profile; got != "new" {
		t.Errorf("profile %q", got)
	}
}

func TestATokenSeesAndUsesItsModelsOnly(t *testing.T) {
	t.Parallel()
	b := daemontest.New("default", "cheap")
	g := serve(t, b)
	limited := []string{"Authorization", "Bearer " + limitedKey}
	if diff := cmp.Diff([]string{"openhands_cheap"}, ids(listed(t, g.do(http.MethodGet, "/v1/models", "", limited...)))); diff != "" {
		t.Error(diff)
	}
	envelope(t, g.do(http.MethodGet, "/v1/models/openhands_default", "", limited...), http.StatusNotFound, "model_not_found", "model")
	for _, model := range []string{"openhands_default", "openhands"} {
		envelope(t, g.chat(strings.Replace(ask("hi"), "openhands_default", model, 1), limited...), http.StatusNotFound, "model_not_found", "model")
	}
	completed(t, g.chat(strings.Replace(ask("hi"), "openhands_default", "openhands_cheap", 1), limited...))
	if n := b.Runs(); n != 1 {
		t.Errorf("%d runs, want 1", n)
	}
}

func TestTheNameOfTheActiveProfileIsANameOfThatProfile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := serve(t, daemontest.New("default", "cheap"))
		limited := []string{"Authorization", "Bearer " + limitedKey}
		active := strings.Replace(ask("hi"), "openhands_default", "openhands", 1)
		envelope(t, g.chat(active, limited...), http.StatusNotFound, "model_not_found", "model")
		g.backend.SetProfiles(agentapi.Profile{Name: "cheap", Active: true}, agentapi.Profile{Name: "default"})
		time.Sleep(3 * time.Second)
		if diff := cmp.Diff([]string{"openhands", "openhands_cheap"}, ids(listed(t, g.do(http.MethodGet, "/v1/models", "", limited...)))); diff != "" {
			t.Error(diff)
		}
		completed(t, g.chat(active, limited...))
	})
}

// Clients join a base URL and a path in many ways: without /v1, with two slashes,
// with one at the end.
func TestRoutesForgiveBaseURLs(t *testing.T) {
	t.Parallel()
	g := serve(t, script(daemontest.Finish("hello")))
	for _, path := range []string{"/v1/models", "/models", "//v1//models", "/v1/models/", "/models//", "/v1/./models", "/v1/x/../models", "/v1/models?limit=5"} {
		if n := len(listed(t, g.do(http.MethodGet, path, "")).Data); n != 3 {
			t.Errorf("%s: %d models", path, n)
		}
	}
	for _, path := range []string{"/v1/chat/completions", "/chat/completions", "/v1//chat//completions/", "/chat/completions/"} {
		if got := completed(t, g.do(http.MethodPost, path, ask("hi"))).text(); got != "hello" {
			t.Errorf("%s: %q", path, got)
		}
	}
}

// An unknown path is 404 and a wrong method 405, in JSON: SDKs read nothing else.
func TestUnknownPathsAndMethodsGetTheEnvelope(t *testing.T) {
	t.Parallel()
	g := serve(t, daemontest.New("default"))
	for _, path := range []string{"/v1/nothing", "/api/tags", "/api/version", "/props", "/v1/internal/model/info", "/v1/v1/models", "/v1/embeddings", "/v1x", "/..%2f..%2fetc/passwd"} {
		e := envelope(t, g.do(http.MethodGet, path, ""), http.StatusNotFound, "unknown_url", "")
		want := "GET /"
		if strings.HasPrefix(path, "/v1/") { // as the client wrote it
			want = "GET " + path + "."
		}
		if !strings.Contains(e["message"].(string), want) {
			t.Errorf("message %q", e["message"])
		}
	}
	for _, tc := range []struct{ method, path, allow string }{
		{http.MethodGet, "/v1/chat/completions", "POST"},
		{http.MethodDelete, "/v1/chat/completions", "POST"},
		{http.MethodPost, "/v1/models", "GET, HEAD"},
		{http.MethodDelete, "/v1/models/openhands_default", "GET, HEAD"},
		{http.MethodPost, "/healthz", "GET, HEAD"},
		{http.MethodPut, "/", "GET, HEAD"},
		{http.MethodOptions, "/v1/models", "GET, HEAD"},
	} {
		res := g.do(tc.method, tc.path, "")
		envelope(t, res, http.StatusMethodNotAllowed, "method_not_allowed", "")
		if got := res.header.Get("Allow"); got != tc.allow {
			t.Errorf("%s %s: Allow %q, want %q", tc.method, tc.path, got, tc.allow)
		}
	}
}

// UIs probe / and /health before they have a key.
func TestProbesNeedNoKeyAndTellNothing(t *testing.T) {
	t.Parallel()
	g := serve(t, daemontest.New("default"))
	for path, want := range map[string]string{
		"/":          "ohgw: the API is at /v1\n",
		"/health":    `{"status":"ok"}` + "\n",
		"/v1/health": `{"status":"ok"}` + "\n",
		"/healthz":   `{"status":"ok"}` + "\n",
		"/readyz":    `{"status":"ok"}` + "\n",
	} {
		for _, auth := range []string{"", "Bearer wrong"} {
			res := g.do(http.MethodGet, path, "", "Authorization", auth)
			if res.status != http.StatusOK || res.body != want {
				t.Errorf("GET %s: %d %q", path, res.status, res.body)
			}
			res = g.do(http.MethodHead, path, "", "Authorization", auth)
			if res.status != http.StatusOK || res.body != "" {
				t.Errorf("HEAD %s: %d %q", path, res.status, res.body)
			}
		}
	}
}

func TestHealthTellsAClientWithAKeyEverything(t *testing.T) {
	t.Parallel()
	b := script(daemontest.Hang())
	g := serve(t, b)
	res := g.send(g.request(http.MethodPost, "/v1/chat/completions", ask("hi", streamed)))
	defer res.Body.Close()
	eventually(t, "the run runs", func() bool { return b.Runs() == 1 })
	b.SetDown(daemontest.Unavailable())
	var got daemon.Health
	if err := json.Unmarshal([]byte(g.do(http.MethodGet, "/healthz", "").body), &got); err != nil {
		t.Fatal(err)
	}
	want := daemon.Health{
		Status: "ok", Version: "9.9.9",
		Backend: &daemon.BackendHealth{
			Name: "scripted", Version: "1.2.3", Address: "http://127.0.0.1:8000", Why: "the test says so",
			Missing: []string{"It has no tools."}, Error: "The agent-server at 127.0.0.1:8000 cannot be reached.",
		},
		Runs: &daemon.RunHealth{Running: 1},
		Workspace: &gate.WorkspaceHealth{
			Choose: []string{}, Reason: "This API key may not choose the directory of a conversation; create one that may with ohgw tokens create NAME --workspace DIR.",
		},
		Confirmation: &gate.ConfirmationHealth{},
		Sandbox:      &daemon.SandboxHealth{Level: "backend", Open: []string{}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadinessFollowsTheBackend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := serve(t, daemontest.New("default"))
		ready := func() response { return g.do(http.MethodGet, "/readyz", "", "Authorization", "") }
		if res := ready(); res.status != http.StatusOK {
			t.Errorf("up: %d", res.status)
		}
		g.backend.SetDown(daemontest.Unavailable())
		time.Sleep(3 * time.Second)
		if e := envelope(t, ready(), http.StatusServiceUnavailable, "agent_server_unavailable", ""); strings.Contains(e["message"].(string), "127.0.0.1") {
			t.Errorf("tells %q without a key", e["message"])
		}
		g.backend.SetDown(nil)
		if res := ready(); res.status != http.StatusOK {
			t.Errorf("up again: %d", res.status)
		}
		release := g.backend.HoldProfiles()
		defer release()
		time.Sleep(3 * time.Second)
		envelope(t, ready(), http.StatusServiceUnavailable, "agent_server_unavailable", "")
	})
}

// An agent has its own name and description; a token with other models does not see
// it and cannot use it, and it is never the model for titles.
func TestAnAgentIsListedWithItsOwnNameAndDescription(t *testing.T) {
	t.Parallel()
	b := daemontest.New()
	b.SetProfiles(
		agentapi.Profile{Name: "agent_go", Model: "openai/slow", Agent: "Go Expert", Description: "Knows Go."},
		agentapi.Profile{Name: "fast", Model: "openai/fast"},
	)
	g := serve(t, b)
	list := listed(t, g.do(http.MethodGet, "/v1/models", ""))
	if diff := cmp.Diff([]string{"openhands_agent_go", "openhands_fast"}, ids(list)); diff != "" {
		t.Fatal(diff)
	}
	m := list.Data[0]
	if m.Name != "Go Expert" || m.Description != "Knows Go." || m.Info.Meta.Description != "Knows Go." || m.Extension.Agent != "Go Expert" || m.Extension.LLM != "openai/slow" {
		t.Errorf("%+v", m)
	}
	res := g.do(http.MethodPost, "/v1/chat/completions", `{"model":"openhands_agent_go","messages":[{"role":"user","content":"hi"}]}`)
	envelope(t, g.chat(`{"model":"openhands_agent_go","messages":[{"role":"user","content":"hi"}]}`, "Authorization", "Bearer "+limitedKey), http.StatusNotFound, "model_not_found", "model")
	if n := len(listed(t, g.do(http.MethodGet, "/v1/models", "", "Authorization", "Bearer "+limitedKey)).Data); n > 0 {
		t.Errorf("a limited token sees %d models", n)
	}
	if opened := b.Opened(); res.status != http.StatusOK || len(opened) != 1 || opened[0].Profile != "agent_go" {
		t.Errorf("%d %s %+v", res.status, res.body, opened)
	}
}
