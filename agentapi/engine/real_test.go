//go:build unix

package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// observation is the n-th observation of the log, from 0.
func (w *world) observation(n int, into any) *event.Observation {
	w.t.Helper()
	for _, e := range w.log() {
		o, ok := e.Body.(*event.Observation)
		if !ok {
			continue
		}
		if n == 0 {
			if err := json.Unmarshal(o.Observation, into); err != nil {
				w.t.Fatal(err)
			}
			return o
		}
		n--
	}
	w.t.Fatal("no such observation")
	return nil
}

type terminalObservation struct {
	ExitCode *int            `json:"exit_code"`
	IsError  bool            `json:"is_error"`
	Content  []event.Content `json:"content"`
	Metadata struct {
		WorkingDir string `json:"working_dir"`
	} `json:"metadata"`
}

func TestScenario03FileIsCorrected(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realTools)
	path := w.write("a.txt", "one\ntwwo\nthree\n")
	w.llm.Reply(
		llmtest.Tool("file_editor", fmt.Sprintf(`{"command":"view","path":%q}`, path)),
		llmtest.Tool("file_editor", fmt.Sprintf(`{"command":"str_replace","path":%q,"old_str":"twwo","new_str":"two"}`, path)),
		llmtest.Finish("fixed"),
	)
	w.say("fix the typo")
	w.expect("SP U A(file_editor) O A(file_editor) O A(finish) O")
	if data, err := os.ReadFile(path); err != nil || string(data) != "one\ntwo\nthree\n" {
		t.Errorf("the file has %q, %v", data, err)
	}
	var o struct {
		Old string `json:"old_content"`
		New string `json:"new_content"`
	}
	if w.observation(1, &o); !strings.Contains(o.Old, "twwo") || strings.Contains(o.New, "twwo") {
		t.Errorf("observation %+v", o)
	}
	if last := w.llm.Await(t, 2).Last(); last.Role != "tool" || !strings.Contains(last.Text, "twwo") {
		t.Errorf("the model was told %+v", last)
	}
}

func TestScenario04ScriptIsWrittenAndRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realTools)
	w.llm.Reply(terminal(`mkdir -p shell && printf '#!/bin/sh\necho hello\n' > shell/hello.sh && chmod +x shell/hello.sh && shell/hello.sh`), llmtest.Finish("ok"))
	w.say("go")
	w.expect("SP U A(terminal) O A(finish) O")
	var o terminalObservation
	if w.observation(0, &o); o.ExitCode == nil || *o.ExitCode != 0 || o.Metadata.WorkingDir == "" || !strings.Contains(event.PlainText(o.Content), "hello") {
		t.Errorf("observation %+v", o)
	}
	if told := w.llm.Await(t, 2).Last().Text; !strings.Contains(told, "exit code: 0") {
		t.Errorf("the model was told %q", told)
	}
}

func TestScenario05ShellKeepsItsState(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realTools)
	w.llm.Reply(terminal("mkdir sub && cd sub && export A=1"), terminal("pwd; echo A is $A"), llmtest.Finish("ok"))
	w.say("go")
	w.expect("SP U A(terminal) O A(terminal) O A(finish) O")
	if told := w.llm.Await(t, 3).Last().Text; !strings.Contains(told, "/sub\n") || !strings.Contains(told, "A is 1") {
		t.Errorf("the model was told %q", told)
	}
}

func TestScenario06InteractiveProgram(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realTools, func(c *engine.Config) {
		c.Settings = settings(engine.Settings{Agent: json.RawMessage(`{"tools":[{"name":"terminal","params":{"no_change_timeout_seconds":0.5}}]}`)})
	})
	input := func(text string) llmtest.Reply {
		return llmtest.Tool("terminal", fmt.Sprintf(`{"command":%q,"is_input":true}`, text))
	}
	w.llm.Reply(
		terminal(`read -p "name? " n; read -p "age? " a; echo "$n is $a"`), input("Ada"), input("36"), llmtest.Finish("ok"),
	)
	w.say("go")
	w.expect("SP U A(terminal) O A(terminal) O A(terminal) O A(finish) O")
	var first, last terminalObservation
	w.observation(0, &first)
	w.observation(2, &last)
	if first.ExitCode == nil || *first.ExitCode != -1 || last.ExitCode == nil || *last.ExitCode != 0 || !strings.Contains(event.PlainText(last.Content), "Ada is 36") {
		t.Errorf("observations %+v, %+v", first, last)
	}
}

func TestScenario07And08CommandThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realTools)
	w.llm.Reply(
		llmtest.Tool("terminal", `{"command":"sleep 60","timeout":0.2}`),
		terminal("touch never"),
		llmtest.Tool("terminal", `{"command":"C-c","is_input":true}`),
		llmtest.Finish("ok"),
	)
	w.say("go")
	w.expect("SP U A(terminal) O A(terminal) O A(terminal) O A(finish) O")
	var first, second, third terminalObservation
	w.observation(0, &first)
	w.observation(1, &second)
	w.observation(2, &third)
	if first.ExitCode == nil || *first.ExitCode != -1 || !second.IsError || third.ExitCode == nil || *third.ExitCode <= 0 {
		t.Errorf("observations %+v, %+v, %+v", first, second, third)
	}
	if _, err := os.Stat(filepath.Join(w.workspace, "never")); err == nil {
		t.Error("the second command ran")
	}
}

