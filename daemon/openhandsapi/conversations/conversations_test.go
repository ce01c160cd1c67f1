package conversations_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/daemon/openhandsapi"
	"github.com/ohgw/ohgw/daemon/openhandsapi/conversations"
	"github.com/ohgw/ohgw/daemon/openhandsapi/nativetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// profiles knows one agent profile, and one whose LLM profile the engine does not know.
type profiles struct{}

const (
	profileID = "11111111-1111-4111-8111-111111111111"
	lostID    = "55555555-5555-4555-8555-555555555555"
)

func (profiles) AgentProfile(_ context.Context, id, llm string) (conversations.AgentProfile, error) {
	if id == lostID {
		return conversations.AgentProfile{ID: id, Settings: json.RawMessage(`{"agent_kind":"openhands"}`), LLM: "unknown"}, nil
	}
	if id != profileID {
		return conversations.AgentProfile{}, agentapi.ErrProfileNotFound
	}
	if llm == "" {
		llm = "fast"
	}
	return conversations.AgentProfile{ID: id, Revision: 3, Settings: json.RawMessage(`{"agent_kind":"openhands"}`), LLM: llm, Secrets: &[]string{"TOKEN"}, Ignored: []string{"public_skills"}}, nil
}

// api is the routes over an engine in memory.
type api struct {
	t       *testing.T
	engine  *nativetest.Engine
	handler http.Handler
	dir     string
}

func newAPI(t *testing.T) *api {
	t.Helper()
	a := &api{t: t, engine: &nativetest.Engine{}, dir: t.TempDir()}
	a.handler = openhandsapi.New(openhandsapi.Config{Routes: conversations.Routes(conversations.Config{
		Engine: a.engine, Dir: a.dir, Profiles: profiles{},
		Unseal: func(sealed string) (string, error) { return strings.TrimPrefix(sealed, "gAAAAA"), nil },
	})})
	return a
}

