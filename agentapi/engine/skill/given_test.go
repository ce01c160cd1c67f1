package skill_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/skill"
)

func TestGivenSkills(t *testing.T) {
	t.Parallel()
	source, err := filepath.Abs(filepath.Join("frob", "SKILL.md"))
	if err != nil {
		t.Fatal(err)
	}
	path, err := json.Marshal(source)
	if err != nil {
		t.Fatal(err)
	}
	got := skill.Given(json.RawMessage(`[
		{"name":"frob","content":"Turn it.","description":"Turns.","source":` + string(path) + `,"is_agentskills_format":true},
		{"name":"silent","content":"s","is_agentskills_format":true,"disable_model_invocation":true,"trigger":{"type":"keyword","keywords":["hush"]}},
		{"name":"repo","content":"Always."},
		{"name":"rule","content":"r","trigger":{"type":"path","paths":["*.go"]}},
		{"name":7}, {}, null]`))
	want := []skill.Skill{
		{Name: "frob", Body: "Turn it.", Description: "Turns.", Path: source, Dir: filepath.Dir(source), Invocable: true},
		{Name: "silent", Body: "s", Triggers: []string{"hush"}},
		{Name: "repo", Body: "Always.", Always: true},
		{Name: "rule", Body: "r", Paths: []string{"*.go"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := skill.Given(json.RawMessage(`{}`)); got != nil {
		t.Errorf("the skills of an object: %v", got)
	}
}
