package completions_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/completions"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

func TestHousekeepingIsOneCallOfTheModelAndNoAgent(t *testing.T) {
	t.Parallel()
	b, llm := echo(), &apitest.Plain{Answer: "```json\n{\"title\": \"Eggs\"}\n```"}
	g := apitest.Serve(t, b, llm.Config)
	res := g.Chat(apitest.Ask(apitest.TitlePrompt), chatID, "c-1")
	c := apitest.Completed(t, res)
	apitest.Equal(t, "the answer", c.Text(), `{"title":"Eggs"}`)
	apitest.Equal(t, "c.Usage.Prompt", c.Usage.Prompt, 7)
	apitest.Equal(t, "c.Usage.Completion", c.Usage.Completion, 3)
	apitest.Equal(t, "X-OpenHands-Task", res.Header.Get("X-OpenHands-Task"), "title_generation")
	apitest.Equal(t, "X-OpenHands-ServerConversation-ID", res.Header.Get("X-OpenHands-ServerConversation-ID"), "")
	want := []completions.Prompt{{Profile: "default", MaxTokens: 2048, Messages: []completions.PromptMessage{{Role: "user", Text: apitest.TitlePrompt}}}}
	if diff := cmp.Diff(want, llm.Prompts); diff != "" {
		t.Errorf("the model was asked (-want +got):\n%s", diff)
	}
	apitest.Equal(t, "the number of runs", b.Runs(), 0)
	apitest.Equal(t, "the number of opened conversations", len(b.Opened()), 0)
	// The chat that it was for does not know of it.
	w := openWindow(g, chatID, "c-1")
	w.say("boil an egg")
	w.wants(t, "new")
	g.Scrape(
		`ohgw_housekeeping_total{by="llm",task="title_generation"} 1`,
		`ohgw_housekeeping_tokens_total{kind="prompt",profile="default"} 7`,
		`ohgw_housekeeping_cost_dollars_total{profile="default"} 0.5`,
		`ohgw_runs_total{outcome="finished",profile="default"} 1`,
	)
}

func TestHousekeepingIsStreamedIfAskedFor(t *testing.T) {
	t.Parallel()
	llm := &apitest.Plain{Answer: `{"tags":["Food"]}`}
	g := apitest.Serve(t, echo(), llm.Config)
	f := apitest.Parse(t, g.Chat(apitest.Ask("whatever", apitest.Streamed, `"stream_options":{"include_usage":true}`), "X-OpenWebUI-Task", "tags_generation"))
	apitest.Equal(t, "the text", f.Text(), `{"tags":["Food"]}`)
	apitest.Equal(t, "the last frame", f.End, "[DONE]")
	apitest.Equal(t, "f.chunks[len(f.chunks)-1].Usage.Prompt", f.Chunks[len(f.Chunks)-1].Usage.Prompt, 7)
}

func TestHousekeepingFallsBackToTheRule(t *testing.T) {
	t.Parallel()
	refused := &agentapi.Error{Kind: agentapi.ErrRefused, Msg: "no key"}
	for name, change := range map[string]func(*daemon.Config){
		"the model fails":      (&apitest.Plain{Err: refused}).Config,
		"the model babbles":    (&apitest.Plain{Answer: "I would call it Eggs"}).Config,
		"there is no model":    func(*daemon.Config) {},
		"rules are asked for":  func(c *daemon.Config) { (&apitest.Plain{Answer: "never asked"}).Config(c); c.Housekeeping = "rule" },
		"the model is unknown": (&apitest.Plain{Err: &agentapi.Error{Kind: agentapi.ErrUnsupported, Msg: "demo"}}).Config,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := apitest.Serve(t, echo(), change)
			if got := apitest.Completed(t, g.Chat(apitest.Ask(apitest.TitlePrompt))).Text(); got != `{"title":"boil an egg"}` {
				t.Errorf("the title = %q", got)
			}
			g.Scrape(`ohgw_housekeeping_total{by="rule",task="title_generation"} 1`)
		})
	}
}

func TestASlowModelIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := apitest.Serve(t, echo(), func(c *daemon.Config) {
			c.Complete = func(ctx context.Context, _ completions.Prompt) (completions.Completion, error) {
				<-ctx.Done()
				return completions.Completion{}, ctx.Err()
			}
		})
		began := time.Now()
		got := apitest.Completed(t, g.Chat(apitest.Ask(apitest.TitlePrompt))).Text()
		if took := time.Since(began); took != 5*time.Second || got != `{"title":"boil an egg"}` {
			t.Errorf("%q after %v", got, took)
		}
	})
}

func TestHousekeepingTakesNoPlaceAmongTheRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		b := apitest.Script(daemontest.Until(gate), daemontest.Finish("ok"))
		g := apitest.Serve(t, b, func(c *daemon.Config) { c.MaxRuns, c.MaxQueue = 1, -1 })
		running := g.Send(g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("work", apitest.Streamed), chatID, "c-1"))
		synctest.Wait()
		if got := apitest.Completed(t, g.Chat(apitest.Ask(apitest.TitlePrompt), chatID, "c-1")).Text(); got != `{"title":"boil an egg"}` {
			t.Errorf("the title = %q", got)
		}
		close(gate)
		g.Finish(running)
	})
}

func TestHousekeepingByTheAgentIsAOneShot(t *testing.T) {
	t.Parallel()
	b := echo()
	g := apitest.Serve(t, b, func(c *daemon.Config) { c.Housekeeping = "agent" })
	w := openWindow(g, chatID, "c-1")
	w.say("boil an egg")
	res := g.Chat(apitest.Ask(apitest.TitlePrompt), chatID, "c-1")
	apitest.Equal(t, "the number of runs", b.Runs(), 2)
	apitest.Equal(t, "X-OpenHands-Reconciled", res.Header.Get("X-OpenHands-Reconciled"), "")
	if res.Header.Get("X-OpenHands-ServerConversation-ID") == w.conversation() {
		t.Errorf("%d runs, %v", b.Runs(), res.Header)
	}
	w.say("and then?")
	if w.wants(t, "continued"); told(b) != "and then?" {
		t.Errorf("told %q", told(b))
	}
}

func TestTheUtilityModelIsThePlainModel(t *testing.T) {
	t.Parallel()
	b, llm := echo(), &apitest.Plain{Answer: "It depends."}
	g := apitest.Serve(t, b, llm.Config)
	utility := strings.NewReplacer("openhands_default", "openhands_utility")
	body := apitest.Messages(`{"role":"system","content":"Be brief."},{"role":"user","content":"one"},{"role":"assistant","content":"1"},{"role":"user","content":"two"}`)
	c := apitest.Completed(t, g.Chat(utility.Replace(body)))
	apitest.Equal(t, "the answer", c.Text(), "It depends.")
	apitest.Equal(t, "c.Model", c.Model, "openhands_utility")
	apitest.Equal(t, "the number of runs", b.Runs(), 0)
	want := []completions.PromptMessage{{Role: "system", Text: "Be brief."}, {Role: "user", Text: "one"}, {Role: "assistant", Text: "1"}, {Role: "user", Text: "two"}}
	if diff := cmp.Diff(want, llm.Prompts[0].Messages); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	llm.Err = &agentapi.Error{Kind: agentapi.ErrRefused, Msg: "The model's provider failed: no key."}
	e := apitest.Envelope(t, g.Chat(utility.Replace(apitest.Ask("three"))), http.StatusBadGateway, "llm_error", "")
	if e["message"] != "The model's provider failed: no key." {
		t.Errorf("the error: %v", e)
	}
}

