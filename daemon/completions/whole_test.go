package completions_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

var (
	requestForm = regexp.MustCompile(`^req_[0-9a-f]{32}$`)
	idForm      = regexp.MustCompile(`^chatcmpl-[0-9a-f]{32}$`)
)

// An answer in one piece fits the schema and has its usage with all details. The
// keys that must be absent are tested in daemon/openai.
func TestACompletionFitsTheSchema(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Delta("I will "), daemontest.Say("I will look."), daemontest.Tool("go test ./..."), daemontest.Finish("The tests pass.")))
	res := g.Chat(apitest.Ask("do they pass?"))
	c := apitest.Completed(t, res)
	apitest.Equal(t, "the answer", c.Text(), "The tests pass.")
	apitest.Equal(t, "c.Choices[0].Message.Reasoning", c.Choices[0].Message.Reasoning, "$ go test ./...\n")
	apitest.Equal(t, "c.Choices[0].FinishReason", c.Choices[0].FinishReason, "stop")
	if !idForm.MatchString(c.ID) || c.Model != "openhands_default" || c.Extension != nil {
		t.Errorf("the completion = %s", res.Body)
	}
	want := apitest.Usage{Prompt: 100, Completion: 20, Total: 120}
	want.Details.Cached, want.Reasoning.Tokens = 40, 5
	if diff := cmp.Diff(want, c.Usage); diff != "" {
		t.Error(diff)
	}
	h := res.Header
	for name, form := range map[string]*regexp.Regexp{
		"X-Request-Id": requestForm, "X-OpenHands-ServerConversation-ID": apitest.UUIDForm,
		"Openai-Processing-Ms": regexp.MustCompile(`^\d+$`),
	} {
		if !form.MatchString(h.Get(name)) {
			t.Errorf("%s: header = %q", name, h.Get(name))
		}
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
		"Cross-Origin-Resource-Policy": "same-origin", "Referrer-Policy": "no-referrer", "X-OpenHands-Run-Status": "finished",
		"X-OpenHands-Ignored": "", "Access-Control-Allow-Origin": "", "Content-Encoding": "",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s: header = %q, want %q", name, got, want)
		}
	}
}

// What clients send beside the message does no harm: contents in parts, developer
// messages, tool calls in the history, unknown and null fields, an empty answer at
// the end.
func TestWhatReachesTheAgent(t *testing.T) {
	t.Parallel()
	const pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	for name, tc := range map[string]struct {
		body    string
		want    agentapi.Message
		system  string
		ignored string
	}{
		"string": {apitest.Ask("hi"), agentapi.Message{Text: "hi"}, "", ""},
		"parts":  {apitest.Messages(`{"role":"user","content":[{"type":"text","text":"hi"}]}`), agentapi.Message{Text: "hi"}, "", ""},
		"image": {
			apitest.Messages(`{"role":"user","content":[{"type":"text","text":"what?"},{"type":"image_url","image_url":{"url":"` + pixel + `"}}]}`),
			agentapi.Message{Text: "what?", Images: []string{pixel}},
			"", "",
		},
		"developer is system": {apitest.Messages(`{"role":"developer","content":"be brief"},{"role":"user","content":"hi"}`), agentapi.Message{Text: "hi"}, "be brief", ""},
		"history": {
			apitest.Messages(`{"role":"user","content":"one"},{"role":"assistant","content":"two","tool_calls":[{"id":"1"}],"reasoning_content":"x"},{"role":"tool","tool_call_id":"1","content":"x"},{"role":"user","content":"hi"}`),
			agentapi.Message{Text: "Earlier turns of this chat, quoted as background:\n\n> User: one\n\n> Assistant: two\n\nThe new message of the user:\n\nhi"},
			"", "",
		},
		"empty assistant last": {apitest.Messages(`{"role":"user","content":"hi"},{"role":"assistant","content":""}`), agentapi.Message{Text: "hi"}, "", ""},
		"without effect": {
			apitest.Ask("hi", `"temperature":0.1,"tools":[{"type":"function"}],"tool_choice":"auto","user":{"id":1},"stream_options":{"include_usage":true},"call":{"x":1},"stop":null`),
			agentapi.Message{Text: "hi"},
			"", "call, temperature, tools",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := apitest.Serve(t, daemontest.New("default"))
			res := g.Chat(tc.body)
			apitest.Completed(t, res)
			if diff := cmp.Diff([]agentapi.Message{tc.want}, g.Backend.Prompts()); diff != "" {
				t.Error(diff)
			}
			open := g.Backend.Opened()[0]
			apitest.Equal(t, "open.System", open.System, tc.system)
			apitest.Equal(t, "open.Profile", open.Profile, "default")
			if !open.New {
				t.Errorf("opened %+v", open)
			}
			if got := res.Header.Get("X-OpenHands-Ignored"); got != tc.ignored {
				t.Errorf("ignored %q, want %q", got, tc.ignored)
			}
		})
	}
}

