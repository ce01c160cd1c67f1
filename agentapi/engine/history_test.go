package engine_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// shown is a request as one text, a line for each message but the system's.
func shown(r *llmtest.Request) string {
	var b strings.Builder
	for _, m := range r.Messages {
		if m.Role == "system" {
			continue
		}
		fmt.Fprintf(&b, "%s: %s %v\n", m.Role, m.Text, m.Calls)
	}
	return b.String()
}

func TestCondensedConversationStaysCondensedWhenItIsOpenedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withCondenser(80, 2))
	for i := range 6 {
		w.llm.Reply(terminal(fmt.Sprintf("echo call %d", i)))
	}
	w.llm.Reply(llmtest.ContextTooLong(), llmtest.Text("THE SUMMARY"), llmtest.Finish("ok"), llmtest.Text("again"))
	w.say("go")
	before := shown(w.llm.Await(t, 9))
	w.close()
	w.start()
	w.say("and now")
	after := shown(w.llm.Await(t, 10))
	if !strings.Contains(after, "THE SUMMARY") || !strings.HasPrefix(after, before) {
		t.Errorf("the model was shown\n%s\nand after a restart\n%s", before, after)
	}
}

// withWindow lets the real model layer answer for a model that takes images and
// that many tokens.
func withWindow(window int64) func(*engine.Config) {
	return withRealModels(func(p *llm.Profile) {
		p.MaxInputTokens = &window
		p.CapabilityOverrides = map[string]any{"supports_vision": true}
	})
}

// photo is a file of about n bytes that looks like a picture.
func photo(n int) string {
	noise := make([]byte, n)
	rng := rand.NewChaCha8([32]byte{1})
	_, _ = rng.Read(noise) // never fails
	const crc = "\x00\x00\x00\x00"
	return "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x04\x00\x00\x00\x03\x00\x08\x02\x00\x00\x00" + crc +
		string(binary.BigEndian.AppendUint32(nil, uint32(n))) + "IDAT" + string(noise) + crc + crc + "IEND" + crc
}

// neverCondensed checks that no summary was asked for.
func (w *world) neverCondensed() {
	w.t.Helper()
	for _, r := range w.llm.Requests() {
		if len(r.Tools) == 0 {
			w.t.Errorf("a summary was asked for: %.200s", shown(r))
		}
	}
}

func TestPictureInALaterMessageIsShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withWindow(128_000))
	w.llm.On(func(r *llmtest.Request) bool { return len(r.Tools) == 0 }, llmtest.Text("sum"))
	w.llm.Reply(llmtest.Text("hello"), llmtest.Text("a cat"))
	w.say("hello")
	picture := "data:image/png;base64," + strings.Repeat("iVBORw0KGgo", 60_000)
	res := w.play(turn.Input{Message: agentapi.Message{Text: "what is this?", Images: []string{picture}}})
	if last := w.llm.Await(t, 2).Last(); len(last.Images) != 1 || last.Images[0] != picture || !strings.Contains(last.Text, "what is this?") {
		t.Errorf("the model was shown %d images and %q", len(last.Images), last.Text)
	}
	w.neverCondensed()
	if res.Answer != "a cat" {
		t.Errorf("the answer is %q", res.Answer)
	}
}

func TestViewedPictureIsShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realTools, withWindow(50_000))
	w.llm.On(func(r *llmtest.Request) bool { return len(r.Tools) == 0 }, llmtest.Text("sum"))
	path := w.write("photo.png", photo(300_000))
	w.llm.Reply(llmtest.Tool("file_editor", fmt.Sprintf(`{"command":"view","path":%q}`, path)), llmtest.Finish("ok"))
	w.say("look at it")
	w.expect("SP U A(file_editor) O A(finish) O")
	if images := w.llm.Await(t, 2).Last().Images; len(images) != 1 {
		t.Errorf("the model was shown %d images", len(images))
	}
	w.neverCondensed()
}

func TestEditOfABigFileIsNoReasonToCondense(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realTools, withWindow(128_000))
	w.llm.On(func(r *llmtest.Request) bool { return len(r.Tools) == 0 }, llmtest.Text("sum"))
	path := w.write("big.txt", strings.Repeat("a line of a big file\n", 14_500)+"twwo\n")
	w.llm.Reply(
		llmtest.Tool("file_editor", fmt.Sprintf(`{"command":"str_replace","path":%q,"old_str":"twwo","new_str":"two"}`, path)),
		llmtest.Finish("ok"),
	)
	w.say("fix the typo")
	w.expect("SP U A(file_editor) O A(finish) O")
	w.neverCondensed()
}

// TestQuestionSurvivesItsOwnCondensation has the provider refuse a request
// whose newest message has a picture.
func TestQuestionSurvivesItsOwnCondensation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withCondenser(80, 2))
	w.llm.On(func(r *llmtest.Request) bool { return len(r.Tools) == 0 }, llmtest.Text("THE SUMMARY"))
	w.llm.Reply(llmtest.Text("hello"), llmtest.ContextTooLong(), llmtest.Text("a cat"))
	w.say("hello")
	w.play(turn.Input{Message: agentapi.Message{Text: "what is this?", Images: []string{"data:image/png;base64,iVBORw0K"}}})
	last := w.llm.Await(t, 4).Last()
	if last.Role != "user" || !strings.HasSuffix(last.Text, "what is this?") || len(last.Images) != 1 || !strings.Contains(last.Text, "THE SUMMARY") {
		t.Errorf("the model was asked %q with %d images", last.Text, len(last.Images))
	}
}

