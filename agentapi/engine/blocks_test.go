//go:build unix

package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/enginetest"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// refusing is a box that says what it refuses.
type refusing struct {
	sandbox.Box

	blocked func(sandbox.Block)
}

// Explain refuses what is below /forbidden.
func (b *refusing) Explain(path string) (sandbox.Block, bool) {
	return sandbox.Block{Access: sandbox.Write, Target: path, Why: "read-only", Allow: "write " + path}, strings.HasPrefix(path, "/forbidden")
}

// refusingBoxes makes an engine whose one box is box.
func refusingBoxes(box *refusing) func(*engine.Config) {
	return func(c *engine.Config) {
		c.Boxes = func(_ context.Context, e engine.BoxEnv) (sandbox.Box, error) {
			*box = refusing{sandbox.Outside(sandbox.Off, sandbox.Mark{}), e.Blocked}
			return box, nil
		}
	}
}

func refused(host string) sandbox.Block {
	return sandbox.Block{
		Access: sandbox.Network, Target: host + ":443", Why: "host " + host + " is not on the allow list", Allow: "net " + host,
	}
}

const goOn = ". Continue without it, or tell the user what is needed and why."

// calls makes tools that call do with their command or thought first.
func calls(do func(command string)) func(*engine.Config) {
	return func(c *engine.Config) {
		c.NewTools = func(_ context.Context, e engine.ToolEnv) ([]tool.Tool, error) {
			tools := enginetest.Tools(e.Workspace)
			for i, name := range []string{"terminal", "", "think"} {
				if name == "" {
					continue
				}
				inner := tools[i].(*enginetest.Func)
				run := inner.Do
				inner.Do = func(ctx context.Context, call tool.Call) (tool.Result, error) {
					var in struct{ Command, Thought string }
					if err := json.Unmarshal(call.Args, &in); err != nil {
						return tool.Result{}, err
					}
					do(in.Command + in.Thought)
					if in.Command == "fail" {
						return tool.Result{}, errors.New("no such program")
					}
					return run(ctx, call)
				}
			}
			return tools, nil
		}
	}
}

func TestARefusalIsToldToTheModelOnceAndToThePersonAtOnce(t *testing.T) {
	t.Parallel()
	box := &refusing{}
	w := newWorld(t, refusingBoxes(box), calls(func(command string) {
		if host, ok := strings.CutPrefix(command, ": get "); ok {
			box.blocked(refused(host))
		}
	}))
	w.llm.Reply(
		terminal(": get one.example.com"), terminal(": get one.example.com"), terminal("true"),
		llmtest.Tool("think", `{"thought":": get two.example.com"}`), llmtest.Finish("ok"),
	)
	var told []turn.Update
	res := w.play(turn.Input{Message: agentapi.Message{Text: "go"}, Emit: func(u turn.Update) {
		if u.Block != nil {
			told = append(told, u)
		}
	}})
	one, two := refused("one.example.com"), refused("two.example.com")
	want := []agentapi.Block{
		{Access: "net", Target: one.Target, Why: one.Why, Allow: one.Allow},
		{Access: "net", Target: two.Target, Why: two.Why, Allow: two.Allow},
	}
	if diff := cmp.Diff(want, res.Blocked); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if len(told) != 2 || told[0].Text != "sandbox: refused one.example.com:443 (host one.example.com is not on the allow list)" {
		t.Errorf("told %+v", told)
	}
	var noted []string
	for _, e := range w.log() {
		if o, ok := e.Body.(*event.Observation); ok {
			noted = append(noted, noteOf(t, o))
		}
	}
	text := func(b sandbox.Block) string {
		return "[sandbox] refused: connect " + b.Target + " (" + b.Why + ")" + goOn
	}
	if diff := cmp.Diff([]string{text(one), "", "", text(two), ""}, noted); diff != "" {
		t.Errorf("observations (-want +got):\n%s", diff)
	}
	if got := w.llm.Await(t, 2).Last().Text; !strings.Contains(got, text(one)) {
		t.Errorf("the model was told %q", got)
	}
	w.lacksOnDisk(event.KeyBlock)
}