func TestHistoryCanBeIgnoredAndSaysSo(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, daemontest.New("default"), func(c *daemon.Config) { c.IgnoreHistory = true })
	res := g.Chat(apitest.Messages(`{"role":"user","content":"one"},{"role":"assistant","content":"two"},{"role":"user","content":"hi"}`))
	apitest.Completed(t, res)
	if got := g.Backend.Prompts()[0].Text; got != "hi" || res.Header.Get("X-OpenHands-Ignored") != "history" {
		t.Errorf("prompt %q, ignored %q", got, res.Header.Get("X-OpenHands-Ignored"))
	}
}

// Images come as data URLs, and as https URLs of public hosts where that is
// allowed; the daemon fetches none.
func TestRemoteImagesAreAllowedByOptionAndNeverPrivate(t *testing.T) {
	t.Parallel()
	image := func(url string) string {
		return apitest.Messages(`{"role":"user","content":[{"type":"image_url","image_url":"` + url + `"}]}`)
	}
	t.Run("off", func(t *testing.T) {
		t.Parallel()
		g := apitest.Serve(t, daemontest.New("default"))
		apitest.Envelope(t, g.Chat(image("https://example.com/x.png")), http.StatusBadRequest, "invalid_image_url", "messages[0].content[0].image_url")
		if g.Backend.Runs() != 0 {
			t.Error("a run was started")
		}
	})
	t.Run("on", func(t *testing.T) {
		t.Parallel()
		var looked []string
		g := apitest.Serve(t, daemontest.New("default"), func(c *daemon.Config) {
			c.ImageURLs = true
			c.Lookup = func(_ context.Context, host string) ([]netip.Addr, error) {
				looked = append(looked, host)
				addrs := map[string][]netip.Addr{
					"example.com":  {netip.MustParseAddr("93.184.216.34")},
					"evil.example": {netip.MustParseAddr("93.184.216.34"), netip.MustParseAddr("127.0.0.1")},
				}
				if host == "gone.example" {
					return nil, errors.New("no such host")
				}
				return addrs[host], nil
			}
		})
		apitest.Completed(t, g.Chat(image("https://example.com/x.png")))
		apitest.Envelope(t, g.Chat(image("https://evil.example/x.png")), http.StatusBadRequest, "invalid_image_url", "messages")
		apitest.Envelope(t, g.Chat(image("https://gone.example/x.png")), http.StatusBadRequest, "invalid_image_url", "messages")
		apitest.Envelope(t, g.Chat(image("https://empty.example/x.png")), http.StatusBadRequest, "invalid_image_url", "messages")
		apitest.Envelope(t, g.Chat(image("http://169.254.169.254/x")), http.StatusBadRequest, "invalid_image_url", "messages[0].content[0].image_url")
		if diff := cmp.Diff([]agentapi.Message{{Images: []string{"https://example.com/x.png"}}}, g.Backend.Prompts()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"example.com", "evil.example", "gone.example", "empty.example"}, looked); diff != "" {
			t.Error(diff)
		}
	})
}

// The conversation's id is in a header, the same for each turn, and the usage is
// that of one turn.
func TestAConversationGoesOnUnderItsID(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, daemontest.New("default"), func(c *daemon.Config) { c.OneShotTTL = time.Hour })
	first := g.Chat(apitest.Messages(`{"role":"system","content":"be brief"},{"role":"user","content":"one"}`))
	apitest.Completed(t, first)
	id := first.Header.Get("X-OpenHands-ServerConversation-ID")
	for i, form := range []string{id, strings.ToUpper(id), strings.ReplaceAll(id, "-", "")} {
		res := g.Chat(apitest.Messages(fmt.Sprintf(`{"role":"system","content":"be brief"},{"role":"user","content":"one"},{"role":"assistant","content":"ok"},{"role":"user","content":"turn %d"}`, i)), "X-OpenHands-ServerConversation-ID", form)
		if c := apitest.Completed(t, res); c.Usage.Prompt != 100 || c.Usage.Total != 120 {
			t.Errorf("usage of the turn %+v", c.Usage)
		}
		if got := res.Header.Get("X-OpenHands-ServerConversation-ID"); got != id {
			t.Errorf("conversation %q, want %q", got, id)
		}
		if got := res.Header.Get("X-OpenHands-Ignored"); got != "" {
			t.Errorf("ignored %q", got)
		}
	}
	var texts []string
	for _, m := range g.Backend.Prompts() {
		texts = append(texts, m.Text)
	}
	if diff := cmp.Diff([]string{"one", "turn 0", "turn 1", "turn 2"}, texts); diff != "" {
		t.Error(diff)
	}
	res := g.Chat(apitest.Messages(`{"role":"system","content":"be long"},{"role":"user","content":"another"}`, `"top_p":1`), "X-OpenHands-ServerConversation-ID", id)
	apitest.Completed(t, res)
	if got := res.Header.Get("X-OpenHands-Ignored"); got != "system, top_p" {
		t.Errorf("ignored %q, want the changed system text", got)
	}
}

