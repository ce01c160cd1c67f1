package engine_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// eventFiles are the files of the events of a world's log, by their names.
func (w *world) eventFiles() map[string]string {
	w.t.Helper()
	found := map[string]string{}
	for _, path := range w.files("events/event-*.json") {
		found[filepath.Base(path)] = string(mustRead(w.t, path))
	}
	return found
}

// mcpTool is a tool of an MCP server as a system prompt has it.
func mcpTool(spec string) string {
	return `{"description":"d","action_type":"MCPToolAction","observation_type":"MCPToolObservation","mcp_tool":` + spec + `,"kind":"MCPToolDefinition","title":"t"}`
}

// newLog returns a log as OpenHands 1.58.2 writes it: an analysis, tools of MCP servers in the spelling of the
// specification and in that of September 2026, and an event of an unknown kind.
func newLog() []string {
	const at = `"timestamp":"2026-11-22T10:00:00.000001"`
	id, parent := func(i int) string { return fmt.Sprintf(`"id":%q`, eventID(i)) }, func(i int) string { return fmt.Sprintf(`"parent_id":%q`, eventID(i)) }
	return []string{
		`{` + id(0) + `,` + at + `,"source":"agent","system_prompt":{"type":"text","text":"You are an agent."},"tools":[` +
			mcpTool(`{"name":"one","inputSchema":{"type":"object","properties":{"input_schema":{"type":"string"}}},"annotations":{"readOnlyHint":true},"_meta":{"a":1.0}}`) + `,` +
			mcpTool(`{"name":"two","input_schema":{"type":"object"},"output_schema":{"type":"object"},"annotations":{"read_only_hint":true},"icons":[{"src":"data:,","mime_type":"image/png"}]}`) +
			`],"kind":"SystemPromptEvent"}`,
		`{` + id(1) + `,` + at + `,"source":"user",` + parent(0) + `,"llm_message":{"role":"user","content":[{"type":"text","text":"first"}]},"activated_skills":[],"extended_content":[],"kind":"MessageEvent"}`,
		`{` + id(2) + `,` + at + `,"source":"agent",` + parent(1) + `,"thought":[],"thinking_blocks":[],"action":{"command":"ls","kind":"TerminalAction"},"tool_name":"terminal","tool_call_id":"c1",` +
			`"tool_call":{"id":"c1","name":"terminal","arguments":"{\"command\":\"ls\"}","origin":"completion"},"llm_response_id":"r1","security_risk":"LOW","kind":"ActionEvent"}`,
		`{` + id(3) + `,` + at + `,"source":"environment",` + parent(2) + `,"analyzer":"LLMSecurityAnalyzer","policy":"NeverConfirm","risks":{` + fmt.Sprintf("%q", eventID(2)) + `:"LOW"},"details":{},"kind":"SecurityAnalysisEvent"}`,
		`{` + id(4) + `,` + at + `,"source":"environment",` + parent(3) + `,"tool_name":"terminal","tool_call_id":"c1","observation":{"content":[{"type":"text","text":"a.txt"}],"is_error":false,"kind":"TerminalObservation"},` +
			`"action_id":` + fmt.Sprintf("%q", eventID(2)) + `,"extended_content":[],"kind":"ObservationEvent"}`,
		`{` + id(5) + `,` + at + `,"source":"agent",` + parent(4) + `,"kind":"EventOfTomorrow","deep":{ "n":[1,2.50,"\u00e9",null]},"big":12345678901234567890}`,
		`{` + id(6) + `,` + at + `,"source":"agent",` + parent(5) + `,"llm_message":{"role":"assistant","content":[{"type":"text","text":"There is a.txt."}]},"activated_skills":[],"extended_content":[],"kind":"MessageEvent"}`,
	}
}

// TestALogOfTheNewestOpenHandsIsKeptAsItIs continues such a log, shows it, and copies it.
func TestALogOfTheNewestOpenHandsIsKeptAsItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.llm.Reply(llmtest.Text("hello"))
	w.say("hi")
	w.close()
	for _, path := range w.files("events/*") {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	log := newLog()
	writeLog(t, w.cfg.Dir, w.id, len(log), func(i int) string { return log[i] })
	w.start()
	before := w.eventFiles()
	w.llm.Reply(llmtest.Finish("Here."))
	if res := w.say("again"); res.Answer != "Here." {
		t.Fatalf("our turn: %+v", res)
	}
	after := w.eventFiles()
	kept := maps.Clone(after)
	maps.DeleteFunc(kept, func(name, _ string) bool { _, was := before[name]; return !was })
	if diff := cmp.Diff(before, kept); diff != "" || len(after) <= len(before) {
		t.Errorf("%d files became %d (-before +after):\n%s", len(before), len(after), diff)
	}
	for i, name := range []string{"00006-" + eventID(6), "00005-" + eventID(5)} {
		if _, ok := after["event-"+name+".json"]; !ok {
			t.Errorf("event %d is not in its place", 6-i)
		}
	}
	c := w.backend.Control()
	page, err := c.Search(t.Context(), w.id, control.EventQuery{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	got := make([]string, 0, len(log))
	for _, raw := range page.Events[:len(log)] {
		got = append(got, string(raw))
	}
	if diff := cmp.Diff(log, got); diff != "" {
		t.Errorf("what is shown (-stored +shown):\n%s", diff)
	}
	for kind, want := range map[string]int{"SecurityAnalysisEvent": 1, "openhands.sdk.event.security.SecurityAnalysisEvent": 1, "EventOfTomorrow": 1} {
		if n, err := c.CountEvents(t.Context(), w.id, control.EventFilter{Kind: kind}); n != want || err != nil {
			t.Errorf("%d events of the kind %s, %v", n, kind, err)
		}
	}
	request := w.llm.Await(t, 2)
	var messages []string
	for _, m := range request.Messages {
		messages = append(messages, m.Text)
	}
	text := strings.Join(messages, "\n")
	if strings.Contains(text, "SecurityAnalyzer") || strings.Contains(text, "Tomorrow") || !strings.Contains(text, "a.txt") {
		t.Errorf("the model is shown\n%s", text)
	}
	if unpaired := unpaired(request); unpaired != nil {
		t.Errorf("calls without a result: %v", unpaired)
	}
	w.fork("")
	copied := map[string]bool{}
	for _, text := range w.eventFiles() {
		copied[text] = true
	}
	for _, text := range log {
		if !copied[text] {
			t.Errorf("the copy does not have %s", text)
		}
		if !json.Valid([]byte(text)) {
			t.Errorf("the test has a fault: %s", text)
		}
	}
}
