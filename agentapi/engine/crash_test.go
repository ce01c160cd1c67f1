package engine_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/enginetest"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// mortal is a disk that dies: after some writes none has an effect any more.
type mortal struct {
	enginetest.Disk
	mu    sync.Mutex
	left  int    // writes until the end
	after bool   // the last write still reaches the disk, but returns an error
	until string // the write with this text is the last one; "": there is none
}

var errDead = errors.New("the disk is dead")

func (m *mortal) Write(path string, data []byte, sync bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left--
	if m.left > 0 && m.until != "" && bytes.Contains(data, []byte(m.until)) {
		m.left = 0
		return m.Disk.Write(path, data, sync)
	}
	switch {
	case m.left > 0:
		return m.Disk.Write(path, data, sync)
	case m.left == 0 && m.after:
		return errors.Join(m.Disk.Write(path, data, sync), errDead)
	}
	return errDead
}

// Overwrite counts as a write.
func (m *mortal) Overwrite(path string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left--
	switch {
	case m.left > 0:
		return m.Disk.Overwrite(path, data)
	case m.left == 0 && m.after:
		return errors.Join(m.Disk.Overwrite(path, data), errDead)
	}
	return errDead
}

// WriteAt counts as a write.
func (m *mortal) WriteAt(path string, data []byte, at int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left--
	switch {
	case m.left > 0:
		return m.Disk.WriteAt(path, data, at)
	case m.left == 0 && m.after:
		return errors.Join(m.Disk.WriteAt(path, data, at), errDead)
	}
	return errDead
}

// die ends all writes.
func (m *mortal) die() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left = 0
}

// crash ends all writes, and starts another process with a disk that works.
func (w *world) crash(disk *mortal) {
	w.t.Helper()
	disk.die()
	_ = w.backend.Close() // can write neither the end of a run nor give the lease back
	w.cfg.Files = enginetest.Disk{}
	w.cfg.Holder.Instance, w.cfg.Holder.Alive = "other", func(int) bool { return false }
	w.start()
}

// twelve is a run of twelve events.
func twelve(llm *llmtest.Server) {
	llm.On(llmtest.Says("go on"), llmtest.Text("I went on")) // also where both messages are one
	llm.On(llmtest.Says("twelve"),
		terminal("echo 1"), terminal("echo 2"),
		llmtest.Reply{Calls: []llmtest.Call{{Name: "terminal", Args: `{"command":"echo 3"}`}, {Name: "think", Args: `{"thought":"hm"}`}}},
		llmtest.Finish("twelve"),
	)
}

// acknowledged reads a stream to the end of a run. It passes to seen the events that a
// watcher has got and that have a place in the log.
func acknowledged(ctx context.Context, s agentapi.Stream, seen func(event.Event)) {
	ran := false
	for {
		e, err := s.Next(ctx)
		if err != nil {
			return
		}
		if status, ok := e.StatusUpdate(); ok {
			ran = ran || status == event.Running
		}
		_, failure := e.Body.(*event.ConversationError) // is told even where it cannot be stored
		if _, snapshot, _ := e.FullState(); snapshot && ran || failure {
			return
		}
		if e.Persisted() {
			seen(e)
		}
	}
}

// goesOn checks that the directory of a conversation that died holds every
// event that was seen, that nothing is left open, and that it can be continued.
func (w *world) goesOn(seen []string) {
	w.t.Helper()
	w.cfg.Files = enginetest.Disk{}
	w.cfg.Holder.Instance, w.cfg.Holder.PID = strings.Repeat("b", 32), 2
	w.cfg.Holder.Alive = func(pid int) bool { return pid == 2 }
	w.start()
	in := map[string]bool{}
	for _, e := range w.log() {
		in[e.ID] = true
	}
	for _, id := range seen {
		if !in[id] {
			w.t.Errorf("event %s was seen and is lost", id)
		}
	}
	if s, err := w.open().State(w.ctx()); err != nil || s.Status == event.Running {
		w.t.Errorf("status after the crash: %q, %v", s.Status, err)
	}
	if res := w.say("go on"); res.Answer != "I went on" {
		w.t.Errorf("after the crash: %+v", res)
	}
	open := map[string]bool{}
	for _, e := range w.log() {
		switch b := e.Body.(type) {
		case *event.Action:
			open[b.ToolCallID] = true
		case *event.Observation:
			delete(open, b.ToolCallID)
		case *event.AgentError:
			delete(open, b.ToolCallID)
		}
	}
	if len(open) > 0 {
		w.t.Errorf("calls without a result: %v", open)
	}
}

// The first three writes make the directory; a run has 25 more.
const firstDeath, deaths = 4, 25

