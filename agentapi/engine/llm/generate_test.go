package llm_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

func TestAnAnswerIsHandedOnAsItIsWritten(t *testing.T) {
	t.Parallel()
	fake := llmtest.New(t)
	feed := make(chan string)
	fake.Reply(llmtest.Reply{
		Reasoning: "Let me see.", Feed: feed, Text: "three",
		Calls: []llmtest.Call{{ID: "a", Name: "terminal", Args: `{"command":"echo a, b and c"}`}, {ID: "b", Name: "finish", Args: `{"message":"hi"}`}},
		Usage: &llmtest.Usage{Prompt: 120, Completion: 30, Cached: 100, Reasoning: 7},
	})
	var h heard
	pieces := make(chan string)
	done := make(chan struct{})
	go func() { // the reader of what is handed on; ends with done
		defer close(done)
		for _, piece := range []string{"one ", "two "} {
			feed <- piece
			if got := <-pieces; got != piece {
				t.Errorf("handed on %q before the next piece was written, want %q", got, piece)
			}
		}
		close(feed)
	}()
	live := 2
	resp, err := at(t, fake.URL, "").Generate(t.Context(), hello("Go."), func(d llm.Delta) {
		h.listen(d)
		if d.Text != "" && live > 0 {
			live--
			pieces <- d.Text
		}
	})
	<-done
	if err != nil {
		t.Fatal(err)
	}
	want := heard{
		Text: "one two three", Reasoning: "Let me see.",
		Calls: []string{`a terminal {"command":"echo a, b and c"}`, `b finish {"message":"hi"}`},
	}
	if diff := cmp.Diff(want, h); diff != "" {
		t.Errorf("handed on (-want +got)\n%s", diff)
	}
	if resp.Latency < 0 {
		t.Errorf("latency %v", resp.Latency)
	}
	if !strings.HasPrefix(resp.ID, "chatcmpl-") {
		t.Errorf("id %q, want the provider's", resp.ID)
	}
	resp.Latency, resp.ID = 0, ""
	wantResponse := llm.Response{
		Model: "openai/test",
		Message: event.LLMMessage{
			Role: "assistant", Content: []event.Content{event.Text("one two three")}, ReasoningContent: "Let me see.",
			ThinkingBlocks: resp.Message.ThinkingBlocks,
			ToolCalls: []event.ToolCall{
				{ID: "a", Name: "terminal", Arguments: `{"command":"echo a, b and c"}`, Origin: "completion"},
				{ID: "b", Name: "finish", Arguments: `{"message":"hi"}`, Origin: "completion"},
			},
		},
		Usage: event.TokenUsage{PromptTokens: 120, CompletionTokens: 30, CacheReadTokens: 100, ReasoningTokens: 7},
	}
	if diff := cmp.Diff(wantResponse, resp); diff != "" {
		t.Errorf("response (-want +got)\n%s", diff)
	}
	if resp.Message.ThinkingBlocks == nil {
		t.Error("thinking blocks are nil; OpenHands reads no null there")
	}
}

func TestAnEmptyAnswerIsAnAnswer(t *testing.T) {
	t.Parallel()
	fake := llmtest.New(t)
	fake.Reply(llmtest.Reply{})
	resp, err := ask(t, at(t, fake.URL, ""))
	if err != nil {
		t.Fatal(err)
	}
	if resp.Message.Content == nil || len(resp.Message.Content) != 0 || resp.ID == "" {
		t.Errorf("response %+v, want an empty message with an id", resp)
	}
}

func TestTheOutputLimitIsTold(t *testing.T) {
	t.Parallel()
	fake := llmtest.New(t)
	fake.Reply(llmtest.Reply{Text: "half", Stop: "length"})
	if resp, err := ask(t, at(t, fake.URL, "")); err != nil || !resp.Length {
		t.Errorf("response %+v, error %v; want Length", resp, err)
	}
}

