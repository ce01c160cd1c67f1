//go:build e2e

package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// client is one client library, and what is peculiar to it.
type client struct {
	name    string
	command []string
	build   func(testing.TB) string // the command, where it is a program in Go
	dir     string

	noModels    bool // has no call for the list of models
	noReasoning bool // does not show reasoning_content
	// How often it tries a run that fails: once if it honours x-should-retry,
	// else as often as it likes.
	attempts int
	// Its names for a model that is not there, a key that is wrong, a run that
	// failed.
	notFound, unauthorized, failed string
}

func clients(t *testing.T) []client {
	t.Helper()
	python := need(t, filepath.Join("..", ".cache", "e2e-python", "bin", "python"))
	node := nodeProgram(t)
	return []client{
		{
			name: "openai-go", build: official, attempts: 1, noReasoning: true,
			notFound: "openai.Error", unauthorized: "openai.Error", failed: "openai.Error",
		},
		{
			name: "go-openai", build: community, attempts: 1,
			notFound: "openai.APIError", unauthorized: "openai.APIError", failed: "openai.APIError",
		},
		{
			name: "openai-python", command: []string{python, "client.py"}, dir: "python", attempts: 1,
			notFound: "NotFoundError", unauthorized: "AuthenticationError", failed: "InternalServerError",
		},
		{
			name: "openai-node", command: []string{node, "openai.mjs"}, dir: "node", attempts: 1,
			notFound: "NotFoundError", unauthorized: "AuthenticationError", failed: "InternalServerError",
		},
		{
			name: "ai-sdk", command: []string{node, "ai-sdk.mjs"}, dir: "node", attempts: 3, noModels: true,
			notFound: "AI_APICallError", unauthorized: "AI_APICallError", failed: "AI_RetryError",
		},
		{
			name: "langchain-js", command: []string{node, "langchain.mjs"}, dir: "node", attempts: 7, noModels: true,
			notFound: "NotFoundError", unauthorized: "AuthenticationError", failed: "InternalServerError",
		},
	}
}

// nodeProgram is the Node that is pinned with the clients, where there is one
// for this machine, else the machine's own.
func nodeProgram(t *testing.T) string {
	t.Helper()
	need(t, filepath.Join("node", "node_modules"))
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	pinned := filepath.Join("node", "node_modules", "node-"+runtime.GOOS+"-"+arch, "bin", "node")
	if _, err := os.Stat(pinned); err != nil {
		return "node"
	}
	return need(t, pinned)
}

// TestClients runs every client library against one gateway and one real
// agent-server.
func TestClients(t *testing.T) {
	all := clients(t)
	s := newStack(t, racyProgram(t))
	checks := []struct {
		name  string
		check func(*testing.T, stack, client)
	}{
		{"lists models", listsModels},
		{"gets an answer", getsAnAnswer},
		{"gets a stream", getsAStream},
		{"gets usage with a stream", getsUsage},
		{"is told of an unknown model", isToldOfAnUnknownModel},
		{"is told of a wrong key", isToldOfAWrongKey},
		{"runs a failing agent once", runsAFailingAgentOnce},
		{"runs a failing agent once when streaming", runsAFailingStreamOnce},
		{"takes no late failure for an answer", takesNoLateFailureForAnAnswer},
		{"stops the agent by leaving", stopsTheAgentByLeaving},
		{"goes on with a conversation", goesOn},
		{"sends an image", sendsAnImage},
	}
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.build != nil { // only where it is tested: the compiler takes a minute for openai-go
				c.command = []string{c.build(t)}
			}
			for _, check := range checks {
				t.Run(check.name, func(t *testing.T) { t.Parallel(); check.check(t, s, c) })
			}
		})
	}
}

// ask runs the client against the gateway.
func (s stack) ask(t *testing.T, c client, r request) result {
	t.Helper()
	r.BaseURL = s.URL + "/v1"
	if r.Op == "" {
		r.Op = "chat"
	}
	if r.Key == "" {
		r.Key = gatewayKey
	}
	if r.Model == "" {
		r.Model = model
	}
	return c.run(t, r)
}

// answered fails the test unless the client has got text and nothing is wrong.
func answered(t *testing.T, got result, text string) {
	t.Helper()
	if got.Error != nil || got.Text != text || got.Finish != "stop" {
		t.Errorf("got %q, finish %q, %v; want %q, finish \"stop\"", got.Text, got.Finish, got.Error, text)
	}
	if !isUUID.MatchString(got.Conversation) {
		t.Errorf("conversation %q is no UUID", got.Conversation)
	}
}

