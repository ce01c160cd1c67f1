package daemon_test

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
	"github.com/ohgw/ohgw/daemon/daemontest"
)

const conversation = "7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11"

var (
	uuidForm    = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	requestForm = regexp.MustCompile(`^req_[0-9a-f]{32}$`)
	idForm      = regexp.MustCompile(`^chatcmpl-[0-9a-f]{32}$`)
)

// An answer in one piece fits the schema and has its usage with all details. The
// keys that must be absent are tested in daemon/openai.
func TestACompletionFitsTheSchema(t *testing.T) {
	t.Parallel()
	g := serve(t, script(daemontest.Delta("I will "), daemontest.Say("I will look."), daemontest.Tool("go test ./..."), daemontest.Finish("The tests pass.")))
	res := g.chat(ask("do they pass?"))
	c := completed(t, res)
	equal(t, "the answer", c.text(), "The tests pass.")
	equal(t, "c.Choices[0].Message.Reasoning", c.Choices[0].Message.Reasoning, "$ go test ./...\n")
	equal(t, "c.Choices[0].FinishReason", c.Choices[0].FinishReason, "stop")
	if !idForm.MatchString(c.ID) || c.Model != "openhands_default" || c.Extension != nil {
		t.Errorf("%s", res.body)
	}
	want := usage{Prompt: 100, Completion: 20, Total: 120}
	want.Details.Cached, want.Reasoning.Tokens = 40, 5
	if diff := cmp.Diff(want, c.Usage); diff != "" {
		t.Error(diff)
	}
	h := res.header
	for name, form := range map[string]*regexp.Regexp{
		"X-Request-Id": requestForm, "X-OpenHands-ServerConversation-ID": uuidForm,
		"Openai-Processing-Ms": regexp.MustCompile(`^\d+$`),
	} {
		if !form.MatchString(h.Get(name)) {
			t.Errorf("%s: %q", name, h.Get(name))
		}
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
		"Cross-Origin-Resource-Policy": "same-origin", "Referrer-Policy": "no-referrer", "X-OpenHands-Run-Status": "finished",
		"X-OpenHands-Ignored": "", "Access-Control-Allow-Origin": "", "Content-Encoding": "",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
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
		"string": {ask("hi"), agentapi.Message{Text: "hi"}, "", ""},
		"parts":  {messages(`{"role":"user","content":[{"type":"text","text":"hi"}]}`), agentapi.Message{Text: "hi"}, "", ""},
		"image": {
			messages(`{"role":"user","content":[{"type":"text","text":"what?"},{"type":"image_url","image_url":{"url":"` + pixel + `"}}]}`),
			agentapi.Message{Text: "what?", Images: []string{pixel}},
			"", "",
		},
		"developer is system": {messages(`{"role":"developer","content":"be brief"},{"role":"user","content":"hi"}`), agentapi.Message{Text: "hi"}, "be brief", ""},
		"history": {
			messages(`{"role":"user","content":"one"},{"role":"assistant","content":"two","tool_calls":[{"id":"1"}],"reasoning_content":"x"},{"role":"tool","tool_call_id":"1","content":"x"},{"role":"user","content":"hi"}`),
			agentapi.Message{Text: "Earlier turns of this chat, quoted as background:\n\n> User: one\n\n> Assistant: two\n\nThe new message of the user:\n\nhi"},
			"", "",
		},
		"empty assistant last": {messages(`{"role":"user","content":"hi"},{"role":"assistant","content":""}`), agentapi.Message{Text: "hi"}, "", ""},
		"without effect": {
			ask("hi", `"temperature":0.1,"tools":[{"type":"function"}],"tool_choice":"auto","user":{"id":1},"stream_options":{"include_usage":true},"call":{"x":1},"stop":null`),
			agentapi.Message{Text: "hi"},
			"", "call, temperature, tools",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := serve(t, daemontest.New("default"))
			res := g.chat(tc.body)
			completed(t, res)
			if diff := cmp.Diff([]agentapi.Message{tc.want}, g.backend.Prompts()); diff != "" {
				t.Error(diff)
			}
			open := g.backend.Opened()[0]
			equal(t, "open.System", open.System, tc.system)
			equal(t, "open.Profile", open.Profile, "default")
			if !open.New {
				t.Errorf("opened %+v", open)
			}
			if got := res.header.Get("X-OpenHands-Ignored"); got != tc.ignored {
				t.Errorf("ignored %q, want %q", got, tc.ignored)
			}
		})
	}
}

