package llm_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

const fallbacks = `"fallback_strategy":{"fallback_llms":["gone","second","third"]}`

// withFallback is a model whose fallback profiles are at the base URLs of urls;
// the one named "gone" cannot be loaded.
func withFallback(t *testing.T, more string, client *http.Client, urls map[string]string) llm.Model {
	t.Helper()
	return newModel(t, llm.Config{
		Profile: profile(t, "openai/first", `"base_url":"`+urls["first"]+`","num_retries":2,`+more),
		HTTP:    client,
		UsageID: "default",
		Fallback: func(name string) (llm.Config, error) {
			if name == "gone" {
				return llm.Config{}, errors.New("no such profile")
			}
			// Its own fallback must not be asked for.
			return llm.Config{
				Profile: profile(t, "openai/"+name, `"base_url":"`+urls[name]+`","num_retries":1,"fallback_strategy":{"fallback_llms":["first"]}`),
				Fallback: func(string) (llm.Config, error) {
					t.Error("a fallback fell back")
					return llm.Config{}, errors.New("no")
				},
			}, nil
		},
	})
}

func TestAnotherProfileAnswersWhenAllTriesFailed(t *testing.T) {
	t.Parallel()
	first, second, third := llmtest.New(t), llmtest.New(t), llmtest.New(t)
	first.Reply(llmtest.Fail(429, "slow down"), llmtest.Reply{Text: "lost", End: llmtest.Cut}, llmtest.Text("back again"))
	second.Reply(llmtest.Fail(500, ""))
	third.Reply(llmtest.Reply{Text: "I stand in.", Usage: &llmtest.Usage{Prompt: 5, Completion: 3}})
	m := withFallback(t, fallbacks, nil, map[string]string{"first": first.URL, "second": second.URL, "third": third.URL})
	var h heard
	resp, err := m.Generate(t.Context(), hello("Go."), h.listen)
	if err != nil {
		t.Fatal(err)
	}
	if textOf(resp) != "I stand in." || resp.Model != "openai/third" || resp.Usage.PromptTokens != 5 {
		t.Errorf("response %+v, want that of the third profile", resp)
	}
	if h.Text != "I stand in." || h.Restarts != 1 {
		t.Errorf("handed on %q with %d restarts", h.Text, h.Restarts)
	}
	if info := m.Info(); info.UsageID != "default" || info.Model != "openai/first" {
		t.Errorf("the model became %+v", info)
	}
	// The next call begins with the first profile again.
	if resp, err := ask(t, m); err != nil || textOf(resp) != "back again" || resp.Model != "openai/first" {
		t.Errorf("next answer %q of %s, error %v", textOf(resp), resp.Model, err)
	}
}

func TestWhenAllFailTheFirstErrorCounts(t *testing.T) {
	t.Parallel()
	first, second := llmtest.New(t), llmtest.New(t)
	first.Reply(llmtest.Fail(429, "first is busy"), llmtest.Fail(429, "first is busy"))
	second.Reply(llmtest.Fail(401, "second has no key"))
	m := withFallback(t, `"fallback_strategy":{"fallback_llms":["second"]}`, nil, map[string]string{"first": first.URL, "second": second.URL})
	_, err := ask(t, m)
	if failed := failure(t, err); failed.Code != llm.CodeRateLimit {
		t.Errorf("error %v, want that of the first profile", failed)
	}
}

func TestNoFallbackForWhatIsNotTransient(t *testing.T) {
	t.Parallel()
	first := llmtest.New(t)
	first.Reply(llmtest.Fail(401, "no"))
	m := withFallback(t, fallbacks, nil, map[string]string{"first": first.URL, "second": "http://unused.invalid"})
	_, err := ask(t, m)
	if failed := failure(t, err); failed.Code != llm.CodeAuthentication {
		t.Errorf("error %v", failed)
	}
}

func TestCancellingEndsTheFallbackToo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	client := server(func(r *http.Request) (*http.Response, error) {
		asked++
		if asked == 3 {
			cancel()
			return nil, r.Context().Err()
		}
		return answer(500, "text/plain", ""), nil
	}).client()
	m := withFallback(t, fallbacks, client, map[string]string{"first": "http://a.invalid", "second": "http://b.invalid", "third": "http://c.invalid"})
	if _, err := m.Generate(ctx, hello("Go."), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	if asked != 3 {
		t.Errorf("%d requests, want none behind the cancellation", asked)
	}
}