// Each write is the last one twice: it reaches the disk, or it does not.
func TestCrashAtAnyWriteLosesNothing(t *testing.T) {
	t.Parallel()
	crashAtAnyWrite(t, (*world).open)
}

// A one-shot does not wait for the disk, but what it has written is there after the death of its
// process.
func TestCrashAtAnyWriteLosesNothingOfAOneShot(t *testing.T) {
	t.Parallel()
	crashAtAnyWrite(t, (*world).unkept)
}

func crashAtAnyWrite(t *testing.T, open func(*world) agentapi.Conversation) {
	for seed := range 2 * deaths {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			t.Parallel()
			disk := &mortal{left: firstDeath + seed%deaths, after: seed < deaths}
			w := newWorld(t, func(c *engine.Config) { c.Files = disk })
			twelve(w.llm)
			c := open(w)
			s, err := c.Watch(w.ctx(), "")
			if err != nil {
				t.Fatal(err)
			}
			var seen []string
			if err := c.Send(w.ctx(), agentapi.Message{Text: "twelve"}); err == nil {
				acknowledged(w.ctx(), s, func(e event.Event) { seen = append(seen, e.ID) })
			} else if !errors.Is(err, agentapi.ErrUnavailable) {
				t.Errorf("Send: %v", err)
			}
			disk.die()
			_ = w.backend.Close() // cannot give the lease back
			w.goesOn(seen)
		})
	}
}

func TestScenario27KilledWhileAToolRuns(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		analyzer      bool
		reply         llmtest.Reply
		died, went    string
		parentsOfEach []int // of the errors, as indexes of the log without state updates
	}{
		"one call": {false, terminal("echo hi"), "SP U A(terminal) E", "SP U A(terminal) E U M", []int{2}},
		// OpenHands puts the result behind its action, beside the analysis.
		"an analyzed call": {true, llmtest.Tool("terminal", `{"security_risk":"LOW","command":"echo hi"}`), "SP U A(terminal) S E", "SP U A(terminal) S E U M", []int{2}},
		// OpenHands answers the first one, and the model does not hear of the second.
		"two calls": {
			true,
			llmtest.Reply{Calls: []llmtest.Call{{Name: "terminal", Args: `{"security_risk":"LOW","command":"echo 1"}`}, {Name: "terminal", Args: `{"security_risk":"LOW","command":"echo 2"}`}}},
			"SP U A(terminal) A(terminal) S E E", "SP U A(terminal) A(terminal) S E E U M",
			[]int{4, 5},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gate := make(chan struct{})
			disk := &mortal{left: 1 << 30}
			w := newWorld(t, gatedTerminal(gate), func(c *engine.Config) {
				if c.Files = disk; tt.analyzer {
					c.Confirm = agentapi.ConfirmRisky
				}
			})
			w.llm.Reply(tt.reply, llmtest.Text("back"))
			if err := w.open().Send(w.ctx(), agentapi.Message{Text: "go"}); err != nil {
				t.Fatal(err)
			}
			w.awaitLog(strings.TrimRight(tt.died, " E"))
			w.crash(disk)
			w.expect(tt.died)
			w.status(event.Failed)
			var ids []string
			var parents []string
			for _, e := range w.log() {
				if _, state := e.Body.(*event.StateUpdate); state {
					continue
				}
				ids = append(ids, e.ID)
				if b, ok := e.Body.(*event.AgentError); ok {
					parents = append(parents, e.ParentID)
					want := event.Classification{Kind: "internal", UserAction: "none"}
					if e.Source != event.SourceAgent || *b.Classification != want {
						t.Errorf("source %q, %+v", e.Source, b)
					}
				}
			}
			for i, at := range tt.parentsOfEach {
				if i >= len(parents) || parents[i] != ids[at] {
					t.Errorf("the parents of the errors are %q in the log %q, want the event %d", parents, ids, at)
				}
			}
			w.say("go on")
			w.expect(tt.went)
			if bad := unpaired(w.llm.Await(t, 2)); bad != nil {
				t.Errorf("calls without a result: %v", bad)
			}
		})
	}
}

// A run that died is not over because an earlier one was paused.
func TestKilledRunAfterAPausedOneFailed(t *testing.T) {
	t.Parallel()
	disk := &mortal{left: 1 << 30}
	w := newWorld(t, func(c *engine.Config) { c.Files = disk })
	w.llm.Reply(
		llmtest.Reply{End: llmtest.Hang}, llmtest.Reply{End: llmtest.Hang}, llmtest.Text("back"),
	)
	over := w.background("go")
	w.llm.Await(t, 1)
	if err := w.open().Interrupt(w.ctx()); err != nil {
		t.Fatal(err)
	}
	<-over
	w.status(event.Paused)
	if err := w.open().Send(w.ctx(), agentapi.Message{Text: "again"}); err != nil {
		t.Fatal(err)
	}
	w.llm.Await(t, 2)
	w.crash(disk)
	w.status(event.Failed)
	w.say("go on")
	w.expect("SP U I U U M")
}

