package completions_test

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
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/openai"
)

func listed(t testing.TB, res apitest.Response) openai.ModelList {
	t.Helper()
	if res.Status != http.StatusOK {
		t.Fatalf("status %d: %s", res.Status, res.Body)
	}
	apitest.Valid(t, "model-list", []byte(res.Body))
	var list openai.ModelList
	if err := json.Unmarshal([]byte(res.Body), &list); err != nil {
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
	g := apitest.Serve(t, b)
	list := listed(t, g.Do(http.MethodGet, "/v1/models", ""))
	if diff := cmp.Diff([]string{"openhands", "openhands_cheap", "openhands_default"}, ids(list)); diff != "" {
		t.Fatal(diff)
	}
	for _, m := range list.Data {
		if m.Created <= 0 || m.OwnedBy != "openhands" || m.Object != "model" || m.Name == "" {
			t.Errorf("the model = %+v", m)
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
	g := apitest.Serve(t, daemontest.New())
	res := g.Do(http.MethodGet, "/v1/models", "")
	if want := `{"object":"list","data":[]}` + "\n"; res.Body != want {
		t.Errorf("body %q, want %q", res.Body, want)
	}
}

// A model with a slash in its id is found, escaped or not; an unknown one is 404.
func TestOneModelEqualsItsEntryInTheList(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, daemontest.New("default", "team/a b"))
	entry := make(map[string]openai.Model)
	for _, m := range listed(t, g.Do(http.MethodGet, "/v1/models", "")).Data {
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
		res := g.Do(http.MethodGet, "/v1/models/"+path, "")
		apitest.Valid(t, "model", []byte(res.Body))
		var m openai.Model
		if err := json.Unmarshal([]byte(res.Body), &m); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(entry[id], m); diff != "" || m.ID != id {
			t.Errorf("%s: %s", path, diff)
		}
	}
	apitest.Envelope(t, g.Do(http.MethodGet, "/v1/models/openhands_x", ""), http.StatusNotFound, "model_not_found", "model")
	apitest.Envelope(t, g.Do(http.MethodGet, "/v1/models/gpt-4o", ""), http.StatusNotFound, "model_not_found", "model")
}

// stillListed checks, a minute later, that the models are the same, and come in time.
func stillListed(t *testing.T, g *apitest.Gateway, want openai.ModelList, most time.Duration) {
	t.Helper()
	time.Sleep(time.Minute)
	began := time.Now()
	if diff := cmp.Diff(want, listed(t, g.Do(http.MethodGet, "/v1/models", ""))); diff != "" {
		t.Error(diff)
	}
	if took := time.Since(began); took > most {
		t.Errorf("took %v", took)
	}
}

// Models answer from memory while the backend is down, and with 503 if it never was
// there.
func TestModelsAnswerWhileTheBackendIsDown(t *testing.T) {
	t.Parallel()
	t.Run("seen before", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			g := apitest.Serve(t, daemontest.New("default"))
			want := listed(t, g.Do(http.MethodGet, "/v1/models", ""))
			g.Backend.SetDown(daemontest.Unavailable())
			for range 3 {
				stillListed(t, g, want, time.Second-1)
			}
		})
	})
	t.Run("seen before, and it hangs", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			g := apitest.Serve(t, daemontest.New("default"))
			want := listed(t, g.Do(http.MethodGet, "/v1/models", ""))
			release := g.Backend.HoldProfiles()
			defer release()
			for _, most := range []time.Duration{100 * time.Millisecond, time.Second, time.Second} {
				stillListed(t, g, want, most)
			}
		})
	})
	t.Run("never seen", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := daemontest.New("default")
			b.SetDown(daemontest.Unavailable())
			g := apitest.Serve(t, b)
			res := g.Do(http.MethodGet, "/v1/models", "")
			apitest.Envelope(t, res, http.StatusServiceUnavailable, "agent_server_unavailable", "")
			if res.Header.Get("Retry-After") != "2" {
				t.Errorf("Retry-After %q", res.Header.Get("Retry-After"))
			}
			b.SetDown(nil)
			if got := ids(listed(t, g.Do(http.MethodGet, "/v1/models", ""))); len(got) != 2 {
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
			g := apitest.Serve(t, b)
			began := time.Now()
			apitest.Envelope(t, g.Do(http.MethodGet, "/v1/models", ""), http.StatusServiceUnavailable, "agent_server_unavailable", "")
			if took := time.Since(began); took >= time.Second {
				t.Errorf("took %v", took)
			}
		})
	})
}

