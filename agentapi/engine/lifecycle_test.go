package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/enginetest"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// waits is a model that waits until it is interrupted.
type waits struct{ instant }

func (waits) Generate(ctx context.Context, _ llm.Request, _ func(llm.Delta)) (llm.Response, error) {
	<-ctx.Done()
	return llm.Response{}, ctx.Err()
}

// bubble is an engine in a synctest bubble, with one conversation.
func bubble(t *testing.T, model llm.Model) (*engine.Backend, engine.Config, agentapi.Conversation) {
	t.Helper()
	cfg := enginetest.Config(t, "", enginetest.NewProfiles("main", "test"))
	cfg.NewModel = func(engine.Profile, string) (llm.Model, error) { return model, nil }
	b := engine.New(cfg)
	c, err := b.Open(t.Context(), agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: "main", Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return b, cfg, c
}

func TestConversationThatWasTakenOverIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, cfg, c := bubble(t, waits{instant{"agent"}})
		over := make(chan error, 1)
		go func() {
			_, err := turn.Run(t.Context(), c, turn.Input{Message: agentapi.Message{Text: "go"}, Emit: func(turn.Update) {}})
			over <- err
		}()
		synctest.Wait()
		lease := filepath.Join(store.Path(cfg.Dir, c.Info().ID), "owner_lease.json")
		if err := os.WriteFile(lease, []byte(`{"owner_instance_id":"other","generation":7,"expires_at":99999999999,"owner_host":"elsewhere","owner_pid":5}`), 0o600); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadDir(filepath.Join(filepath.Dir(lease), "events"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * store.LeaseRenewal)
		if err := <-over; !errors.Is(err, agentapi.ErrLost) {
			t.Errorf("the turn ended with %v, want %v", err, agentapi.ErrLost)
		}
		if after, err := os.ReadDir(filepath.Join(filepath.Dir(lease), "events")); err != nil || len(after) != len(before) {
			t.Errorf("%d events, %v: something was written to a foreign conversation that had %d", len(after), err, len(before))
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestIdleConversationIsClosedAndComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, cfg, c := bubble(t, instant{"agent"})
		run := func(c agentapi.Conversation) {
			t.Helper()
			if _, err := turn.Run(t.Context(), c, turn.Input{Message: agentapi.Message{Text: "go"}, Emit: func(turn.Update) {}}); err != nil {
				t.Fatal(err)
			}
		}
		expires := func() float64 {
			t.Helper()
			var lease struct {
				Expires float64 `json:"expires_at"`
			}
			data, err := os.ReadFile(filepath.Join(store.Path(cfg.Dir, c.Info().ID), "owner_lease.json"))
			if err != nil || json.Unmarshal(data, &lease) != nil {
				t.Fatal(err)
			}
			return lease.Expires
		}
		run(c)
		time.Sleep(2 * time.Hour)
		if expires() == 0 {
			t.Error("a conversation in use was closed")
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if expires() != 0 {
			t.Error("an idle conversation is still open")
		}
		again, err := b.Open(t.Context(), agentapi.OpenRequest{ID: c.Info().ID, Existing: true})
		if err != nil {
			t.Fatal(err)
		}
		run(again)
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestCloseInterruptsAndLeavesNothingOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.llm.Reply(terminal("sleep 300"), llmtest.Text("back"))
	over := make(chan error, 1)
	c := w.open()
	go func() {
		_, err := turn.Run(w.ctx(), c, turn.Input{Message: agentapi.Message{Text: "go"}, Emit: func(turn.Update) {}})
		over <- err
	}()
	w.awaitAction()
	w.close()
	if err := <-over; err != nil {
		t.Errorf("the turn ended with %v", err)
	}
	w.start()
	w.expect("SP U A(terminal) E I")
	w.status(event.Paused)
	w.say("go on")
	w.expect("SP U A(terminal) E I U M")
}

func TestMessageThatWaitsIsTakenBackWithItsContext(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	feed := make(chan string)
	w.llm.Reply(llmtest.Reply{Feed: feed})
	over := w.background("one")
	w.llm.Await(t, 1)
	ctx, cancel := context.WithCancel(w.ctx())
	q := &queued{Context: ctx, twice: make(chan struct{})}
	sent := make(chan error, 1)
	go func() { sent <- w.open().Send(q, agentapi.Message{Text: "two"}) }()
	<-q.twice
	cancel()
	if err := <-sent; !errors.Is(err, context.Canceled) {
		t.Errorf("Send: %v", err)
	}
	feed <- "first"
	close(feed)
	<-over
	w.expect("SP U M")
}

func TestMessageThatWaitsIsRefusedByAnInterrupt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.llm.Reply(llmtest.Reply{End: llmtest.Hang})
	over := w.background("one")
	w.llm.Await(t, 1)
	sent := w.sendMeanwhile("two")
	if err := w.open().Interrupt(w.ctx()); err != nil {
		t.Fatal(err)
	}
	wantError(t, <-sent, agentapi.ErrUnavailable, "send the message again")
	<-over
	w.expect("SP U I")
}

func TestMessageToAConversationThatWaitsIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *engine.Config) { c.Confirm = agentapi.ConfirmAlways })
	w.llm.Reply(terminal("echo hi"))
	w.say("go")
	wantError(t, w.open().Send(w.ctx(), agentapi.Message{Text: "two"}), agentapi.ErrRefused, "accept or reject")
	w.close()
	w.start()
	w.status(event.Waiting) // also after a restart, and nothing has run
	w.expect("SP U A(terminal)")
}

func TestDecisionOfNothingIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	err := w.open().Decide(w.ctx(), agentapi.Decision{Accept: true})
	wantError(t, err, agentapi.ErrRefused, "Nothing")
	if !errors.Is(err, agentapi.ErrNothingWaits) {
		t.Errorf("the cause is not that nothing waits: %v", err)
	}
}

func TestBlindModelSaysThatItIsBlind(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *engine.Config) {
		withModel(c, func(m llm.Model) llm.Model { blind := m.(enginetest.Model); blind.Blind = true; return blind })
	})
	res := w.play(turn.Input{Message: agentapi.Message{Text: "look", Images: []string{"data:image/png;base64,AA=="}}})
	if res.Outcome != turn.Finished || !strings.Contains(res.Answer, "cannot see images") {
		t.Errorf("result %+v", res)
	}
	w.expect("SP U M")
}

func TestMetaSaysWhenTheConversationChangedAndKeepsTheRest(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	w := newWorld(t, func(c *engine.Config) { c.Now = func() time.Time { return now } })
	w.llm.Reply(llmtest.Text("one"), llmtest.Text("two"))
	w.say("one")
	w.close()
	path := filepath.Join(w.dir(), "meta.json")
	meta := func() (m map[string]any) {
		t.Helper()
		data, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(data, &m)
		}
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	before := meta()
	before["plugins"] = []any{"mine"}
	data, err := json.Marshal(before)
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	w.start()
	w.say("two")
	w.close()
	want := before
	want["updated_at"] = "2026-01-02T04:04:05.000000Z"
	if diff := cmp.Diff(want, meta()); diff != "" {
		t.Errorf("meta.json (-want +got):\n%s", diff)
	}
	if before["created_at"] != "2026-01-02T03:04:05.000000Z" {
		t.Errorf("created at %v", before["created_at"])
	}
}

func TestScenario44TitleIsFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *engine.Config) { c.Titles = true })
	long := strings.Repeat("title ", 14)[:80]
	w.llm.On(func(r *llmtest.Request) bool { return len(r.Tools) == 0 }, llmtest.Text(long))
	w.llm.On(llmtest.Says("hi"), llmtest.Text("hello"), llmtest.Text("again"))
	w.say("hi")
	title := ""
	waittest.Until(t, waittest.Patience, "the title is stored", func() (any, bool) { // beside the run
		var meta struct{ Title string }
		data, err := os.ReadFile(filepath.Join(w.dir(), "meta.json"))
		if err != nil || json.Unmarshal(data, &meta) != nil {
			t.Fatalf("meta.json %s, %v", data, err)
		}
		title = meta.Title
		return string(data), title != ""
	})
	if want := long[:47] + "..."; title != want || len(title) != 50 {
		t.Errorf("title %q, want %q", title, want)
	}
	w.say("hi again")
	w.expect("SP U M U M")
	asked := 0
	for _, r := range w.llm.Requests() {
		if len(r.Tools) == 0 {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("the model was asked for %d titles", asked)
	}
}

