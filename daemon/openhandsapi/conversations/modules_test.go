package conversations_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"
)

// TestAConversationNamesTheModulesOfItsTools has what the client said, what an
// agent-server would find, and nothing for tools that run in the client.
func TestAConversationNamesTheModulesOfItsTools(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	tools := `"agent":{"kind":"Agent","llm":{"model":"x"},"tools":[{"name":"grep"},{"name":"task_tracker"},{"name":"mine"},{"name":"ring"}]},`
	var info struct {
		Modules map[string]string `json:"tool_module_qualnames"`
		Runtime map[string]any    `json:"runtime_info"`
		ID      string
	}
	a.want(http.StatusCreated, http.MethodPost, "/api/conversations", `{`+tools+workMember+`,"tool_module_qualnames":{"mine":"my.tools","grep":"my.grep"}}`, &info)
	want := map[string]string{"mine": "my.tools", "grep": "my.grep", "task_tracker": "openhands.tools.task_tracker.definition"}
	if !maps.Equal(info.Modules, want) || info.Runtime != nil {
		t.Errorf("modules %v, want %v; runtime %v, want none", info.Modules, want, info.Runtime)
	}
	path := "/api/conversations/" + info.ID
	a.want(http.StatusOK, http.MethodGet, path, "", &info)
	if !maps.Equal(info.Modules, want) || info.Runtime["runtime_status"] != "available" {
		t.Errorf("modules %v, runtime %v", info.Modules, info.Runtime)
	}
	a.want(http.StatusCreated, http.MethodPost, "/api/conversations", minimal, &info)
	if code, got := a.ask(http.MethodGet, "/api/conversations/"+info.ID, ""); code != http.StatusOK || !strings.Contains(got, `"tool_module_qualnames":{}`) {
		t.Errorf("without tools: %d %s", code, got)
	}
	a.want(http.StatusOK, http.MethodPatch, path, `{"tags":{"k":"v"}}`, nil)
	var fork struct {
		Tags    map[string]string
		Runtime map[string]any `json:"runtime_info"`
	}
	a.want(http.StatusCreated, http.MethodPost, path+"/fork", `{"title":"F"}`, &fork)
	if fork.Tags == nil || len(fork.Tags) != 0 || fork.Runtime != nil {
		t.Errorf("a copy: %+v", fork)
	}
	a.want(http.StatusCreated, http.MethodPost, path+"/fork", `{"tags":{"x":"y"}}`, &fork)
	if len(fork.Tags) != 1 || fork.Tags["x"] != "y" {
		t.Errorf("a copy with tags: %+v", fork)
	}
}