// TestTheFirstListOfTheEmbeddedAgentIsWaitedFor has a machine on which the list takes longer
// than a UI waits for another server.
func TestTheFirstListOfTheEmbeddedAgentIsWaitedFor(t *testing.T) {
	t.Parallel()
	embedded := func(c *daemon.Config) { c.InProcess = true }
	t.Run("it is slow", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := daemontest.New("default")
			g := apitest.Serve(t, b, embedded)
			defer time.AfterFunc(4*time.Second, b.HoldProfiles()).Stop()
			if got := ids(listed(t, g.Do(http.MethodGet, "/v1/models", ""))); len(got) != 2 {
				t.Errorf("the list is %v", got)
			}
		})
	})
	t.Run("it never comes", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := daemontest.New("default")
			defer b.HoldProfiles()()
			g := apitest.Serve(t, b, embedded)
			began := time.Now()
			for _, res := range []apitest.Response{g.Do(http.MethodGet, "/v1/models", ""), g.Chat(apitest.Ask("go"))} {
				apitest.Envelope(t, res, http.StatusServiceUnavailable, "agent_unavailable", "")
				apitest.Lacks(t, "the message", res.Body, "agent-server")
			}
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("took %v", took)
			}
		})
	})
}

func TestTheListIsAskedForOnceInTwoSecondsAndFollowsTheFiles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := apitest.Serve(t, daemontest.New("default"))
		for range 100 {
			g.Do(http.MethodGet, "/v1/models", "")
		}
		if n := g.Backend.Asked(); n != 1 {
			t.Errorf("asked %d times, want 1", n)
		}
		g.Backend.SetProfiles(agentapi.Profile{Name: "new"})
		time.Sleep(3 * time.Second)
		if diff := cmp.Diff([]string{"openhands_new"}, ids(listed(t, g.Do(http.MethodGet, "/v1/models", "")))); diff != "" {
			t.Error(diff)
		}
	})
}

func TestClientsThatAskTogetherShareOneQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := daemontest.New("default")
		release := b.HoldProfiles()
		g := apitest.Serve(t, b)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { listed(t, g.Do(http.MethodGet, "/v1/models", "")) })
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
		g := apitest.Serve(t, daemontest.New("default"))
		g.Do(http.MethodGet, "/v1/models", "")
		time.Sleep(time.Hour)
		release := g.Backend.HoldProfiles()
		defer release()
		began := time.Now()
		g.Cut(apitest.Ask("go", apitest.Streamed), 1)
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
				g := apitest.Serve(t, daemontest.New("default"))
				g.Do(http.MethodGet, "/v1/models", "")
				time.Sleep(time.Hour)
				release := sync.OnceFunc(g.Backend.HoldProfiles())
				defer release()
				defer time.AfterFunc(tt.delay, release).Stop()
				res := g.Chat(strings.Replace(apitest.Ask("go"), "openhands_default", "openhands_new", 1))
				if res.Status != tt.status || !strings.Contains(res.Body, tt.code) {
					t.Errorf("status %d, body %s", res.Status, res.Body)
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
		g := apitest.Serve(t, b)
		for range 2 { // the first asks, the second is told of it
			apitest.Envelope(t, g.Chat(apitest.Ask("go")), http.StatusServiceUnavailable, "agent_server_unavailable", "")
		}
	})
}

// The active profile is the choice of the user, not a guess.
func TestTheActiveProfileIsAskedForWhereTheListIsOld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := apitest.Serve(t, daemontest.New("default", "cheap"))
		g.Do(http.MethodGet, "/v1/models", "")
		time.Sleep(time.Hour)
		g.Backend.SetProfiles(agentapi.Profile{Name: "default"}, agentapi.Profile{Name: "cheap", Active: true})
		apitest.Completed(t, g.Chat(strings.Replace(apitest.Ask("hi"), "openhands_default", "openhands", 1)))
		if got := g.Backend.Opened()[0].Profile; got != "cheap" {
			t.Errorf("profile %q", got)
		}
	})
}

func TestAnOldListIsRenewedByARequestThatUsesIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := apitest.Serve(t, daemontest.New("default"))
		g.Do(http.MethodGet, "/v1/models", "")
		time.Sleep(time.Hour)
		asked := g.Backend.Asked()
		apitest.Completed(t, g.Chat(apitest.Ask("hi")))
		synctest.Wait()
		if n := g.Backend.Asked() - asked; n != 1 {
			t.Errorf("asked %d times, want 1", n)
		}
	})
}

