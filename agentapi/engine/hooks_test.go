//go:build unix

package engine_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// hooks has the user's home directory say these hooks: event, matcher, command.
func hooks(t *testing.T, list ...[3]string) func(*engine.Config) {
	t.Helper()
	return hooksOf(t, map[string]any{}, list)
}

// shortHooks gives each of these hooks two seconds. It is for tests of hooks that do not end:
// a hook that has work to do may take longer on a busy machine.
func shortHooks(t *testing.T, list ...[3]string) func(*engine.Config) {
	t.Helper()
	return hooksOf(t, map[string]any{"timeout": 2}, list)
}

func hooksOf(t *testing.T, fields map[string]any, list [][3]string) func(*engine.Config) {
	t.Helper()
	config := map[string][]any{}
	for _, h := range list {
		hook := maps.Clone(fields)
		hook["command"] = h[2]
		config[h[0]] = append(config[h[0]], map[string]any{"matcher": h[1], "hooks": []any{hook}})
	}
	data, err := json.Marshal(map[string]any{"hooks": config})
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".openhands"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".openhands", "hooks.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return func(c *engine.Config) {
		c.Home = home
		if c.SkillEnv == nil {
			c.SkillEnv = []string{"PATH=" + os.Getenv("PATH")}
		}
	}
}

func TestScenario38AHookBlocksACall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hooks(t, [3]string{"PreToolUse", "terminal", "echo not here >&2; exit 2"}))
	w.llm.Reply(terminal("touch made"), llmtest.Finish("ok"))
	w.say("go")
	w.expect("SP U H A(terminal) R A(finish) O")
	r := lastOf[*event.UserReject](t, w.log())
	if r.RejectionSource != "hook" || r.RejectionReason != "not here" {
		t.Errorf("rejection = %+v, want %q by a hook", r, "not here")
	}
	if _, err := os.Stat(filepath.Join(w.workspace, "made")); err == nil {
		t.Error("the command ran")
	}
	h := lastOf[*event.HookExecution](t, w.log())
	if h.HookEventType != "PreToolUse" || !h.Blocked || h.Success || h.ExitCode != 2 || h.ToolName != "terminal" || h.ActionID != r.ActionID ||
		!strings.Contains(string(h.HookInput), "touch made") {
		t.Errorf("hook execution = %+v, want PreToolUse of the terminal, blocked with the exit code 2", h)
	}
	if got := w.llm.Await(t, 2).Last().Text; !strings.Contains(got, "not here") {
		t.Errorf("the model was told %q", got)
	}
}

func TestScenario38WithAMatcherForAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hooks(t, [3]string{"PreToolUse", "*", `grep -q touch && exit 2; exit 0`}))
	w.llm.Reply(terminal("touch made"), llmtest.Finish("ok"))
	w.say("go")
	w.expect("SP U H A(terminal) R H A(finish) O")
}

func TestScenario39AHookKeepsTheAgentFromStopping(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hooks(t, [3]string{"Stop", "*", `if [ -e seen ]; then exit 0; fi; touch seen; echo '{"decision":"deny","reason":"run the tests"}'`}))
	w.llm.Reply(llmtest.Text("done"), llmtest.Text("really done"))
	if res := w.say("go"); res.Answer != "really done" {
		t.Errorf("result = %+v, want the answer %q", res, "really done")
	}
	w.expect("SP U M H N M H")
	w.status(event.Finished)
	if got := w.llm.Await(t, 2).Last().Text; got != "[Stop hook feedback] run the tests" {
		t.Errorf("the model was told %q", got)
	}
}

func TestHooksAddToAMessageOrRefuseIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hooks(t, [3]string{"UserPromptSubmit", "*", `grep -q '"bad"' && { echo no bad words >&2; exit 2; }; echo '{"additionalContext":"It is Monday."}'`}))
	w.llm.Reply(llmtest.Text("hello"))
	w.say("hi")
	w.expect("SP H U(ext) M")
	if got := w.llm.Await(t, 1).Last().Text; !strings.Contains(got, "hi") || !strings.Contains(got, "It is Monday.") {
		t.Errorf("the model was told %q", got)
	}
	var base turn.Baseline
	res := w.play(turn.Input{Message: agentapi.Message{Text: "bad"}, Ready: func(b turn.Baseline) error { base = b; return nil }})
	if res.Outcome != turn.Refused || res.Refusal != "no bad words" || res.Answer != "" {
		t.Errorf("result = %+v, want the refusal %q", res, "no bad words")
	}
	if read, err := turn.Follow(w.ctx(), w.conv, base, func(turn.Update) {}, nil); err != nil || read.Outcome != turn.Refused || read.Refusal != res.Refusal {
		t.Errorf("read later: %+v, %v", read, err)
	}
	w.expect("SP H U(ext) M H U")
	w.status(event.Finished)
	h := lastOf[*event.HookExecution](t, w.log())
	if !h.Blocked || !slices.ContainsFunc(w.log(), func(e event.Event) bool { return e.ID == h.MessageID && e.Source == event.SourceUser }) {
		t.Errorf("hook execution = %+v, want one that blocked a message of the user", h)
	}
}

