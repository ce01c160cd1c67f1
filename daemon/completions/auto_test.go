package completions_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/completions"
	"github.com/ohgw/ohgw/daemon/daemontest"
	"github.com/ohgw/ohgw/daemon/responses"
)

// fourAgents is a backend with agents that differ in what they know.
func fourAgents() *daemontest.Backend {
	b := echo()
	b.SetProfiles(
		agentapi.Profile{Name: "agent_cook", Model: "p/m", Agent: "Cook", Description: "Recipes and cooking."},
		agentapi.Profile{Name: "agent_go", Model: "p/m", Agent: "Go Expert", Description: "Reviews Go code and runs its tests."},
		agentapi.Profile{Name: "agent_sql", Model: "p/m", Agent: "SQL", Description: "Databases, queries and tables."},
		agentapi.Profile{Name: "agent_words", Model: "p/m", Agent: "Writer", Description: "Writes letters and articles."},
		agentapi.Profile{Name: "cheap", Model: "p/cheap", Active: true},
	)
	return b
}

// router answers the call that chooses.
type router struct {
	asked  atomic.Int64
	answer func(text string) (string, error)
}

func (r *router) config(c *daemon.Config) {
	c.Complete = func(_ context.Context, p completions.Prompt) (completions.Completion, error) {
		r.asked.Add(1)
		text, err := r.answer(p.Messages[len(p.Messages)-1].Text)
		return completions.Completion{Text: text}, err
	}
}

func autoAsk(text string, more ...string) string {
	return fmt.Sprintf(`{"model":"auto","messages":[{"role":"user","content":%q}]%s}`, text, strings.Join(append([]string{""}, more...), ","))
}

// TestAutoRoutesEachQuestionToTheAgentThatTheModelNames has 40 labelled questions.
func TestAutoRoutesEachQuestionToTheAgentThatTheModelNames(t *testing.T) {
	t.Parallel()
	b := fourAgents()
	forms := []string{"%s", " %s.\n", "**%s**", "I choose %s", "`%s`"}
	label := map[string]string{"cook": "Cook", "go": "Go Expert", "sql": "sql", "words": "Writer"}
	r := &router{}
	r.answer = func(text string) (string, error) {
		var n int
		var name string
		if _, err := fmt.Sscanf(text, "question %d for %s", &n, &name); err != nil {
			return "", err
		}
		return fmt.Sprintf(forms[n%len(forms)], label[name]), nil
	}
	g := apitest.Serve(t, b, r.config)
	names := []string{"cook", "go", "sql", "words"}
	for n := range 40 {
		name := names[n%len(names)]
		res := g.Chat(autoAsk(fmt.Sprintf("question %d for %s", n, name)))
		want := "openhands_agent_" + name
		if got := res.Header.Get("X-OpenHands-Routed-To"); got != want || res.Status != http.StatusOK || !strings.Contains(res.Body, `"model":"`+want+`"`) {
			t.Errorf("question %d: %q, want %q: %d %s", n, got, want, res.Status, res.Body)
		}
		if opened := b.Opened(); opened[len(opened)-1].Profile != "agent_"+name {
			t.Errorf("question %d went to %s", n, opened[len(opened)-1].Profile)
		}
	}
	if r.asked.Load() != 40 {
		t.Errorf("the model was asked %d times", r.asked.Load())
	}
}

func TestAutoFallsBackToTheRule(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(string) (string, error){
		"the model fails":      func(string) (string, error) { return "", errors.New("no") },
		"the name is unknown":  func(string) (string, error) { return "Gardener", nil },
		"it names several":     func(string) (string, error) { return "Cook or Writer", nil },
		"it says nothing":      func(string) (string, error) { return "", nil },
		"the model panics":     func(string) (string, error) { panic("router") },
		"there is no model":    nil,
		"the message names it": func(string) (string, error) { return "Cook", nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &router{answer: answer}
			change := r.config
			if answer == nil {
				change = func(*daemon.Config) {}
			}
			g := apitest.Serve(t, fourAgents(), change)
			text := "join two tables with queries"
			if name == "the message names it" {
				text = "@SQL cook it"
			}
			res := g.Chat(autoAsk(text))
			apitest.Equal(t, "the agent", res.Header.Get("X-OpenHands-Routed-To"), "openhands_agent_sql")
			if n := r.asked.Load(); name == "the message names it" && n > 0 {
				t.Errorf("the model was asked %d times", n)
			}
		})
	}
}

func TestAutoDoesNotWaitForASlowModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := apitest.Serve(t, fourAgents(), func(c *daemon.Config) {
			c.Complete = func(ctx context.Context, _ completions.Prompt) (completions.Completion, error) {
				<-ctx.Done()
				return completions.Completion{}, ctx.Err()
			}
		})
		began := time.Now()
		res := g.Chat(autoAsk("review my code"))
		if took := time.Since(began); took != 8*time.Second || res.Header.Get("X-OpenHands-Routed-To") != "openhands_agent_go" {
			t.Errorf("%s after %v", res.Header.Get("X-OpenHands-Routed-To"), took)
		}
	})
}

// TestAConversationStaysWithTheAgentThatAutoChose has one that its client names, and
// one of a chat UI. The first line of progress tells the choice once.
func TestAConversationStaysWithTheAgentThatAutoChose(t *testing.T) {
	t.Parallel()
	for name, header := range map[string][]string{
		"named":   {"X-OpenHands-ServerConversation-ID", "6f2b9e1c-6f5c-4a62-9a3f-0d1e6a1f7c11"},
		"of a UI": {"X-OpenWebUI-Chat-Id", "c1b6f1d8-0000-4000-8000-000000000001"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := atomic.Value{}
			answer.Store("Cook")
			r := &router{answer: func(string) (string, error) { return answer.Load().(string), nil }}
			b := fourAgents()
			g := apitest.Serve(t, b, r.config)
			f := apitest.Parse(t, g.Chat(autoAsk("first", apitest.Streamed), header...))
			if !strings.HasPrefix(f.Reasoning(), "Routed to Cook (chosen by the model)\n") || f.Chunks[0].Model != "openhands_agent_cook" {
				t.Errorf("the reasoning = %q, the model = %s", f.Reasoning(), f.Chunks[0].Model)
			}
			answer.Store("Writer")
			body := `{"model":"auto","messages":[{"role":"user","content":"first"},{"role":"assistant","content":` + fmt.Sprintf("%q", f.Text()) + `},{"role":"user","content":"second"}]}`
			res := g.Chat(body, header...)
			apitest.Equal(t, "the agent", res.Header.Get("X-OpenHands-Routed-To"), "openhands_agent_cook")
			apitest.Equal(t, "the calls", r.asked.Load(), int64(1))
			// Also when the agent is not there any more.
			b.SetProfiles(
				agentapi.Profile{Name: "agent_sql", Model: "p/m", Agent: "SQL"}, agentapi.Profile{Name: "agent_words", Model: "p/m", Agent: "Writer"},
			)
			body = strings.Replace(body, `{"role":"user","content":"second"}`, `{"role":"user","content":"second"},{"role":"assistant","content":`+
				fmt.Sprintf("%q", apitest.Completed(t, res).Text())+`},{"role":"user","content":"third"}`, 1)
			res = g.Chat(body, header...)
			apitest.Equal(t, "the agent that was removed", res.Header.Get("X-OpenHands-Routed-To"), "openhands_agent_cook")
			apitest.Equal(t, "the calls", r.asked.Load(), int64(1))
			if opened := b.Opened(); opened[0].ID != opened[len(opened)-1].ID {
				t.Errorf("two conversations: %+v", opened)
			}
		})
	}
}

func TestARepeatOfAnAutoRequestFindsItsRun(t *testing.T) {
	t.Parallel()
	names := []string{"Cook", "Writer"}
	r := &router{}
	r.answer = func(string) (string, error) { return names[(r.asked.Load()-1)%2], nil }
	b := fourAgents()
	g := apitest.Serve(t, b, r.config)
	for range 2 {
		res := g.Chat(autoAsk("hello"), "Idempotency-Key", "k1")
		apitest.Equal(t, "the agent", res.Header.Get("X-OpenHands-Routed-To"), "openhands_agent_cook")
	}
	apitest.Equal(t, "the runs", b.Runs(), 1)
}