func TestCloseEndsTheQuestionToTheBackend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := daemontest.New("default")
		defer b.HoldProfiles()()
		g := apitest.Serve(t, b)
		synctest.Wait()
		if b.Waiting() != 1 {
			t.Fatalf("%d questions", b.Waiting())
		}
		if err := errors.Join(g.Stop(), g.Daemon.Close()); err != nil || b.Waiting() != 0 {
			t.Errorf("the end of the daemon: %v, %d questions", err, b.Waiting())
		}
	})
}

func TestAProfileMadeAMomentAgoCanBeUsed(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, daemontest.New("default"))
	g.Do(http.MethodGet, "/v1/models", "")
	g.Backend.SetProfiles(agentapi.Profile{Name: "default"}, agentapi.Profile{Name: "new"})
	body := strings.Replace(apitest.Ask("hi"), "openhands_default", "openhands_new", 1)
	apitest.Completed(t, g.Chat(body))
	if got := g.Backend.Opened()[0].Profile; got != "new" {
		t.Errorf("profile %q", got)
	}
}

func TestATokenSeesAndUsesItsModelsOnly(t *testing.T) {
	t.Parallel()
	b := daemontest.New("default", "cheap")
	g := apitest.Serve(t, b)
	limited := []string{"Authorization", "Bearer " + apitest.LimitedKey}
	if diff := cmp.Diff([]string{"openhands_cheap"}, ids(listed(t, g.Do(http.MethodGet, "/v1/models", "", limited...)))); diff != "" {
		t.Error(diff)
	}
	apitest.Envelope(t, g.Do(http.MethodGet, "/v1/models/openhands_default", "", limited...), http.StatusNotFound, "model_not_found", "model")
	for _, model := range []string{"openhands_default", "openhands"} {
		apitest.Envelope(t, g.Chat(strings.Replace(apitest.Ask("hi"), "openhands_default", model, 1), limited...), http.StatusNotFound, "model_not_found", "model")
	}
	apitest.Completed(t, g.Chat(strings.Replace(apitest.Ask("hi"), "openhands_default", "openhands_cheap", 1), limited...))
	if n := b.Runs(); n != 1 {
		t.Errorf("%d runs, want 1", n)
	}
}

func TestTheNameOfTheActiveProfileIsANameOfThatProfile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := apitest.Serve(t, daemontest.New("default", "cheap"))
		limited := []string{"Authorization", "Bearer " + apitest.LimitedKey}
		active := strings.Replace(apitest.Ask("hi"), "openhands_default", "openhands", 1)
		apitest.Envelope(t, g.Chat(active, limited...), http.StatusNotFound, "model_not_found", "model")
		g.Backend.SetProfiles(agentapi.Profile{Name: "cheap", Active: true}, agentapi.Profile{Name: "default"})
		time.Sleep(3 * time.Second)
		if diff := cmp.Diff([]string{"openhands", "openhands_cheap"}, ids(listed(t, g.Do(http.MethodGet, "/v1/models", "", limited...)))); diff != "" {
			t.Error(diff)
		}
		apitest.Completed(t, g.Chat(active, limited...))
	})
}

// Clients join a base URL and a path in many ways: without /v1, with two slashes,
// with one at the end.
func TestRoutesForgiveBaseURLs(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Finish("hello")))
	for _, path := range []string{"/v1/models", "/models", "//v1//models", "/v1/models/", "/models//", "/v1/./models", "/v1/x/../models", "/v1/models?limit=5"} {
		if n := len(listed(t, g.Do(http.MethodGet, path, "")).Data); n != 3 {
			t.Errorf("%s: %d models", path, n)
		}
	}
	for _, path := range []string{"/v1/chat/completions", "/chat/completions", "/v1//chat//completions/", "/chat/completions/"} {
		if got := apitest.Completed(t, g.Do(http.MethodPost, path, apitest.Ask("hi"))).Text(); got != "hello" {
			t.Errorf(`%s: text = %q, want "hello"`, path, got)
		}
	}
}