func TestTheUtilityModelIsListedForThoseWhoMayUseIt(t *testing.T) {
	t.Parallel()
	with, without := apitest.Serve(t, echo(), (&apitest.Plain{}).Config), apitest.Serve(t, echo())
	ids := func(g *apitest.Gateway, header ...string) []string {
		var list struct{ Data []struct{ ID string } }
		if err := json.Unmarshal([]byte(g.Do(http.MethodGet, "/v1/models", "", header...).Body), &list); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, m := range list.Data {
			ids = append(ids, m.ID)
		}
		return ids
	}
	if got := strings.Join(ids(with), " "); got != "openhands openhands_cheap openhands_default openhands_utility" && got != "openhands openhands_default openhands_cheap openhands_utility" {
		t.Errorf("the models = %s", got)
	}
	for name, got := range map[string][]string{
		"without a plain model":       ids(without),
		"for a token of other models": ids(with, "Authorization", "Bearer "+apitest.LimitedKey),
	} {
		if strings.Contains(strings.Join(got, " "), "utility") {
			t.Errorf("%s: models = %v, want none for utilities", name, got)
		}
	}
	limited := with.Chat(strings.Replace(apitest.Ask("hi"), "openhands_default", "openhands_utility", 1), "Authorization", "Bearer "+apitest.LimitedKey)
	apitest.Envelope(t, limited, http.StatusNotFound, "model_not_found", "model")
	named := daemontest.New("utility")
	g := apitest.Serve(t, named, (&apitest.Plain{Answer: "not me"}).Config)
	if got := apitest.Completed(t, g.Chat(strings.Replace(apitest.Ask("hi"), "openhands_default", "openhands_utility", 1))).Text(); got != "ok" || named.Runs() != 1 {
		t.Errorf("a profile of that name: %q", got)
	}
}

func TestATaskThatOnlyAModelCanDoIsRefusedByRule(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, echo(), func(c *daemon.Config) { c.Housekeeping = "rule" })
	apitest.Envelope(t, g.Chat(apitest.Ask("summarize"), "X-OpenWebUI-Task", "context_compaction"), http.StatusBadRequest, "unsupported_value", "")
}

// Providers quote what they refuse.
func TestWhatAProviderSaysOfATaskIsInNoLog(t *testing.T) {
	t.Parallel()
	llm := &apitest.Plain{Err: &agentapi.Error{Kind: agentapi.ErrRefused, Msg: "The model's provider failed: cannot read 'boil an egg'", Err: errors.New("LLMBadRequestError")}}
	g := apitest.Serve(t, echo(), llm.Config)
	g.Chat(apitest.Ask(apitest.TitlePrompt))
	res := g.Chat(strings.Replace(apitest.Ask("boil an egg"), "openhands_default", "openhands_utility", 1))
	apitest.Envelope(t, res, http.StatusBadGateway, "llm_error", "")
	if logs := g.Logs.String(); strings.Contains(logs, "egg") || strings.Count(logs, "LLMBadRequestError") != 2 {
		t.Errorf("the log = %s", logs)
	}
}

// What takes no place among the runs must not go past their limit, either: a
// client could have any number of calls made on the profile's key.
func TestOnlySoManyTasksAreAskedOfTheModelAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		var asked atomic.Int32
		g := apitest.Serve(t, echo(), func(c *daemon.Config) {
			c.Complete = func(context.Context, completions.Prompt) (completions.Completion, error) {
				asked.Add(1)
				<-gate
				return completions.Completion{Text: "It depends."}, nil
			}
		})
		utility := strings.Replace(apitest.Ask("one"), "openhands_default", "openhands_utility", 1)
		var wg sync.WaitGroup
		for range 32 {
			wg.Go(func() { apitest.Completed(t, g.Chat(utility)) })
		}
		synctest.Wait()
		if got := apitest.Completed(t, g.Chat(apitest.Ask(apitest.TitlePrompt))).Text(); got != `{"title":"boil an egg"}` {
			t.Errorf("the title = %q", got)
		}
		res := g.Chat(utility)
		if apitest.Envelope(t, res, http.StatusTooManyRequests, "rate_limit_exceeded", ""); res.Header.Get("Retry-After") == "" {
			t.Error("no word about when to come again")
		}
		if n := asked.Load(); n != 32 {
			t.Errorf("%d calls", n)
		}
		close(gate)
		wg.Wait()
		apitest.Completed(t, g.Chat(utility))
	})
}

func TestWhatHasNoEffectOnATaskIsNamed(t *testing.T) {
	t.Parallel()
	llm := &apitest.Plain{Answer: "It depends."}
	g := apitest.Serve(t, echo(), llm.Config)
	const image = `{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}]}`
	res := g.Chat(strings.Replace(apitest.Messages(image, `"temperature":1`), "openhands_default", "openhands_utility", 1))
	if got := res.Header.Get("X-OpenHands-Ignored"); apitest.Completed(t, res).Text() != "It depends." || got != "images, temperature" {
		t.Errorf("ignored %q", got)
	}
}