func TestAutoIsThereWithTwoAgentsOnly(t *testing.T) {
	t.Parallel()
	b := fourAgents()
	g := apitest.Serve(t, b)
	want := []string{"openhands", "openhands_agent_cook", "openhands_agent_go", "openhands_agent_sql", "openhands_agent_words", "openhands_cheap", "auto"}
	list := listed(t, g.Do(http.MethodGet, "/v1/models", ""))
	if diff := cmp.Diff(want, ids(list)); diff != "" {
		t.Error(diff)
	}
	if m := list.Data[len(list.Data)-1]; !strings.Contains(m.Description, "Go Expert") || m.Extension.Kind != "auto" {
		t.Errorf("the last model = %+v", m)
	}
	apitest.Envelope(t, g.Chat(autoAsk("hi"), "Authorization", "Bearer "+apitest.LimitedKey), http.StatusNotFound, "model_not_found", "model")

	one := echo()
	one.SetProfiles(agentapi.Profile{Name: "agent_cook", Agent: "Cook"}, agentapi.Profile{Name: "cheap", Active: true})
	g = apitest.Serve(t, one)
	if diff := cmp.Diff([]string{"openhands", "openhands_agent_cook", "openhands_cheap"}, ids(listed(t, g.Do(http.MethodGet, "/v1/models", "")))); diff != "" {
		t.Error(diff)
	}
	apitest.Envelope(t, g.Chat(autoAsk("hi")), http.StatusNotFound, "model_not_found", "model")
}

func TestAutoDoesNotTakeOverAConversationOfAnotherModel(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, fourAgents())
	header := []string{"X-OpenHands-ServerConversation-ID", "6f2b9e1c-6f5c-4a62-9a3f-0d1e6a1f7c12"}
	apitest.Completed(t, g.Chat(`{"model":"openhands_cheap","messages":[{"role":"user","content":"hi"}]}`, header...))
	apitest.Envelope(t, g.Chat(autoAsk("again"), header...), http.StatusConflict, "model_mismatch", "model")
}

