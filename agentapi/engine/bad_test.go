package engine_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/enginetest"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// spoken is a world whose conversation had one turn and is closed.
func spoken(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.llm.On(llmtest.Says("again"), llmtest.Text("still here"))
	w.llm.On(llmtest.Says("hi"), llmtest.Text("hello"))
	w.say("hi")
	w.close()
	return w
}

// refuses checks that the conversation is not opened, and why.
func (w *world) refuses(kind error, want string) {
	w.t.Helper()
	w.start()
	_, err := w.backend.Open(w.ctx(), agentapi.OpenRequest{ID: w.id, Profile: "main", Workspace: w.workspace})
	wantError(w.t, err, kind, want)
	w.close()
}

func wantError(t *testing.T, err, kind error, want string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("error is %v, want %v", err, kind)
	}
	if msg := agentapi.PublicMessage(err, ""); !strings.Contains(msg, want) {
		t.Errorf("the sentence is %q, want %q in it", msg, want)
	}
}

// change changes a file of the conversation and gives the way back.
func (w *world) change(pattern string, f func([]byte) []byte) (undo func()) {
	w.t.Helper()
	files := w.files(pattern)
	if len(files) == 0 {
		w.t.Fatalf("no file %s", pattern)
	}
	path := files[len(files)-1]
	old, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, f(old), 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return func() {
		if err := os.WriteFile(path, old, 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
}

// works checks that the conversation is as it was and goes on.
func (w *world) works() {
	w.t.Helper()
	w.start()
	if got := strings.Join(notation(w.log()), " "); !strings.HasPrefix(got, "SP U M") {
		w.t.Errorf("the log is %q", got)
	}
	if res := w.say("again"); res.Answer != "still here" {
		w.t.Errorf("the next turn: %+v", res)
	}
}

func half(data []byte) []byte { return data[:len(data)/2] }

func TestCorruptEventIsNamed(t *testing.T) {
	t.Parallel()
	w := spoken(t)
	undo := w.change("events/event-00001-*.json", half)
	w.refuses(agentapi.ErrRefused, "event-00001-")
	undo()
	w.works()
}

func TestBaseStateOfAnotherFormIsNamed(t *testing.T) {
	t.Parallel()
	w := spoken(t)
	undo := w.change("base_state.json", func([]byte) []byte { return []byte(`{"id":[]}`) })
	w.refuses(agentapi.ErrRefused, "base_state.json")
	undo()
	w.works()
}

func TestTruncatedBaseStateIsMadeAgain(t *testing.T) {
	t.Parallel()
	w := spoken(t)
	old := mustRead(t, filepath.Join(w.dir(), "base_state.json"))
	w.change("base_state.json", half)
	w.works()
	if kept := mustRead(t, filepath.Join(w.dir(), "base_state.json.damaged")); string(kept) != string(half(old)) {
		t.Errorf("the damaged file is now %q", kept)
	}
}

func TestStateThatIsMadeAgainStillWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *engine.Config) { c.Confirm = agentapi.ConfirmAlways })
	w.llm.Reply(terminal("echo hi"), llmtest.Text("done"))
	w.say("go")
	w.close()
	w.cfg.Confirm = ""
	w.change("base_state.json", func([]byte) []byte { return nil })
	w.start()
	w.status(event.Waiting)
	wantError(t, w.open().Send(w.ctx(), agentapi.Message{Text: "and?"}), agentapi.ErrRefused, "accept or reject")
	w.play(turn.Input{Decision: &agentapi.Decision{Accept: true}})
	w.expect("SP U A(terminal) O M")
	w.llm.Reply(terminal("echo again"))
	w.say("again")
	w.status(event.Waiting) // by the conversation's own policy
}

func TestAgentOfAnotherKindIsRefused(t *testing.T) {
	t.Parallel()
	w := spoken(t)
	undo := w.change("base_state.json", func(data []byte) []byte {
		return []byte(strings.Replace(string(data), `"kind":"Agent"`, `"kind":"ACPAgent"`, 1))
	})
	w.refuses(agentapi.ErrRefused, "agent-server")
	undo()
	w.works()
}

func TestLogWithAGapEndsBeforeIt(t *testing.T) {
	t.Parallel()
	w := spoken(t)
	files := w.files("events/event-*.json")
	// A state update behind the message is lost; what follows it is not part of
	// the conversation and stays on the disk.
	if err := os.Remove(files[len(files)-2]); err != nil {
		t.Fatal(err)
	}
	w.works()
	if left := w.files("events/*beyond-gap"); len(left) != 1 {
		t.Errorf("files beyond the gap: %q", left)
	}
}

func TestForeignLiveLeaseIsBusy(t *testing.T) {
	t.Parallel()
	w := spoken(t)
	other := w.cfg
	other.Holder = store.Holder{Instance: strings.Repeat("c", 32), Host: "elsewhere", PID: 4711}
	b := engine.New(other)
	if _, err := b.Open(w.ctx(), agentapi.OpenRequest{ID: w.id}); err != nil {
		t.Fatal(err)
	}
	w.refuses(agentapi.ErrBusy, "4711 on elsewhere")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	w.works()
}