// An unknown path is 404 and a wrong method 405, in JSON: SDKs read nothing else.
func TestUnknownPathsAndMethodsGetTheEnvelope(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, daemontest.New("default"))
	for _, path := range []string{"/v1/nothing", "/api/tags", "/api/version", "/props", "/v1/internal/model/info", "/v1/v1/models", "/v1/embeddings", "/v1x", "/..%2f..%2fetc/passwd"} {
		e := apitest.Envelope(t, g.Do(http.MethodGet, path, ""), http.StatusNotFound, "unknown_url", "")
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
		res := g.Do(tc.method, tc.path, "")
		apitest.Envelope(t, res, http.StatusMethodNotAllowed, "method_not_allowed", "")
		if got := res.Header.Get("Allow"); got != tc.allow {
			t.Errorf("%s %s: Allow %q, want %q", tc.method, tc.path, got, tc.allow)
		}
	}
}

// UIs probe / and /health before they have a key.
func TestProbesNeedNoKeyAndTellNothing(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, daemontest.New("default"))
	for path, want := range map[string]string{
		"/":          "ohgw: the API is at /v1\n",
		"/health":    `{"status":"ok"}` + "\n",
		"/v1/health": `{"status":"ok"}` + "\n",
		"/healthz":   `{"status":"ok"}` + "\n",
		"/readyz":    `{"status":"ok"}` + "\n",
	} {
		for _, auth := range []string{"", "Bearer wrong"} {
			res := g.Do(http.MethodGet, path, "", "Authorization", auth)
			if res.Status != http.StatusOK || res.Body != want {
				t.Errorf("GET %s: %d %q", path, res.Status, res.Body)
			}
			res = g.Do(http.MethodHead, path, "", "Authorization", auth)
			if res.Status != http.StatusOK || res.Body != "" {
				t.Errorf("HEAD %s: %d %q", path, res.Status, res.Body)
			}
		}
	}
}

func TestHealthTellsAClientWithAKeyEverything(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Hang())
	g := apitest.Serve(t, b)
	res := g.Send(g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("hi", apitest.Streamed)))
	defer res.Body.Close()
	apitest.Eventually(t, "the run runs", func() bool { return b.Runs() == 1 })
	b.SetDown(daemontest.Unavailable())
	var got daemon.Health
	if err := json.Unmarshal([]byte(g.Do(http.MethodGet, "/healthz", "").Body), &got); err != nil {
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
		g := apitest.Serve(t, daemontest.New("default"))
		ready := func() apitest.Response { return g.Do(http.MethodGet, "/readyz", "", "Authorization", "") }
		if res := ready(); res.Status != http.StatusOK {
			t.Errorf("up: %d", res.Status)
		}
		g.Backend.SetDown(daemontest.Unavailable())
		time.Sleep(3 * time.Second)
		if e := apitest.Envelope(t, ready(), http.StatusServiceUnavailable, "agent_server_unavailable", ""); strings.Contains(e["message"].(string), "127.0.0.1") {
			t.Errorf("tells %q without a key", e["message"])
		}
		g.Backend.SetDown(nil)
		if res := ready(); res.Status != http.StatusOK {
			t.Errorf("up again: %d", res.Status)
		}
		release := g.Backend.HoldProfiles()
		defer release()
		time.Sleep(3 * time.Second)
		apitest.Envelope(t, ready(), http.StatusServiceUnavailable, "agent_server_unavailable", "")
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
	g := apitest.Serve(t, b)
	list := listed(t, g.Do(http.MethodGet, "/v1/models", ""))
	if diff := cmp.Diff([]string{"openhands_agent_go", "openhands_fast"}, ids(list)); diff != "" {
		t.Fatal(diff)
	}
	m := list.Data[0]
	if m.Name != "Go Expert" || m.Description != "Knows Go." || m.Info.Meta.Description != "Knows Go." || m.Extension.Agent != "Go Expert" || m.Extension.LLM != "openai/slow" {
		t.Errorf("the model = %+v", m)
	}
	res := g.Do(http.MethodPost, "/v1/chat/completions", `{"model":"openhands_agent_go","messages":[{"role":"user","content":"hi"}]}`)
	apitest.Envelope(t, g.Chat(`{"model":"openhands_agent_go","messages":[{"role":"user","content":"hi"}]}`, "Authorization", "Bearer "+apitest.LimitedKey), http.StatusNotFound, "model_not_found", "model")
	if n := len(listed(t, g.Do(http.MethodGet, "/v1/models", "", "Authorization", "Bearer "+apitest.LimitedKey)).Data); n > 0 {
		t.Errorf("a limited token sees %d models", n)
	}
	if opened := b.Opened(); res.Status != http.StatusOK || len(opened) != 1 || opened[0].Profile != "agent_go" {
		t.Errorf("status = %d, want 200, body = %s, opened = %+v", res.Status, res.Body, opened)
	}
}