// TestTheAgentThatAutoChoseConvertsItsAnswer has an agent that is not the first one: that
// could convert the answer, too.
func TestTheAgentThatAutoChoseConvertsItsAnswer(t *testing.T) {
	t.Parallel()
	for name, send := range map[string]func(g *apitest.Gateway) apitest.Response{
		"chat": func(g *apitest.Gateway) apitest.Response { return g.Chat(autoAsk("@SQL count them", chatSchema)) },
		"response": func(g *apitest.Gateway) apitest.Response {
			return g.Respond(`{"model":"auto","input":"@SQL count them",` + responseSchema + `}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &writer{says: []string{paid}}
			res := send(apitest.Serve(t, fourAgents(), w.config))
			apitest.Equal(t, "the status", res.Status, http.StatusOK)
			apitest.Equal(t, "the agent", res.Header.Get("X-OpenHands-Routed-To"), "openhands_agent_sql")
			apitest.Equal(t, "the calls", w.calls(), 1)
			apitest.Equal(t, "the profile that converts", w.prompts[0].Profile, "agent_sql")
		})
	}
}

func TestAStoredResponseHasTheAgentThatAutoChose(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := apitest.Serve(t, fourAgents(), func(c *daemon.Config) { c.StateDir = dir })
	made := apitest.Responded(t, g.Respond(`{"model":"auto","input":"@SQL count them"}`))
	stored, err := responses.Open(dir).Load(made.ID)
	if err != nil {
		t.Fatal(err)
	}
	apitest.Equal(t, "the profile", stored.Profile, "agent_sql")
	apitest.Equal(t, "the model", stored.Model, "auto")
}

// TestAutoChoosesAgainForTheSameWordsInANewConversation has a choice that a failure of the
// router made, and one that the router made.
func TestAutoChoosesAgainForTheSameWordsInANewConversation(t *testing.T) {
	t.Parallel()
	said := []string{"", "Cook", "Writer"}
	r := &router{}
	r.answer = func(string) (string, error) {
		if name := said[r.asked.Load()-1]; name != "" {
			return name, nil
		}
		return "", errors.New("no")
	}
	g := apitest.Serve(t, fourAgents(), r.config)
	for i, want := range []string{"sql", "cook", "words"} {
		f := apitest.Parse(t, g.Chat(autoAsk("queries, again", apitest.Streamed)))
		if f.Chunks[0].Model != "openhands_agent_"+want {
			t.Errorf("time %d: the model = %s, want %s: %s", i+1, f.Chunks[0].Model, want, f.Reasoning())
		}
	}
	apitest.Equal(t, "the calls", r.asked.Load(), int64(3))
}

func TestARepeatOfAnAutoRequestFindsItsRunAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := &router{answer: func(string) (string, error) { return "Cook", nil }}
	g := apitest.Serve(t, fourAgents(), r.config, apitest.StateIn(dir))
	apitest.Equal(t, "the agent", g.Chat(autoAsk("hello"), "Idempotency-Key", "k1").Header.Get("X-OpenHands-Routed-To"), "openhands_agent_cook")
	again := g.Again(dir)
	res := again.Chat(autoAsk("hello"), "Idempotency-Key", "k1")
	apitest.Equal(t, "the agent", res.Header.Get("X-OpenHands-Routed-To"), "openhands_agent_cook")
	apitest.Equal(t, "the calls", r.asked.Load(), int64(1))
}

func TestUsageOfAnAnswerOfAutoHasTheCallThatChose(t *testing.T) {
	t.Parallel()
	for name, said := range map[string]string{"the model chose": "Cook", "its answer was of no use": "what?"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := apitest.Serve(t, fourAgents(), func(c *daemon.Config) {
				c.Complete = func(context.Context, completions.Prompt) (completions.Completion, error) {
					return completions.Completion{Text: said, Usage: turn.Usage{PromptTokens: 1000, CompletionTokens: 200}}, nil
				}
			})
			plain := apitest.Completed(t, g.Chat(`{"model":"openhands_agent_cook","messages":[{"role":"user","content":"soup"}]}`)).Usage
			auto := apitest.Completed(t, g.Chat(autoAsk("soup"))).Usage
			apitest.Equal(t, "the prompt's tokens", auto.Prompt, plain.Prompt+1000)
			apitest.Equal(t, "the completion's tokens", auto.Completion, plain.Completion+200)
		})
	}
}

// TestARouterIsShownAllAgentsInABoundedText has more descriptions than a prompt can hold.
func TestARouterIsShownAllAgentsInABoundedText(t *testing.T) {
	t.Parallel()
	b := echo()
	var list []agentapi.Profile
	for i := range 500 {
		list = append(list, agentapi.Profile{
			Name: fmt.Sprintf("agent_a%d", i), Agent: fmt.Sprintf("a%d", i), Model: "p/m", Description: strings.Repeat("long\n", 4000),
		})
	}
	b.SetProfiles(list...)
	var shown string
	g := apitest.Serve(t, b, func(c *daemon.Config) {
		c.Complete = func(_ context.Context, p completions.Prompt) (completions.Completion, error) {
			shown = p.Messages[0].Text
			return completions.Completion{Text: "a499"}, nil
		}
	})
	apitest.Equal(t, "the agent", g.Chat(autoAsk("hello")).Header.Get("X-OpenHands-Routed-To"), "openhands_agent_a499")
	if n := strings.Count(shown, "\n- a"); len(shown) > 64<<10 || n != 500 {
		t.Errorf("the prompt has %d bytes and %d agents", len(shown), n)
	}
}

func TestTheLineOfAChoiceHasNoControlCharacters(t *testing.T) {
	t.Parallel()
	b := echo()
	b.SetProfiles(
		agentapi.Profile{Name: "agent_a", Model: "p/m", Agent: "esc\x1b[31mred\nline\u202e"}, agentapi.Profile{Name: "agent_b", Model: "p/m", Agent: "b"},
	)
	r := &router{answer: func(string) (string, error) { return "a", nil }}
	f := apitest.Parse(t, apitest.Serve(t, b, r.config).Chat(autoAsk("hi", apitest.Streamed)))
	apitest.Begins(t, "the progress", f.Reasoning(), "Routed to esc [31mred line (chosen by the model)\n")
}