// noteOf is what an observation says of the sandbox, in its content or its suffix.
func noteOf(t *testing.T, o *event.Observation) string {
	t.Helper()
	content, _, err := tool.Content(o.Observation)
	if err != nil {
		t.Fatal(err)
	}
	text := event.PlainText(content)
	if i := strings.Index(text, "[sandbox]"); i >= 0 {
		text, _, _ = strings.Cut(text[i:], "\n")
		return text
	}
	return ""
}

// lacksOnDisk checks that no file of the conversation has a text.
func (w *world) lacksOnDisk(text string) {
	w.t.Helper()
	err := filepath.WalkDir(w.dir(), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), text) {
			w.t.Errorf("%s has %s", path, text)
		}
		return err
	})
	if err != nil {
		w.t.Error(err)
	}
}

func TestARefusalBetweenToolsGoesToTheNextObservation(t *testing.T) {
	t.Parallel()
	box := &refusing{}
	w := newWorld(t, refusingBoxes(box), calls(func(command string) {
		if command == "fail" { // whose result is an error, which has no observation
			box.blocked(refused("one.example.com"))
		}
	}))
	w.llm.Reply(terminal("fail"), terminal("true"), llmtest.Finish("ok"), terminal("true"), llmtest.Finish("ok"))
	if res := w.say("go"); len(res.Blocked) != 1 {
		t.Errorf("blocked %+v", res.Blocked)
	}
	if got := noteOf(t, w.nthObservation(0)); !strings.Contains(got, "one.example.com") {
		t.Errorf("the model was told %q", got)
	}
	box.blocked(refused("late.example.com")) // by something in the background, while nothing runs
	if res := w.say("again"); len(res.Blocked) != 1 || res.Blocked[0].Target != "late.example.com:443" {
		t.Errorf("blocked %+v", res.Blocked)
	}
	if got := noteOf(t, w.nthObservation(2)); !strings.Contains(got, "late.example.com") {
		t.Errorf("the model was told %q", got)
	}
}

func (w *world) nthObservation(n int) *event.Observation {
	w.t.Helper()
	for _, e := range w.log() {
		if o, ok := e.Body.(*event.Observation); ok {
			if n == 0 {
				return o
			}
			n--
		}
	}
	w.t.Fatal("no such observation")
	return nil
}

func TestAQuietRefusalIsForTheModelAndAHeldOneForThePerson(t *testing.T) {
	t.Parallel()
	box := &refusing{}
	w := newWorld(t, refusingBoxes(box), calls(func(string) {
		quiet, held := refused("quiet.example.com"), refused("held.example.com")
		quiet.Quiet, held.Held = true, true
		box.blocked(quiet)
		box.blocked(held)
	}))
	w.llm.Reply(terminal("true"), llmtest.Finish("ok"))
	var told []string
	res := w.play(turn.Input{Message: agentapi.Message{Text: "go"}, Emit: func(u turn.Update) {
		if u.Block != nil {
			told = append(told, u.Text)
		}
	}})
	if diff := cmp.Diff([]string{"sandbox: waits up to 60 s for: ohgw sandbox allow net held.example.com"}, told); diff != "" || len(res.Blocked) != 0 {
		t.Errorf("blocked %+v, told (-want +got):\n%s", res.Blocked, diff)
	}
	if got := noteOf(t, w.nthObservation(0)); !strings.Contains(got, "quiet.example.com") || strings.Contains(got, "held.example.com") {
		t.Errorf("the model was told %q", got)
	}
}