func TestHooksForSessionsAndResults(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hooks(t, [3]string{"SessionStart", "*", `cat > start; echo $OPENHANDS_EVENT_TYPE $OPENHANDS_PROJECT_DIR`},
		[3]string{"SessionEnd", "*", "touch end"}, [3]string{"PostToolUse", "terminal", "cat > post; exit 1"}))
	w.llm.Reply(terminal("echo one"), llmtest.Finish("ok"))
	w.say("go")
	w.expect("SP H U A(terminal) H O A(finish) O")
	read := func(name string) (in map[string]any) {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(w.workspace, name))
		if err == nil {
			err = json.Unmarshal(data, &in)
		}
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	start, post := read("start"), read("post")
	if start["event_type"] != "SessionStart" || start["session_id"] != w.id || start["working_dir"] != w.workspace || start["tool_name"] != nil {
		t.Errorf("the input of the hook for the beginning: %v", start)
	}
	if post["event_type"] != "PostToolUse" || post["tool_name"] != "terminal" || post["tool_response"] == nil {
		t.Errorf("the input of the hook for a result: %v", post)
	}
	if h := lastOf[*event.HookExecution](t, w.log()); h.Success || h.Blocked || h.ExitCode != 1 {
		t.Errorf("hook execution = %+v, want the exit code 1, which does not block", h)
	}
	w.close()
	if _, err := os.Stat(filepath.Join(w.workspace, "end")); err != nil {
		t.Error(err)
	}
	w.start()
	w.expect("SP H U A(terminal) H O A(finish) O H")
}

// TestTheEndOfASessionIsHookedAlsoWhereItIsRemoved deletes an open conversation, one whose
// hook hangs, and one that is closed already.
func TestTheEndOfASessionIsHookedAlsoWhereItIsRemoved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command string
		hooks   func(*testing.T, ...[3]string) func(*engine.Config)
		close   bool
	}{
		"open":   {"cat > end; echo x >> count", hooks, false},
		"hangs":  {"cat > end; echo x >> count; sleep 1000", shortHooks, false},
		"closed": {"cat > end; echo x >> count", hooks, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.hooks(t, [3]string{"SessionEnd", "*", c.command}))
			w.llm.Reply(llmtest.Finish("ok"))
			w.say("go")
			if c.close {
				w.close()
				w.start()
			}
			if err := w.backend.Remove(w.ctx(), w.id); err != nil {
				t.Fatal(err)
			}
			end, err := os.ReadFile(filepath.Join(w.workspace, "end"))
			if err != nil || !strings.Contains(string(end), `"SessionEnd"`) {
				t.Errorf("the hook was given %q: %v", end, err)
			}
			if count, err := os.ReadFile(filepath.Join(w.workspace, "count")); err != nil || string(count) != "x\n" {
				t.Errorf("the hook ran %q: %v", count, err)
			}
			if _, err := os.Stat(w.dir()); !os.IsNotExist(err) {
				t.Errorf("the directory is there: %v", err)
			}
		})
	}
}

// TestWhatAHookLeavesBehindEndsAfterItsTime has programs that left the session of the hook,
// of one that has ended well and of one that was stopped.
func TestWhatAHookLeavesBehindEndsAfterItsTime(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows the environment of processes")
	}
	for name, rest := range map[string]string{"it ends": "exit 0", "it is stopped": "sleep 1000"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, shortHooks(t, [3]string{"PreToolUse", "*", "setsid sh -c 'echo $$ > pid; exec sleep 1000' & " + rest}))
			w.llm.Reply(llmtest.Finish("ok"))
			w.say("go")
			var pid int
			waittest.Until(t, time.Minute, "the number of the program", func() (any, bool) {
				text, err := os.ReadFile(filepath.Join(w.workspace, "pid"))
				_, scanned := fmt.Sscanf(string(text), "%d\n", &pid)
				return string(text), err == nil && scanned == nil
			})
			waittest.Until(t, time.Minute, "the end of the program", func() (any, bool) {
				err := syscall.Kill(pid, 0)
				return err, err != nil
			})
		})
	}
}

func TestHooksThatFailRefuseNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command string
		hooks   func(*testing.T, ...[3]string) func(*engine.Config)
		want    string
	}{
		"hangs":      {"sleep 1000", shortHooks, "did not end after 2 seconds"},
		"in a group": {"setsid sleep 1000 & exit 0", shortHooks, ""},
		"is killed":  {"kill -9 $$", hooks, ""},
		"prints":     {"yes | head -c 100000000", hooks, ""},
		"is missing": {"/nowhere/hook", hooks, ""},
		"no stdin":   {"exec 0<&-; echo '{\"decision\":\"allow\"}'", hooks, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.hooks(t, [3]string{"PreToolUse", "*", c.command}))
			w.llm.Reply(llmtest.Finish("ok"))
			if res := w.say("go"); res.Answer != "ok" {
				t.Errorf("result = %+v, want the answer %q", res, "ok")
			}
			h := lastOf[*event.HookExecution](t, w.log())
			if h.Blocked || !strings.Contains(h.Error, c.want) || len(h.Stdout) > 50_000 {
				t.Errorf("blocked %v, error %q, %d bytes", h.Blocked, h.Error, len(h.Stdout))
			}
			if name == "prints" && !strings.HasSuffix(h.Stdout, "<TRUNCATED>") {
				t.Errorf("the end of the output = %q, want %q", h.Stdout[len(h.Stdout)-20:], "<TRUNCATED>")
			}
		})
	}
}