func TestAnUnknownConversationIsMadeUnderItsID(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, daemontest.New("default"))
	res := g.Chat(apitest.Messages(`{"role":"user","content":"one"},{"role":"assistant","content":"two"},{"role":"user","content":"hi"}`), "X-OpenHands-ServerConversation-ID", apitest.Conversation)
	apitest.Completed(t, res)
	if open := g.Backend.Opened()[0]; open.ID != apitest.Conversation || open.New {
		t.Errorf("opened %+v", open)
	}
	if got := g.Backend.Prompts()[0].Text; !strings.HasPrefix(got, "Earlier turns") {
		t.Errorf("prompt %q", got)
	}
}

func TestAnEmptyTemplateIsNoConversation(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, daemontest.New("default"))
	for _, value := range []string{" ", "null", "undefined", "NEW", "none", "{{CHAT_ID}}", "${chat}"} {
		res := g.Chat(apitest.Ask("hi "+value), "X-OpenHands-ServerConversation-ID", value)
		apitest.Completed(t, res)
		if id := res.Header.Get("X-OpenHands-ServerConversation-ID"); !apitest.UUIDForm.MatchString(id) {
			t.Errorf("%q: conversation %q", value, id)
		}
	}
	for _, open := range g.Backend.Opened() {
		if !open.New {
			t.Errorf("opened %+v", open)
		}
	}
}

func TestAnotherModelSwitchesOrIsRefused(t *testing.T) {
	t.Parallel()
	cheap := strings.Replace(apitest.Ask("two"), "openhands_default", "openhands_cheap", 1)
	t.Run("switches", func(t *testing.T) {
		t.Parallel()
		g := apitest.Serve(t, daemontest.New("default", "cheap"))
		apitest.Completed(t, g.Chat(apitest.Ask("one"), "X-OpenHands-ServerConversation-ID", apitest.Conversation))
		apitest.Completed(t, g.Chat(cheap, "X-OpenHands-ServerConversation-ID", apitest.Conversation))
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		b := daemontest.New("default", "cheap")
		b.NoSwitch = true
		g := apitest.Serve(t, b)
		apitest.Completed(t, g.Chat(apitest.Ask("one"), "X-OpenHands-ServerConversation-ID", apitest.Conversation))
		for _, body := range []string{cheap, strings.Replace(cheap, `"model"`, `"stream":true,"model"`, 1)} {
			res := g.Chat(body, "X-OpenHands-ServerConversation-ID", apitest.Conversation)
			apitest.Envelope(t, res, http.StatusConflict, "model_mismatch", "model")
			apitest.Equal(t, "X-Should-Retry", res.Header.Get("X-Should-Retry"), "false")
			apitest.Equal(t, "X-OpenHands-ServerConversation-ID", res.Header.Get("X-OpenHands-ServerConversation-ID"), apitest.Conversation)
		}
		if n := b.Runs(); n != 1 {
			t.Errorf("%d runs, want 1", n)
		}
	})
}

func TestAConversationWithItsOwnModelKeepsItUnlessAProfileIsNamed(t *testing.T) {
	t.Parallel()
	b := daemontest.New("default", "cheap")
	b.OwnModel, b.NoSwitch = true, true
	g := apitest.Serve(t, b)
	whichever := strings.Replace(apitest.Ask("again"), "openhands_default", "openhands", 1)
	for range 2 {
		apitest.Completed(t, g.Chat(whichever, "X-OpenHands-ServerConversation-ID", apitest.Conversation))
	}
	apitest.Envelope(t, g.Chat(apitest.Ask("two"), "X-OpenHands-ServerConversation-ID", apitest.Conversation), http.StatusConflict, "model_mismatch", "model")
}

