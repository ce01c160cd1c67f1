package llm_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
)

// What is repeated, and what goes on to a fallback profile, as the SDK of 1.58.2 did
// with the same answers. After an empty account ohgw goes on, OpenHands does so for 429.
func TestWhatIsRepeatedAndWhatFallsBack(t *testing.T) {
	t.Parallel()
	const budget, quota = "Budget has been exceeded! Current cost: 12.5, Max budget: 10", "You exceeded your current quota"
	for _, tt := range []struct {
		status              int
		kind, text          string
		repeated, fallsBack bool
	}{
		{400, "", "no", false, false},
		{404, "", "no", false, false},
		{405, "", "no", false, false},
		{422, "", "no", false, false},
		{425, "", "no", false, false},
		{408, "", "no", true, true},
		{409, "", "no", true, true},
		{429, "", "no", true, true},
		{500, "", "no", true, true},
		{501, "", "no", true, true},
		{502, "", "no", true, true},
		{504, "", "no", true, true},
		{524, "", "no", true, true},
		{429, "insufficient_quota", quota, false, true},
		{429, "", "usage_limit_reached: come back on Monday", false, true},
		{503, "insufficient_quota", "no", false, true},
		{429, "", budget, false, false},
		{429, "budget_exceeded", "no", false, false},
		{400, "budget_exceeded", budget, false, false},
		{500, "", "budget has been exceeded", true, true},
	} {
		asked := map[string]int{}
		client := server(func(r *http.Request) (*http.Response, error) {
			asked[r.URL.Host]++
			if r.URL.Host == "b.invalid" {
				return said("I stand in."), nil
			}
			return answer(tt.status, "application/json", `{"error":{"type":`+strconv.Quote(tt.kind)+`,"message":`+strconv.Quote(tt.text)+`}}`), nil
		}).client()
		m := withFallback(t, `"fallback_strategy":{"fallback_llms":["second"]}`, client, map[string]string{"first": "http://a.invalid", "second": "http://b.invalid"})
		_, err := ask(t, m)
		if got := asked["a.invalid"] > 1; got != tt.repeated || (asked["b.invalid"] > 0) != tt.fallsBack || (err == nil) != tt.fallsBack {
			t.Errorf("%d %s %q: asked %v, error %v", tt.status, tt.kind, tt.text, asked, err)
		}
	}
}

// The budget of a second profile ends the search: the third is not asked.
func TestABudgetEndsTheFallback(t *testing.T) {
	t.Parallel()
	var asked []string
	client := server(func(r *http.Request) (*http.Response, error) {
		asked = append(asked, r.URL.Host)
		if r.URL.Host == "b.invalid" {
			return answer(429, "application/json", `{"error":{"message":"Budget has been exceeded! Team=x"}}`), nil
		}
		return answer(503, "application/json", `{"error":{"message":"busy"}}`), nil
	}).client()
	m := withFallback(t, fallbacks, client, map[string]string{"first": "http://a.invalid", "second": "http://b.invalid", "third": "http://c.invalid"})
	_, err := ask(t, m)
	if failed := failure(t, err); failed.Classification.Kind != "quota" || !strings.Contains(failed.Detail, "Budget has been exceeded") {
		t.Errorf("error %+v, want that of the budget", failed)
	}
	if diff := cmp.Diff([]string{"a.invalid", "a.invalid", "b.invalid"}, asked); diff != "" {
		t.Error(diff)
	}
}

// An answer that dribbles for longer than the timeout is given up.
func TestATimeoutIsForTheWholeAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newModel(t, llm.Config{
			Profile: profile(t, "openai/test", `"timeout":25,"stream_idle_timeout":10,"num_retries":2`),
			HTTP: server(func(r *http.Request) (*http.Response, error) {
				resp := said(strings.Repeat("x", 200))
				resp.Body = &slowBody{ReadCloser: resp.Body, r: r}
				return resp, nil
			}).client(),
		})
		start := time.Now()
		told, _, err := announced(t, m)
		failed := failure(t, err)
		if took := time.Since(start); failed.Code != llm.CodeTimeout || took != 50*time.Second {
			t.Errorf("the failure: %v after %v, want a timeout after two attempts of 25 s", failed, took)
		}
		if len(told) != 1 || !strings.HasSuffix(told[0].Cause, " took longer than 25s") || !strings.Contains(failed.Detail, "longer than the profile's timeout") {
			t.Errorf("announced %+v, %s", told, failed.Detail)
		}
	})
}

// A profile with null waits for as long as it takes, up to an hour.
func TestNoTimeoutIsNoLimitOfAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newModel(t, llm.Config{
			Profile: profile(t, "openai/test", `"timeout":null`),
			HTTP: server(func(*http.Request) (*http.Response, error) {
				time.Sleep(20 * time.Minute)
				return said("At last."), nil
			}).client(),
		})
		if resp, err := ask(t, m); err != nil || textOf(resp) != "At last." {
			t.Errorf("answer = %q, error %v", textOf(resp), err)
		}
	})
}

// An attempt without an answer costs as well, whether the next one succeeds or not.
func TestAnEmptyAnswerCountsInTheUsage(t *testing.T) {
	t.Parallel()
	const empty = `{"id":"e","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}`
	for _, tries := range []int{1, 2} {
		n := 0
		m := newModel(t, llm.Config{
			Profile: profile(t, "openai/gpt-4o", `"num_retries":`+strconv.Itoa(tries)),
			HTTP: server(func(r *http.Request) (*http.Response, error) {
				_, _ = io.Copy(io.Discard, r.Body)
				if n++; n == 1 {
					return answer(200, "application/json", empty), nil
				}
				return said("now"), nil
			}).client(),
		})
		resp, err := ask(t, m)
		if (err == nil) != (tries == 2) || len(resp.Empty) != 1 {
			t.Fatalf("%d tries: %v, empty %+v", tries, err, resp.Empty)
		}
		if diff := cmp.Diff(event.TokenUsage{PromptTokens: 7, CompletionTokens: 2}, resp.Empty[0].Usage); diff != "" || resp.Empty[0].Cost == 0 || resp.Usage.PromptTokens != 0 {
			t.Errorf("%d tries: %+v\n%s", tries, resp, diff)
		}
	}
}
