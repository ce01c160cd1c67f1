package catalogue_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/daemon/openhandsapi/catalogue"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
)

func config() catalogue.Config {
	return catalogue.Config{
		Tools: []string{"apply_patch", "terminal"},
		Skills: func(dir string, own bool) []catalogue.Skill {
			var list []catalogue.Skill
			if dir != "" {
				list = append(list, catalogue.Skill{Name: "agents", Content: "Be kind.", Source: dir + "/AGENTS.md", Always: true})
			}
			if own {
				list = append(list, catalogue.Skill{Name: "tea", Content: "Boil.", Triggers: []string{"tea"}, Own: true})
			}
			return list
		},
		Agents: func(_ context.Context, dir string, own, builtin bool) []catalogue.Agent {
			var list []catalogue.Agent
			if dir != "" {
				list = append(list, catalogue.Agent{
					Name: "rev", Description: "Reviews.", Model: "inherit", Prompt: "Read.", Tools: []string{"terminal"}, Source: dir + "/rev.md", MaxBudget: 2, Permission: "always_confirm",
					Servers:   json.RawMessage(`{"s":{"command":"c","env":{"T":"**********"},"enabled":true}}`),
					Condenser: json.RawMessage(`{"kind":"LLMSummarizingCondenser","llm":{"model":"m","api_key":"secret-5","extra_headers":{"A":"secret-6"}}}`),
					Hooks:     json.RawMessage(`{"stop":[{"hooks":[{"command":"x"}]}]}`), ProfileDir: "/llms",
					Metadata: map[string]json.RawMessage{"team": json.RawMessage(`["a"]`)},
				})
			}
			if own {
				list = append(list, catalogue.Agent{Name: "mine", Source: "/home/mine.md", User: true, MaxIterations: 3, NoCondenser: true, Hooks: json.RawMessage(`{}`)})
			}
			if builtin {
				list = append(list, catalogue.Agent{Name: "general-purpose"})
			}
			return list
		},
		ReadFile: func(dir, name string) ([]byte, error) {
			if dir != "/project" || name != ".openhands/hooks.json" {
				return nil, os.ErrNotExist
			}
			return []byte(`{"hooks":{"PreToolUse":[{"matcher":"terminal","hooks":[{"command":"check.sh","async":true}]}]}}`), nil
		},
		TryServer: func(_ context.Context, t catalogue.Trial) (catalogue.Tried, error) {
			if t.Name == "bad" {
				return catalogue.Tried{}, errors.New("it does not start")
			}
			tried := catalogue.Tried{Tools: []string{"add"}}
			if t.Call != nil {
				tried.Result = &catalogue.Result{Text: "3"}
			}
			return tried, nil
		},
	}
}