// A run of more than 15 s sends its status and white space before the result:
// Node gives up after 300 s without a header.
func TestALongPlainRunSendsWhiteSpaceAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := apitest.Serve(t, apitest.Script(daemontest.Wait(50*time.Second), daemontest.Finish("done")))
		began := time.Now()
		res := g.Send(g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("slow")))
		defer res.Body.Close()
		if waited := time.Since(began); waited != 15*time.Second || res.StatusCode != http.StatusOK {
			t.Errorf("status %d after %v", res.StatusCode, waited)
		}
		apitest.Equal(t, "res.ContentLength", res.ContentLength, -1)
		apitest.Equal(t, "Content-Type", res.Header.Get("Content-Type"), "application/json")
		if res.Header.Get("X-OpenHands-ServerConversation-ID") == "" {
			t.Errorf("length %d, headers %v", res.ContentLength, res.Header)
		}
		r := bufio.NewReader(res.Body)
		for i := range 3 {
			line, err := r.ReadString('\n')
			if want := time.Duration(i+1) * 15 * time.Second; line != " \n" || err != nil || time.Since(began) != want {
				t.Errorf("the line = %q, %v after %v, want white space after %v", line, err, time.Since(began), want)
			}
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if c := apitest.Completed(t, apitest.Response{Status: 200, Body: " \n" + string(body)}); c.Text() != "done" {
			t.Errorf("the body = %s", body)
		}
	})
}

// A failure after white space has the status 200 already, and is not an answer.
func TestAFailureAfterWhiteSpaceIsNoCompletion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := apitest.Script(daemontest.Wait(20*time.Second), daemontest.Fail("SomeError", "it broke"))
		g := apitest.Serve(t, b)
		res := g.Chat(apitest.Ask("slow"))
		apitest.Equal(t, "the status", res.Status, http.StatusOK)
		if !errors.Is(res.Err, io.ErrUnexpectedEOF) {
			t.Fatalf("status %d, %v: a body that does not break off can be taken for an answer: %s", res.Status, res.Err, res.Body)
		}
		var body struct {
			Error   map[string]any
			Choices []any
			Object  string
			Ohgw    map[string]any
		}
		if err := json.Unmarshal([]byte(res.Body), &body); err != nil {
			t.Fatalf("read the body: %v: %s", err, res.Body)
		}
		want := map[string]any{"run_status": "error", "code": "run_error", "message": "The agent run failed: it broke"}
		if diff := cmp.Diff(want, body.Ohgw); diff != "" {
			t.Error(diff)
		}
		if body.Choices == nil {
			t.Errorf("the body = %s, want choices", res.Body)
		}
		apitest.Size(t, "body.Choices", body.Choices, 0)
		apitest.Equal(t, `body.Error["code"]`, body.Error["code"], "run_error")
		apitest.Equal(t, `body.Error["message"]`, body.Error["message"], want["message"])
		apitest.Equal(t, "body.Object", body.Object, "chat.completion")
		// What libraries do then gets the failure with its status, and no second run.
		for _, retry := range []string{"1", ""} {
			e := apitest.Envelope(t, g.Chat(apitest.Ask("slow"), "X-Stainless-Retry-Count", retry), http.StatusInternalServerError, "run_error", "")
			if !strings.HasPrefix(e["message"].(string), "The agent run failed: it broke") {
				t.Errorf("the error: %v", e)
			}
		}
		if b.Runs() != 1 {
			t.Errorf("%d runs, want 1", b.Runs())
		}
		if s := g.Logs.String(); !strings.Contains(s, "run_error") {
			t.Errorf("the log does not tell of the failure: %s", s)
		}
	})
}

// Clients and proxies see white space every 15 s, whatever the agent says
// meanwhile that is not part of the answer yet.
func TestAnAgentThatTalksLeavesNoPlainClientWithoutBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var steps []daemontest.Step
		for range 62 {
			steps = append(steps, daemontest.Wait(time.Second), daemontest.Delta("word "))
		}
		g := apitest.Serve(t, apitest.Script(append(steps, daemontest.Finish("done"))...))
		res := g.Chat(apitest.Ask("slow"))
		if c := apitest.Completed(t, res); c.Text() != "done" {
			t.Errorf("the body = %s", res.Body)
		}
		if got := strings.Count(res.Body[:strings.Index(res.Body, "{")], "\n"); got != 4 {
			t.Errorf("white space %d times in 62 s, want 4", got)
		}
	})
}

func TestPlainHeartbeatsCanBeOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := apitest.Serve(t, apitest.Script(daemontest.Wait(time.Hour), daemontest.Fail("SomeError", "it broke")), func(c *daemon.Config) { c.WholeHeartbeat = -1 })
		apitest.Envelope(t, g.Chat(apitest.Ask("slow")), http.StatusInternalServerError, "run_error", "")
	})
}

// A run that waits for a confirmation, or was paused, ends as an answer with a
// notice; so do the other ends that are not a failure.
func TestEndsThatAPersonCanGoOnFromAreAnswers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		steps  []daemontest.Step
		status string
		finish string
		text   []string // parts of it, in order
	}{
		"paused":       {[]daemontest.Step{daemontest.Say("So far."), daemontest.End(event.Paused)}, "paused", "stop", []string{"So far.\n\n", "paused"}},
		"waiting":      {[]daemontest.Step{daemontest.Say("May I?"), daemontest.Confirm("rm -rf build")}, "waiting_for_confirmation", "stop", []string{"May I?\n\n", "- $ rm -rf build\n", `"yes"`, "X-OpenHands-Confirm"}},
		"budget":       {[]daemontest.Step{daemontest.Say("So far."), daemontest.Fail("MaxIterationsReached", "500 steps")}, "error", "length", []string{"So far.\n\n", "500 steps"}},
		"cut off":      {[]daemontest.Step{daemontest.Cut("The full name of"), daemontest.End(event.Finished)}, "finished", "length", []string{"The full name of"}},
		"without text": {[]daemontest.Step{daemontest.End(event.Finished)}, "finished", "stop", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := apitest.Serve(t, apitest.Script(tc.steps...))
			res := g.Chat(apitest.Ask("go"))
			c := apitest.Completed(t, res)
			f := apitest.Parse(t, g.Chat(apitest.Ask("go", apitest.Streamed)))
			if f.End != "[DONE]" {
				t.Errorf("the stream ended with %q", f.End)
			}
			last := f.Chunks[len(f.Chunks)-1]
			for kind, got := range map[string]struct{ text, finish string }{
				"plain": {c.Text(), c.Choices[0].FinishReason}, "stream": {f.Text(), *last.Choices[0].FinishReason},
			} {
				rest := got.text
				for _, part := range tc.text {
					_, after, found := strings.Cut(rest, part)
					if !found {
						t.Errorf("%s: %q lacks %q", kind, got.text, part)
					}
					rest = after
				}
				if tc.text == nil && got.text != "" {
					t.Errorf("%s: text = %q, want none", kind, got.text)
				}
				if got.finish != tc.finish {
					t.Errorf("%s: finish %q, want %q", kind, got.finish, tc.finish)
				}
			}
			if got := res.Header.Get("X-OpenHands-Run-Status"); got != tc.status {
				t.Errorf("run status %q, want %q", got, tc.status)
			}
			if c.Extension != nil && c.Extension["run_status"] != tc.status {
				t.Errorf("extension %v", c.Extension)
			}
			apitest.Equal(t, "whether there is no extension", c.Extension == nil, tc.status == "finished")
			if diff := cmp.Diff(c.Extension, last.Extension); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAConfirmationIsGivenOrRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer  string
		header  []string
		decided agentapi.Decision
		prompts int
		text    string
	}{
		"yes":       {"Yes.", nil, agentapi.Decision{Accept: true}, 1, "done"},
		"no":        {"no", nil, agentapi.Decision{Reason: "The user refused."}, 2, "ok: no"},
		"something": {"yes, but gently", nil, agentapi.Decision{Reason: "The user did not approve this action and sent a new message instead."}, 2, "ok: yes, but gently"},
		"accept":    {"whatever", []string{"X-OpenHands-Confirm", "accept"}, agentapi.Decision{Accept: true}, 1, "done"},
		"reject":    {"yes", []string{"X-OpenHands-Confirm", "reject"}, agentapi.Decision{Reason: "The user refused."}, 2, "ok: yes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := daemontest.New("default")
			b.Script = func(prompt string) []daemontest.Step {
				if prompt == "begin" {
					return []daemontest.Step{daemontest.Confirm("make"), daemontest.Finish("done")}
				}
				return []daemontest.Step{daemontest.Finish("ok: " + prompt)}
			}
			g := apitest.Serve(t, b)
			apitest.Completed(t, g.Chat(apitest.Ask("begin"), "X-OpenHands-ServerConversation-ID", apitest.Conversation))
			c := apitest.Completed(t, g.Chat(apitest.Ask(tc.answer), append(tc.header, "X-OpenHands-ServerConversation-ID", apitest.Conversation)...))
			apitest.Equal(t, "the answer", c.Text(), tc.text)
			apitest.Equal(t, "the number of runs", b.Runs(), tc.prompts)
			if diff := cmp.Diff([]agentapi.Decision{tc.decided}, b.Decided()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAPlainYesIsAMessageWhereNothingWaits(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, daemontest.New("default"))
	apitest.Completed(t, g.Chat(apitest.Ask("begin"), "X-OpenHands-ServerConversation-ID", apitest.Conversation))
	apitest.Completed(t, g.Chat(apitest.Ask("yes"), "X-OpenHands-ServerConversation-ID", apitest.Conversation))
	if got := g.Backend.Prompts(); len(got) != 2 || got[1].Text != "yes" {
		t.Errorf("prompts %v", got)
	}
}

func TestARunIsStoppedAfterItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := apitest.Serve(t, apitest.Script(daemontest.Say("So far."), daemontest.Hang()))
		began := time.Now()
		res := g.Chat(apitest.Ask("slow"), "X-OpenHands-Timeout", "2.5")
		e := apitest.Envelope(t, res, http.StatusGatewayTimeout, "run_timeout", "")
		if took := time.Since(began); took != 2500*time.Millisecond || !strings.Contains(e["message"].(string), "2.5 s") {
			t.Errorf("the error: %v after %v", e, took)
		}
		apitest.Equal(t, "X-OpenHands-Run-Status", res.Header.Get("X-OpenHands-Run-Status"), "timeout")
		apitest.Equal(t, "the number of interrupts", g.Backend.Interrupts(), 1)
		f := apitest.Parse(t, g.Chat(apitest.Ask("slow again", apitest.Streamed), "X-OpenHands-Timeout", "3"))
		apitest.FrameError(t, []byte(f.End), "run_timeout", "")
	})
}

