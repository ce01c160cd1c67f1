package llmtest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

func usage(prompt, completion, cached, reasoning float64) map[string]any {
	return map[string]any{
		"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion,
		"prompt_tokens_details":     map[string]any{"cached_tokens": cached},
		"completion_tokens_details": map[string]any{"reasoning_tokens": reasoning},
	}
}

func TestEveryReplyReadsTheSameStreamedAndWhole(t *testing.T) {
	t.Parallel()
	plain := usage(100, 10, 0, 0)
	tests := []struct {
		name  string
		reply llmtest.Reply
		want  answer
	}{
		{"text", llmtest.Text("two words,  and more\n"), answer{Text: "two words,  and more\n", Stop: "stop", Usage: plain}},
		{"nothing", llmtest.Reply{}, answer{Stop: "stop", Usage: plain}},
		{"slow words", llmtest.Slow(3, 1), answer{Text: "word1 word2 word3", Stop: "stop", Usage: plain}},
		{
			"a tool call", llmtest.Tool("terminal", `{"command":"echo é → done"}`),
			answer{Calls: []string{`terminal {"command":"echo é → done"}`}, Stop: "tool_calls", Usage: plain},
		},
		{"finish", llmtest.Finish(`"x"`), answer{Calls: []string{`finish {"message":"\"x\""}`}, Stop: "tool_calls", Usage: plain}},
		{"everything at once", llmtest.Reply{
			Reasoning: "let me think", Text: "so", Calls: []llmtest.Call{{Name: "a", Args: "{}"}, {Name: "b"}},
			Stop: "length", Usage: &llmtest.Usage{Prompt: 5, Completion: 4, Cached: 3, Reasoning: 2},
		}, answer{Reasoning: "let me think", Text: "so", Calls: []string{"a {}", "b "}, Stop: "length", Usage: usage(5, 4, 3, 2)}},
		{"no usage", llmtest.Reply{Text: "x", Usage: &llmtest.Usage{}}, answer{Text: "x", Stop: "stop"}},
	}
	for _, tt := range tests {
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/stream=%v", tt.name, stream), func(t *testing.T) {
				t.Parallel()
				llm := llmtest.New(t)
				llm.Reply(tt.reply)
				want := tt.want
				want.Status, want.Done = http.StatusOK, true
				if diff := cmp.Diff(want, ask(t, llm.URL, question(stream, "go"))); diff != "" {
					t.Errorf("answer (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestToolArgumentsAreStreamedInPieces(t *testing.T) {
	t.Parallel()
	llm := llmtest.New(t)
	llm.Reply(llmtest.Tool("terminal", `{"command":"echo a rather long line"}`))
	raw, err := io.ReadAll(post(t, llm.URL, question(true, "go")).Body)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(raw), `"tool_calls":[`); n < 4 {
		t.Errorf("the call came in %d pieces, want at least 4:\n%s", n, raw)
	}
}

func TestStreamedUsageIsSentOnlyWhenAskedFor(t *testing.T) {
	t.Parallel()
	llm := llmtest.New(t)
	got := ask(t, llm.URL, `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`)
	if got.Usage != nil || !got.Done {
		t.Errorf("answer = %+v, want no usage and an end", got)
	}
}

func TestErrorsLookLikeTheProviders(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reply  llmtest.Reply
		status int
		text   string
	}{
		{llmtest.Fail(401, "bad key"), 401, "invalid_api_key: bad key"},
		{llmtest.Fail(429, ""), 429, "rate_limit_exceeded: Too Many Requests"},
		{llmtest.Fail(503, "down"), 503, "server_error: down"},
		{llmtest.Fail(404, "no"), 404, "invalid_request: no"},
	}
	for _, tt := range tests {
		llm := llmtest.New(t)
		llm.Reply(tt.reply)
		want := answer{Status: tt.status, Text: tt.text, Done: true}
		if diff := cmp.Diff(want, ask(t, llm.URL, question(true, "go"))); diff != "" {
			t.Errorf("answer (-want +got):\n%s", diff)
		}
	}
	llm := llmtest.New(t)
	llm.Reply(llmtest.ContextTooLong())
	if got := ask(t, llm.URL, question(true, "go")); !strings.HasPrefix(got.Text, "context_length_exceeded: This model's maximum context") {
		t.Errorf("answer = %+v", got)
	}
}

func TestRawAnswersAreSentAsTheyStand(t *testing.T) {
	t.Parallel()
	llm := llmtest.New(t)
	llm.Reply(llmtest.Reply{Status: 200, Body: "<html>", Header: http.Header{"content-type": {"text/html"}, "X-Cost": {"0.6"}}})
	res := post(t, llm.URL, question(false, "go"))
	body, _ := io.ReadAll(res.Body)
	if string(body) != "<html>" || res.Header.Get("Content-Type") != "text/html" || res.Header.Get("X-Cost") != "0.6" {
		t.Errorf("body %q, header %v", body, res.Header)
	}
}

func TestCutBreaksTheConnection(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{true, false} {
		llm := llmtest.New(t)
		llm.Reply(llmtest.Reply{Text: "half of it", End: llmtest.Cut})
		raw, err := io.ReadAll(post(t, llm.URL, question(stream, "go")).Body)
		if !errors.Is(err, io.ErrUnexpectedEOF) || len(raw) == 0 || strings.Contains(string(raw), "[DONE]") {
			t.Errorf("stream=%v: read %q, error %v; want a part and an unexpected EOF", stream, raw, err)
		}
		if got := llm.Await(t, 1).Wait(t); got != llmtest.Broken {
			t.Errorf("stream=%v: outcome = %v, want broken", stream, got)
		}
	}
}

func TestGarbleEndsWithoutJSON(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{true, false} {
		llm := llmtest.New(t)
		llm.Reply(llmtest.Reply{End: llmtest.Garble})
		got := ask(t, llm.URL, question(stream, "go"))
		if got.Done || got.Text != "(not JSON)" {
			t.Errorf("stream=%v: answer = %+v", stream, got)
		}
	}
}

func TestHangLastsUntilTheClientLeaves(t *testing.T) {
	t.Parallel()
	llm := llmtest.New(t)
	llm.Reply(llmtest.Reply{Text: "so far", End: llmtest.Hang})
	res := post(t, llm.URL, question(true, "go"))
	for lines := bufio.NewScanner(res.Body); lines.Scan() && !strings.Contains(lines.Text(), `"far"`); {
	}
	asked := llm.Await(t, 1)
	if got := asked.Outcome(); got != llmtest.Open || !asked.Ended().IsZero() {
		t.Errorf("outcome = %v, ended %v; want an open request", got, asked.Ended())
	}
	res.Body.Close()
	if got := asked.Wait(t); got != llmtest.ClientLeft {
		t.Errorf("outcome = %v, want client left", got)
	}
	if asked.Ended().Before(asked.Started) {
		t.Errorf("ended %v, before it started %v", asked.Ended(), asked.Started)
	}
}

func TestCloseEndsEveryAnswerBeforeItReturns(t *testing.T) {
	t.Parallel()
	llm := llmtest.New(t)
	llm.On(llmtest.Says("go"), llmtest.Reply{End: llmtest.Hang})
	const n = 20
	var answers []*http.Response
	for range n {
		answers = append(answers, post(t, llm.URL, question(true, "go")))
	}
	llm.Close()
	for _, asked := range llm.Requests() {
		if got := asked.Outcome(); got != llmtest.Broken {
			t.Errorf("outcome = %v, want broken", got)
		}
	}
	for _, res := range answers {
		if _, err := io.ReadAll(res.Body); err == nil {
			t.Error("an answer ended as if it were whole")
		}
	}
}

func TestWaitAndPaceTakeTheirTime(t *testing.T) {
	t.Parallel()
	const d = 5 * time.Millisecond
	for _, reply := range []llmtest.Reply{{Wait: 4 * d}, llmtest.Slow(4, d), {Calls: []llmtest.Call{{Name: "a", Args: strings.Repeat("x", 30)}}, Pace: d}} {
		llm := llmtest.New(t)
		llm.Reply(reply)
		ask(t, llm.URL, question(true, "go"))
		asked := llm.Await(t, 1)
		asked.Wait(t)
		if took := asked.Ended().Sub(asked.Started); took < 4*d {
			t.Errorf("%+v took %v, want at least %v", reply, took, 4*d)
		}
	}
}

func TestFeedIsWrittenLive(t *testing.T) {
	t.Parallel()
	llm := llmtest.New(t)
	feed := make(chan string)
	llm.Reply(llmtest.Reply{Feed: feed, Text: "!"})
	lines := bufio.NewScanner(post(t, llm.URL, question(true, "go")).Body)
	next := func(want string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), want) {
				return
			}
		}
		t.Fatalf("the stream ended before %q", want)
	}
	for _, piece := range []string{"Hel", "lo"} {
		feed <- piece
		next(`"content":"` + piece + `"`)
	}
	close(feed)
	next(`"content":"!"`)
	next("[DONE]")
}