func TestAnInterruptEndsAHook(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hooks(t, [3]string{"PreToolUse", "*", "touch begun; sleep 1000"}))
	w.llm.Reply(llmtest.Finish("ok"))
	over := w.background("go")
	w.awaitFile("begun")
	if err := w.open().Interrupt(w.ctx()); err != nil {
		t.Fatal(err)
	}
	<-over
	w.status(event.Paused)
}

func TestHooksOfTheWorkspaceDoNotRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hooks(t))
	if err := os.MkdirAll(filepath.Join(w.workspace, ".openhands"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := `{"SessionStart":[{"hooks":[{"command":"touch ran"}]}]}`
	if err := os.WriteFile(filepath.Join(w.workspace, ".openhands", "hooks.json"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	w.llm.Reply(llmtest.Text("hello"))
	w.say("hi")
	w.expect("SP U M")
	if _, err := os.Stat(filepath.Join(w.workspace, "ran")); err == nil {
		t.Error("the hook ran")
	}
}

func TestARequestBringsItsHooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hooks(t, [3]string{"SessionStart", "*", "touch home"}))
	c := w.startIt(control.Start{Profile: "main", Hooks: json.RawMessage(`{"session_start":[{"hooks":[{"command":"touch request"},{"type":"prompt","prompt":"Is it good?"}]}]}`)})
	w.llm.Reply(llmtest.Text("It is."), llmtest.Text("hello"))
	w.say("hi")
	w.expect("SP H H U M")
	if _, err := os.Stat(filepath.Join(w.workspace, "request")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(w.workspace, "home")); err == nil {
		t.Error("the hook of the home directory ran, too")
	}
	h := lastOf[*event.HookExecution](t, w.log())
	if h.Success || h.Blocked || h.HookCommand != "prompt-hook:Is it good?" || h.Error == "" {
		t.Errorf("hook execution = %+v, want the error of the prompt hook", h)
	}
	record, err := c.Record(w.ctx())
	if err != nil || !strings.Contains(string(record.State), `"hook_config":{`) {
		t.Errorf("state = %s, %v, want one with the hooks", record.State, err)
	}
}

// Hooks are in OpenHands' directory, which need not be in the home directory.
func TestHooksAreInTheDirectoryOfOpenHands(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	config := `{"hooks":{"PreToolUse":[{"matcher":"terminal","hooks":[{"command":"echo from there >&2; exit 2"}]}]}}`
	if err := os.WriteFile(filepath.Join(base, "hooks.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, hooks(t, [3]string{"PreToolUse", "terminal", "echo from home >&2; exit 2"}), func(c *engine.Config) { c.Base = base })
	w.llm.Reply(terminal("true"), llmtest.Finish("ok"))
	w.say("go")
	if r := lastOf[*event.UserReject](t, w.log()); r.RejectionReason != "from there" {
		t.Errorf("rejection = %+v, want the reason %q", r, "from there")
	}
}

// A guard that cannot be started guards nothing: what it is for is refused, and the
// reason says how to repair it.
func TestHooksThatCannotBeStartedRefuse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ command, want string }{
		"not there":          {"/nowhere/guard.sh", "exit code 127"},
		"not executable":     {"printf '#!/bin/sh\n' > ./guard.sh; chmod 600 guard.sh; ./guard.sh", "exit code 126"},
		"no interpreter":     {"printf '#!/nowhere/python\n' > ./guard.py; chmod 700 guard.py; ./guard.py", "exit code 127"},
		"no such command":    {"no-such-guard --strict", "exit code 127"},
		"directory as guard": {"mkdir -p guards; ./guards", "exit code 126"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, hooks(t, [3]string{"PreToolUse", "*", c.command}))
			w.llm.Reply(terminal("touch made"), llmtest.Finish("ok"))
			w.say("go")
			w.expect("SP U H A(terminal) R H A(finish) O")
			if _, err := os.Stat(filepath.Join(w.workspace, "made")); err == nil {
				t.Error("the command ran")
			}
			r := lastOf[*event.UserReject](t, w.log())
			for _, want := range []string{"This is refused because its hook could not be started", c.want, c.command, "Make it executable"} {
				if !strings.Contains(r.RejectionReason, want) {
					t.Errorf("the reason has no %q: %s", want, r.RejectionReason)
				}
			}
		})
		t.Run("a message/"+name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, hooks(t, [3]string{"UserPromptSubmit", "*", c.command}))
			res := w.play(turn.Input{Message: agentapi.Message{Text: "go"}})
			if res.Outcome != turn.Refused || !strings.Contains(res.Refusal, c.want) {
				t.Errorf("result = %+v, want a refusal with %q", res, c.want)
			}
		})
	}
}
