package conversations_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/event"
)

// written writes files below a directory.
func written(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// hang is a message at which the model never answers.
const hang = `{"content":[{"type":"text","text":"[[hang]]"}],"run":false}`

func TestTheSwitchesOfARun(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	dir := t.TempDir()
	written(t, dir, map[string]string{
		".plugin/marketplace.json": `{"name":"m","owner":{"name":"o"},"plugins":[{"name":"known","source":"./known"}]}`,
		"known/commands/a.md":      "x",
	})
	path, id := a.beginWith(`{"agent":{"llm":{"model":"openai/m"},"agent_context":{"registered_marketplaces":[{"name":"m","source":"` + filepath.ToSlash(dir) + `"}]}},"autotitle":false,` + workMember + `}`)
	a.steps(
		path,
		step{400, "/goal/resume", ""},
		step{200, "/goal/stop", ""},
		step{200, "/events", hang},
		step{200, "/run", ""},
	)
	a.llm.Await(t, 1)
	a.steps(
		path,
		step{409, "/run", ""},
		step{409, "/goal", `{"objective":"o"}`},
		step{409, "/load_plugin", `{"plugin_ref":"known"}`},
		step{200, "/pause", ""},
		step{200, "/interrupt", ""},
		step{200, "/load_plugin", `{"plugin_ref":"known"}`},
		step{404, "/load_plugin", `{"plugin_ref":"other"}`},
		step{400, "/load_plugin", `{"plugin_ref":""}`},
		step{422, "/load_plugin", `{"plugin_ref":5}`},
		step{422, "/load_plugin", `{}`},
		step{200, "/goal", `{"objective":"[[hang]]","max_iterations":3}`},
	)
	a.llm.Await(t, 2)
	a.steps(
		path,
		step{200, "/goal/stop", ""},
		step{200, "/interrupt", ""},
		step{409, "/condense", ""},
	)
	var answer struct{ Response string }
	a.want(http.StatusOK, http.MethodPost, path+"/ask_agent", `{"question":"[[say an answer]]"}`, &answer)
	if answer.Response != "an answer" {
		t.Errorf("answered %q", answer.Response)
	}
	if s, _ := a.stored(id); len(s.Agent.Context.Skills) != 1 || !strings.Contains(string(s.Agent.Context.Skills[0]), "known:a") {
		t.Errorf("skills %s", s.Agent.Context.Skills)
	}
	const stopped = `"max_iterations":3,"objective":"[[hang]]","status":"interrupted"`
	if code, log := a.ask(http.MethodGet, path+"/events/search?kind=ConversationStateUpdateEvent", ""); code != http.StatusOK || !strings.Contains(log, stopped) {
		t.Errorf("status = %d, want 200, no %s in %s", code, stopped, log)
	}
}

func TestTheSwitchesOfAConversation(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	path, id := a.begin()
	a.steps(
		path,
		step{200, "/secrets", `{"secrets":{"A":"plain","B":{"value":"v"},"C":{"kind":"LookupSecret","url":"http://x"}}}`},
		step{200, "/security_analyzer", `{"security_analyzer":{"kind":"LLMSecurityAnalyzer"}}`},
		step{200, "/security_analyzer", `{"security_analyzer":{"kind":"EnsembleSecurityAnalyzer","analyzers":[{"kind":"PatternSecurityAnalyzer"}]}}`},
		step{422, "/security_analyzer", `{"security_analyzer":{"kind":"EnsembleSecurityAnalyzer","analyzers":[]}}`},
		step{422, "/security_analyzer", `{"security_analyzer":{"kind":"EnsembleSecurityAnalyzer","analyzers":[{"kind":"Odd"}]}}`},
		step{422, "/security_analyzer", `{"security_analyzer":{"kind":"PatternSecurityAnalyzer","high_patterns":1}}`},
		step{422, "/security_analyzer", `{"security_analyzer":{"kind":"ToolShieldLLMSecurityAnalyzer"}}`},
		step{422, "/security_analyzer", `{"security_analyzer":{"kind":"EnsembleSecurityAnalyzer","analyzers":[{"kind":"ToolShieldLLMSecurityAnalyzer"}]}}`},
		step{404, "/switch_profile", `{"profile_name":"unknown"}`},
		step{400, "/switch_profile", `{"profile_name":"../unknown"}`},
		step{200, "/switch_profile", `{"profile_name":"other"}`},
	)
	s, _ := a.stored(id)
	plain, v := "plain", "v"
	want := map[string]source{
		"A": {Kind: "StaticSecret", Value: &plain}, "B": {Kind: "StaticSecret", Value: &v}, "C": {Kind: "LookupSecret", URL: "http://x"},
	}
	if diff := cmp.Diff(want, s.Secrets.Sources); diff != "" {
		t.Error(diff)
	}
	if s.Agent.LLM.Model != "openai/other" || !strings.Contains(string(s.Analyzer), "PatternSecurityAnalyzer") {
		t.Errorf("switched to %+v", s)
	}
	a.steps(path, step{200, "/switch_llm", `{"llm":{"model":"openai/new","usage_id":"new","api_key":"gAAAAAa2V5"}}`})
	s, _ = a.stored(id)
	if key, err := unseal(s.Agent.LLM.Key); err != nil || key != "key" || s.Agent.LLM.Model != "openai/new" {
		t.Errorf("switched to %+v with the key %q, %v", s.Agent.LLM, key, err)
	}
}

func TestADecision(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	path, _ := a.begin()
	const decision = "/events/respond_to_confirmation"
	a.steps(path, step{200, "/confirmation_policy", `{"policy":{"kind":"AlwaysConfirm"}}`}, step{200, decision, `{"accept":false,"reason":"late"}`})
	a.runs(path, step{200, decision, `{"accept":true}`}) // nothing waits: a run that does nothing
	a.say(path, `[[tool terminal {"command":"echo no"}]]`)
	a.steps(path, step{200, decision, `{"accept":false}`})
	a.say(path, `[[tool terminal {"command":"echo yes"}]]`)
	a.runs(path, step{200, decision, `{"accept":true}`})
	var page struct{ Items []event.Event }
	a.want(http.StatusOK, http.MethodGet, path+"/events/search", "", &page)
	rejected, ran := 0, 0
	for _, e := range page.Items {
		switch b := e.Body.(type) {
		case *event.UserReject:
			rejected++
			if b.RejectionReason != "User rejected the action." {
				t.Errorf("rejected for %q", b.RejectionReason)
			}
		case *event.Observation:
			ran++
		}
	}
	if rejected != 1 || ran != 1 {
		t.Errorf("%d actions were rejected and %d ran", rejected, ran)
	}
}

func TestForksAndBranches(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	path, _ := a.begin()
	a.say(path, "hi")
	var page struct{ Items []event.Event }
	a.want(http.StatusOK, http.MethodGet, path+"/events/search?limit=2", "", &page)
	question := page.Items[1].ID
	var fork struct {
		ID    string
		Title string
	}
	a.want(http.StatusCreated, http.MethodPost, path+"/fork", "", &fork)
	a.want(http.StatusCreated, http.MethodPost, path+"/fork", `{"title":"F","from_event_id":"`+question+`"}`, &fork)
	a.want(http.StatusOK, http.MethodGet, "/api/conversations/"+fork.ID+"/events/search", "", &page)
	if len(page.Items) != 2 || page.Items[1].Source != event.SourceUser || fork.Title != "F" {
		t.Errorf("a fork of %+v, %q", page.Items, fork.Title)
	}
	a.want(http.StatusConflict, http.MethodPost, path+"/fork", `{"id":"`+fork.ID+`"}`, nil)
	a.want(http.StatusNotFound, http.MethodPost, path+"/fork", `{"from_event_id":"none"}`, nil)
	var info struct {
		Leaf *string `json:"leaf_event_id"`
	}
	a.want(http.StatusOK, http.MethodPost, path+"/navigate", `{"event_id":"`+question+`"}`, &info)
	if info.Leaf == nil || *info.Leaf != question {
		t.Errorf("at %v", info.Leaf)
	}
	a.want(http.StatusNotFound, http.MethodPost, path+"/navigate", `{"event_id":"none"}`, nil)
}