// failing is a disk on which some writes fail.
type failing struct {
	enginetest.Disk
	err  error
	when func(path string) bool
}

func (f failing) Write(path string, data []byte, sync bool) error {
	if f.when(path) {
		return &os.PathError{Op: "write", Path: path, Err: f.err}
	}
	return f.Disk.Write(path, data, sync)
}

func (f failing) Overwrite(path string, data []byte) error {
	if f.when(path) {
		return &os.PathError{Op: "write", Path: path, Err: f.err}
	}
	return f.Disk.Overwrite(path, data)
}

func TestFullDiskTakesNoMessage(t *testing.T) {
	t.Parallel()
	w := spoken(t)
	full := true
	w.cfg.Files = failing{err: syscall.ENOSPC, when: func(path string) bool { return full && strings.Contains(path, "events") }}
	w.start()
	wantError(t, w.open().Send(w.ctx(), agentapi.Message{Text: "again"}), agentapi.ErrUnavailable, "free disk space")
	full = false
	if res := w.say("again"); res.Answer != "still here" {
		t.Errorf("with room again: %+v", res)
	}
	w.expect("SP U M U M")
}

func TestDiskThatFillsUpDuringARunEndsIt(t *testing.T) {
	t.Parallel()
	full := make(chan struct{})
	w := newWorld(t, func(c *engine.Config) {
		c.Files = failing{err: syscall.ENOSPC, when: func(path string) bool {
			select {
			case <-full:
				return strings.Contains(path, "events")
			default:
				return false
			}
		}}
	})
	feed := make(chan string)
	w.llm.Reply(llmtest.Reply{Feed: feed})
	over := w.background("hi")
	feed <- "hello"
	close(full)
	close(feed)
	if res := <-over; res.Outcome != turn.Failed || res.Cause.Kind != turn.CauseAgent || !strings.Contains(res.Cause.Detail, "space") {
		t.Errorf("result %+v, cause %+v", res, res.Cause)
	}
}

func TestReadOnlyDiskCannotBeOpened(t *testing.T) {
	t.Parallel()
	w := spoken(t)
	w.cfg.Files = failing{err: syscall.EROFS, when: func(string) bool { return true }}
	w.refuses(agentapi.ErrUnavailable, "writable")
	w.cfg.Files = enginetest.Disk{}
	w.works()
}

func TestAConversationThatCannotBeMadeLeavesNoWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *engine.Config) {
		c.Files = failing{err: syscall.ENOSPC, when: func(string) bool { return true }}
	})
	theirs := w.workspace
	w.workspace = filepath.Join(theirs, "made")
	w.refuses(agentapi.ErrUnavailable, "free space")
	if _, err := os.Stat(w.workspace); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the workspace is still there: %v", err)
	}
	w.workspace = theirs
	w.refuses(agentapi.ErrUnavailable, "free space")
	if _, err := os.Stat(theirs); err != nil {
		t.Errorf("a directory that was there before: %v", err)
	}
}

func TestStoredCallOfAnUnknownToolIsAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *engine.Config) { c.Confirm = agentapi.ConfirmAlways })
	w.llm.Reply(terminal("echo hi"), llmtest.Finish("ok"))
	w.say("go")
	w.close()
	w.cfg.NewTools = func(context.Context, engine.ToolEnv) ([]tool.Tool, error) {
		return []tool.Tool{enginetest.Finish()}, nil
	}
	w.start()
	w.play(turn.Input{Decision: &agentapi.Decision{Accept: true}})
	w.expect("SP U A(terminal) E A(finish) O")
	if e := lastOf[*event.AgentError](t, w.log()); !strings.Contains(e.Error, "finish") {
		t.Errorf("error %q", e.Error)
	}
}

func TestModelThatAnswersNonsenseIsStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.llm.On(llmtest.Says("again"), llmtest.Text("still here"))
	w.llm.On(llmtest.Says("hi"), llmtest.Tool("\x00<nonsense>", `[[[`))
	if res := w.say("hi"); res.Outcome != turn.Stuck {
		t.Errorf("outcome %v", res.Outcome)
	}
	if res := w.say("again"); res.Answer != "still here" {
		t.Errorf("the next turn: %+v", res)
	}
}

// stubborn is a model that does not stop when it is told to, until the test
// ends.
type stubborn struct {
	llm.Model
	asked chan<- struct{}
	end   <-chan struct{}
}

func (s stubborn) Generate(context.Context, llm.Request, func(llm.Delta)) (llm.Response, error) {
	s.asked <- struct{}{}
	<-s.end
	return llm.Response{}, errors.New("late")
}

