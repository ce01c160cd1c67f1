//go:build unix

package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// made reports whether there is a file in the workspace.
func made(w *world, name string) bool {
	_, err := os.Stat(filepath.Join(w.workspace, name))
	return err == nil
}

func TestAHookChangesTheInputOfACall(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"own form":      `echo '{"updatedInput":{"command":"touch changed"}}'`,
		"Claude's form": `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"touch changed"}}}'`,
		"as an action":  `sed 's/.*"tool_input":\({[^}]*}\).*/{"updatedInput":\1}/; s/touch made/touch changed/'`,
		"with nulls":    `echo '{"updatedInput":{"kind":"TerminalAction","command":"touch changed","timeout":null}}'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, realTools, hooks(t, [3]string{"PreToolUse", "terminal", command}))
			w.llm.Reply(terminal("touch made"), llmtest.Finish("ok"))
			w.say("go")
			w.expect("SP U H A(terminal) O A(finish) O")
			if made(w, "made") || !made(w, "changed") {
				t.Errorf("made %v, changed %v, want the changed command alone", made(w, "made"), made(w, "changed"))
			}
			h := lastOf[*event.HookExecution](t, w.log())
			if h.Blocked || !h.Success || !strings.Contains(string(h.HookInput), "touch made") {
				t.Errorf("hook execution = %+v, want the input as the model wrote it", h)
			}
			if body := string(w.llm.Await(t, 2).Body); !strings.Contains(body, "touch changed") || strings.Contains(body, "touch made") {
				t.Errorf("the model was shown %s, want the call that ran", body)
			}
			for _, e := range w.log() {
				if a, ok := e.Body.(*event.Action); ok && a.ToolName == "terminal" {
					if !strings.Contains(string(a.Action), "touch changed") || !strings.Contains(a.ToolCall.Arguments, "touch changed") || strings.Contains(a.Summary, "made") {
						t.Errorf("action = %s, call = %+v, summary %q", a.Action, a.ToolCall, a.Summary)
					}
				}
			}
		})
	}
}

// Each hook gets the input as the one before it has left it, and may refuse that.
func TestHooksChangeAnInputOneAfterTheOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realTools, hooks(t,
		[3]string{"PreToolUse", "terminal", `echo '{"updatedInput":{"command":"touch second"}}'`},
		[3]string{"PreToolUse", "terminal", `grep -q second && exit 2; exit 0`}))
	w.llm.Reply(terminal("touch made"), llmtest.Finish("ok"))
	w.say("go")
	w.expect("SP U H H A(terminal) R A(finish) O")
	if h := lastOf[*event.HookExecution](t, w.log()); !strings.Contains(string(h.HookInput), "touch second") || !strings.Contains(string(h.HookInput), "TerminalAction") {
		t.Errorf("the second hook was told %s", h.HookInput)
	}
}

func TestAnInputThatACallCannotHaveRefusesIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ command, want string }{
		"a list":         {`echo '{"updatedInput":["touch changed"]}'`, "it is not a JSON object"},
		"a text":         {`echo '{"updatedInput":"touch changed"}'`, "it is not a JSON object"},
		"another member": {`echo '{"updatedInput":{"script":"touch changed"}}'`, "the tool does not take it"},
		"another type":   {`echo '{"updatedInput":{"command":{"a":1}}}'`, "the tool does not take it"},
		"a secret":       {`echo '{"updatedInput":{"command":"echo <secret-hidden>"}}'`, "in the place of a secret's value"},
		"refused too":    {`echo '{"decision":"DENY","reason":"not today","updatedInput":{"command":"touch changed"}}'`, "not today"},
		"Claude's deny":  {`echo '{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"not so"}}'`, "not so"},
		"continue is 0":  {`echo '{"continue":0,"reason":"stop","hookSpecificOutput":"x"}'`, "stop"},
		"10 MB of JSON":  {`printf '{"decision":"deny","reason":"'; head -c 10000000 /dev/zero | tr '\0' x; printf '"}'`, "its answer has more than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, realTools, hooks(t, [3]string{"PreToolUse", "terminal", c.command}))
			w.llm.Reply(terminal("touch made"), llmtest.Finish("ok"))
			w.say("go")
			w.expect("SP U H A(terminal) R A(finish) O")
			if made(w, "made") || made(w, "changed") {
				t.Error("the command ran")
			}
			if r := lastOf[*event.UserReject](t, w.log()); r.RejectionSource != "hook" || !strings.Contains(r.RejectionReason, c.want) {
				t.Errorf("rejection = %+v, want %q", r, c.want)
			}
			if h := lastOf[*event.HookExecution](t, w.log()); !h.Blocked || len(h.Stdout) > 50_000 {
				t.Errorf("blocked %v, %d bytes of output", h.Blocked, len(h.Stdout))
			}
		})
	}
}

func TestAnInputThatDoesNotCountChangesNothing(t *testing.T) {
	t.Parallel()
	for name, h := range map[string][3]string{
		"a failed hook": {"PreToolUse", "terminal", `echo '{"updatedInput":{"command":"touch changed"}}'; exit 1`},
		"afterwards":    {"PostToolUse", "terminal", `echo '{"updatedInput":{"command":"touch changed"}}'`},
		"null":          {"PreToolUse", "terminal", `echo '{"updatedInput":null}'`},
		"nonsense":      {"PreToolUse", "terminal", `echo '{"updatedInput":{"command":'`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, realTools, hooks(t, h))
			w.llm.Reply(terminal("touch made"), llmtest.Finish("ok"))
			w.say("go")
			if !made(w, "made") || made(w, "changed") {
				t.Errorf("made %v, changed %v, want the command of the model", made(w, "made"), made(w, "changed"))
			}
		})
	}
}

// What a person is asked about is the call that runs.
func TestAChangedCallIsConfirmedAsItRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realTools, func(c *engine.Config) { c.Confirm = agentapi.ConfirmAlways },
		hooks(t, [3]string{"PreToolUse", "terminal", `echo '{"updatedInput":{"command":"touch changed"}}'`}))
	w.llm.Reply(terminal("touch made"))
	res := w.say("go")
	if len(res.Waiting) != 1 || !strings.Contains(res.Waiting[0].Line, "touch changed") {
		t.Errorf("result = %+v, want a question about the changed command", res)
	}
}

func TestHooksAddToTheResultOfACall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realTools, hooks(t,
		[3]string{"PreToolUse", "terminal", `echo '{"additionalContext":"Files of 2020 are old."}'`},
		[3]string{"PostToolUse", "terminal", `grep -q '"exit_code":0' && echo '{"hookSpecificOutput":{"additionalContext":"Run the tests."}}'`},
		[3]string{"PostToolUse", "*", `echo '{"additionalContext":"Then stop."}'`}))
	w.llm.Reply(terminal("echo one"), llmtest.Finish("ok"))
	w.say("go")
	w.expect("SP U H A(terminal) H H O(ext) A(finish) H O(ext)")
	for _, want := range []string{"one", "Files of 2020 are old.", "Run the tests.\nThen stop."} {
		if got := w.llm.Await(t, 2).Last().Text; !strings.Contains(got, want) {
			t.Errorf("the model was shown %q, want %q in it", got, want)
		}
	}
	o := lastOf[*event.Observation](t, w.log())
	if len(o.ExtendedContent) != 1 || o.ExtendedContent[0].Text != "Then stop." {
		t.Errorf("extended content = %+v", o.ExtendedContent)
	}
}

// OpenHands 1.58 does so, too.
func TestHooksForTheBeginningAddAMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realTools, hooks(t, [3]string{"SessionStart", "*", `echo '{"additionalContext":"It is Monday."}'`}))
	w.llm.Reply(llmtest.Text("hello"))
	w.say("hi")
	w.expect("SP H N U M")
	if body := string(w.llm.Await(t, 1).Body); !strings.Contains(body, "It is Monday.") {
		t.Errorf("the model was shown %s", body)
	}
}

// Between an action that waits and its result there is no place for a message.
func TestAMessageOfTheBeginningWaitsForOpenActions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realTools, func(c *engine.Config) { c.Confirm = agentapi.ConfirmAlways },
		hooks(t, [3]string{"SessionStart", "*", `echo '{"additionalContext":"It is Monday."}'`}))
	w.llm.Reply(terminal("echo one"), llmtest.Finish("ok"))
	w.say("go")
	w.close()
	w.start()
	w.play(turn.Input{Decision: &agentapi.Decision{Accept: true}})
	w.expect("SP H N U A(terminal) H O N A(finish) O")
}

func TestAHookOfTheEndThatAnswersTooMuchRefusesNothing(t *testing.T) {
	t.Parallel()
	for _, on := range []string{"Stop", "PostToolUse", "SessionStart"} {
		t.Run(on, func(t *testing.T) {
			t.Parallel()
			command := fmt.Sprintf(`printf '{"decision":"deny","reason":"'; head -c %d /dev/zero | tr '\0' x; printf '"}'`, 10_000_000)
			w := newWorld(t, realTools, hooks(t, [3]string{on, "*", command}))
			w.llm.Reply(llmtest.Finish("ok"))
			if res := w.say("go"); res.Answer != "ok" {
				t.Errorf("result = %+v, want the answer %q", res, "ok")
			}
			if h := lastOf[*event.HookExecution](t, w.log()); h.Blocked || h.Success || !strings.Contains(h.Error, "could not be read") {
				t.Errorf("blocked %v, success %v, error %q", h.Blocked, h.Success, h.Error)
			}
		})
	}
}