// childVariable makes the test binary the process that is killed.
const childVariable = "OHGW_ENGINE_TEST_CHILD"

type childConfig struct {
	Dir, Workspace, ID, URL string

	First  string // the message of a turn before, which is not killed
	Unkept bool   // the conversation is a one-shot
}

// child runs the twelve events and prints the id of each that it has seen.
func child(config string, out io.Writer) error {
	var c childConfig
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return err
	}
	cfg := enginetest.Engine(c.URL, enginetest.NewProfiles("main", "test"))
	cfg.Dir, cfg.Holder.PID = c.Dir, 1
	ctx := context.Background()
	conv, err := engine.New(cfg).Open(ctx, agentapi.OpenRequest{ID: c.ID, Profile: "main", Workspace: c.Workspace, Once: c.Unkept, Unkept: c.Unkept})
	if err != nil {
		return err
	}
	if c.First != "" {
		if _, err := turn.Run(ctx, conv, turn.Input{Message: agentapi.Message{Text: c.First}, Emit: func(turn.Update) {}}); err != nil {
			return err
		}
	}
	s, err := conv.Watch(ctx, "")
	if err != nil {
		return err
	}
	if err := conv.Send(ctx, agentapi.Message{Text: "twelve"}); err != nil {
		return err
	}
	acknowledged(ctx, s, func(e event.Event) { fmt.Fprintln(out, e.ID) })
	fmt.Fprintln(out, "end")
	select {} // until it is killed
}

func TestKilledProcessLosesNothing(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for seed := range kills {
		for name, unkept := range map[string]bool{"kept": false, "one-shot": true} {
			t.Run(name+strconv.Itoa(seed), func(t *testing.T) {
				w := newWorld(t)
				twelve(w.llm)
				seen := killed(t, self, 1+seed%24, childConfig{Dir: w.cfg.Dir, Workspace: w.workspace, ID: w.id, URL: w.llm.URL, Unkept: unkept})
				if len(seen) == 0 {
					t.Fatal("the process did nothing")
				}
				w.close()
				w.goesOn(seen)
			})
		}
	}
}

// killed runs a child, kills it after some events, and gives all that it has
// seen.
func killed(t *testing.T, self string, after int, c childConfig) (seen []string) {
	t.Helper()
	config, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), childVariable+"="+string(config))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for dead := false; lines.Scan(); {
		if line := lines.Text(); line != "end" {
			seen = append(seen, line)
		}
		if !dead && (lines.Text() == "end" || len(seen) == after) {
			dead = true
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // was killed
	return seen
}

// The turn that the disk dies in is the second one of its conversation: what the first
// one left must not be taken for its end. It has two calls and a finish, or a text.
func TestCrashAtAnyWriteOfALaterTurnClaimsNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		writes  int // of the second turn and the end of the process
		replies []llmtest.Reply
	}{
		{"calls", 22, []llmtest.Reply{terminal("echo 1"), terminal("echo 2"), llmtest.Finish("second")}},
		{"text", 12, []llmtest.Reply{llmtest.Text("second")}},
	} {
		for write := range 2 * tt.writes {
			t.Run(tt.name+strconv.Itoa(write), func(t *testing.T) {
				t.Parallel()
				disk := &mortal{left: 1 << 30}
				w := newWorld(t, func(c *engine.Config) { c.Files = disk })
				w.llm.On(llmtest.Says("go on"), llmtest.Text("I went on")) // also where both messages are one
				w.llm.On(llmtest.Says("question two"), tt.replies...)
				w.llm.On(llmtest.Says("question one"), llmtest.Text("first"))
				w.say("question one")
				var base turn.Baseline
				sent := true
				res, err := turn.Run(w.ctx(), w.open(), turn.Input{
					Message: agentapi.Message{Text: "question two"}, Emit: func(turn.Update) {},
					Ready: func(b turn.Baseline) error {
						base = b
						disk.dieAfter(1+write/2, write%2 == 0)
						return nil
					},
				})
				if errors.Is(err, agentapi.ErrUnavailable) {
					sent = false
				}
				w.crash(disk)
				w.claimsNothing("question two", "second", base, res, sent)
				if res := w.say("go on"); res.Answer != "I went on" {
					t.Errorf("after the crash: %+v", res)
				}
				w.claimsNothing("question two", "second", base, res, sent) // also with a turn behind it
			})
		}
	}
}

