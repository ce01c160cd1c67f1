package conversations_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/event"
)

func TestAConversationFromItsStartToItsEnd(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	path, id := a.begin()
	if s, _ := a.stored(id); s.Workspace.Dir != filepath.Join(a.dir, "w") {
		t.Errorf("workspace %q, want w in %q", s.Workspace.Dir, a.dir)
	}
	a.say(path, "hi")
	var answer struct{ Response string }
	a.want(http.StatusOK, http.MethodGet, path+"/agent_final_response", "", &answer)
	if answer.Response != "You said: hi" {
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
		"secrets":{"T":{"kind":"StaticSecret","value":"gAAAAAdmFsdWU="}},"secrets_encrypted":true,"autotitle":false,"unknown":1,
		"confirmation_policy":{"kind":"ConfirmRisky","x":1},"agent_launch_additions":{"system_message_suffix_append":"more"}}`
	var info map[string]json.RawMessage
	a.want(http.StatusCreated, http.MethodPost, "/api/conversations", body, &info)
	if string(info["id"]) != `"7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b12"` || len(info) != 35 || string(info["metrics"]) != "null" {
		t.Errorf("the conversation: %d members, %s", len(info), info["id"])
	}
	a.want(http.StatusOK, http.MethodPost, "/api/conversations", body, nil) // it is there
	a.ended("/api/conversations/7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b12")
	var n int
	a.want(http.StatusOK, http.MethodGet, "/api/conversations/count?status=finished", "", &n)
	s, request := a.stored("7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b12")
	if n != 1 || s.Iterations != 7 || s.Stuck || s.Agent.Context.Suffix != "more" || s.Tags["a1"] != "b" {
		t.Errorf("%d have finished, started as %+v", n, s)
	}
	if got := s.Secrets.Sources["T"].Value; got == nil || *got != "value" {
		t.Errorf("secret %+v", s.Secrets)
	}
	if got := string(s.Policy); got != `{"confirm_unknown":true,"kind":"ConfirmRisky","threshold":"HIGH"}` {
		t.Errorf("policy %s", got)
	}
	if strings.Contains(request, `"value"`) || strings.Contains(request, "sk-1234") || !strings.Contains(request, `"autotitle":false`) {
		t.Errorf("kept of the request: %s", request)
	}
	if asked := a.llm.Requests(); len(asked) != 1 {
		t.Errorf("the model was asked %d times, want once, and not for a title", len(asked))
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
	s, _ := a.stored(info.ID)
	if s.Agent.LLM.Model != "openai/fast" {
		t.Errorf("started with %+v", s.Agent)
	}
	if len(s.Secrets.Sources) != 1 || s.Secrets.Sources["TOKEN"].Kind == "" {
		t.Errorf("secrets %v, want TOKEN, the only one that the agent profile names", s.Secrets)
	}
	code, got := a.ask(http.MethodPost, "/api/conversations", `{"agent_profile_id":"33333333-3333-4333-8333-333333333333",`+workMember+`}`)
	if code != http.StatusNotFound || !strings.Contains(got, "Agent profile with id '33333333-3333-4333-8333-333333333333' not found") {
		t.Errorf("status = %d, want 404, body = %s", code, got)
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
	if s, _ := a.stored(info.ID); s.Agent.LLM.Model != "openai/other" || info.Launched.LLM != "other" {
		t.Errorf("started with %+v; launched by %+v", s.Agent, info.Launched)
	}
	for body, want := range map[string]string{
		fmt.Sprintf(`{"agent":{"llm":{"model":"m"}},`+named, "other"): "`agent_launch_additions.llm_profile_ref` requires `agent_profile_id`",
		fmt.Sprintf(`{"agent_profile_id":"`+profileID+`",`+named, ""): "at least 1 character",
	} {
		if code, got := a.ask(http.MethodPost, "/api/conversations", body); code != http.StatusUnprocessableEntity || !strings.Contains(got, want) {
			t.Errorf("%s: status = %d, want 422, body = %s", body, code, got)
		}
	}
}

func TestWhatAConversationShows(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	path, _ := a.beginWith(`{"agent":{"kind":"Agent","llm":{"model":"openai/m","api_key":"sk-1234"},"agent_context":{"skills":[{"name":"s","content":"c"}]}},` + workMember + `}`)
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
	const layout = "2006-01-02T15:04:05.000000Z"
	if made, err := time.Parse(layout, info.Created); err != nil || made.Sub(began) > time.Minute || made.Format(layout) != info.Created {
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
	path, conversation := a.begin()
	a.say(path, "hi")
	id := a.rewrite(conversation, `"key":"stats"`, map[string]string{"value": `{"usage_to_metrics":{"x":{"accumulated_cost":3}}}`})
	for _, ask := range [][2]string{{"/events/search", ""}, {"/events/" + id, ""}, {"/events", `["` + id + `"]`}} {
		code, got := a.ask("GET", path+ask[0], ask[1])
		for _, member := range []string{`"max_budget_per_task":null`, `"accumulated_cost":3.0`, `"model":"default"`, `"response_id":""`} {
			if code != 200 || !strings.Contains(got, member) {
				t.Errorf("%s: status = %d, want 200, no %s in %s", ask[0], code, member, got)
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

func TestThePluginsOfARequest(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	begin := func(plugins string) string {
		return `{` + agentMember + `,` + workMember + `,"plugins":` + plugins + `}`
	}
	dir := filepath.ToSlash(t.TempDir())
	written(t, dir, map[string]string{"one/a/b/commands/x.md": "X.", "two/commands/y.md": "Y."})
	_, id := a.beginWith(begin(`[{"source":"` + dir + `/one","repo_path":"a/b"},{"source":"` + dir + `/two","ref":null,"repo_path":null}]`))
	if s, _ := a.stored(id); len(s.Agent.Context.Skills) != 2 || !strings.Contains(string(s.Agent.Context.Skills[0]), "b:x") || !strings.Contains(string(s.Agent.Context.Skills[1]), "two:y") {
		t.Errorf("skills %s", s.Agent.Context.Skills)
	}
	code, got := a.ask(http.MethodPost, "/api/conversations", begin(`[{"source":"`+dir+`/one","repo_path":"a/b","ref":"v1"}]`))
	if code != http.StatusBadRequest || !strings.Contains(got, "it has a ref") {
		t.Errorf("a ref of a directory: %d %s", code, got)
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
			t.Errorf("%s: status = %d, want 422, body = %s", skills, code, body)
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
			t.Errorf("%s: errors = %q, want %q", skills, got, want)
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
		_, id := a.beginWith(`{` + agentMember + `,"agent_launch_additions":{"skills":` + good(members) + `,"system_message_suffix_append":"more"},` + workMember + `}`)
		s, request := a.stored(id)
		if len(s.Agent.Context.Skills) != 1 || string(s.Agent.Context.Skills[0]) != "{"+want+"}" || s.Agent.Context.Suffix != "more" {
			t.Errorf("%s: context = %+v", members, s.Agent.Context)
		}
		if strings.Contains(request, "skills") || strings.Contains(request, "a-secret") {
			t.Errorf("%s: the request is %s", members, request)
		}
	}
}