func TestRequestsAreKept(t *testing.T) {
	t.Parallel()
	llm := llmtest.New(t)
	body := `{"model":"m","messages":[{"role":"system","content":"be kind"},
		{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:x"}},{"type":"text","text":"here"}]},
		{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"c1","content":"a.txt"}],
		"tools":[{"type":"function","function":{"name":"ls"}}]}`
	ask(t, llm.URL, body)
	got := llm.Await(t, 1)
	want := []llmtest.Message{
		{Role: "system", Text: "be kind"},
		{Role: "user", Text: "look\nhere", Images: []string{"data:x"}},
		{Role: "assistant", Calls: []llmtest.Call{{ID: "c1", Name: "ls", Args: "{}"}}},
		{Role: "tool", Text: "a.txt", CallID: "c1"},
	}
	if diff := cmp.Diff(want, got.Messages); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if string(got.Body) != body || got.Model != "m" || got.Stream || got.UserText() != "look\nhere" || got.Last().Role != "tool" {
		t.Errorf("request = %+v", got)
	}
	if diff := cmp.Diff([]string{"ls"}, got.Tools); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if got.Wait(t) != llmtest.Answered {
		t.Errorf("outcome = %v, want answered", got.Outcome())
	}
	llm.Forget()
	if n := len(llm.Requests()); n != 0 {
		t.Errorf("%d requests after Forget", n)
	}
}