// claimsNothing reads the turn with a message from the log: its end is what the log has.
// seen is what its client was told.
func (w *world) claimsNothing(question, answer string, base turn.Baseline, seen turn.Result, sent bool) {
	w.t.Helper()
	messages, answered := 0, false
	for _, e := range w.log() {
		m, ok := e.Body.(*event.Message)
		if ok && event.PlainText(m.LLMMessage.Content) == question {
			messages++
		}
		if ok && e.Source == event.SourceAgent && event.PlainText(m.LLMMessage.Content) == answer {
			answered = true
		}
		if a, ok := e.Body.(*event.Action); ok && a.ToolName == "finish" {
			answered = true
		}
	}
	if messages > 1 || sent && messages == 0 {
		w.t.Errorf("the message is %d times in the log; accepted: %v", messages, sent)
	}
	res, err := turn.Follow(w.ctx(), w.open(), base, func(turn.Update) {}, nil)
	none := errors.Is(err, turn.ErrNoTurn)
	if err != nil && !none {
		w.t.Fatal(err)
	}
	if res.Outcome == turn.Finished && !none && (!answered || res.Answer != answer) {
		w.t.Errorf("the turn is said to have finished with %q", res.Answer)
	}
	if res.Answer != "" && res.Answer != answer {
		w.t.Errorf("the turn has the answer %q", res.Answer)
	}
	if seen.Answer == answer && seen.Outcome == turn.Finished && !answered {
		w.t.Errorf("the answer was seen and is lost")
	}
	if s, err := w.open().State(w.ctx()); err != nil || s.Status == event.Running {
		w.t.Errorf("status after the crash: %q, %v", s.Status, err)
	}
}

// The process that is killed is in the second turn of its conversation.
func TestKilledProcessInALaterTurnClaimsNothing(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for seed := range kills {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			w := newWorld(t)
			w.llm.On(llmtest.Says("question one"), llmtest.Text("first"))
			twelve(w.llm)
			seen := killed(t, self, 1+seed%24, childConfig{Dir: w.cfg.Dir, Workspace: w.workspace, ID: w.id, URL: w.llm.URL, First: "question one"})
			w.close()
			w.cfg.Holder.Instance, w.cfg.Holder.Alive = "other", func(int) bool { return false }
			w.start()
			log := w.log()
			at := slices.IndexFunc(log, func(e event.Event) bool { return len(seen) > 0 && e.ID == seen[0] })
			if at < 1 {
				t.Fatalf("the first of %d events that were seen is at %d", len(seen), at)
			}
			base := turn.Baseline{After: log[at-1].ID}
			w.claimsNothing("twelve", "twelve", base, turn.Result{}, true)
			if res := w.say("go on"); res.Answer != "I went on" {
				t.Errorf("after the crash: %+v", res)
			}
			w.claimsNothing("twelve", "twelve", base, turn.Result{}, true)
		})
	}
}

// dieAfter ends all writes after some more; the last one reaches the disk, or not.
func (m *mortal) dieAfter(writes int, reaches bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left, m.after = writes, reaches
}

// A message that was to be answered, and of which no run has begun, is a crash. One
// that asked for no run waits for the next, as it was left.
func TestMessageThatACrashLeftUnanswered(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		send func(*world) error
		want event.Status
	}{
		"with a run":                             {func(w *world) error { return w.open().Send(w.ctx(), agentapi.Message{Text: "the second"}) }, event.Failed},
		"with a run, by OpenHands' own programs": {func(w *world) error { return w.appendSecond(true) }, event.Failed},
		"without one":                            {func(w *world) error { return w.appendSecond(false) }, event.Idle},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			disk := &mortal{left: 1 << 30}
			w := newWorld(t, func(c *engine.Config) { c.Files = disk })
			w.llm.Reply(llmtest.Text("first"), llmtest.Text("third"))
			w.say("one")
			if tt.want == event.Failed {
				disk.dieWith("the second")
			}
			_ = tt.send(w) // the disk is dead, so the call may fail
			w.crash(disk)
			w.expect("SP U M U")
			w.status(tt.want)
			if res := w.say("go on"); res.Answer != "third" {
				t.Errorf("after the crash: %+v", res)
			}
		})
	}
}

// appendSecond appends a message as OpenHands' own programs do.
func (w *world) appendSecond(run bool) error {
	w.open()
	c, err := w.backend.Control().Open(w.ctx(), w.id)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Append(w.ctx(), control.Message{Content: []event.Content{event.Text("the second")}}, run)
}

// dieWith makes the write of a text the last one.
func (m *mortal) dieWith(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.until = text
}