func listsModels(t *testing.T, s stack, c client) {
	got := s.ask(t, c, request{Op: "models"})
	t.Log(got.Client)
	if got.Unsupported && c.noModels {
		return
	}
	if got.Error != nil || !slices.Contains(got.Models, model) {
		t.Errorf("got %v, %v; want %s among them", got.Models, got.Error, model)
	}
}

func getsAnAnswer(t *testing.T, s stack, c client) {
	text, mark := prompt(`[[say Let me see.]] [[tool terminal {"command":"echo hi"}]] then [[finish Hello there.]]`)
	got := s.ask(t, c, request{Prompt: text, System: "Speak plainly, " + promptMark + "."})
	answered(t, got, "Hello there.")
	if want := (&usage{Prompt: 200, Completion: 20, Total: 220}); !cmp.Equal(got.Usage, want) {
		t.Errorf("usage: %s", cmp.Diff(want, got.Usage))
	}
	for _, r := range s.asked(mark) {
		if !strings.Contains(r.Messages[0].Text, "Speak plainly") {
			t.Error("the system text did not reach the LLM")
		}
	}
}

func getsAStream(t *testing.T, s stack, c client) {
	text, _ := prompt(`[[tool terminal {"command":"echo hi"}]] then [[say One two three.]]`)
	got := s.ask(t, c, request{Prompt: text, Stream: true})
	answered(t, got, "One two three.")
	if got.Pieces < 2 {
		t.Errorf("the answer came in %d piece", got.Pieces)
	}
	if !c.noReasoning && !strings.Contains(got.Reasoning, "echo hi") {
		t.Errorf("the reasoning %q does not show what the agent did", got.Reasoning)
	}
	if got.Usage != nil && *got.Usage != (usage{}) {
		t.Errorf("usage %+v, which was not asked for", *got.Usage)
	}
}

func getsUsage(t *testing.T, s stack, c client) {
	text, _ := prompt(`[[usage 70 7]] [[say One two.]]`)
	got := s.ask(t, c, request{Prompt: text, Stream: true, IncludeUsage: true})
	answered(t, got, "One two.")
	if want := (&usage{Prompt: 70, Completion: 7, Total: 77}); !cmp.Equal(got.Usage, want) {
		t.Errorf("usage: %s", cmp.Diff(want, got.Usage))
	}
}

// refused fails the test unless the client has failed as it should.
func refused(t *testing.T, got result, want failure) {
	t.Helper()
	e := got.Error
	if e == nil {
		t.Fatalf("got %q, want %v", got.Text, &want)
	}
	if e.Class != want.Class || e.Status != want.Status || e.Code != want.Code || e.Param != want.Param || e.Message == "" {
		t.Errorf("got %v, want %v", e, &want)
	}
}

func isToldOfAnUnknownModel(t *testing.T, s stack, c client) {
	text, mark := prompt("[[finish never]]")
	got := s.ask(t, c, request{Prompt: text, Model: "openhands_nobody"})
	refused(t, got, failure{Class: c.notFound, Status: 404, Code: "model_not_found", Param: "model"})
	if n := len(s.asked(mark)); n != 0 {
		t.Errorf("the LLM was asked %d times", n)
	}
}

func isToldOfAWrongKey(t *testing.T, s stack, c client) {
	const wrong = "sk-wrong-0123456789"
	text, mark := prompt("[[finish never]]")
	got := s.ask(t, c, request{Prompt: text, Key: wrong})
	refused(t, got, failure{Class: c.unauthorized, Status: 401, Code: "invalid_api_key"})
	if got.Error != nil && strings.Contains(got.Error.Message, "0123456789") {
		t.Errorf("the message shows the key: %s", got.Error.Message)
	}
	if n := len(s.asked(mark)); n != 0 {
		t.Errorf("the LLM was asked %d times", n)
	}
}

func runsAFailingAgentOnce(t *testing.T, s stack, c client) {
	var got result
	// A machine that is very slow spoils a try in two ways, and both are right:
	// after 15 s the answer has begun, so that the failure breaks it off; and an
	// agent-server that does not answer in time is a 503, to be tried again. Of a
	// library that never tries again, only the status tells.
	for range 3 {
		text, mark := prompt("[[fail 401 The provider knows no such key.]]")
		got = s.ask(t, c, request{Prompt: text})
		once(t, got, s.asked(mark))
		if got.Error != nil && got.Error.Status == http.StatusBadGateway && got.Attempts == c.attempts {
			break
		}
	}
	refused(t, got, failure{Class: c.failed, Status: 502, Code: "llm_error"})
	if got.Attempts != c.attempts {
		t.Errorf("the client tried %d times, want %d", got.Attempts, c.attempts)
	}
}