func TestTheCatalogue(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	for _, route := range catalogue.Routes(config()) {
		mux.Handle(route.Method+" "+route.Path, wire.Answer(slog.New(slog.DiscardHandler), route.Handle))
	}
	const none = `"load_project":true,"load_user":false`
	for _, tt := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/api/tools/", "", 200, `["apply_patch","terminal"]`},
		{
			"GET", "/api/tools/catalog", "", 200,
			`{"tools":[{"name":"apply_patch","user_selectable":false,"usable":true,"description":"","in_default_set":false},` +
				`{"name":"terminal","user_selectable":true,"usable":true,"description":"Run commands in a shell that stays open.","in_default_set":true}]}`,
		},
		{"GET", "/api/skills/catalog", "", 200, `{"skills":[{"name":"tea","type":"knowledge","content":"Boil.","triggers":["tea"],"source":null,"description":null,"is_agentskills_format":false,"disable_model_invocation":false,"origin":"user"}]}`},
		{"POST", "/api/sub-agents", `{"load_user":false,"load_builtin":false}`, 200, `{"agents":[]}`},
		{"POST", "/api/sub-agents", `{"project_dir":"/project","load_project":false,"load_user":false}`, 200, `{"agents":[{"name":"general-purpose","description":"","model":"","color":null,` +
			`"tools":[],"skills":[],"system_prompt":"","when_to_use_examples":[],"permission_mode":null,"max_iteration_per_run":null,"max_budget_per_run":null,"mcp_config":null,` +
			`"mcp_servers":null,"profile_store_dir":null,"hooks":null,"condenser":null,"metadata":{},"level":"builtin","source":null,"is_builtin":true}]}`},
		{"POST", "/api/sub-agents", `{}`, 200, `"max_iteration_per_run":3,"max_budget_per_run":null,"mcp_config":null,"mcp_servers":null,"profile_store_dir":null,` +
			`"hooks":{"post_tool_use":[],"pre_tool_use":[],"session_end":[],"session_start":[],"stop":[],"user_prompt_submit":[]},"condenser":{"kind":"NoOpCondenser"},"metadata":{},"level":"user","source":"/home/mine.md","is_builtin":false`},
		{"POST", "/api/sub-agents", `{"project_dir":"/project"}`, 200, `"permission_mode":"always_confirm","max_iteration_per_run":null,"max_budget_per_run":2,` +
			`"mcp_config":{"s":{"command":"c","env":{"T":"**********"},"enabled":true}},"mcp_servers":{"s":{"command":"c","env":{"T":"**********"},"enabled":true}},"profile_store_dir":"/llms",` +
			`"hooks":{"post_tool_use":[],"pre_tool_use":[],"session_end":[],"session_start":[],"stop":[{"matcher":"*","hooks":[{"type":"command","name":null,"command":"x",` +
			`"prompt":null,"system_prompt":null,"tools":[],"timeout":60,"max_iterations":3,"async":false}]}],"user_prompt_submit":[]},"condenser":{"hard_context_reset_context_scaling":0.8,`},
		{"POST", "/api/sub-agents", `{"project_dir":"/project"}`, 200, `"api_key":"**********",`},
		{"POST", "/api/sub-agents", `{"project_dir":"/project"}`, 200, `"extra_headers":{"A":"**********"},`},
		{"POST", "/api/sub-agents", `{"project_dir":"/project"}`, 200, `"metadata":{"team":["a"]},"level":"project","source":"/project/rev.md"`},
		{"POST", "/api/sub-agents", `{"load_user":1.5}`, 422, `"loc":["body","load_user"]`},
		{
			"POST", "/api/skills", `{"project_dir":"/project",` + none + `}`, 200,
			`{"skills":[{"name":"agents","type":"repo","content":"Be kind.","triggers":[],"source":"/project/AGENTS.md","description":null,"is_agentskills_format":false,"disable_model_invocation":false}],` +
				`"sources":{"org":0,"project":1,"registered_marketplaces":0,"sandbox":0,"sdk_base":0}}`,
		},
		{"POST", "/api/skills", `{}`, 200, `"name":"tea","type":"knowledge","content":"Boil.","triggers":["tea"],"source":null`},
		{"POST", "/api/skills", `{"load_user":3}`, 422, `"type":"bool_parsing","loc":["body","load_user"]`},
		{"POST", "/api/hooks", `{"project_dir":"/project"}`, 200, `"pre_tool_use":[{"matcher":"terminal","hooks":[{"type":"command","name":null,"command":"check.sh","prompt":null,"system_prompt":null,"tools":[],"timeout":60,"max_iterations":3,"async":true}]}]`},
		{"POST", "/api/hooks", `{"project_dir":"/other"}`, 200, `{"hook_config":null}`},
		{"POST", "/api/hooks", `{}`, 200, `{"hook_config":null}`},
		{"POST", "/api/mcp/test", `{"server":{"command":"x"},"tool_call":{"name":"add"}}`, 200, `{"oauth_state":null,"ok":true,"resolved_mcp_servers":null,"tool_result":{"is_error":false,"text":"3"},"tools":["add"]}`},
		{"POST", "/api/mcp/test", `{"name":"bad","server":{"url":"http://127.0.0.1:1"}}`, 200, `{"error":"it does not start","error_kind":"connection","ok":false}`},
		{"POST", "/api/mcp/test", `{}`, 422, `"loc":["body","server"]`},
		{"POST", "/api/mcp/test", `{"server":{"command":"x"},"timeout":500}`, 422, `"loc":["body","timeout"]`},
		{"POST", "/api/mcp/test", ``, 422, `{"detail":[{"type":"missing","loc":["body"],"msg":"Field required","input":null}]}`},
	} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), tt.method, tt.path, strings.NewReader(tt.body)))
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s %s %s: status = %d, body = %s\nwant %d %s", tt.method, tt.path, tt.body, w.Code, w.Body, tt.status, tt.want)
		}
	}
}