// TestAConversationForOneTurnHasNoTitle asks the model for the answer only.
func TestAConversationForOneTurnHasNoTitle(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *engine.Config) { c.Titles = true })
	w.llm.Reply(llmtest.Text("hello"))
	conv, err := w.backend.Open(w.ctx(), agentapi.OpenRequest{ID: uuid.New(), New: true, OneShot: true, Profile: "main", Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer conv.Close()
	res, err := turn.Run(w.ctx(), conv, turn.Input{Message: agentapi.Message{Text: "hi"}, Emit: func(turn.Update) {}})
	if err != nil || res.Answer != "hello" {
		t.Fatalf("the result is %+v, %v", res, err)
	}
	if err := w.backend.Close(); err != nil { // and what goes on beside the run
		t.Fatal(err)
	}
	if n := len(w.llm.Requests()); n != 1 {
		t.Errorf("the model was asked %d times, want once", n)
	}
}

// TestScenario28LegacyDirectoryGoesOn opens a directory as OpenHands 1.11 wrote it.
func TestScenario28LegacyDirectoryGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.llm.Reply(llmtest.Text("hello again"))
	events := filepath.Join(w.dir(), "events")
	if err := os.MkdirAll(events, 0o700); err != nil {
		t.Fatal(err)
	}
	legacy := []string{
		`{"kind":"SystemPromptEvent","id":"%s","timestamp":"2026-01-01T00:00:00.000001","source":"agent","system_prompt":{"type":"text","text":"You are old."},"tools":[]}`,
		`{"kind":"MessageEvent","id":"%s","timestamp":"2026-01-01T00:00:00.000002","source":"user","llm_message":{"role":"user","content":[{"type":"text","text":"first"}]},"activated_skills":[],"extended_content":[]}`,
		`{"kind":"MessageEvent","id":"%s","timestamp":"2026-01-01T00:00:00.000003","source":"agent","llm_message":{"role":"assistant","content":[{"type":"text","text":"answer"}]},"activated_skills":[],"extended_content":[]}`,
	}
	old := map[string]string{}
	for i, text := range legacy {
		id := uuid.New()
		path := filepath.Join(events, fmt.Sprintf("event-%05d-%s.json", i, id))
		old[path] = fmt.Sprintf(text, id)
		if err := os.WriteFile(path, []byte(old[path]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	state := fmt.Sprintf(`{"id":%q,"agent":{"kind":"Agent","llm":{"model":"openai/test","usage_id":"agent"},"tools":[{"name":"terminal"}]},`+
		`"workspace":{"working_dir":%q,"kind":"LocalWorkspace"},"execution_status":"finished","stats":{"usage_to_metrics":{}},"secret_registry":{"secret_sources":{}}}`, w.id, w.workspace)
	if err := os.WriteFile(filepath.Join(w.dir(), "base_state.json"), []byte(state), 0o600); err != nil {
		t.Fatal(err)
	}
	if info := w.open().Info(); info.Created || info.SystemKnown || info.Profile != "" {
		t.Errorf("Info() = %+v", info)
	}
	if res := w.say("second"); res.Answer != "hello again" {
		t.Errorf("result %+v", res)
	}
	w.expect("SP U M U M")
	var told []string
	for _, m := range w.llm.Await(t, 1).Messages {
		told = append(told, m.Role+": "+m.Text)
	}
	if got := strings.Join(told, "|"); got != "system: You are old.|user: first|assistant: answer|user: second" {
		t.Errorf("the model was told %q", got)
	}
	for path, text := range old {
		if data, err := os.ReadFile(path); err != nil || string(data) != text {
			t.Errorf("%s was touched: %v", path, err)
		}
	}
}
