package daemon_test

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
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/completions"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

const titlePrompt = "### Task:\nGenerate a concise title.\n### Output:\nJSON format: { \"title\": \"your title\" }\n### Chat History:\n<chat_history>\nUSER: boil an egg\nASSISTANT: \n</chat_history>"

// plain is an LLM that answers with what it is given, and keeps the prompts.
type plain struct {
	answer  string
	err     error
	prompts []completions.Prompt
}

func (p *plain) complete(_ context.Context, prompt completions.Prompt) (completions.Completion, error) {
	p.prompts = append(p.prompts, prompt)
	return completions.Completion{Text: p.answer, Usage: turn.Usage{PromptTokens: 7, CompletionTokens: 3, Cost: 0.5}}, p.err
}

func (p *plain) config(c *daemon.Config) { c.Complete = p.complete }

func TestHousekeepingIsOneCallOfTheModelAndNoAgent(t *testing.T) {
	t.Parallel()
	b, llm := echo(), &plain{answer: "```json\n{\"title\": \"Eggs\"}\n```"}
	g := serve(t, b, llm.config)
	res := g.chat(ask(titlePrompt), chatID, "c-1")
	c := completed(t, res)
	equal(t, "the answer", c.text(), `{"title":"Eggs"}`)
	equal(t, "c.Usage.Prompt", c.Usage.Prompt, 7)
	equal(t, "c.Usage.Completion", c.Usage.Completion, 3)
	equal(t, "X-OpenHands-Task", res.header.Get("X-OpenHands-Task"), "title_generation")
	equal(t, "X-OpenHands-ServerConversation-ID", res.header.Get("X-OpenHands-ServerConversation-ID"), "")
	want := []completions.Prompt{{Profile: "default", MaxTokens: 2048, Messages: []completions.PromptMessage{{Role: "user", Text: titlePrompt}}}}
	if diff := cmp.Diff(want, llm.prompts); diff != "" {
		t.Errorf("the model was asked (-want +got):\n%s", diff)
	}
	equal(t, "the number of runs", b.Runs(), 0)
	equal(t, "the number of opened conversations", len(b.Opened()), 0)
	// The chat that it was for does not know of it.
	w := openWindow(g, chatID, "c-1")
	w.say("boil an egg")
	w.wants(t, "new")
	g.scrape(
		`ohgw_housekeeping_total{by="llm",task="title_generation"} 1`,
		`ohgw_housekeeping_tokens_total{kind="prompt",profile="default"} 7`,
		`ohgw_housekeeping_cost_dollars_total{profile="default"} 0.5`,
		`ohgw_runs_total{outcome="finished",profile="default"} 1`,
	)
}

func TestHousekeepingIsStreamedIfAskedFor(t *testing.T) {
	t.Parallel()
	llm := &plain{answer: `{"tags":["Food"]}`}
	g := serve(t, echo(), llm.config)
	f := parse(t, g.chat(ask("whatever", streamed, `"stream_options":{"include_usage":true}`), "X-OpenWebUI-Task", "tags_generation"))
	equal(t, "the text", f.text(), `{"tags":["Food"]}`)
	equal(t, "the last frame", f.end, "[DONE]")
	equal(t, "f.chunks[len(f.chunks)-1].Usage.Prompt", f.chunks[len(f.chunks)-1].Usage.Prompt, 7)
}

func TestHousekeepingFallsBackToTheRule(t *testing.T) {
	t.Parallel()
	refused := &agentapi.Error{Kind: agentapi.ErrRefused, Msg: "no key"}
	for name, change := range map[string]func(*daemon.Config){
		"the model fails":      (&plain{err: refused}).config,
		"the model babbles":    (&plain{answer: "I would call it Eggs"}).config,
		"there is no model":    func(*daemon.Config) {},
		"rules are asked for":  func(c *daemon.Config) { (&plain{answer: "never asked"}).config(c); c.Housekeeping = "rule" },
		"the model is unknown": (&plain{err: &agentapi.Error{Kind: agentapi.ErrUnsupported, Msg: "demo"}}).config,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := serve(t, echo(), change)
			if got := completed(t, g.chat(ask(titlePrompt))).text(); got != `{"title":"boil an egg"}` {
				t.Errorf("%q", got)
			}
			g.scrape(`ohgw_housekeeping_total{by="rule",task="title_generation"} 1`)
		})
	}
}

func TestASlowModelIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := serve(t, echo(), func(c *daemon.Config) {
			c.Complete = func(ctx context.Context, _ completions.Prompt) (completions.Completion, error) {
				<-ctx.Done()
				return completions.Completion{}, ctx.Err()
			}
		})
		began := time.Now()
		got := completed(t, g.chat(ask(titlePrompt))).text()
		if took := time.Since(began); took != 5*time.Second || got != `{"title":"boil an egg"}` {
			t.Errorf("%q after %v", got, took)
		}
	})
}

func TestHousekeepingTakesNoPlaceAmongTheRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		b := script(daemontest.Until(gate), daemontest.Finish("ok"))
		g := serve(t, b, func(c *daemon.Config) { c.MaxRuns, c.MaxQueue = 1, -1 })
		running := g.send(g.request(http.MethodPost, "/v1/chat/completions", ask("work", streamed), chatID, "c-1"))
		synctest.Wait()
		if got := completed(t, g.chat(ask(titlePrompt), chatID, "c-1")).text(); got != `{"title":"boil an egg"}` {
			t.Errorf("%q", got)
		}
		close(gate)
		g.finish(running)
	})
}

func TestHousekeepingByTheAgentIsAOneShot(t *testing.T) {
	t.Parallel()
	b := echo()
	g := serve(t, b, func(c *daemon.Config) { c.Housekeeping = "agent" })
	w := openWindow(g, chatID, "c-1")
	w.say("boil an egg")
	res := g.chat(ask(titlePrompt), chatID, "c-1")
	equal(t, "the number of runs", b.Runs(), 2)
	equal(t, "X-OpenHands-Reconciled", res.header.Get("X-OpenHands-Reconciled"), "")
	if res.header.Get("X-OpenHands-ServerConversation-ID") == w.conversation() {
		t.Errorf("%d runs, %v", b.Runs(), res.header)
	}
	w.say("and then?")
	if w.wants(t, "continued"); told(b) != "and then?" {
		t.Errorf("told %q", told(b))
	}
}

func TestTheUtilityModelIsThePlainModel(t *testing.T) {
	t.Parallel()
	b, llm := echo(), &plain{answer: "It depends."}
	g := serve(t, b, llm.config)
	utility := strings.NewReplacer("openhands_default", "openhands_utility")
	body := messages(`{"role":"system","content":"Be brief."},{"role":"user","content":"one"},{"role":"assistant","content":"1"},{"role":"user","content":"two"}`)
	c := completed(t, g.chat(utility.Replace(body)))
	equal(t, "the answer", c.text(), "It depends.")
	equal(t, "c.Model", c.Model, "openhands_utility")
	equal(t, "the number of runs", b.Runs(), 0)
	want := []completions.PromptMessage{{Role: "system", Text: "Be brief."}, {Role: "user", Text: "one"}, {Role: "assistant", Text: "1"}, {Role: "user", Text: "two"}}
	if diff := cmp.Diff(want, llm.prompts[0].Messages); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	llm.err = &agentapi.Error{Kind: agentapi.ErrRefused, Msg: "The model's provider failed: no key."}
	e := envelope(t, g.chat(utility.Replace(ask("three"))), http.StatusBadGateway, "llm_error", "")
	if e["message"] != "The model's provider failed: no key." {
		t.Errorf("the error: %v", e)
	}
}

