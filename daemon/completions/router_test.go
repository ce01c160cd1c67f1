package completions_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/completions"
	"github.com/ohgw/ohgw/internal/routing"
)

// byMeta makes auto choose by a meta-profile, whose classifier answers so.
func byMeta(r *routing.Router, broken error, answer *router, asked *[]completions.Prompt) func(*daemon.Config) {
	return func(c *daemon.Config) {
		answer.config(c)
		complete := c.Complete
		c.Complete = func(ctx context.Context, p completions.Prompt) (completions.Completion, error) {
			*asked = append(*asked, p)
			return complete(ctx, p)
		}
		c.Router = func(context.Context) (*routing.Router, error) { return r, broken }
	}
}

func TestAutoChoosesByTheActiveMetaProfile(t *testing.T) {
	t.Parallel()
	classes := &routing.Router{Name: "mine", Classifier: "cheap", Classes: []routing.Class{{Description: "small talk", Profile: "cheap"}, {Description: "proofs", Profile: "deep"}}}
	direct := &routing.Router{Name: "mine", Classifier: "cheap", Template: "For {{instance_text}} take one of {{ model_table }}", Table: "cheap, deep-2, deep"}
	gone := &routing.Router{Name: "mine", Classifier: "cheap", Classes: []routing.Class{{Description: "all", Profile: "away"}, {Description: "rest", Profile: "cheap"}}}
	for name, tt := range map[string]struct {
		router *routing.Router
		broken error
		text   string
		answer string
		fails  error
		want   string // the profile
		code   string
		says   string
	}{
		"a class":                {router: classes, answer: "2", want: "deep"},
		"a class in words":       {router: classes, answer: "**Class 1.**", want: "cheap"},
		"no class":               {router: classes, answer: "0", code: "llm_error", says: "names none of the models"},
		"a class that is none":   {router: classes, answer: "3", code: "llm_error", says: "names none of the models"},
		"a negative class":       {router: classes, answer: "-1", code: "llm_error", says: "names none"},
		"no number":              {router: classes, answer: "proofs", code: "llm_error", says: "names none of the models"},
		"the call fails":         {router: classes, fails: errors.New("no"), code: "llm_error", says: `"cheap" of the meta-profile "mine" did not choose`},
		"the model is gone":      {router: gone, answer: "2", code: "model_not_found", says: `the profile "away", which does not exist`},
		"the classifier is gone": {router: &routing.Router{Name: "mine", Classifier: "away", Classes: classes.Classes}, answer: "1", code: "model_not_found", says: `the profile "away"`},
		"an agent as a model":    {router: &routing.Router{Name: "mine", Classifier: "cheap", Classes: []routing.Class{{Description: "all", Profile: "agent_go"}}}, answer: "1", code: "model_not_found", says: `"agent_go"`},
		"damaged":                {broken: errors.New("the active meta-profile mine: it is not JSON"), code: "model_not_found", says: "it is not JSON"},
		"a prompt":               {router: direct, answer: "```json\n{\"model\": \"DEEP\"}\n```", want: "deep"},
		"a prompt, in words":     {router: direct, answer: "I would take deep-2.", want: "deep-2"},
		"a prompt, unknown":      {router: direct, answer: `{"model":"gpt"} or deep`, code: "llm_error", says: "names none of the models"},
		"an agent by its name":   {router: classes, text: "@SQL join", answer: "2", want: "agent_sql"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := fourAgents()
			list, err := b.Profiles(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			b.SetProfiles(append(list, agentapi.Profile{Name: "deep", Model: "p/deep"}, agentapi.Profile{Name: "deep-2", Model: "p/deep"})...)
			var asked []completions.Prompt
			g := apitest.Serve(t, b, byMeta(tt.router, tt.broken, &router{answer: func(string) (string, error) { return tt.answer, tt.fails }}, &asked))
			text := tt.text
			if text == "" {
				text = "is it {{ model_table }}?"
			}
			res := g.Chat(autoAsk(text))
			if tt.code != "" {
				if !strings.Contains(res.Body, `"code":"`+tt.code+`"`) || !strings.Contains(strings.ReplaceAll(res.Body, `\"`, `"`), tt.says) || len(b.Opened()) > 0 {
					t.Errorf("status = %d, body = %s", res.Status, res.Body)
				}
				return
			}
			apitest.Equal(t, "the model", res.Header.Get("X-OpenHands-Routed-To"), "openhands_"+tt.want)
			if opened := b.Opened(); res.Status != http.StatusOK || len(opened) != 1 || opened[0].Profile != tt.want {
				t.Errorf("status = %d, want 200, body = %s, opened = %+v", res.Status, res.Body, opened)
			}
			if tt.router == direct {
				if got := asked[0].Messages[1].Text; got != "For is it {{ model_table }}? take one of cheap, deep-2, deep" {
					t.Errorf("the classifier is asked %q", got)
				}
			}
			if tt.text == "" && (len(asked) != 1 || asked[0].Profile != "cheap") {
				t.Errorf("asked %+v", asked)
			}
		})
	}
}