func TestATransientFailureIsTriedAgain(t *testing.T) {
	t.Parallel()
	half := func(end llmtest.Ending) llmtest.Reply {
		return llmtest.Reply{Text: "lost words", Calls: []llmtest.Call{{Name: "terminal", Args: `{"command":"rm -rf /"}`}}, End: end}
	}
	tests := map[string]struct {
		fail     llmtest.Reply
		restarts int
	}{
		"rate limit":           {llmtest.Fail(429, "slow down"), 0},
		"server error":         {llmtest.Fail(500, ""), 0},
		"bad gateway":          {llmtest.Fail(502, "<html>"), 0},
		"unavailable":          {llmtest.Fail(503, ""), 0},
		"overloaded":           {llmtest.Fail(529, ""), 0},
		"gateway timeout":      {llmtest.Fail(504, ""), 0},
		"request timeout":      {llmtest.Fail(408, ""), 0},
		"cut with whole calls": {half(llmtest.Cut), 1},
		"garbled":              {half(llmtest.Garble), 1},
		"cut at once":          {llmtest.Reply{End: llmtest.Cut}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := llmtest.New(t)
			fake.Reply(tt.fail, tt.fail, llmtest.Text("the answer"))
			var h heard
			resp, err := at(t, fake.URL, "").Generate(t.Context(), hello("Go."), h.listen)
			if err != nil {
				t.Fatal(err)
			}
			if textOf(resp) != "the answer" || h.Text != "the answer" || len(resp.Message.ToolCalls) > 0 {
				t.Errorf("answer %q with %d calls, handed on %q", textOf(resp), len(resp.Message.ToolCalls), h.Text)
			}
			if h.Restarts != 2*tt.restarts {
				t.Errorf("%d restarts, want %d", h.Restarts, 2*tt.restarts)
			}
			if n := len(fake.Requests()); n != 3 {
				t.Errorf("%d requests, want 3", n)
			}
		})
	}
}

func TestEachRequestCountsOnce(t *testing.T) {
	t.Parallel()
	for retries, want := range map[string]int{"0": 1, "1": 1, "2": 2, "5": 5} {
		fake := llmtest.New(t)
		fake.On(llmtest.Says(""), llmtest.Fail(500, "broken"))
		_, err := ask(t, at(t, fake.URL, `"num_retries":`+retries))
		if code := failure(t, err).Code; code != llm.CodeUnavailable {
			t.Errorf("num_retries %s: %s", retries, code)
		}
		if n := len(fake.Requests()); n != want {
			t.Errorf("num_retries %s: %d requests, want %d", retries, n, want)
		}
	}
}

func TestErrorClasses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fail llmtest.Reply
		code string
		kind event.Classification
	}{
		"context window":       {llmtest.ContextTooLong(), llm.CodeContextWindow, retryable("agent_action")},
		"context, Anthropic":   {llmtest.Fail(400, "prompt is too long: 210000 tokens > 200000 maximum"), llm.CodeContextWindow, retryable("agent_action")},
		"context before 429":   {llmtest.Fail(429, "Please reduce the length of the messages"), llm.CodeContextWindow, retryable("agent_action")},
		"context before 500":   {llmtest.Fail(500, "context window exceeds limit"), llm.CodeContextWindow, retryable("agent_action")},
		"history":              {llmtest.Fail(400, "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1"), llm.CodeMalformedHistory, retryable("agent_action")},
		"history, Moonshot":    {llmtest.Fail(400, "an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'"), llm.CodeMalformedHistory, retryable("agent_action")},
		"wrong key":            {llmtest.Fail(401, "no such key "+secretKey), llm.CodeAuthentication, settings("auth")},
		"forbidden":            {llmtest.Fail(403, "not yours"), llm.CodeAuthentication, settings("auth")},
		"wrong key, as 400":    {llmtest.Fail(400, "API key not valid. Please pass a valid API key."), llm.CodeAuthentication, settings("auth")},
		"denied, as 400":       {llmtest.Fail(400, "Access Denied"), llm.CodeAuthentication, settings("auth")},
		"rate limit":           {llmtest.Fail(429, "slow down"), llm.CodeRateLimit, retryable("rate_limit")},
		"timeout":              {llmtest.Fail(504, ""), llm.CodeTimeout, retryable("transient")},
		"server error":         {llmtest.Fail(500, "oops"), llm.CodeUnavailable, retryable("transient")},
		"unavailable":          {llmtest.Fail(503, "no models loaded"), llm.CodeUnavailable, settings("config")},
		"policy":               {llmtest.Fail(400, "Output blocked by content filtering policy"), llm.CodeContentPolicy, event.Classification{Kind: "unknown", UserAction: "none"}},
		"policy in the answer": {llmtest.Reply{Stop: "content_filter"}, llm.CodeContentPolicy, event.Classification{Kind: "unknown", UserAction: "none"}},
		"bad request":          {llmtest.Fail(400, "no such option"), llm.CodeBadRequest, settings("config")},
		"no such model":        {llmtest.Fail(404, "The model does not exist"), llm.CodeNotFound, settings("config")},
		"cut":                  {llmtest.Reply{Text: "half", End: llmtest.Cut}, llm.CodeUnavailable, retryable("transient")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := llmtest.New(t)
			fake.Reply(tt.fail)
			_, err := ask(t, at(t, fake.URL, `"num_retries":1`))
			failed := failure(t, err)
			if failed.Code != tt.code {
				t.Errorf("code %s (%s), want %s", failed.Code, failed.Detail, tt.code)
			}
			if diff := cmp.Diff(tt.kind, failed.Classification); diff != "" {
				t.Errorf("classification (-want +got)\n%s", diff)
			}
		})
	}
}

