package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/builtin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type switcher struct {
	names  []string
	listed error
	failed error
	to     string
}

func (s *switcher) Profiles() ([]string, error) { return s.names, s.listed }
func (s *switcher) SwitchLLM(_ context.Context, profile string) (string, error) {
	if s.failed != nil {
		return "", s.failed
	}
	s.to = profile
	return "model-of-" + profile, nil
}

func run(t *testing.T, x tool.Tool, args string) tool.Result {
	t.Helper()
	result, err := x.Run(t.Context(), tool.Call{Args: json.RawMessage(args)})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestResults(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tool tool.Tool
		args string
		want string // without cache_prompt
	}{
		"finish": {builtin.Finish(), `{"message":"done"}`, `{"content":[{"type":"text","text":"done"}],"is_error":false,"kind":"FinishObservation"}`},
		"think":  {builtin.Think(), `{"thought":"hm"}`, `{"content":[{"type":"text","text":"Noted."}],"is_error":false,"kind":"ThinkObservation"}`},
		"switch": {
			builtin.SwitchLLM(&switcher{names: []string{"b", "a"}}), `{"profile_name":"a","reason":"r"}`,
			`{"content":[{"type":"text","text":"From the next step on the profile \"a\" is used, with the model model-of-a."}],"is_error":false,"profile_name":"a","reason":"r","active_model":"model-of-a","kind":"SwitchLLMObservation"}`,
		},
		"switch to nothing": {
			builtin.SwitchLLM(&switcher{names: []string{"b", "a"}}), `{"profile_name":"c","reason":"r"}`,
			`{"content":[{"type":"text","text":"There is no profile \"c\". There are: a, b. The model stays the same."}],"is_error":true,"profile_name":"c","reason":"r","kind":"SwitchLLMObservation"}`,
		},
		"switch fails": {
			builtin.SwitchLLM(&switcher{names: []string{"a"}, failed: errors.New("no key")}), `{"profile_name":"a","reason":"r"}`,
			`{"content":[{"type":"text","text":"The profile \"a\" cannot be used: no key. The model stays the same."}],"is_error":true,"profile_name":"a","reason":"r","kind":"SwitchLLMObservation"}`,
		},
		"profiles unreadable": {
			builtin.SwitchLLM(&switcher{listed: errors.New("broken")}), `{"profile_name":"a","reason":"r"}`,
			`{"content":[{"type":"text","text":"The profiles cannot be read: broken. The model stays the same."}],"is_error":true,"profile_name":"a","reason":"r","kind":"SwitchLLMObservation"}`,
		},
	} {
		result := run(t, test.tool, test.args)
		got := strings.ReplaceAll(string(result.Observation), `"cache_prompt":false,`, "")
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if err := test.tool.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestDefinitionsAreWhole(t *testing.T) {
	t.Parallel()
	for _, x := range []tool.Tool{builtin.Finish(), builtin.Think(), builtin.SwitchLLM(&switcher{names: []string{"fast", "best"}}), builtin.RouteTask(&router{})} {
		d := x.Definition()
		if _, err := d.Offer(); err != nil || d.Description == "" || !strings.HasSuffix(d.ActionKind, "Action") {
			t.Errorf("Definition = %+v, error %v", d, err)
		}
	}
	if text := builtin.SwitchLLM(&switcher{names: []string{"fast", "best"}}).Definition().Description; !strings.HasSuffix(text, "- best\n- fast") {
		t.Error(text)
	}
}

func TestLocks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tool tool.Tool
		want []string
	}{
		"finish": {builtin.Finish(), []string{}}, "think": {builtin.Think(), []string{}},
		"switch": {builtin.SwitchLLM(&switcher{}), nil}, "route": {builtin.RouteTask(&router{}), nil},
	} {
		if diff := cmp.Diff(test.want, test.tool.Locks(json.RawMessage(`{"name":"a"}`))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
