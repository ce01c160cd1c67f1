package builtin_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/builtin"
	"github.com/ohgw/ohgw/internal/routing"
)

// router is a conversation whose classifier answers so.
type router struct {
	switcher

	meta   *routing.Router
	recent string
	answer string
	err    error    // of the classifier
	asked  []string // profile, system, user
}

func (r *router) Recent(context.Context) (string, error) { return r.recent, nil }

func (r *router) MetaProfile() (*routing.Router, error) {
	if r.meta == nil {
		return nil, errors.New("there is none")
	}
	return r.meta, nil
}

func (r *router) Classify(_ context.Context, profile, system, user string) (string, error) {
	r.asked = []string{profile, system, user}
	return r.answer, r.err
}

var (
	byClass = &routing.Router{Classifier: "fast", Classes: []routing.Class{{Description: "easy", Profile: "a"}, {Description: "hard", Profile: "gone"}}}
	byText  = &routing.Router{Classifier: "fast", Template: "{{instance_text}}"}
)

func TestATaskIsRouted(t *testing.T) {
	t.Parallel()
	names := switcher{names: []string{"b", "a"}}
	for name, tt := range map[string]struct {
		router *router
		want   string // without cache_prompt and kind
		to     string
	}{
		"class":               {&router{switcher: names, meta: byClass, answer: "1"}, `{"content":[{"type":"text","text":"The task is of the kind \"easy\". From the next step on the profile \"a\" is used, with the model model-of-a."}],"is_error":false,"chosen_class":"easy","model":"a","active_model":"model-of-a"}`, "a"},
		"text":                {&router{switcher: names, meta: byText, answer: `{"model":"B"}`}, `{"content":[{"type":"text","text":"The task is of the kind \"model: b\". From the next step on the profile \"b\" is used, with the model model-of-b."}],"is_error":false,"chosen_class":"model: b","model":"b","active_model":"model-of-b"}`, "b"},
		"no meta-profile":     {&router{switcher: names}, `{"content":[{"type":"text","text":"No model can be chosen: there is none. The model stays the same."}],"is_error":true}`, ""},
		"no class":            {&router{switcher: names, meta: byClass, answer: "0"}, `{"content":[{"type":"text","text":"No model was chosen: the answer of the profile \"fast\" stands for none of them: \"0\"; call the tool again, or change the meta-profile. The model stays the same."}],"is_error":true}`, ""},
		"classifier fails":    {&router{switcher: names, meta: byClass, err: errors.New("no key")}, `{"content":[{"type":"text","text":"No model was chosen: no key. The model stays the same."}],"is_error":true}`, ""},
		"profile is gone":     {&router{switcher: names, meta: byClass, answer: "2"}, `{"content":[{"type":"text","text":"There is no profile \"gone\". There are: a, b. The model stays the same."}],"is_error":true,"chosen_class":"hard","model":"gone"}`, ""},
		"profile fails":       {&router{switcher: switcher{names: []string{"a"}, failed: errors.New("no key")}, meta: byClass, answer: "1"}, `{"content":[{"type":"text","text":"The profile \"a\" cannot be used: no key. The model stays the same."}],"is_error":true,"chosen_class":"easy","model":"a"}`, ""},
		"profiles unreadable": {&router{switcher: switcher{listed: errors.New("broken")}, meta: byClass, answer: "1"}, `{"content":[{"type":"text","text":"No model was chosen: the profiles cannot be read: broken. The model stays the same."}],"is_error":true}`, ""},
	} {
		result := run(t, builtin.RouteTask(tt.router), `{}`)
		got := strings.NewReplacer(`"cache_prompt":false,`, "", `,"kind":"ClassifyAndSwitchLLMObservation"`, "").Replace(string(result.Observation))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if tt.router.to != tt.to {
			t.Errorf("%s: the profile is %q", name, tt.router.to)
		}
	}
}

// The classifier is shown the last messages, and something where there are none.
func TestTheClassifierIsAskedAboutTheConversation(t *testing.T) {
	t.Parallel()
	r := &router{switcher: switcher{names: []string{"a"}}, meta: byClass, answer: "1", recent: "user: hello"}
	run(t, builtin.RouteTask(r), `{}`)
	if r.asked[0] != "fast" || !strings.Contains(r.asked[1], "2. hard") || !strings.HasSuffix(r.asked[2], "\nuser: hello") {
		t.Errorf("questions = %q", r.asked)
	}
	r.recent = ""
	if run(t, builtin.RouteTask(r), `{}`); !strings.Contains(r.asked[2], "Nothing was said") {
		t.Errorf("questions = %q", r.asked)
	}
}

// A call that was stopped has no result.
func TestAChoiceThatIsStopped(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	r := &router{switcher: switcher{names: []string{"a"}}, meta: byClass, err: errors.New("late")}
	if _, err := builtin.RouteTask(r).Run(ctx, tool.Call{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