func TestTheUtilityModelIsListedForThoseWhoMayUseIt(t *testing.T) {
	t.Parallel()
	with, without := serve(t, echo(), (&plain{}).config), serve(t, echo())
	ids := func(g *gateway, header ...string) []string {
		var list struct{ Data []struct{ ID string } }
		if err := json.Unmarshal([]byte(g.do(http.MethodGet, "/v1/models", "", header...).body), &list); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, m := range list.Data {
			ids = append(ids, m.ID)
		}
		return ids
	}
	if got := strings.Join(ids(with), " "); got != "openhands openhands_cheap openhands_default openhands_utility" && got != "openhands openhands_default openhands_cheap openhands_utility" {
		t.Errorf("%s", got)
	}
	for name, got := range map[string][]string{
		"without a plain model":       ids(without),
		"for a token of other models": ids(with, "Authorization", "Bearer "+limitedKey),
	} {
		if strings.Contains(strings.Join(got, " "), "utility") {
			t.Errorf("%s: %v", name, got)
		}
	}
	limited := with.chat(strings.Replace(ask("hi"), "openhands_default", "openhands_utility", 1), "Authorization", "Bearer "+limitedKey)
	envelope(t, limited, http.StatusNotFound, "model_not_found", "model")
	named := daemontest.New("utility")
	g := serve(t, named, (&plain{answer: "not me"}).config)
	if got := completed(t, g.chat(strings.Replace(ask("hi"), "openhands_default", "openhands_utility", 1))).text(); got != "ok" || named.Runs() != 1 {
		t.Errorf("a profile of that name: %q", got)
	}
}

func TestATaskThatOnlyAModelCanDoIsRefusedByRule(t *testing.T) {
	t.Parallel()
	g := serve(t, echo(), func(c *daemon.Config) { c.Housekeeping = "rule" })
	envelope(t, g.chat(ask("summarize"), "X-OpenWebUI-Task", "context_compaction"), http.StatusBadRequest, "unsupported_value", "")
}

// Providers quote what they refuse.
func TestWhatAProviderSaysOfATaskIsInNoLog(t *testing.T) {
	t.Parallel()
	llm := &plain{err: &agentapi.Error{Kind: agentapi.ErrRefused, Msg: "The model's provider failed: cannot read 'boil an egg'", Err: errors.New("LLMBadRequestError")}}
	g := serve(t, echo(), llm.config)
	g.chat(ask(titlePrompt))
	res := g.chat(strings.Replace(ask("boil an egg"), "openhands_default", "openhands_utility", 1))
	envelope(t, res, http.StatusBadGateway, "llm_error", "")
	if logs := g.logs.String(); strings.Contains(logs, "egg") || strings.Count(logs, "LLMBadRequestError") != 2 {
		t.Errorf("%s", logs)
	}
}

// What takes no place among the runs must not go past their limit, either: a
// client could have any number of calls made on the profile's key.
func TestOnlySoManyTasksAreAskedOfTheModelAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		var asked atomic.Int32
		g := serve(t, echo(), func(c *daemon.Config) {
			c.Complete = func(context.Context, completions.Prompt) (completions.Completion, error) {
				asked.Add(1)
				<-gate
				return completions.Completion{Text: "It depends."}, nil
			}
		})
		utility := strings.Replace(ask("one"), "openhands_default", "openhands_utility", 1)
		var wg sync.WaitGroup
		for range 32 {
			wg.Go(func() { completed(t, g.chat(utility)) })
		}
		synctest.Wait()
		if got := completed(t, g.chat(ask(titlePrompt))).text(); got != `{"title":"boil an egg"}` {
			t.Errorf("%q", got)
		}
		res := g.chat(utility)
		if envelope(t, res, http.StatusTooManyRequests, "rate_limit_exceeded", ""); res.header.Get("Retry-After") == "" {
			t.Error("no word about when to come again")
		}
		if n := asked.Load(); n != 32 {
			t.Errorf("%d calls", n)
		}
		close(gate)
		wg.Wait()
		completed(t, g.chat(utility))
	})
}

func TestWhatHasNoEffectOnATaskIsNamed(t *testing.T) {
	t.Parallel()
	llm := &plain{answer: "It depends."}
	g := serve(t, echo(), llm.config)
	const image = `{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}]}`
	res := g.chat(strings.Replace(messages(image, `"temperature":1`), "openhands_default", "openhands_utility", 1))
	if got := res.header.Get("X-OpenHands-Ignored"); completed(t, res).text() != "It depends." || got != "images, temperature" {
		t.Errorf("ignored %q", got)
	}
}