// fixed is a reply of calls with the id of a provider that gives all the same.
func fixed(commands ...string) llmtest.Reply {
	var r llmtest.Reply
	for _, command := range commands {
		call := terminal(command).Calls[0]
		call.ID = "call_0"
		r.Calls = append(r.Calls, call)
	}
	return r
}

// unpaired are the calls of a request that have no result of their own behind
// them, and the ids that it has twice.
func unpaired(r *llmtest.Request) (bad []string) {
	seen := map[string]bool{}
	for i, m := range r.Messages {
		for k, c := range m.Calls {
			if result := r.Messages[min(i+1+k, len(r.Messages)-1)]; result.CallID != c.ID || seen[c.ID] {
				bad = append(bad, c.ID)
			}
			seen[c.ID] = true
		}
	}
	return bad
}

func TestCallsWithOneIDRunOnceEach(t *testing.T) {
	t.Parallel()
	for name, replies := range map[string][]llmtest.Reply{
		"in three answers": {fixed("echo 1 >> log"), fixed("echo 2 >> log"), fixed("echo 3 >> log")},
		"in one answer":    {fixed("echo 1 >> log", "echo 2 >> log", "echo 3 >> log")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.llm.Reply(replies...)
			w.llm.Reply(llmtest.Text("done"), fixed("echo 4 >> log"), llmtest.Text("done too"))
			w.say("go")
			w.close()
			w.start()
			w.say("go on")
			if data, err := os.ReadFile(filepath.Join(w.workspace, "log")); err != nil || string(data) != "1\n2\n3\n4\n" {
				t.Errorf("what ran: %q, %v", data, err)
			}
			requests := w.llm.Requests()
			if len(requests) != len(replies)+3 {
				t.Errorf("%d requests", len(requests))
			}
			last := requests[len(requests)-1]
			if bad := unpaired(last); bad != nil || strings.Count(shown(last), `"command":"echo`) != 4 {
				t.Errorf("calls without their results: %v in\n%s", bad, shown(last))
			}
		})
	}
}

func TestAnswersWithOneIDStayApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *engine.Config) { withModel(c, func(m llm.Model) llm.Model { return sameAnswer{m} }) })
	w.llm.Reply(terminal("echo one"), llmtest.Text("first"), terminal("echo two"), llmtest.Text("second"))
	w.say("go")
	w.say("go on")
	var roles []string
	for _, m := range w.llm.Await(t, 4).Messages[1:] {
		roles = append(roles, m.Role)
	}
	if got := strings.Join(roles, " "); got != "user assistant tool assistant user assistant tool" {
		t.Errorf("the model was shown %s", got)
	}
	answers := map[string]bool{}
	for _, e := range w.log() {
		var id string
		switch b := e.Body.(type) {
		case *event.Action:
			id = b.LLMResponseID
		case *event.Message:
			id = b.LLMResponseID
		}
		if id != "" && answers[id] {
			t.Errorf("two answers are stored as %s", id)
		}
		answers[id] = true
	}
}

// sameAnswer is a model whose provider gives all answers the same id.
type sameAnswer struct{ llm.Model }

// Generate makes the call.
func (m sameAnswer) Generate(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	r, err := m.Model.Generate(ctx, req, onDelta)
	r.ID = "chatcmpl-1"
	return r, err
}

// TestRunWithoutProgressEndsWhateverTheIDs has a model that repeats a call whose
// result is another one each time.
func TestRunWithoutProgressEndsWhateverTheIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *engine.Config) { withModel(c, func(m llm.Model) llm.Model { return sameAnswer{m} }) })
	w.llm.On(func(r *llmtest.Request) bool { return len(r.Tools) > 0 }, fixed("echo line >> log; wc -l < log"))
	w.say("go")
	w.status(event.Stuck)
	requests := w.llm.Requests()
	if len(requests) != 101 {
		t.Errorf("%d requests", len(requests))
	}
	if last := requests[51].Last(); last.Role != "user" || !strings.Contains(last.Text, "None of your last 50 calls was new") {
		t.Errorf("after 50 repeated calls the model was told %s: %s", last.Role, last.Text)
	}
	if bad := unpaired(requests[len(requests)-1]); bad != nil {
		t.Errorf("calls without their results: %v", bad)
	}
}

func TestStatisticsBeginWithZeros(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, err := w.open().State(w.ctx())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]event.Metrics{"agent": {ModelName: "openai/test", Usage: &event.TokenUsage{}}}
	if diff := cmp.Diff(want, s.Stats.UsageToMetrics); diff != "" {
		t.Errorf("statistics (-want +got):\n%s", diff)
	}
}