func TestOnAnswersInTurnAndThenRepeats(t *testing.T) {
	t.Parallel()
	llm := llmtest.New(t)
	llm.On(llmtest.Model("other"), llmtest.Text("the other"))
	llm.On(llmtest.Says("rain"), llmtest.Text("one"), llmtest.Text("two"))
	var got []string
	for _, text := range []string{"rain", "will it rain?", "rain", "sun"} {
		got = append(got, ask(t, llm.URL, question(false, text)).Text)
	}
	got = append(got, ask(t, llm.URL, `{"model":"other","messages":[{"role":"user","content":"rain"}]}`).Text)
	if diff := cmp.Diff([]string{"one", "two", "two", "You said: sun", "the other"}, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

func TestParallelQuestionsGetTheirOwnAnswers(t *testing.T) {
	t.Parallel()
	llm := llmtest.New(t)
	for i := range 16 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			want := fmt.Sprintf("You said: number %d", i)
			if got := ask(t, llm.URL, question(true, fmt.Sprintf("number %d", i))).Text; got != want {
				t.Errorf("answer = %q, want %q", got, want)
			}
		})
	}
}

// fakeT collects what a server says about the test that started it.
type fakeT struct {
	testing.TB

	mu       sync.Mutex
	errors   []string
	cleanups []func()
}

func (f *fakeT) Helper()          {}
func (f *fakeT) Cleanup(c func()) { f.cleanups = append(f.cleanups, c) }
func (f *fakeT) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}