func retryable(kind string) event.Classification {
	return event.Classification{Kind: kind, Retryable: true, UserAction: "retry"}
}

func settings(kind string) event.Classification {
	return event.Classification{Kind: kind, UserAction: "settings"}
}

func TestWhatNoTryHelpsIsAskedOnce(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 403, 404, 422} {
		fake := llmtest.New(t)
		fake.Reply(llmtest.Fail(status, "no"))
		_, err := ask(t, at(t, fake.URL, ""))
		_ = failure(t, err)
	}
	fake := llmtest.New(t)
	fake.Reply(llmtest.Reply{Status: 429, Body: `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`})
	_, err := ask(t, at(t, fake.URL, ""))
	if code := failure(t, err).Code; code != llm.CodeRateLimit {
		t.Errorf("empty account: %s", code)
	}
}

func TestAnErrorInsideAStreamHasItsClass(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		`{"error":{"message":"Overloaded","type":"overloaded_error"}}`:                                             llm.CodeUnavailable,
		`{"error":{"message":"slow","code":429}}`:                                                                  llm.CodeRateLimit,
		`{"error":{"message":"slow","code":"429"}}`:                                                                llm.CodeRateLimit,
		`{"error":{"message":"bad key","code":401}}`:                                                               llm.CodeAuthentication,
		`{"error":{"message":"x","type":"invalid_request_error","code":"context_length_exceeded"}}`:                llm.CodeContextWindow,
		`{"error":"something broke"}`:                                                                              llm.CodeUnavailable,
		`{"id":"x","choices":[{"delta":{"content":"a"},"error":{"code":502,"message":"up"}}]}`:                     llm.CodeUnavailable,
		`{"id":"x","choices":[{"delta":{"content":""},"finish_reason":"error"}]}` + "\n\ndata: [DONE]":             llm.CodeUnavailable,
		`{"error":{"message":"no content","type":"invalid_request_error","param":null,"code":"invalid_argument"}}`: llm.CodeBadRequest,
	}
	for frame, want := range tests {
		cfg := llm.Config{
			Profile: profile(t, "openai/test", `"num_retries":1`),
			HTTP:    server(func(*http.Request) (*http.Response, error) { return stream("data: " + frame + "\n\n"), nil }).client(),
		}
		_, err := ask(t, newModel(t, cfg))
		if failed := failure(t, err); failed.Code != want {
			t.Errorf("%s: %s (%s), want %s", frame, failed.Code, failed.Detail, want)
		}
	}
}

func TestAnAnswerWithoutChoicesIsTriedWarmer(t *testing.T) {
	t.Parallel()
	var temperatures []string
	cfg := llm.Config{
		Profile: profile(t, "openai/test", `"num_retries":3,"temperature":0`),
		HTTP: server(func(r *http.Request) (*http.Response, error) {
			temperatures = append(temperatures, member(t, r, "temperature"))
			if len(temperatures) == 1 {
				return stream("data: {\"id\":\"x\",\"choices\":[]}\n\ndata: [DONE]\n\n"), nil
			}
			return said("now"), nil
		}).client(),
	}
	resp, err := ask(t, newModel(t, cfg))
	if err != nil || textOf(resp) != "now" {
		t.Errorf("answer %q, error %v", textOf(resp), err)
	}
	if diff := cmp.Diff([]string{"0", "1"}, temperatures); diff != "" {
		t.Errorf("temperatures (-want +got)\n%s", diff)
	}
	cfg.Profile.NumRetries = 1
	temperatures = nil
	_, err = ask(t, newModel(t, cfg))
	if code := failure(t, err).Code; code != llm.CodeNoResponse {
		t.Errorf("code %s, want %s", code, llm.CodeNoResponse)
	}
}