// takesNoLateFailureForAnAnswer lets the run fail when white space was sent and
// the status is 200. Each library makes an error of a body that breaks off;
// those that try again hear of the failure itself.
func takesNoLateFailureForAnAnswer(t *testing.T, s stack, c client) {
	text, mark := prompt("[[wait 17s]] [[fail 401 The provider knows no such key.]]")
	got := s.ask(t, c, request{Prompt: text})
	once(t, got, s.asked(mark))
	if got.Error == nil || got.Text != "" {
		t.Fatalf("got %q, want an error", got.Text)
	}
	if got.Attempts > 1 && (got.Error.Status != 502 || got.Error.Code != "llm_error") {
		t.Errorf("after %d attempts: %v, want the failure of the run", got.Attempts, got.Error)
	}
}

// once fails the test unless the LLM was asked once, however often the client
// tried.
func once(t *testing.T, got result, calls []*llmtest.Request) {
	t.Helper()
	t.Logf("%d attempts: %v", got.Attempts, got.Error)
	if len(calls) == 1 {
		return
	}
	t.Errorf("after %d attempts of the client the LLM was asked %d times, want once", got.Attempts, len(calls))
	for _, call := range calls {
		t.Logf("asked at %s", call.Started.Format(time.StampMilli))
	}
}

// runsAFailingStreamOnce takes whatever error the library makes of an error
// frame, and whatever number of attempts.
func runsAFailingStreamOnce(t *testing.T, s stack, c client) {
	text, mark := prompt("[[fail 401 The provider knows no such key.]]")
	got := s.ask(t, c, request{Prompt: text, Stream: true})
	if got.Error == nil {
		t.Errorf("got %q, want an error", got.Text)
	}
	once(t, got, s.asked(mark))
}

func stopsTheAgentByLeaving(t *testing.T, s stack, c client) {
	text, mark := prompt("[[slow 1000 100ms]]")
	got := s.ask(t, c, request{Prompt: text, Stream: true, AbortAfter: 3})
	if got.Error != nil || !got.Aborted {
		t.Fatalf("aborted is %t, %v", got.Aborted, got.Error)
	}
	left := time.Now()
	calls := s.asked(mark)
	if len(calls) != 1 {
		t.Fatalf("the LLM was asked %d times, want once", len(calls))
	}
	if outcome := calls[0].Outcome(); outcome != llmtest.Open {
		t.Errorf("the run did not outlive the connection: %v", outcome)
	}
	if outcome := calls[0].Wait(t); outcome != llmtest.ClientLeft {
		t.Errorf("the LLM's answer ended as %v, want it cancelled", outcome)
	}
	t.Logf("the LLM call was cancelled %v after the client had gone", calls[0].Ended().Sub(left).Round(100*time.Millisecond))
}

func goesOn(t *testing.T, s stack, c client) {
	first, mark := prompt("[[finish One.]]")
	one := s.ask(t, c, request{Prompt: first})
	answered(t, one, "One.")
	second, _ := prompt("[[finish Two.]]")
	two := s.ask(t, c, request{
		Prompt: second, Stream: true,
		Headers: map[string]string{"X-OpenHands-ServerConversation-ID": one.Conversation},
	})
	answered(t, two, "Two.")
	if two.Conversation != one.Conversation {
		t.Errorf("the second turn was in %s, the first in %s", two.Conversation, one.Conversation)
	}
	last := s.asked(second[:len(mark)])
	if len(last) != 1 || !slices.ContainsFunc(last[0].Messages, func(m llmtest.Message) bool { return strings.Contains(m.Text, mark) }) {
		t.Errorf("the LLM of the second turn did not see the first (%d calls)", len(last))
	}
}

func sendsAnImage(t *testing.T, s stack, c client) {
	// A red dot.
	const dot = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
	text, mark := prompt("[[finish Red.]]")
	got := s.ask(t, c, request{Prompt: text, Image: dot, Model: seeingModel})
	answered(t, got, "Red.")
	calls := s.asked(mark)
	if len(calls) == 0 {
		t.Fatal("the LLM was not asked")
	}
	if images := fmt.Sprint(calls[0].Last().Images); images != "["+dot+"]" {
		t.Errorf("the LLM got the images %.80s", images)
	}
}