// ask makes a request and returns the status and the body.
func (a *api) ask(method, path, body string) (int, string) {
	a.t.Helper()
	w := httptest.NewRecorder()
	a.handler.ServeHTTP(w, httptest.NewRequestWithContext(a.t.Context(), method, path, strings.NewReader(body)))
	got, err := io.ReadAll(w.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return w.Code, string(got)
}

// want makes a request whose answer has a status, and decodes it.
func (a *api) want(status int, method, path, body string, into any) {
	a.t.Helper()
	code, got := a.ask(method, path, body)
	if code != status {
		a.t.Fatalf("%s %s %s: %d %s, want %d", method, path, body, code, got, status)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal([]byte(got), into); err != nil {
		a.t.Fatalf("%s %s: %v in %s", method, path, err, got)
	}
}

const (
	agentMember = `"agent":{"llm":{"model":"openai/m","api_key":"sk-1234"}}`
	workMember  = `"workspace":{"working_dir":"w"}`
	minimal     = `{` + agentMember + `,` + workMember + `}`
	nobody      = "/api/conversations/7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11"
)

// begin starts a conversation and returns its path.
func (a *api) begin() (path string, c *nativetest.Conversation) {
	a.t.Helper()
	var made struct{ ID string }
	a.want(http.StatusCreated, http.MethodPost, "/api/conversations", minimal, &made)
	c, err := a.engine.Get(made.ID)
	if err != nil {
		a.t.Fatal(err)
	}
	return "/api/conversations/" + made.ID, c
}

func TestAConversationFromItsStartToItsEnd(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	path, c := a.begin()
	if want := filepath.Join(a.dir, "w"); c.Started.Workspace != want {
		t.Errorf("workspace %q, want %q", c.Started.Workspace, want)
	}
	a.want(http.StatusOK, http.MethodPost, path+"/events", `{"content":[{"type":"text","text":"hi"}],"run":true}`, nil)
	var answer struct{ Response string }
	a.want(http.StatusOK, http.MethodGet, path+"/agent_final_response", "", &answer)
	if answer.Response != "hi" {
		t.Errorf("answered %q", answer.Response)
	}
	var page struct {
		Items []event.Event
		Next  *string `json:"next_page_id"`
	}
	a.want(http.StatusOK, http.MethodGet, path+"/events/search?kind=MessageEvent&limit=1", "", &page)
	if len(page.Items) != 1 || page.Next == nil {
		t.Fatalf("a page of one: %+v", page)
	}
	a.want(http.StatusOK, http.MethodGet, path+"/events/search?kind=openhands.sdk.event.llm_convertible.message.MessageEvent&sort_order=TIMESTAMP_DESC", "", &page)
	if len(page.Items) != 2 || page.Next != nil || page.Items[0].Source != event.SourceAgent {
		t.Errorf("newest first: %+v", page)
	}
	var n int
	a.want(http.StatusOK, http.MethodGet, path+"/events/count?source=user", "", &n)
	if n != 1 {
		t.Errorf("%d messages of the user", n)
	}
	var one event.Event
	a.want(http.StatusOK, http.MethodGet, path+"/events/"+page.Items[0].ID, "", &one)
	var some []*event.Event
	a.want(http.StatusOK, http.MethodGet, path+"/events", `["`+one.ID+`","none"]`, &some)
	if len(some) != 2 || some[0] == nil || some[1] != nil {
		t.Errorf("a batch: %v", some)
	}
	a.want(http.StatusOK, http.MethodPost, path+"/run", "", nil) // nothing to do
	a.want(http.StatusOK, http.MethodDelete, path, "", nil)
	a.want(http.StatusNotFound, http.MethodGet, path, "", nil)
}

func TestTheStartOfAConversation(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	const id = "7f1c0f7e5a3b4d519c430a7d5c2f8b12"
	body := `{` + agentMember + `,"workspace":{"working_dir":"` + filepath.ToSlash(t.TempDir()) + `"},"conversation_id":"` + id + `",
		"initial_message":{"content":[{"type":"text","text":"go"}],"run":false},"tags":{"a1":"b"},"max_iterations":"7","stuck_detection":false,
		"secrets":{"T":{"kind":"StaticSecret","value":"gAAAAAvalue"}},"secrets_encrypted":true,"autotitle":false,"unknown":1,
		"confirmation_policy":{"kind":"ConfirmRisky","x":1},"agent_launch_additions":{"system_message_suffix_append":"more"}}`
	var info map[string]json.RawMessage
	a.want(http.StatusCreated, http.MethodPost, "/api/conversations", body, &info)
	if string(info["id"]) != `"7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b12"` || len(info) != 35 || string(info["metrics"]) != "null" {
		t.Errorf("the conversation: %d members, %s", len(info), info["id"])
	}
	a.want(http.StatusOK, http.MethodPost, "/api/conversations", body, nil) // it is there
	c, err := a.engine.Get("7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b12")
	if err != nil {
		t.Fatal(err)
	}
	s := c.Started
	if c.Status() != event.Finished || s.MaxIterations != 7 || !s.NoStuck || s.Title || s.Suffix != "more" || s.Tags["a1"] != "b" {
		t.Errorf("started as %+v", s)
	}
	if got := string(s.Secrets["T"]); !strings.Contains(got, `"value":"value"`) {
		t.Errorf("secret %s", got)
	}
	if got := string(s.Policy); got != `{"confirm_unknown":true,"kind":"ConfirmRisky","threshold":"HIGH"}` {
		t.Errorf("policy %s", got)
	}
	if strings.Contains(string(s.Request), "value") || strings.Contains(string(s.Request), "sk-1234") {
		t.Errorf("secrets are kept: %s", s.Request)
	}
}

func TestTheStartByAnAgentProfile(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	var info struct {
		ID       string
		Launched struct {
			ID       string `json:"agent_profile_id"`
			Revision int
			Secrets  []string `json:"secret_refs"`
			Ignored  []string `json:"ignored_members"`
		} `json:"launched_agent_profile"`
	}
	a.want(http.StatusCreated, http.MethodPost, "/api/conversations", `{"agent_profile_id":"`+profileID+`","secrets":{"TOKEN":{"kind":"StaticSecret","value":"a"},"OTHER":{"kind":"StaticSecret","value":"b"}},`+workMember+`}`, &info)
	if info.Launched.ID != profileID || info.Launched.Revision != 3 || !slices.Equal(info.Launched.Secrets, []string{"TOKEN"}) || !slices.Equal(info.Launched.Ignored, []string{"public_skills"}) {
		t.Errorf("launched by %+v", info.Launched)
	}
	c, err := a.engine.Get(info.ID)
	if err != nil || c.Started.Profile != "fast" || c.Started.Settings == nil {
		t.Errorf("started as %+v, %v", c.Started, err)
	}
	if len(c.Started.Secrets) != 1 || c.Started.Secrets["TOKEN"] == nil {
		t.Errorf("secrets %v, want TOKEN, the only one that the agent profile names", c.Started.Secrets)
	}
	code, got := a.ask(http.MethodPost, "/api/conversations", `{"agent_profile_id":"33333333-3333-4333-8333-333333333333",`+workMember+`}`)
	if code != http.StatusNotFound || !strings.Contains(got, "Agent profile with id '33333333-3333-4333-8333-333333333333' not found") {
		t.Errorf("%d %s", code, got)
	}
}

func TestAStartNamesAnLLMProfileForAnAgentProfile(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	var info struct {
		ID       string
		Launched struct {
			LLM string `json:"llm_profile_ref"`
		} `json:"launched_agent_profile"`
	}
	const named = `"agent_launch_additions":{"llm_profile_ref":%q},` + workMember + `}`
	a.want(http.StatusCreated, http.MethodPost, "/api/conversations", fmt.Sprintf(`{"agent_profile_id":"`+profileID+`",`+named, "other"), &info)
	if c, err := a.engine.Get(info.ID); err != nil || c.Started.Profile != "other" || info.Launched.LLM != "other" {
		t.Errorf("started as %+v, %v; launched by %+v", c.Started, err, info.Launched)
	}
	for body, want := range map[string]string{
		fmt.Sprintf(`{"agent":{"llm":{"model":"m"}},`+named, "other"): "`agent_launch_additions.llm_profile_ref` requires `agent_profile_id`",
		fmt.Sprintf(`{"agent_profile_id":"`+profileID+`",`+named, ""): "at least 1 character",
	} {
		if code, got := a.ask(http.MethodPost, "/api/conversations", body); code != http.StatusUnprocessableEntity || !strings.Contains(got, want) {
			t.Errorf("%s: %d %s", body, code, got)
		}
	}
}

func TestWhatAConversationShows(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	path, c := a.begin()
	c.Started.Agent = nil // the one with a masked key and a skill
	var info struct {
		Agent struct {
			LLM     map[string]any
			Context struct{ Skills []any } `json:"agent_context"`
		}
		Created string `json:"created_at"`
	}
	a.want(http.StatusOK, http.MethodGet, path, "", &info)
	if key, has := info.Agent.LLM["api_key"]; key != nil || !has || info.Agent.LLM["num_retries"] != 5.0 || len(info.Agent.Context.Skills) != 0 {
		t.Errorf("the agent: %+v", info.Agent)
	}
	if info.Created != "2026-08-22T14:00:01.000000Z" {
		t.Errorf("made at %s", info.Created)
	}
	a.want(http.StatusOK, http.MethodGet, path+"?include_skills=true", "", &info)
	if len(info.Agent.Context.Skills) != 1 {
		t.Errorf("skills: %v", info.Agent.Context.Skills)
	}
}

// TestStatisticsOfTheLogHaveAllMembers asks in each way for an event as earlier versions
// have stored it.
func TestStatisticsOfTheLogHaveAllMembers(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	path, c := a.begin()
	c.Put(event.SourceEnvironment, &event.StateUpdate{Key: event.KeyStats, Value: json.RawMessage(`{"usage_to_metrics":{"x":{"accumulated_cost":3}}}`)})
	var page struct {
		Items []struct {
			ID string `json:"id"`
		} `json:"items"`
	}
	a.want(200, "GET", path+"/events/search?kind=ConversationStateUpdateEvent", "", &page)
	id := page.Items[len(page.Items)-1].ID
	for _, ask := range [][2]string{{"/events/search", ""}, {"/events/" + id, ""}, {"/events", `["` + id + `"]`}} {
		code, got := a.ask("GET", path+ask[0], ask[1])
		for _, member := range []string{`"max_budget_per_task":null`, `"accumulated_cost":3.0`, `"model":"default"`, `"response_id":""`} {
			if code != 200 || !strings.Contains(got, member) {
				t.Errorf("%s: %d, no %s in %s", ask[0], code, member, got)
			}
		}
	}
}

func TestTheListOfConversations(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	var paths []string
	for range 3 {
		path, _ := a.begin()
		paths = append(paths, path)
	}
	var page struct {
		Items []struct{ ID string }
		Next  *string `json:"next_page_id"`
	}
	a.want(http.StatusOK, http.MethodGet, "/api/conversations/search?limit=2", "", &page)
	if len(page.Items) != 2 || page.Next == nil || strings.Contains(*page.Next, "-") {
		t.Fatalf("a page: %+v", page)
	}
	if want := strings.TrimPrefix(paths[2], "/api/conversations/"); page.Items[0].ID != want {
		t.Errorf("the newest is %s, want %s", page.Items[0].ID, want)
	}
	a.want(http.StatusOK, http.MethodGet, "/api/conversations/search?limit=2&page_id="+*page.Next, "", &page)
	if len(page.Items) != 1 || page.Next != nil {
		t.Errorf("the last page: %+v", page)
	}
	var n int
	a.want(http.StatusOK, http.MethodGet, "/api/conversations/count?status=running", "", &n)
	if n != 0 {
		t.Errorf("%d run", n)
	}
	var some []*struct{ ID string }
	id := strings.ReplaceAll(strings.TrimPrefix(paths[0], "/api/conversations/"), "-", "")
	a.want(http.StatusOK, http.MethodGet, "/api/conversations?ids="+id+"&ids=7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11", "", &some)
	if len(some) != 2 || some[0] == nil || some[1] != nil {
		t.Errorf("a batch: %v", some)
	}
	a.want(http.StatusOK, http.MethodPatch, paths[0], `{"title":"T","tags":{"k":"v"}}`, nil)
	var info struct {
		Title string
		Tags  map[string]string
	}
	a.want(http.StatusOK, http.MethodGet, paths[0], "", &info)
	if info.Title != "T" || info.Tags["k"] != "v" {
		t.Errorf("changed to %+v", info)
	}
}

func TestTheSwitchesOfAConversation(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	path, c := a.begin()
	c.Hold = true
	for _, step := range []struct {
		status     int
		path, body string
	}{
		{200, "/run", ""},
		{409, "/run", ""},
		{409, "/goal", `{"objective":"o"}`},
		{200, "/pause", ""},
		{200, "/interrupt", ""},
		{200, "/goal", `{"objective":"o","max_iterations":3}`},
		{200, "/goal/stop", ""},
		{400, "/goal/resume", ""},
		{200, "/secrets", `{"secrets":{"A":"plain","B":{"value":"v"},"C":{"kind":"LookupSecret","url":"http://x"}}}`},
		{200, "/confirmation_policy", `{"policy":{"kind":"AlwaysConfirm"}}`},
		{200, "/security_analyzer", `{"security_analyzer":{"kind":"LLMSecurityAnalyzer"}}`},
		{200, "/security_analyzer", `{"security_analyzer":{"kind":"EnsembleSecurityAnalyzer","analyzers":[{"kind":"PatternSecurityAnalyzer"}]}}`},
		{422, "/security_analyzer", `{"security_analyzer":{"kind":"EnsembleSecurityAnalyzer","analyzers":[]}}`},
		{422, "/security_analyzer", `{"security_analyzer":{"kind":"EnsembleSecurityAnalyzer","analyzers":[{"kind":"Odd"}]}}`},
		{422, "/security_analyzer", `{"security_analyzer":{"kind":"PatternSecurityAnalyzer","high_patterns":1}}`},
		{422, "/security_analyzer", `{"security_analyzer":{"kind":"ToolShieldLLMSecurityAnalyzer"}}`},
		{422, "/security_analyzer", `{"security_analyzer":{"kind":"EnsembleSecurityAnalyzer","analyzers":[{"kind":"ToolShieldLLMSecurityAnalyzer"}]}}`},
		{200, "/switch_profile", `{"profile_name":"p"}`},
		{404, "/switch_profile", `{"profile_name":"unknown"}`},
		{400, "/switch_profile", `{"profile_name":"../unknown"}`},
		{200, "/switch_llm", `{"llm":{"model":"m","api_key":"gAAAAAkey"}}`},
		{200, "/load_plugin", `{"plugin_ref":"known"}`},
		{404, "/load_plugin", `{"plugin_ref":"other"}`},
		{409, "/load_plugin", `{"plugin_ref":"busy"}`},
		{400, "/load_plugin", `{"plugin_ref":""}`},
		{422, "/load_plugin", `{"plugin_ref":5}`},
		{422, "/load_plugin", `{}`},
		{200, "/ask_agent", `{"question":"q"}`},
		{409, "/condense", ""},
		{200, "/events/respond_to_confirmation", `{"accept":false}`},
		{200, "/events/respond_to_confirmation", `{"accept":false,"reason":"late"}`},
		{400, "/events/respond_to_confirmation", `{"accept":false,"reason":"refuse"}`},
		{200, "/events/respond_to_confirmation", `{"accept":true}`},
	} {
		a.want(step.status, http.MethodPost, path+step.path, step.body, nil)
	}
	want := map[string]json.RawMessage{
		"A": json.RawMessage(`{"kind":"StaticSecret","value":"plain"}`), "B": json.RawMessage(`{"description":null,"kind":"StaticSecret","value":"v"}`),
		"C": json.RawMessage(`{"description":null,"kind":"LookupSecret","url":"http://x"}`),
	}
	if diff := cmp.Diff(want, c.Secrets); diff != "" {
		t.Error(diff)
	}
	if c.Goal != "o" || c.Rounds != 3 || c.Profile != "p" || !strings.Contains(string(c.LLM), `"key"`) || c.Decided.Reason != "User rejected the action." {
		t.Errorf("told %+v", c)
	}
}

func TestForksAndBranches(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	path, _ := a.begin()
	a.want(http.StatusOK, http.MethodPost, path+"/events", `{"content":[{"type":"text","text":"hi"}],"run":true}`, nil)
	var fork struct {
		ID    string
		Title string
	}
	a.want(http.StatusCreated, http.MethodPost, path+"/fork", "", &fork)
	a.want(http.StatusCreated, http.MethodPost, path+"/fork", `{"title":"F","from_event_id":"e1"}`, &fork)
	var n int
	a.want(http.StatusOK, http.MethodGet, "/api/conversations/"+fork.ID+"/events/count", "", &n)
	if n != 1 || fork.Title != "F" {
		t.Errorf("a fork of %d events, %q", n, fork.Title)
	}
	a.want(http.StatusConflict, http.MethodPost, path+"/fork", `{"id":"`+fork.ID+`"}`, nil)
	a.want(http.StatusNotFound, http.MethodPost, path+"/fork", `{"from_event_id":"none"}`, nil)
	var info struct {
		Leaf *string `json:"leaf_event_id"`
	}
	a.want(http.StatusOK, http.MethodPost, path+"/navigate", `{"event_id":"e1"}`, &info)
	if info.Leaf == nil || *info.Leaf != "e1" {
		t.Errorf("at %v", info.Leaf)
	}
	a.want(http.StatusNotFound, http.MethodPost, path+"/navigate", `{"event_id":"none"}`, nil)
}

func TestThePluginsOfARequest(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	begin := func(plugins string) string {
		return `{` + agentMember + `,` + workMember + `,"plugins":` + plugins + `}`
	}
	var made struct{ ID string }
	a.want(http.StatusCreated, http.MethodPost, "/api/conversations", begin(`[{"source":"/p","repo_path":"a/b"},{"source":"~/q","ref":"v1","repo_path":null}]`), &made)
	c, err := a.engine.Get(made.ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]control.Plugin{{Source: "/p", Path: "a/b"}, {Source: "~/q", Ref: "v1"}}, c.Started.Plugins); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{`[{}]`, `["/p"]`, `{"source":"/p"}`, `[{"source":1}]`, `[{"source":"/p","repo_path":"/a"}]`, `[{"source":"/p","repo_path":"a/../b"}]`} {
		a.want(http.StatusUnprocessableEntity, http.MethodPost, "/api/conversations", begin(bad), nil)
	}
}

// What an agent-server 1.58.2 says of skills that it refuses; the places are those below
// agent_launch_additions.skills.
func TestSkillsOfALaunchThatAreRefused(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for skills, want := range map[string][]string{
		`{}`:                                 {"list_type /"},
		`[5]`:                                {"model_attributes_type /0/"},
		`[null]`:                             {"model_attributes_type /0/"},
		`[{}]`:                               {"missing /0/name/", "missing /0/content/"},
		`[{"content":"c"}]`:                  {"missing /0/name/"},
		`[{"name":"a"}]`:                     {"missing /0/content/"},
		`[{"name":5,"content":null}]`:        {"string_type /0/name/", "string_type /0/content/"},
		good(`"trigger":{}`):                 {"union_tag_not_found /0/trigger/"},
		good(`"trigger":{"type":"odd"}`):     {"union_tag_invalid /0/trigger/"},
		good(`"trigger":{"type":"keyword"}`): {"missing /0/trigger/keyword/keywords/"},
		good(`"trigger":{"type":"path","paths":"x"}`):        {"list_type /0/trigger/path/paths/"},
		good(`"trigger":{"type":"task","triggers":["a",5]}`): {"string_type /0/trigger/task/triggers/1/"},
		good(`"trigger":"x"`):                                {"model_attributes_type /0/trigger/"},
		good(`"inputs":[{}, 5]`):                             {"missing /0/inputs/0/name/", "missing /0/inputs/0/description/", "model_attributes_type /0/inputs/1/"},
		good(`"version":null,"license":5`):                   {"string_type /0/version/", "string_type /0/license/"},
		good(`"source":5,"license":5,"compatibility":5,"description":5`): {
			"string_type /0/source/", "string_type /0/description/", "string_type /0/license/", "string_type /0/compatibility/",
		},
		good(`"is_agentskills_format":"x","disable_model_invocation":5`): {"bool_parsing /0/is_agentskills_format/", "bool_parsing /0/disable_model_invocation/"},
		good(`"resources":{}`):                            {"missing /0/resources/skill_root/"},
		good(`"resources":{"skill_root":"/","assets":5}`): {"list_type /0/resources/assets/"},
		// An agent-server fails at these.
		good(`"mcp_tools":5`):     {"value_error /0/mcp_tools/"},
		good(`"metadata":5`):      {"value_error /0/metadata/"},
		good(`"allowed_tools":5`): {"value_error /0/allowed_tools/"},
	} {
		code, body := a.ask(http.MethodPost, "/api/conversations", `{`+agentMember+`,"agent_launch_additions":{"skills":`+skills+`},`+workMember+`}`)
		var answer struct {
			Detail []struct {
				Type string
				Loc  []any
			}
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil || code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", skills, code, body)
			continue
		}
		var got []string
		for _, d := range answer.Detail {
			place := "/"
			for _, part := range d.Loc[3:] {
				place += fmt.Sprint(part) + "/"
			}
			got = append(got, d.Type+" "+place)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", skills, got, want)
		}
	}
}

// good is a list of one skill with more members.
func good(members string) string { return `[{"name":"a","content":"c",` + members + `}]` }

// Skills are kept as OpenHands stores them: with all members, and nothing else. Their MCP servers,
// which are never started, are not kept, and neither are they in the stored request.
func TestTheSkillsOfALaunch(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	const plain = `"allowed_tools":null,"compatibility":null,"content":"c","description":null,"disable_model_invocation":false,"inputs":[],` +
		`"is_agentskills_format":false,"license":null,"mcp_tools":null,"metadata":null,"name":"a","resources":null,"source":null,"trigger":null,"version":"1.0.0"`
	for members, want := range map[string]string{
		`"odd":1`: plain,
		`"mcp_tools":{"x":{"command":"c","env":{"K":"a-secret"}}}`: plain,
		`"trigger":{"type":"keyword","keywords":["k"]}`:            strings.Replace(plain, `"trigger":null`, `"trigger":{"keywords":["k"],"type":"keyword"}`, 1),
		`"trigger":{"type":"path","paths":[]}`:                     strings.NewReplacer(`"trigger":null`, `"trigger":{"paths":[],"type":"path"}`, `invocation":false`, `invocation":true`).Replace(plain),
		`"allowed_tools":" x  y ","metadata":{"a":1,"b":true,"c":null,"d":"e"}`: strings.NewReplacer(`"allowed_tools":null`, `"allowed_tools":["x","y"]`,
			`"metadata":null`, `"metadata":{"a":"1","b":"True","c":"None","d":"e"}`).Replace(plain),
		`"is_agentskills_format":"yes","inputs":[{"name":"n","description":"d","odd":1}],"resources":{"skill_root":"/s","scripts":["x"]}`: strings.NewReplacer(
			`format":false`, `format":true`, `"inputs":[]`, `"inputs":[{"description":"d","name":"n"}]`,
			`"resources":null`, `"resources":{"assets":[],"references":[],"scripts":["x"],"skill_root":"/s"}`).Replace(plain),
	} {
		var info struct{ ID string }
		a.want(http.StatusCreated, http.MethodPost, "/api/conversations", `{`+agentMember+`,"agent_launch_additions":{"skills":`+good(members)+`,"system_message_suffix_append":"more"},`+workMember+`}`, &info)
		c, err := a.engine.Get(info.ID)
		if err != nil || len(c.Started.Skills) != 1 || string(c.Started.Skills[0]) != "{"+want+"}" {
			t.Errorf("%s: %s, %v", members, c.Started.Skills, err)
			continue
		}
		if request := string(c.Started.Request); strings.Contains(request, "skills") || strings.Contains(request, "a-secret") || !strings.Contains(request, "more") {
			t.Errorf("%s: the request is %s", members, request)
		}
	}
}