// With the tools that users get: the note stands in the suffix of the terminal, and
// a path that the box refuses is found in the output.
func TestARefusedPathInAnOutputIsExplained(t *testing.T) {
	t.Parallel()
	box := &refusing{}
	w := newWorld(t, realTools, refusingBoxes(box))
	w.llm.Reply(
		terminal("echo \"touch: cannot touch '/forbidden/a b': Permission denied\"; echo 'sh: 1: /forbidden/c: Read-only file system'; echo '/open/d: Permission denied'; false"),
		terminal("echo /forbidden/e"), llmtest.Finish("ok"),
	)
	res := w.say("go")
	if len(res.Blocked) != 2 || res.Blocked[0].Command() != "ohgw sandbox allow write '/forbidden/a b'" {
		t.Errorf("blocked %+v", res.Blocked)
	}
	o := w.nthObservation(0)
	var stored struct {
		Metadata tool.TerminalMetadata `json:"metadata"`
	}
	if err := json.Unmarshal(o.Observation, &stored); err != nil {
		t.Fatal(err)
	}
	want := "\n[sandbox] refused: write /forbidden/a b (read-only); write /forbidden/c (read-only)" + goOn
	if stored.Metadata.Suffix != want || stored.Metadata.ExitCode != 1 {
		t.Errorf("metadata %+v", stored.Metadata)
	}
	if got := w.llm.Await(t, 2).Last().Text; !strings.Contains(got, want) {
		t.Errorf("the model was told %q", got)
	}
	if got := noteOf(t, w.nthObservation(1)); got != "" {
		t.Errorf("without a failure: %q", got)
	}
}

// A name is a way to send a secret out, and nothing of it is told or stored.
func TestARefusalTellsNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "tok-4711-do-not-show"
	box := &refusing{}
	w := newWorld(t, refusingBoxes(box), calls(func(string) { box.blocked(refused(secret + ".example.com")) }), func(c *engine.Config) {
		c.Settings = settings(engine.Settings{Agent: json.RawMessage(`{"agent_context":{"secrets":{"API_TOKEN":"` + secret + `"}}}`)})
	})
	w.llm.Reply(terminal("true"), llmtest.Finish("ok"))
	var told []string
	res := w.play(turn.Input{Message: agentapi.Message{Text: "go"}, Emit: func(u turn.Update) { told = append(told, u.Text) }})
	if len(res.Blocked) != 1 || res.Blocked[0].Target != "<secret-hidden>.example.com:443" || res.Blocked[0].Command() != "" {
		t.Errorf("blocked %+v", res.Blocked)
	}
	if all := strings.Join(told, "\n") + noteOf(t, w.nthObservation(0)); strings.Contains(all, secret) || !strings.Contains(all, "refused") {
		t.Errorf("told %s", all)
	}
	w.lacksOnDisk(secret)
}

func TestGrantsGoToTheBoxesOfTheConversation(t *testing.T) {
	t.Parallel()
	var asked []engine.BoxEnv
	var given []agentapi.Grant
	w := newWorld(t, func(c *engine.Config) {
		c.Sandbox = func() agentapi.SandboxStatus { return agentapi.SandboxStatus{Level: "full"} }
		c.Allow = func(_ context.Context, e engine.BoxEnv, g agentapi.Grant) error {
			asked, given = append(asked, e), append(given, g)
			if g.Target == "*" {
				return errors.New("too wide")
			}
			return nil
		}
	})
	w.open()
	if s := w.backend.Sandbox(w.ctx()); s.Level != "full" {
		t.Errorf("sandbox %+v", s)
	}
	grant := agentapi.Grant{Access: "net", Target: "a.example.com", Scope: agentapi.GrantOnce}
	if err := w.backend.Allow(w.ctx(), w.id, grant); err != nil {
		t.Fatal(err)
	}
	if len(asked) != 1 || asked[0].Conversation != w.id || asked[0].Workspace != w.workspace || asked[0].Dir != w.dir() || given[0] != grant {
		t.Errorf("asked %+v for %+v", asked, given)
	}
	grant.Target = "*"
	if err := w.backend.Allow(w.ctx(), w.id, grant); !errors.Is(err, agentapi.ErrRefused) {
		t.Errorf("a grant of everything: %v, want a refusal", err)
	}
	for _, id := range []string{"x", "0b1e7c9e-0000-4000-8000-000000000000"} {
		if err := w.backend.Allow(w.ctx(), id, grant); !errors.Is(err, agentapi.ErrConversationNotFound) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

func TestWithoutASandboxThereIsNothingToAllow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.open()
	if s := w.backend.Sandbox(w.ctx()); s.Level != "off" {
		t.Errorf("sandbox %+v", s)
	}
	if err := w.backend.Allow(w.ctx(), w.id, agentapi.Grant{}); !errors.Is(err, agentapi.ErrUnsupported) {
		t.Errorf("a grant without a sandbox: %v, want that it is unsupported", err)
	}
}