func TestScenario09ThreeCallsOfOneAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realTools)
	w.llm.Reply(llmtest.Reply{Text: "All at once.", Calls: []llmtest.Call{
		{Name: "terminal", Args: `{"command":"echo 1"}`},
		{Name: "terminal", Args: `{"command":"echo 2"}`},
		{Name: "task_tracker", Args: `{"command":"plan","task_list":[{"title":"first"}]}`},
	}}, llmtest.Finish("ok"))
	w.say("go")
	w.expect("SP U A(terminal) A(terminal) A(task_tracker) O O O A(finish) O")
	if len(w.files("TASKS.json")) != 1 {
		t.Error("no TASKS.json")
	}
	var answers, thoughts []string
	for _, e := range w.log() {
		if a, ok := e.Body.(*event.Action); ok && a.ToolName != "finish" {
			answers, thoughts = append(answers, a.LLMResponseID), append(thoughts, event.PlainText(a.Thought))
		}
	}
	if answers[0] != answers[2] || strings.Join(thoughts, "|") != "All at once.||" {
		t.Errorf("answers %q, thoughts %q", answers, thoughts)
	}
}

func TestScenario24SecretIsUsedAndHidden(t *testing.T) {
	t.Parallel()
	const value = "tok-4711-do-not-show"
	w := newWorld(t, realTools, func(c *engine.Config) {
		c.Settings = settings(engine.Settings{Agent: json.RawMessage(`{"agent_context":{"secrets":{"API_TOKEN":"` + value + `"}}}`)})
	})
	w.llm.Reply(terminal("echo $API_TOKEN; echo ${#API_TOKEN}"), llmtest.Finish("ok"))
	w.say("go")
	w.expect("SP U A(terminal) O A(finish) O")
	told := w.llm.Await(t, 2)
	if got := told.Last().Text; !strings.Contains(got, "<secret-hidden>") || !strings.Contains(got, strconv.Itoa(len(value))) {
		t.Errorf("the model was told %q", got)
	}
	if strings.Contains(string(told.Body), value) || !strings.Contains(lastOf[*event.SystemPrompt](t, w.log()).DynamicContext.Text, "$API_TOKEN") {
		t.Error("the secret was sent, or its name was not")
	}
	w.close()
	err := filepath.WalkDir(w.cfg.Dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), value) {
			t.Errorf("%s holds the secret", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestScenario35ImageIsShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realTools)
	path := w.write("dot.png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde\x00\x00\x00\x0cIDATx\x9cc\xf8\xcf\xc0\x00\x00\x03\x01\x01\x00\xc9\xfe\x92\xef\x00\x00\x00\x00IEND\xaeB`\x82")
	w.llm.Reply(llmtest.Tool("file_editor", fmt.Sprintf(`{"command":"view","path":%q}`, path)), llmtest.Finish("ok"))
	w.say("go")
	w.expect("SP U A(file_editor) O A(finish) O")
	images := w.llm.Await(t, 2).Last().Images
	if len(images) != 1 || !strings.HasPrefix(images[0], "data:image/png;base64,") {
		t.Errorf("the model was shown %q", images)
	}
}

func TestEngineWithItsRealPartsKeepsTheContract(t *testing.T) {
	t.Parallel()
	contract(t, func(c *engine.Config, url string) {
		realTools(c)
		c.NewModel = func(p engine.Profile, usage string) (llm.Model, error) {
			stored, err := llm.ParseProfile(p.LLM)
			stored.BaseURL, stored.NumRetries = &url, 1
			// Else the agent itself declines images.
			stored.CapabilityOverrides = map[string]any{"supports_vision": true}
			if err != nil {
				return nil, err
			}
			return llm.New(llm.Config{Profile: stored, UsageID: usage, Key: p.Key})
		}
	})
}

func TestScenario29RateLimitIsRetried(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withRealModels(func(p *llm.Profile) { p.NumRetries = 5 }))
	w.llm.Reply(llmtest.Fail(429, "slow down"), llmtest.Fail(429, "slow down"), llmtest.Text("hello"))
	if res := w.say("hi"); res.Answer != "hello" || res.Usage.PromptTokens != 100 {
		t.Errorf("result %+v", res)
	}
	w.expect("SP U M")
}

func TestScenario30FallbackAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withRealModels(func(p *llm.Profile) {
		p.NumRetries = 2
		p.FallbackStrategy = &llm.FallbackStrategy{Profiles: []string{"other"}}
	}))
	w.llm.Reply(llmtest.Fail(429, "slow down"), llmtest.Fail(429, "slow down"), llmtest.Text("hello"))
	if res := w.say("hi"); res.Answer != "hello" || res.Usage.PromptTokens != 100 {
		t.Errorf("result %+v", res)
	}
	w.expect("SP U M")
	var asked []string
	for _, r := range w.llm.Requests() {
		asked = append(asked, r.Model)
	}
	if got := strings.Join(asked, " "); got != "test test other" {
		t.Errorf("asked %q", got)
	}
}

func TestScenario40TextProtocol(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realTools, withRealModels(func(p *llm.Profile) { p.NativeToolCalling = false }))
	w.llm.Reply(
		llmtest.Text("Let me see.\n<function=terminal>\n<parameter=command>echo 4711</parameter>\n</function>"),
		llmtest.Text("<function=finish>\n<parameter=message>done</parameter>\n</function>"),
	)
	if res := w.say("go"); res.Answer != "done" {
		t.Errorf("result %+v", res)
	}
	w.expect("SP U A(terminal) O A(finish) O")
	var req struct {
		Tools []any    `json:"tools"`
		Stop  []string `json:"stop"`
	}
	second := w.llm.Await(t, 2)
	if err := json.Unmarshal(second.Body, &req); err != nil || len(req.Tools) != 0 || strings.Join(req.Stop, "") != "</function" {
		t.Errorf("tools %v, stop %q, %v", req.Tools, req.Stop, err)
	}
	if last := second.Last(); last.Role != "user" || !strings.HasPrefix(last.Text, "EXECUTION RESULT of [terminal]:") || !strings.Contains(last.Text, "4711") {
		t.Errorf("the model was told %+v", last)
	}
}