func TestAutoIsThereWithAMetaProfileAlone(t *testing.T) {
	t.Parallel()
	b := echo()
	b.SetProfiles(agentapi.Profile{Name: "cheap", Model: "p/cheap", Active: true}, agentapi.Profile{Name: "deep", Model: "p/deep"})
	r := &routing.Router{Name: "mine", Classifier: "cheap", Classes: []routing.Class{{Description: "a", Profile: "deep"}}}
	var asked []completions.Prompt
	g := apitest.Serve(t, b, byMeta(r, nil, &router{answer: func(string) (string, error) { return "1", nil }}, &asked))
	if list := g.Do("GET", "/v1/models", "").Body; !strings.Contains(list, `"id":"auto"`) || !strings.Contains(list, "by the meta-profile mine") {
		t.Error(list)
	}
	header := []string{"X-OpenWebUI-Chat-Id", "c1b6f1d8-0000-4000-8000-000000000001"}
	first := apitest.Parse(t, g.Chat(autoAsk("first", apitest.Streamed), header...))
	body := fmt.Sprintf(`{"model":"auto","messages":[{"role":"user","content":"first"},{"role":"assistant","content":%q},{"role":"user","content":"second"}]}`, first.Text())
	second := g.Chat(body, header...)
	apitest.Equal(t, "the model of the second message", second.Header.Get("X-OpenHands-Routed-To"), "openhands_deep")
	if second.Status != http.StatusOK || len(asked) != 1 {
		t.Errorf("status = %d, want 200, body = %s, asked %d times", second.Status, second.Body, len(asked))
	}
}

// TestAutoRoutesEachQuestionByTheMetaProfile has 40 labelled questions, of which a fifth
// mentions an agent, and a classifier that answers in five forms.
func TestAutoRoutesEachQuestionByTheMetaProfile(t *testing.T) {
	t.Parallel()
	b := fourAgents()
	list, err := b.Profiles(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.SetProfiles(append(list, agentapi.Profile{Name: "deep", Model: "p/deep"}, agentapi.Profile{Name: "fast", Model: "p/fast"})...)
	r := &routing.Router{Name: "mine", Classifier: "cheap", Classes: []routing.Class{
		{Description: "small talk", Profile: "cheap"}, {Description: "proofs", Profile: "deep"}, {Description: "lists", Profile: "fast"},
	}}
	class := map[string]int{"cheap": 1, "deep": 2, "fast": 3}
	forms := []string{"%d", " %d\n", "**Class %d.**", "Class %d", "`%d`"}
	classifier := &router{answer: func(text string) (string, error) {
		var n int
		var name string
		at := strings.Index(text, "question ")
		if at < 0 {
			return "", fmt.Errorf("the classifier is asked %q", text)
		}
		if _, err := fmt.Sscanf(text[at:], "question %d for %s", &n, &name); err != nil {
			return "", err
		}
		return fmt.Sprintf(forms[n%len(forms)], class[name]), nil
	}}
	var asked []completions.Prompt
	complete := byMeta(r, nil, classifier, &asked)
	g := apitest.Serve(t, b, func(c *daemon.Config) {
		complete(c)
		plain := c.Complete
		c.Complete = func(ctx context.Context, p completions.Prompt) (completions.Completion, error) {
			answer, err := plain(ctx, p)
			answer.Usage = turn.Usage{PromptTokens: 1000}
			return answer, err
		}
	})
	names, calls := []string{"cheap", "deep", "fast", "deep", "agent_sql"}, 0
	for n := range 40 {
		name := names[n%len(names)]
		text, prompt := fmt.Sprintf("question %d for %s", n, name), int64(0)
		if name == "agent_sql" {
			text = "@SQL, " + text
		} else {
			calls++
			prompt = 1000
		}
		res := g.Chat(autoAsk(text))
		want := "openhands_" + name
		if got := res.Header.Get("X-OpenHands-Routed-To"); got != want || res.Status != http.StatusOK || !strings.Contains(res.Body, `"model":"`+want+`"`) {
			t.Errorf("question %d: %q, want %q: %d %s", n, got, want, res.Status, res.Body)
		}
		plain := apitest.Completed(t, g.Chat(strings.Replace(autoAsk(text), `"auto"`, `"`+want+`"`, 1))).Usage
		apitest.Equal(t, "the tokens of the prompt", apitest.Completed(t, res).Usage.Prompt, plain.Prompt+prompt)
	}
	apitest.Equal(t, "the calls", len(asked), calls)
}

// TestAClassifierThatDoesNotAnswerStartsNothing has one that hangs, one that panics, and one
// that says nothing.
func TestAClassifierThatDoesNotAnswerStartsNothing(t *testing.T) {
	t.Parallel()
	r := &routing.Router{Name: "mine", Classifier: "cheap", Classes: []routing.Class{{Description: "all", Profile: "cheap"}}}
	for name, complete := range map[string]completions.CompleteFunc{
		"it hangs": func(ctx context.Context, _ completions.Prompt) (completions.Completion, error) {
			<-ctx.Done()
			return completions.Completion{}, ctx.Err()
		},
		"it panics": func(context.Context, completions.Prompt) (completions.Completion, error) { panic("classifier") },
		"it says nothing": func(context.Context, completions.Prompt) (completions.Completion, error) {
			return completions.Completion{}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := fourAgents()
				g := apitest.Serve(t, b, func(c *daemon.Config) {
					c.Complete, c.Router = complete, func(context.Context) (*routing.Router, error) { return r, nil }
				})
				began := time.Now()
				res := g.Chat(autoAsk("hello"))
				if took := time.Since(began); took > 8*time.Second || !strings.Contains(res.Body, `"code":"llm_error"`) || len(b.Opened()) > 0 {
					t.Errorf("after %v: %d %s", took, res.Status, res.Body)
				}
			})
		})
	}
}