func TestModelThatNeverEndsIsLeftAlone(t *testing.T) {
	t.Parallel()
	asked, end := make(chan struct{}), make(chan struct{})
	w := newWorld(t, func(c *engine.Config) {
		c.Grace = time.Millisecond
		withModel(c, func(m llm.Model) llm.Model { return stubborn{m, asked, end} })
	})
	over := w.background("hi")
	<-asked
	if err := w.open().Interrupt(w.ctx()); err != nil {
		t.Fatal(err)
	}
	if res := <-over; res.Outcome != turn.Interrupted {
		t.Errorf("outcome %v", res.Outcome)
	}
	w.expect("SP U I")
	close(end)
}

func TestWrongKeyIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.llm.Reply(llmtest.Fail(401, "the key is wrong"), llmtest.Text("hello"))
	res := w.say("hi")
	if res.Outcome != turn.Failed || res.Cause.Code != "LLMAuthenticationError" || !strings.Contains(res.Cause.Detail, "the key is wrong") {
		t.Errorf("cause %+v", res.Cause)
	}
	if res := w.say("hi"); res.Answer != "hello" {
		t.Errorf("with a better key: %+v", res)
	}
}

func TestVanishedWorkspaceIsTold(t *testing.T) {
	t.Parallel()
	w := spoken(t)
	w.start()
	if err := os.RemoveAll(w.workspace); err != nil {
		t.Fatal(err)
	}
	wantError(t, w.open().Send(w.ctx(), agentapi.Message{Text: "again"}), agentapi.ErrRefused, "The workspace of this conversation no longer exists")
	w.expect("SP U M")
	if err := os.Mkdir(w.workspace, 0o700); err != nil {
		t.Fatal(err)
	}
	if res := w.say("again"); res.Answer != "still here" {
		t.Errorf("with the workspace again: %+v", res)
	}
}

func TestVanishedAndChangedProfilesAreSeen(t *testing.T) {
	t.Parallel()
	w := spoken(t)
	w.start()
	w.profiles.Set("main", "")
	wantError(t, w.open().Send(w.ctx(), agentapi.Message{Text: "again"}), agentapi.ErrProfileNotFound, `"main"`)
	w.profiles.Set("main", "changed")
	if res := w.say("again"); res.Answer != "still here" {
		t.Errorf("with the profile again: %+v", res)
	}
	if got := w.llm.Requests(); got[len(got)-1].Model != "changed" {
		t.Errorf("the model is %q: the change of the profile was not seen", got[len(got)-1].Model)
	}
}

func TestToolsThatDoNotStartAreTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *engine.Config) {
		c.NewTools = func(context.Context, engine.ToolEnv) ([]tool.Tool, error) { return nil, errors.New("no server there") }
	})
	wantError(t, w.open().Send(w.ctx(), agentapi.Message{Text: "hi"}), agentapi.ErrUnavailable, "no server there")
	w.expect("")
}

func TestBadIDsAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, id := range []string{"", "../../etc", strings.ToUpper(uuid.New()), strings.ReplaceAll(uuid.New(), "-", "")} {
		_, err := w.backend.Open(w.ctx(), agentapi.OpenRequest{ID: id, Profile: "main", Workspace: w.workspace})
		wantError(t, err, agentapi.ErrRefused, "UUID")
		wantError(t, w.backend.Remove(w.ctx(), id), agentapi.ErrConversationNotFound, "no conversation")
	}
}

func TestToolThatPanicsFailsAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *engine.Config) {
		c.NewTools = func(_ context.Context, e engine.ToolEnv) ([]tool.Tool, error) {
			broken := enginetest.Terminal(e.Workspace)
			broken.Do = func(context.Context, tool.Call) (tool.Result, error) { panic("oh no") }
			return []tool.Tool{broken, enginetest.Finish()}, nil
		}
	})
	w.llm.Reply(terminal("x"), llmtest.Finish("ok"))
	w.say("go")
	w.expect("SP U A(terminal) E A(finish) O")
}

func TestRemoveTakesDamagedConversationsToo(t *testing.T) {
	t.Parallel()
	w := spoken(t)
	w.change("base_state.json", half)
	w.start()
	if err := w.backend.Remove(w.ctx(), w.id); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(w.dir() + "*"); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

func TestNoKeyIsWritten(t *testing.T) {
	t.Parallel()
	w := spoken(t)
	err := filepath.WalkDir(w.cfg.Dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), enginetest.Key) {
			t.Errorf("%s holds the key", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// brokenModel is a model with a bug.
type brokenModel struct{ llm.Model }

func (brokenModel) Generate(context.Context, llm.Request, func(llm.Delta)) (llm.Response, error) {
	panic("oh no")
}

func TestModelThatPanicsEndsItsRunOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *engine.Config) {
		withModel(c, func(m llm.Model) llm.Model { return brokenModel{m} })
	})
	if res := w.say("hi"); res.Outcome != turn.Failed || !strings.Contains(res.Cause.Detail, "oh no") {
		t.Errorf("result %+v, cause %+v", res, res.Cause)
	}
	w.status(event.Failed)
}