func TestTooLittleToCacheIsAskedAgainWithoutMarks(t *testing.T) {
	t.Parallel()
	var marked []bool
	cfg := llm.Config{
		Profile: profile(t, "litellm_proxy/claude-sonnet-4-5", `"base_url":"http://proxy.example","num_retries":1`),
		HTTP: server(func(r *http.Request) (*http.Response, error) {
			marked = append(marked, strings.Contains(body(t, r), "cache_control"))
			if len(marked) == 1 {
				return answer(400, "application/json", `{"error":{"message":"The minimum token count to start caching is 4096."}}`), nil
			}
			return said("ok"), nil
		}).client(),
	}
	if _, err := ask(t, newModel(t, cfg)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]bool{true, false}, marked); diff != "" {
		t.Errorf("marks (-want +got)\n%s", diff)
	}
}

func TestWaitsGrowWithinTheProfilesBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var at []time.Duration
		p := profile(t, "openai/test", `"retry_min_wait":8,"retry_max_wait":64`)
		p.NumRetries = 7
		m := newModel(t, llm.Config{Profile: p, HTTP: server(func(*http.Request) (*http.Response, error) {
			at = append(at, time.Since(start))
			return answer(503, "text/plain", "busy"), nil
		}).client()})
		_, err := ask(t, m)
		_ = failure(t, err)
		want := []time.Duration{0, 8, 24, 56, 120, 184, 248}
		for i := range want {
			want[i] *= time.Second
		}
		if diff := cmp.Diff(want, at); diff != "" {
			t.Errorf("requests at (-want +got)\n%s", diff)
		}
	})
}

func TestRetryAfterIsHonouredWithinBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		headers := []http.Header{
			{"Retry-After": {"20"}},
			{"Retry-After": {"1"}},
			{"Retry-After": {"3600"}},
			{"Retry-After-Ms": {"30500"}},
			{"Retry-After": {start.Add(200 * time.Second).UTC().Format(http.TimeFormat)}},
			{"Retry-After": {"soon"}},
			{},
		}
		var at []time.Duration
		p := profile(t, "openai/test", `"retry_min_wait":8,"retry_max_wait":64,"retry_multiplier":0`)
		p.NumRetries = len(headers)
		m := newModel(t, llm.Config{Profile: p, HTTP: server(func(*http.Request) (*http.Response, error) {
			resp := answer(429, "application/json", `{"error":{"message":"slow down"}}`)
			resp.Header = headers[len(at)]
			at = append(at, time.Since(start))
			return resp, nil
		}).client()})
		_, err := ask(t, m)
		_ = failure(t, err)
		var waits []float64
		for i := 1; i < len(at); i++ {
			waits = append(waits, (at[i] - at[i-1]).Seconds())
		}
		// The date is 200 s behind the start, of which 122.5 s are over.
		if diff := cmp.Diff([]float64{20, 8, 64, 30.5, 64, 8}, waits); diff != "" {
			t.Errorf("waits (-want +got)\n%s", diff)
		}
	})
}

func TestCancellingEndsAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		m := newModel(t, llm.Config{
			Profile: profile(t, "openai/test", `"retry_min_wait":60,"retry_max_wait":60`),
			HTTP:    server(func(*http.Request) (*http.Response, error) { return answer(500, "text/plain", ""), nil }).client(),
		})
		start := time.Now()
		_, err := m.Generate(ctx, hello("Go."), nil)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 5*time.Second {
			t.Errorf("error %v after %v", err, time.Since(start))
		}
	})
}

func TestCancellingClosesTheConnection(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]llmtest.Reply{
		"before the first byte": {Wait: time.Hour},
		"in the middle":         {Text: "some words", End: llmtest.Hang},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := llmtest.New(t)
			fake.Reply(reply)
			ctx, cancel := context.WithCancel(t.Context())
			over := make(chan error, 1)
			m := at(t, fake.URL, "")
			go func() { // ends with over
				_, err := m.Generate(ctx, hello("Go."), nil)
				over <- err
			}()
			req := fake.Await(t, 1)
			cancel()
			if err := <-over; !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want context.Canceled", err)
			}
			if outcome := req.Wait(t); outcome != llmtest.ClientLeft {
				t.Errorf("the request ended as %v", outcome)
			}
		})
	}
}

func TestASilentProviderTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		m := newModel(t, llm.Config{
			Profile: profile(t, "openai/test", `"timeout":10,"num_retries":2`),
			HTTP: server(func(r *http.Request) (*http.Response, error) {
				resp := stream(`data: {"choices":[{"delta":{"content":"some words"}}]}` + "\n\n")
				resp.Body = &hangingBody{ReadCloser: resp.Body, r: r}
				return resp, nil
			}).client(),
		})
		var h heard
		_, err := m.Generate(t.Context(), hello("Go."), h.listen)
		if code := failure(t, err).Code; code != llm.CodeTimeout {
			t.Errorf("code %s, want %s", code, llm.CodeTimeout)
		}
		if took := time.Since(start); took != 20*time.Second {
			t.Errorf("two attempts took %v, want 20s", took)
		}
		if h.Restarts != 1 {
			t.Errorf("%d restarts, want 1", h.Restarts)
		}
	})
}

func TestATimeoutClosesTheConnection(t *testing.T) {
	t.Parallel()
	fake := llmtest.New(t)
	fake.Reply(llmtest.Reply{Text: "some words", End: llmtest.Hang}, llmtest.Reply{Wait: time.Hour})
	_, err := at(t, fake.URL, `"timeout":0.5,"num_retries":2`).Generate(t.Context(), hello("Go."), nil)
	if code := failure(t, err).Code; code != llm.CodeTimeout {
		t.Errorf("code %s, want %s", code, llm.CodeTimeout)
	}
	for _, req := range fake.Requests() {
		if outcome := req.Wait(t); outcome != llmtest.ClientLeft {
			t.Errorf("a request ended as %v", outcome)
		}
	}
}

func TestSlowIsNotSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newModel(t, llm.Config{
			Profile: profile(t, "openai/test", `"stream_idle_timeout":10`),
			HTTP: server(func(r *http.Request) (*http.Response, error) {
				resp := said(strings.Repeat("x", 100))
				resp.Body = &slowBody{ReadCloser: resp.Body, r: r}
				return resp, nil
			}).client(),
		})
		start := time.Now()
		resp, err := ask(t, m)
		if err != nil || len(textOf(resp)) != 100 {
			t.Fatalf("answer %q, error %v", textOf(resp), err)
		}
		if took := time.Since(start); took < time.Minute {
			t.Errorf("the answer took %v only", took)
		}
	})
}

func TestAnEndlessDribbleEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newModel(t, llm.Config{
			Profile: profile(t, "openai/test", `"timeout":10,"num_retries":1`),
			HTTP: server(func(r *http.Request) (*http.Response, error) {
				resp := stream(strings.Repeat(": still here\n\n", 1<<20))
				resp.Body = &slowBody{ReadCloser: resp.Body, r: r}
				return resp, nil
			}).client(),
		})
		start := time.Now()
		_, err := ask(t, m)
		if code := failure(t, err).Code; code != llm.CodeTimeout {
			t.Errorf("code %s, want %s", code, llm.CodeTimeout)
		}
		if took := time.Since(start); took > 2*time.Hour {
			t.Errorf("the call took %v", took)
		}
	})
}

func TestAnEndlessAnswerEnds(t *testing.T) {
	t.Parallel()
	chunk := `data: {"choices":[{"delta":{"content":"` + strings.Repeat("word ", 1<<16) + `"}}]}` + "\n\n"
	m := newModel(t, llm.Config{
		Profile: profile(t, "openai/test", ""), AllowRepetition: true,
		HTTP: server(func(*http.Request) (*http.Response, error) { return stream(strings.Repeat(chunk, 100)), nil }).client(),
	})
	_, err := ask(t, m)
	if failed := failure(t, err); failed.Code != llm.CodeBadRequest || !strings.Contains(failed.Detail, "too long") {
		t.Errorf("error %v", failed)
	}
}

func TestAWholeAnswerInPlaceOfAStream(t *testing.T) {
	t.Parallel()
	m := newModel(t, llm.Config{
		Profile: profile(t, "openai/test", ""),
		HTTP: server(func(*http.Request) (*http.Response, error) {
			return answer(200, "application/json; charset=utf-8", `{"id":"w","choices":[{"message":{"role":"assistant","content":"all at once",
				"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":{"x":1}}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`), nil
		}).client(),
	})
	resp, err := ask(t, m)
	if err != nil || textOf(resp) != "all at once" || resp.Message.ToolCalls[0].Arguments != `{"x":1}` || resp.Usage.PromptTokens != 3 {
		t.Errorf("response %+v, error %v", resp, err)
	}
}
