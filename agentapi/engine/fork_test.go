package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// fork forks the world's conversation at an event and makes the fork the
// world's conversation.
func (w *world) fork(from string) {
	w.t.Helper()
	id := uuid.New()
	c, err := w.open().Fork(w.ctx(), agentapi.ForkRequest{ID: id, From: from})
	if err != nil {
		w.t.Fatalf("Fork: %v", err)
	}
	w.id, w.conv = id, c
}

// at is the id of the log's nth event that is not a state update.
func (w *world) at(n int) string {
	w.t.Helper()
	for _, e := range w.log() {
		if _, state := e.Body.(*event.StateUpdate); state {
			continue
		}
		if n == 0 {
			return e.ID
		}
		n--
	}
	w.t.Fatal("the log is shorter")
	return ""
}

func ids(events []event.Event) []string {
	out := make([]string, len(events))
	for i, e := range events {
		out[i] = e.ID
	}
	return out
}

func TestForkKnowsTheHistoryUpToItsEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.llm.Reply(llmtest.Text("one!"), llmtest.Text("two!"), llmtest.Text("two again"))
	w.say("one")
	answer := w.at(2)
	w.say("two")
	old, before := w.id, ids(w.log())
	w.fork(answer)
	w.expect("SP U M")
	w.status(event.Idle)
	info := w.conv.Info()
	if !info.Created || info.ID != w.id || info.Profile != "main" || info.Workspace != w.workspace {
		t.Errorf("info %+v", info)
	}
	res := w.say("two, edited")
	if res.Answer != "two again" || res.Usage.PromptTokens != 100 {
		t.Errorf("result %+v", res)
	}
	w.expect("SP U M U M")
	var texts []string
	for _, m := range w.llm.Await(t, 3).Messages[1:] {
		texts = append(texts, m.Role+": "+m.Text)
	}
	if diff := cmp.Diff([]string{"user: one", "assistant: one!", "user: two, edited"}, texts); diff != "" {
		t.Errorf("the model was shown (-want +got):\n%s", diff)
	}
	fork := w.id
	w.id, w.conv = old, nil
	if diff := cmp.Diff(before, ids(w.log())); diff != "" {
		t.Errorf("the old conversation has changed:\n%s", diff)
	}
	w.close()
	w.start()
	w.id = fork
	w.expect("SP U M U M")
}

func TestForkOfAllHasTheWholeLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.llm.Reply(terminal("echo 4711"), llmtest.Finish("ok"), llmtest.Finish("4711, as I said"))
	w.say("go")
	before := ids(w.log())
	w.fork("")
	if diff := cmp.Diff(before, ids(w.log())); diff != "" {
		t.Errorf("the fork's log (-want +got):\n%s", diff)
	}
	if res := w.say("what was it?"); res.Answer != "4711, as I said" {
		t.Errorf("result %+v", res)
	}
	w.expect("SP U A(terminal) O A(finish) O U A(finish) O")
}

func TestForkInTheMiddleOfACallDoesNotRunIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.llm.Reply(terminal("echo x >> ran"), llmtest.Finish("ok"), llmtest.Finish("fine"))
	w.say("go")
	w.fork(w.at(2))
	w.expect("SP U A(terminal) E")
	w.say("go on")
	w.expect("SP U A(terminal) E U A(finish) O")
	if data, err := os.ReadFile(filepath.Join(w.workspace, "ran")); string(data) != "x\n" || err != nil {
		t.Errorf("the command ran again: %q, %v", data, err)
	}
}

func TestForkOfARunningConversationStopsNothing(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	w := newWorld(t, gatedTerminal(gate))
	w.llm.Reply(terminal("echo 1"))
	w.llm.On(llmtest.Says("aside"), llmtest.Finish("beside"))
	w.llm.On(func(r *llmtest.Request) bool { return r.Last().Role == "tool" }, llmtest.Finish("main"))
	over := w.background("go")
	w.awaitAction()
	old := w.id
	w.fork("")
	if res := w.say("aside"); res.Answer != "beside" {
		t.Errorf("the fork ended with %+v", res)
	}
	close(gate)
	if res := <-over; res.Answer != "main" {
		t.Errorf("the old conversation ended with %+v", res)
	}
	w.id, w.conv = old, nil
	w.expect("SP U A(terminal) O A(finish) O")
}

func TestForkOfAConversationThatWaitsRunsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *engine.Config) { c.Confirm = agentapi.ConfirmAlways })
	w.llm.Reply(terminal("touch ran"), llmtest.Finish("fine"))
	w.say("go")
	w.fork("")
	w.status(event.Idle)
	w.say("rather not")
	w.expect("SP U A(terminal) E U A(finish) O")
	if _, err := os.Stat(filepath.Join(w.workspace, "ran")); err == nil {
		t.Error("an action ran that nobody confirmed")
	}
}

func TestForkForgetsWhatWasActivatedLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(".openhands/skills/deploy.md", "---\ntriggers: [deploy]\n---\nUse the blue button.")
	w.llm.Reply(llmtest.Text("a"), llmtest.Text("b"), llmtest.Text("c"))
	w.say("hi")
	first := w.at(2)
	w.say("deploy it")
	w.fork(first)
	w.say("deploy this")
	w.expect("SP U M U(ext) M")
	w.fork("")
	w.llm.Reply(llmtest.Text("d"))
	w.say("deploy again")
	w.expect("SP U M U(ext) M U M")
}

func TestForkKeepsTheTaskListOfItsTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realTools)
	plan := func(title string) llmtest.Reply {
		return llmtest.Tool("task_tracker", `{"command":"plan","task_list":[{"title":"`+title+`"}]}`)
	}
	w.llm.Reply(plan("early"), llmtest.Finish("a"), plan("late"), llmtest.Finish("b"), llmtest.Tool("task_tracker", `{"command":"view"}`), llmtest.Finish("c"))
	w.say("one")
	answer := w.at(5)
	w.say("two")
	w.fork(answer)
	w.say("three")
	if got := w.llm.Await(t, 6).Last().Text; !strings.Contains(got, "early") || strings.Contains(got, "late") {
		t.Errorf("the fork's tasks are %q", got)
	}
}

func TestForkThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.llm.Reply(llmtest.Text("one!"))
	w.say("one")
	fork := w.open()
	for name, c := range map[string]struct {
		req  agentapi.ForkRequest
		want string
	}{
		"unknown event": {agentapi.ForkRequest{ID: uuid.New(), From: uuid.New()}, "no event"},
		"its own id":    {agentapi.ForkRequest{ID: w.id}, "already exists"},
		"no id":         {agentapi.ForkRequest{ID: "x"}, "UUID"},
	} {
		_, err := fork.Fork(w.ctx(), c.req)
		wantError(t, err, agentapi.ErrRefused, c.want)
		if t.Failed() {
			t.Fatal(name)
		}
	}
	taken := uuid.New()
	if _, err := fork.Fork(w.ctx(), agentapi.ForkRequest{ID: taken}); err != nil {
		t.Fatal(err)
	}
	w.close()
	w.start()
	_, err := w.open().Fork(w.ctx(), agentapi.ForkRequest{ID: taken})
	wantError(t, err, agentapi.ErrRefused, "already exists") // also when it is not open
	if n := w.directories(); n != 2 {
		t.Errorf("%d conversations, want 2", n)
	}
}

// directories counts the directories of conversations.
func (w *world) directories() int {
	w.t.Helper()
	found, err := filepath.Glob(filepath.Join(w.cfg.Dir, "[0-9a-f]*"))
	if err != nil {
		w.t.Fatal(err)
	}
	return len(found)
}

func TestForkSaysWhereItComesFrom(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.llm.Reply(llmtest.Text("one!"))
	w.say("one")
	old, answer := w.id, w.at(2)
	w.fork(answer)
	var meta struct {
		ID   string
		From string `json:"forked_from_conversation_id"`
		At   string `json:"forked_from_event_id"`
	}
	data, err := os.ReadFile(filepath.Join(store.Path(w.cfg.Dir, w.id), "meta.json"))
	if err != nil || json.Unmarshal(data, &meta) != nil || meta.From != old || meta.At != answer {
		t.Errorf("meta.json %s, %v", data, err)
	}
}

func TestForkOnAFullDiskLeavesNothing(t *testing.T) {
	t.Parallel()
	var full atomic.Bool
	w := newWorld(t, func(c *engine.Config) {
		c.Files = failing{err: syscall.ENOSPC, when: func(path string) bool { return full.Load() && strings.Contains(path, "events") }}
	})
	w.llm.Reply(llmtest.Text("one!"), llmtest.Text("two!"))
	w.say("one")
	full.Store(true)
	_, err := w.open().Fork(w.ctx(), agentapi.ForkRequest{ID: uuid.New()})
	wantError(t, err, agentapi.ErrUnavailable, "free space")
	full.Store(false)
	if n := w.directories(); n != 1 {
		t.Errorf("%d conversations, want 1", n)
	}
	if res := w.say("two"); res.Outcome != turn.Finished {
		t.Errorf("result %+v", res)
	}
}