func TestHistoryCanBeIgnoredAndSaysSo(t *testing.T) {
	t.Parallel()
	g := serve(t, daemontest.New("default"), func(c *daemon.Config) { c.IgnoreHistory = true })
	res := g.chat(messages(`{"role":"user","content":"one"},{"role":"assistant","content":"two"},{"role":"user","content":"hi"}`))
	completed(t, res)
	if got := g.backend.Prompts()[0].Text; got != "hi" || res.header.Get("X-OpenHands-Ignored") != "history" {
		t.Errorf("prompt %q, ignored %q", got, res.header.Get("X-OpenHands-Ignored"))
	}
}

// Images come as data URLs, and as https URLs of public hosts where that is
// allowed; the daemon fetches none.
func TestRemoteImagesAreAllowedByOptionAndNeverPrivate(t *testing.T) {
	t.Parallel()
	image := func(url string) string {
		return messages(`{"role":"user","content":[{"type":"image_url","image_url":"` + url + `"}]}`)
	}
	t.Run("off", func(t *testing.T) {
		t.Parallel()
		g := serve(t, daemontest.New("default"))
		envelope(t, g.chat(image("https://example.com/x.png")), http.StatusBadRequest, "invalid_image_url", "messages[0].content[0].image_url")
		if g.backend.Runs() != 0 {
			t.Error("a run was started")
		}
	})
	t.Run("on", func(t *testing.T) {
		t.Parallel()
		var looked []string
		g := serve(t, daemontest.New("default"), func(c *daemon.Config) {
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
		completed(t, g.chat(image("https://example.com/x.png")))
		envelope(t, g.chat(image("https://evil.example/x.png")), http.StatusBadRequest, "invalid_image_url", "messages")
		envelope(t, g.chat(image("https://gone.example/x.png")), http.StatusBadRequest, "invalid_image_url", "messages")
		envelope(t, g.chat(image("https://empty.example/x.png")), http.StatusBadRequest, "invalid_image_url", "messages")
		envelope(t, g.chat(image("http://169.254.169.254/x")), http.StatusBadRequest, "invalid_image_url", "messages[0].content[0].image_url")
		if diff := cmp.Diff([]agentapi.Message{{Images: []string{"https://example.com/x.png"}}}, g.backend.Prompts()); diff != "" {
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
	g := serve(t, daemontest.New("default"), func(c *daemon.Config) { c.OneShotTTL = time.Hour })
	first := g.chat(messages(`{"role":"system","content":"be brief"},{"role":"user","content":"one"}`))
	completed(t, first)
	id := first.header.Get("X-OpenHands-ServerConversation-ID")
	for i, form := range []string{id, strings.ToUpper(id), strings.ReplaceAll(id, "-", "")} {
		res := g.chat(messages(fmt.Sprintf(`{"role":"system","content":"be brief"},{"role":"user","content":"one"},{"role":"assistant","content":"ok"},{"role":"user","content":"turn %d"}`, i)), "X-OpenHands-ServerConversation-ID", form)
		if c := completed(t, res); c.Usage.Prompt != 100 || c.Usage.Total != 120 {
			t.Errorf("usage of the turn %+v", c.Usage)
		}
		if got := res.header.Get("X-OpenHands-ServerConversation-ID"); got != id {
			t.Errorf("conversation %q, want %q", got, id)
		}
		if got := res.header.Get("X-OpenHands-Ignored"); got != "" {
			t.Errorf("ignored %q", got)
		}
	}
	var texts []string
	for _, m := range g.backend.Prompts() {
		texts = append(texts, m.Text)
	}
	if diff := cmp.Diff([]string{"one", "turn 0", "turn 1", "turn 2"}, texts); diff != "" {
		t.Error(diff)
	}
	res := g.chat(messages(`{"role":"system","content":"be long"},{"role":"user","content":"another"}`, `"top_p":1`), "X-OpenHands-ServerConversation-ID", id)
	completed(t, res)
	if got := res.header.Get("X-OpenHands-Ignored"); got != "system, top_p" {
		t.Errorf("ignored %q, want the changed system text", got)
	}
}

func TestAnUnknownConversationIsMadeUnderItsID(t *testing.T) {
	t.Parallel()
	g := serve(t, daemontest.New("default"))
	res := g.chat(messages(`{"role":"user","content":"one"},{"role":"assistant","content":"two"},{"role":"user","content":"hi"}`), "X-OpenHands-ServerConversation-ID", conversation)
	completed(t, res)
	if open := g.backend.Opened()[0]; open.ID != conversation || open.New {
		t.Errorf("opened %+v", open)
	}
	if got := g.backend.Prompts()[0].Text; !strings.HasPrefix(got, "Earlier turns") {
		t.Errorf("prompt %q", got)
	}
}

func TestAnEmptyTemplateIsNoConversation(t *testing.T) {
	t.Parallel()
	g := serve(t, daemontest.New("default"))
	for _, value := range []string{" ", "null", "undefined", "NEW", "none", "{{CHAT_ID}}", "${chat}"} {
		res := g.chat(ask("hi "+value), "X-OpenHands-ServerConversation-ID", value)
		completed(t, res)
		if id := res.header.Get("X-OpenHands-ServerConversation-ID"); !uuidForm.MatchString(id) {
			t.Errorf("%q: conversation %q", value, id)
		}
	}
	for _, open := range g.backend.Opened() {
		if !open.New {
			t.Errorf("opened %+v", open)
		}
	}
}

func TestAnotherModelSwitchesOrIsRefused(t *testing.T) {
	t.Parallel()
	cheap := strings.Replace(ask("two"), "openhands_default", "openhands_cheap", 1)
	t.Run("switches", func(t *testing.T) {
		t.Parallel()
		g := serve(t, daemontest.New("default", "cheap"))
		completed(t, g.chat(ask("one"), "X-OpenHands-ServerConversation-ID", conversation))
		completed(t, g.chat(cheap, "X-OpenHands-ServerConversation-ID", conversation))
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		b := daemontest.New("default", "cheap")
		b.NoSwitch = true
		g := serve(t, b)
		completed(t, g.chat(ask("one"), "X-OpenHands-ServerConversation-ID", conversation))
		for _, body := range []string{cheap, strings.Replace(cheap, `"model"`, `"stream":true,"model"`, 1)} {
			res := g.chat(body, "X-OpenHands-ServerConversation-ID", conversation)
			envelope(t, res, http.StatusConflict, "model_mismatch", "model")
			equal(t, "X-Should-Retry", res.header.Get("X-Should-Retry"), "false")
			equal(t, "X-OpenHands-ServerConversation-ID", res.header.Get("X-OpenHands-ServerConversation-ID"), conversation)
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
	g := serve(t, b)
	whichever := strings.Replace(ask("again"), "openhands_default", "openhands", 1)
	for range 2 {
		completed(t, g.chat(whichever, "X-OpenHands-ServerConversation-ID", conversation))
	}
	envelope(t, g.chat(ask("two"), "X-OpenHands-ServerConversation-ID", conversation), http.StatusConflict, "model_mismatch", "model")
}

// A run of more than 15 s sends its status and white space before the result:
// Node gives up after 300 s without a header.
func TestALongPlainRunSendsWhiteSpaceAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := serve(t, script(daemontest.Wait(50*time.Second), daemontest.Finish("done")))
		began := time.Now()
		res := g.send(g.request(http.MethodPost, "/v1/chat/completions", ask("slow")))
		defer res.Body.Close()
		if waited := time.Since(began); waited != 15*time.Second || res.StatusCode != http.StatusOK {
			t.Errorf("status %d after %v", res.StatusCode, waited)
		}
		equal(t, "res.ContentLength", res.ContentLength, -1)
		equal(t, "Content-Type", res.Header.Get("Content-Type"), "application/json")
		if res.Header.Get("X-OpenHands-ServerConversation-ID") == "" {
			t.Errorf("length %d, headers %v", res.ContentLength, res.Header)
		}
		r := bufio.NewReader(res.Body)
		for i := range 3 {
			line, err := r.ReadString('\n')
			if want := time.Duration(i+1) * 15 * time.Second; line != " \n" || err != nil || time.Since(began) != want {
				t.Errorf("%q, %v after %v, want white space after %v", line, err, time.Since(began), want)
			}
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if c := completed(t, response{status: 200, body: " \n" + string(body)}); c.text() != "done" {
			t.Errorf("%s", body)
		}
	})
}

// A failure after white space has the status 200 already, and is not an answer.
func TestAFailureAfterWhiteSpaceIsNoCompletion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := script(daemontest.Wait(20*time.Second), daemontest.Fail("SomeError", "it broke"))
		g := serve(t, b)
		res := g.chat(ask("slow"))
		equal(t, "the status", res.status, http.StatusOK)
		if !errors.Is(res.err, io.ErrUnexpectedEOF) {
			t.Fatalf("status %d, %v: a body that does not break off can be taken for an answer: %s", res.status, res.err, res.body)
		}
		var body struct {
			Error   map[string]any
			Choices []any
			Object  string
			Ohgw    map[string]any
		}
		if err := json.Unmarshal([]byte(res.body), &body); err != nil {
			t.Fatalf("read the body: %v: %s", err, res.body)
		}
		want := map[string]any{"run_status": "error", "code": "run_error", "message": "The agent run failed: it broke"}
		if diff := cmp.Diff(want, body.Ohgw); diff != "" {
			t.Error(diff)
		}
		if body.Choices == nil {
			t.Errorf("%s", res.body)
		}
		size(t, "body.Choices", body.Choices, 0)
		equal(t, `body.Error["code"]`, body.Error["code"], "run_error")
		equal(t, `body.Error["message"]`, body.Error["message"], want["message"])
		equal(t, "body.Object", body.Object, "chat.completion")
		// What libraries do then gets the failure with its status, and no second run.
		for _, retry := range []string{"1", ""} {
			e := envelope(t, g.chat(ask("slow"), "X-Stainless-Retry-Count", retry), http.StatusInternalServerError, "run_error", "")
			if !strings.HasPrefix(e["message"].(string), "The agent run failed: it broke") {
				t.Errorf("the error: %v", e)
			}
		}
		if b.Runs() != 1 {
			t.Errorf("%d runs, want 1", b.Runs())
		}
		if s := g.logs.String(); !strings.Contains(s, "run_error") {
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
		g := serve(t, script(append(steps, daemontest.Finish("done"))...))
		res := g.chat(ask("slow"))
		if c := completed(t, res); c.text() != "done" {
			t.Errorf("%s", res.body)
		}
		if got := strings.Count(res.body[:strings.Index(res.body, "{")], "\n"); got != 4 {
			t.Errorf("white space %d times in 62 s, want 4", got)
		}
	})
}

func TestPlainHeartbeatsCanBeOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := serve(t, script(daemontest.Wait(time.Hour), daemontest.Fail("SomeError", "it broke")), func(c *daemon.Config) { c.WholeHeartbeat = -1 })
		envelope(t, g.chat(ask("slow")), http.StatusInternalServerError, "run_error", "")
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
			g := serve(t, script(tc.steps...))
			res := g.chat(ask("go"))
			c := completed(t, res)
			f := parse(t, g.chat(ask("go", streamed)))
			if f.end != "[DONE]" {
				t.Errorf("the stream ended with %q", f.end)
			}
			last := f.chunks[len(f.chunks)-1]
			for kind, got := range map[string]struct{ text, finish string }{
				"plain": {c.text(), c.Choices[0].FinishReason}, "stream": {f.text(), *last.Choices[0].FinishReason},
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
					t.Errorf("%s: %q", kind, got.text)
				}
				if got.finish != tc.finish {
					t.Errorf("%s: finish %q, want %q", kind, got.finish, tc.finish)
				}
			}
			if got := res.header.Get("X-OpenHands-Run-Status"); got != tc.status {
				t.Errorf("run status %q, want %q", got, tc.status)
			}
			if c.Extension != nil && c.Extension["run_status"] != tc.status {
				t.Errorf("extension %v", c.Extension)
			}
			equal(t, "whether there is no extension", c.Extension == nil, tc.status == "finished")
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
			g := serve(t, b)
			completed(t, g.chat(ask("begin"), "X-OpenHands-ServerConversation-ID", conversation))
			c := completed(t, g.chat(ask(tc.answer), append(tc.header, "X-OpenHands-ServerConversation-ID", conversation)...))
			equal(t, "the answer", c.text(), tc.text)
			equal(t, "the number of runs", b.Runs(), tc.prompts)
			if diff := cmp.Diff([]agentapi.Decision{tc.decided}, b.Decided()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAPlainYesIsAMessageWhereNothingWaits(t *testing.T) {
	t.Parallel()
	g := serve(t, daemontest.New("default"))
	completed(t, g.chat(ask("begin"), "X-OpenHands-ServerConversation-ID", conversation))
	completed(t, g.chat(ask("yes"), "X-OpenHands-ServerConversation-ID", conversation))
	if got := g.backend.Prompts(); len(got) != 2 || got[1].Text != "yes" {
		t.Errorf("prompts %v", got)
	}
}

func TestARunIsStoppedAfterItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := serve(t, script(daemontest.Say("So far."), daemontest.Hang()))
		began := time.Now()
		res := g.chat(ask("slow"), "X-OpenHands-Timeout", "2.5")
		e := envelope(t, res, http.StatusGatewayTimeout, "run_timeout", "")
		if took := time.Since(began); took != 2500*time.Millisecond || !strings.Contains(e["message"].(string), "2.5 s") {
			t.Errorf("the error: %v after %v", e, took)
		}
		equal(t, "X-OpenHands-Run-Status", res.header.Get("X-OpenHands-Run-Status"), "timeout")
		equal(t, "the number of interrupts", g.backend.Interrupts(), 1)
		f := parse(t, g.chat(ask("slow again", streamed), "X-OpenHands-Timeout", "3"))
		frameError(t, []byte(f.end), "run_timeout", "")
	})
}

func TestProgressCanBeHidden(t *testing.T) {
	t.Parallel()
	g := serve(t, script(daemontest.Tool("ls"), daemontest.Finish("done")), func(c *daemon.Config) { c.HideProgress = true })
	if c := completed(t, g.chat(ask("go"))); c.Choices[0].Message.Reasoning != "" || c.text() != "done" {
		t.Errorf("%+v", c)
	}
	if f := parse(t, g.chat(ask("go", streamed))); f.reasoning() != "" || strings.Contains(fmt.Sprint(f.chunks), "reasoning") {
		t.Errorf("%+v", f)
	}
}

func TestProgressIsBounded(t *testing.T) {
	t.Parallel()
	var steps []daemontest.Step
	for range 2000 {
		steps = append(steps, daemontest.Tool(strings.Repeat("x", 100)))
	}
	g := serve(t, script(append(steps, daemontest.Finish("done"))...))
	c := completed(t, g.chat(ask("go")))
	if n := len(c.Choices[0].Message.Reasoning); n > 64<<10 || n < 60<<10 {
		t.Errorf("%d bytes of progress", n)
	}
}

func TestOneShotsAreRemovedAfterTheirTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := serve(t, daemontest.New("default"), func(c *daemon.Config) { c.OneShotTTL = time.Minute })
		gone := g.chat(ask("one")).header.Get("X-OpenHands-ServerConversation-ID")
		kept := g.chat(ask("two")).header.Get("X-OpenHands-ServerConversation-ID")
		time.Sleep(30 * time.Second)
		completed(t, g.chat(ask("three"), "X-OpenHands-ServerConversation-ID", kept))
		time.Sleep(time.Hour)
		if diff := cmp.Diff([]string{gone}, g.backend.Removed()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestTheAnswerIsLargeAndWhole(t *testing.T) {
	t.Parallel()
	want := strings.Repeat("The quick brown fox 😀\n", 50_000)
	g := serve(t, script(daemontest.Finish(want)))
	res := g.chat(ask("go"))
	if got := completed(t, res).text(); got != want {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
	if !json.Valid([]byte(res.body)) {
		t.Error("not JSON")
	}
}