func TestAScriptThatDoesNotFitFailsTheTest(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		replies int
		body    string
		want    string
	}{
		{"too long", 2, question(false, "go"), "1 scripted replies were never asked for"},
		{"too short", 0, question(false, "and now?"), `past the end of the script; its newest message: "and now?"`},
		{"a bad directive", -1, question(false, "[[sya hi]]"), `directive [[sya hi]]: unknown verb "sya"`},
		{"a bad request", -1, `{"model":"m"}`, "parse messages"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			fake := &fakeT{TB: t}
			llm := llmtest.New(fake)
			if tt.replies >= 0 {
				llm.Reply(make([]llmtest.Reply, tt.replies)...)
			}
			ask(t, llm.URL, tt.body)
			for _, cleanup := range fake.cleanups {
				cleanup()
			}
			if len(fake.errors) != 1 || !strings.Contains(fake.errors[0], tt.want) {
				t.Errorf("errors = %q, want one with %q", fake.errors, tt.want)
			}
		})
	}
}

func TestRequestsCanBeReadFromOutside(t *testing.T) {
	t.Parallel()
	llm := llmtest.New(t)
	ask(t, llm.URL, question(true, "hello"))
	llm.Await(t, 1).Wait(t)
	root := strings.TrimSuffix(llm.URL, "/v1")
	var got []map[string]any
	if err := json.Unmarshal(do(t, http.MethodGet, root+"/requests"), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0]["outcome"] != "answered" || got[0]["user"] != "hello" || got[0]["ended"] == nil {
		t.Errorf("requests = %v", got)
	}
	do(t, http.MethodDelete, root+"/requests")
	if text := string(do(t, http.MethodGet, root+"/requests")); text != "[]\n" {
		t.Errorf("requests after DELETE = %q", text)
	}
	if text := string(do(t, http.MethodGet, llm.URL+"/models")); !strings.Contains(text, `"object":"list"`) {
		t.Errorf("models = %s", text)
	}
}

func do(t *testing.T, method, url string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestTheCallsOfOneReplyAreOneStepHoweverTheyComeBack(t *testing.T) {
	t.Parallel()
	llm := llmtest.New(t)
	const script = "[[tool a {}]] [[tool b {}]] then [[say two]]"
	raw, err := io.ReadAll(post(t, llm.URL, question(false, script)).Body)
	if err != nil {
		t.Fatal(err)
	}
	var first struct {
		Choices []struct {
			Message struct {
				ToolCalls []json.RawMessage `json:"tool_calls"`
			} `json:"message"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(raw, &first); err != nil {
		t.Fatal(err)
	}
	calls := first.Choices[0].Message.ToolCalls
	together := fmt.Sprintf(`{"role":"assistant","tool_calls":[%s,%s]}`, calls[0], calls[1])
	apart := fmt.Sprintf(`{"role":"assistant","tool_calls":[%s]},{"role":"assistant","tool_calls":[%s]}`, calls[0], calls[1])
	for _, history := range []string{together, apart} {
		body := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":%q},%s]}`, script, history)
		if got := ask(t, llm.URL, body).Text; got != "two" {
			t.Errorf("after %s: answer %q, want the second step", history, got)
		}
	}
}

func TestARefusalInAScriptIsPassedOnce(t *testing.T) {
	t.Parallel()
	llm := llmtest.New(t)
	const script = "[[fail 503 busy]] then [[say one]] then [[cut]] then [[say two]] then [[say three]]"
	turn := func(answers ...string) string {
		body := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":%q}`, script)
		for _, text := range answers {
			body += fmt.Sprintf(`,{"role":"assistant","content":%q},{"role":"user","content":""}`, text)
		}
		return strings.TrimSuffix(body, `,{"role":"user","content":""}`) + "]}"
	}
	if res := post(t, llm.URL, turn()); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("first: %s, want the refusal", res.Status)
	}
	if got := ask(t, llm.URL, turn()).Text; got != "one" {
		t.Errorf("asked again: %q, want the first reply", got)
	}
	if got := ask(t, llm.URL, turn("one")).Text; got == "one" {
		t.Errorf("after the first reply it came again")
	}
	if got := ask(t, llm.URL, turn("one")).Text; got != "two" {
		t.Errorf("after the cut: %q, want the second reply", got)
	}
}