func TestProgressCanBeHidden(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Tool("ls"), daemontest.Finish("done")), func(c *daemon.Config) { c.HideProgress = true })
	if c := apitest.Completed(t, g.Chat(apitest.Ask("go"))); c.Choices[0].Message.Reasoning != "" || c.Text() != "done" {
		t.Errorf("the completion = %+v", c)
	}
	if f := apitest.Parse(t, g.Chat(apitest.Ask("go", apitest.Streamed))); f.Reasoning() != "" || strings.Contains(fmt.Sprint(f.Chunks), "reasoning") {
		t.Errorf("the stream = %+v", f)
	}
}

func TestProgressIsBounded(t *testing.T) {
	t.Parallel()
	var steps []daemontest.Step
	for range 2000 {
		steps = append(steps, daemontest.Tool(strings.Repeat("x", 100)))
	}
	g := apitest.Serve(t, apitest.Script(append(steps, daemontest.Finish("done"))...))
	c := apitest.Completed(t, g.Chat(apitest.Ask("go")))
	if n := len(c.Choices[0].Message.Reasoning); n > 64<<10 || n < 60<<10 {
		t.Errorf("%d bytes of progress", n)
	}
}

func TestOneShotsAreRemovedAfterTheirTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := apitest.Serve(t, daemontest.New("default"), func(c *daemon.Config) { c.OneShotTTL = time.Minute })
		gone := g.Chat(apitest.Ask("one")).Header.Get("X-OpenHands-ServerConversation-ID")
		kept := g.Chat(apitest.Ask("two")).Header.Get("X-OpenHands-ServerConversation-ID")
		time.Sleep(30 * time.Second)
		apitest.Completed(t, g.Chat(apitest.Ask("three"), "X-OpenHands-ServerConversation-ID", kept))
		time.Sleep(time.Hour)
		if diff := cmp.Diff([]string{gone}, g.Backend.Removed()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestTheAnswerIsLargeAndWhole(t *testing.T) {
	t.Parallel()
	want := strings.Repeat("The quick brown fox 😀\n", 50_000)
	g := apitest.Serve(t, apitest.Script(daemontest.Finish(want)))
	res := g.Chat(apitest.Ask("go"))
	if got := apitest.Completed(t, res).Text(); got != want {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
	if !json.Valid([]byte(res.Body)) {
		t.Error("not JSON")
	}
}
