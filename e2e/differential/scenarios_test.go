//go:build e2e

package differential_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// The recording is what an agent-server of the version agentservertest.Newest did in each
// scenario: its log, its status, and the shape of what it asked the LLM.
const (
	recording = "testdata/recorded.jsonl"
	// recordVariable makes TestTheRecordingIsOfTheNewest write it.
	recordVariable = "OHGW_TEST_RECORD"
)

// plainRequest starts the conversation of a scenario that sets nothing.
const plainRequest = `{"agent":{"kind":"Agent","llm":{"model":"openai/test","api_key":"sk-llm-test","base_url":"${llm}",
	"usage_id":"agent","num_retries":0},"tools":[{"name":"terminal"},{"name":"file_editor"},{"name":"task_tracker"}]},
	"workspace":{"working_dir":"${work}"},"autotitle":false}`

// scenario is a paragraph of the file of scenarios.
type scenario struct {
	name  string
	steps []string
}

// TestTheRecordingIsOfTheNewest plays all scenarios with a real agent-server.
func TestTheRecordingIsOfTheNewest(t *testing.T) {
	t.Parallel()
	agents := agentservertest.Start(t, plainLog)
	did := playAll(t, &side{name: "real", url: agents.URL, key: agents.Key})
	if os.Getenv(recordVariable) != "" && !t.Failed() {
		var lines bytes.Buffer
		for _, s := range scenarios(t) {
			line, err := json.Marshal(did[s.name])
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&lines, "%s\t%s\n", s.name, line)
		}
		if err := os.WriteFile(recording, lines.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	recorded := readRecording(t)
	for name, now := range did {
		for _, d := range differ("", recorded[name], now) {
			t.Errorf("scenario %s:\n\t%s (recorded, and now)", name, d)
		}
	}
}

// TestTheEngineDoesWhatWasRecorded plays all scenarios with ohgw. Every difference from
// the recording is a row of a table, with its reason.
func TestTheEngineDoesWhatWasRecorded(t *testing.T) {
	t.Parallel()
	recorded := readRecording(t)
	did := playAll(t, &side{name: "ours", url: startOurs(t), key: key})
	table := readKnown(t, "testdata/scenario-differences.tsv")
	for _, s := range scenarios(t) {
		for _, d := range differ("", recorded[s.name], did[s.name]) {
			if !explained(table, s.name, d) {
				t.Errorf("scenario %s:\n\t%s", s.name, d)
			}
		}
	}
	unused(t, table)
	t.Logf("%d scenarios, %d rows of differences", len(did), len(table))
}

func scenarios(t *testing.T) (list []scenario) {
	t.Helper()
	data, err := os.ReadFile("testdata/scenarios.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "\t"):
			last := &list[len(list)-1]
			last.steps = append(last.steps, line[1:])
		default:
			list = append(list, scenario{name: line})
		}
	}
	return list
}

func readRecording(t *testing.T) map[string]any {
	t.Helper()
	data, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	recorded := map[string]any{}
	for line := range strings.Lines(string(data)) {
		name, text, _ := strings.Cut(line, "\t")
		var did any
		if err := json.Unmarshal([]byte(text), &did); err != nil {
			t.Fatalf("the recording of %q: %v", name, err)
		}
		recorded[name] = did
	}
	return recorded
}

// playAll plays the scenarios, and gives what happened by their names.
func playAll(t *testing.T, server *side) map[string]any {
	t.Helper()
	var mu sync.Mutex
	did := map[string]any{}
	t.Run("scenarios", func(t *testing.T) {
		for _, s := range scenarios(t) {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				p := newPlay(t, server, s)
				for _, step := range s.steps {
					p.step(step)
				}
				result := p.result()
				mu.Lock()
				defer mu.Unlock()
				did[s.name] = result
			})
		}
	})
	return did
}

// play is a scenario that is being played.
type play struct {
	*side

	t    *testing.T
	llm  *llmtest.Server
	path string // of the conversation
}

func newPlay(t *testing.T, server *side, s scenario) *play {
	t.Helper()
	p := &play{t: t, llm: llmtest.New(t)}
	work := t.TempDir()
	p.side = &side{name: server.name, url: server.url, key: server.key, dir: work, vars: map[string]string{"work": work, "llm": p.llm.URL}}
	request := p.decode(plainRequest)
	for _, step := range s.steps {
		if set, ok := strings.CutPrefix(step, "set "); ok {
			merge(request, p.decode(set))
		}
	}
	if agent, _ := request["agent"].(map[string]any); agent["condenser"] != nil {
		p.llm.On(func(r *llmtest.Request) bool { return len(r.Tools) == 0 }, llmtest.Text("THE SUMMARY"))
	}
	p.path = "/api/conversations/" + find(p.do(http.MethodPost, "/api/conversations", request), "id")
	return p
}

func (p *play) decode(text string) (o map[string]any) {
	p.t.Helper()
	if err := json.Unmarshal([]byte(p.fill(text)), &o); err != nil {
		p.t.Fatalf("%s: %v", text, err)
	}
	return o
}

func merge(into, from map[string]any) {
	for name, v := range from {
		a, isA := into[name].(map[string]any)
		if b, isB := v.(map[string]any); isA && isB {
			merge(a, b)
		} else {
			into[name] = v
		}
	}
}

// do makes a request that must succeed.
func (p *play) do(method, path string, body any) string {
	p.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		p.t.Fatal(err)
	}
	status, answer := p.ask(p.t, method, path, string(data))
	if status/100 != 2 {
		p.t.Fatalf("%s: %s %s: %d %s", p.name, method, path, status, answer)
	}
	return answer
}

func (p *play) step(step string) {
	p.t.Helper()
	verb, rest, _ := strings.Cut(p.fill(step), " ")
	switch verb {
	case "set": // when the conversation was started
	case "write":
		name, text, _ := strings.Cut(rest, " ")
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text+"\n"), 0o600); err != nil {
			p.t.Fatal(err)
		}
	case "replies":
		replies, err := llmtest.Script(rest)
		if err != nil {
			p.t.Fatal(err)
		}
		p.llm.Reply(replies...)
	case "say":
		before := len(p.llm.Requests())
		p.tell(rest)
		p.ended(before)
	case "tell":
		p.tell(rest)
	case "asked":
		waittest.Until(p.t, patience, "the LLM has had "+rest+" requests", func() (any, bool) {
			n := len(p.llm.Requests())
			return n, fmt.Sprint(n) == rest
		})
	case "await":
		waittest.Until(p.t, patience, "an event of the kind "+rest, func() (any, bool) {
			events := p.events()
			return events, slices.ContainsFunc(events, func(e map[string]any) bool { return e["kind"] == rest })
		})
	case "post":
		path, body, _ := strings.Cut(rest, " ")
		p.do(http.MethodPost, p.path+"/"+path, json.RawMessage(cmp.Or(body, "{}")))
	case "wait":
		waittest.Until(p.t, patience, "the status "+rest, func() (any, bool) {
			status := p.status()
			return status, status == rest
		})
	default:
		p.t.Fatalf("no such step: %s", step)
	}
}

func (p *play) tell(text string) {
	p.t.Helper()
	content := []any{map[string]string{"type": "text", "text": text}}
	p.do(http.MethodPost, p.path+"/events", map[string]any{"role": "user", "content": content, "run": true})
}

// ended waits for the end of a run that asks the LLM, which was asked so often before it.
func (p *play) ended(before int) {
	p.t.Helper()
	waittest.Until(p.t, patience, "the end of a run that asks the LLM", func() (any, bool) {
		requests := p.llm.Requests()
		asking := slices.ContainsFunc(requests, func(r *llmtest.Request) bool { return r.Outcome() == llmtest.Open })
		if len(requests) == before || asking {
			return fmt.Sprintf("%d requests, %d before, one is open: %t", len(requests), before, asking), false
		}
		status := p.status()
		return status, status != "running" && status != "idle"
	})
}

func (p *play) status() string {
	p.t.Helper()
	return find(p.do(http.MethodGet, p.path, nil), "execution_status")
}

// events is the log of the conversation.
func (p *play) events() (events []map[string]any) {
	p.t.Helper()
	var page map[string]any
	for next, more := "", true; more; next, more = page["next_page_id"].(string) {
		page, _ = normalized(p.do(http.MethodGet, p.path+"/events/search?limit=100&page_id="+next, nil), p.known()).(map[string]any)
		items, _ := page["items"].([]any)
		for _, item := range items {
			if e, _ := item.(map[string]any); e["kind"] != "ConversationStateUpdateEvent" {
				events = append(events, e)
			}
		}
	}
	return events
}

// result is what happened in a scenario.
func (p *play) result() any {
	p.t.Helper()
	events, requests := []any{}, []any{}
	for _, e := range p.events() {
		events = append(events, facts(e))
	}
	for _, r := range p.llm.Requests() {
		requests = append(requests, shape(r))
	}
	return map[string]any{"status": p.status(), "events": events, "requests": requests}
}

// shape is a request to the LLM: the roles of its messages with the tools that are
// called, and its tools.
func shape(r *llmtest.Request) string {
	var words []string
	for _, m := range r.Messages {
		word := m.Role
		for _, call := range m.Calls {
			word += "+" + call.Name
		}
		if len(m.Images) > 0 {
			word += "+image"
		}
		words = append(words, word)
	}
	tools := slices.Clone(r.Tools)
	slices.Sort(tools)
	return strings.Join(words, " ") + " | " + strings.Join(tools, " ")
}

// facts are the members of an event that say what happened.
func facts(e map[string]any) map[string]any {
	f := map[string]any{"kind": e["kind"], "source": e["source"]}
	keep := func(from map[string]any, names ...string) {
		for _, name := range names {
			if v := from[name]; v != nil {
				f[name] = v
			}
		}
	}
	switch e["kind"] {
	case "SystemPromptEvent":
	case "MessageEvent":
		message, _ := e["llm_message"].(map[string]any)
		f["text"] = text(message["content"])
		keep(message, "reasoning_content")
		keep(e, "activated_skills", "extended_content", "critic_result")
	case "ActionEvent":
		call, _ := e["tool_call"].(map[string]any)
		f["text"], f["runs"] = text(e["thought"]), e["action"] != nil
		keep(e, "tool_name", "security_risk", "summary", "reasoning_content", "critic_result")
		arguments, _ := call["arguments"].(string)
		f["arguments"] = normalized(arguments, nil)
		if summary, ok := e["summary"].(string); ok { // it may be made of the arguments
			f["summary"] = strings.NewReplacer(": ", ":", ", ", ",").Replace(summary)
		}
	case "ObservationEvent":
		observation, _ := e["observation"].(map[string]any)
		f["text"], f["observation"] = text(observation["content"]), observation["kind"]
		keep(observation, "is_error", "exit_code", "timeout", "prev_exist", "old_content", "new_content", "task_list", "chosen_class", "model", "active_model")
		keep(e, "tool_name", "extended_content")
	default:
		maps.Copy(f, e)
		maps.DeleteFunc(f, func(name string, v any) bool {
			return v == nil || slices.Contains([]string{"id", "timestamp", "parent_id", "action_id", "tool_call_id", "llm_response_id", "message_id"}, name)
		})
		if list, ok := f["forgotten_event_ids"].([]any); ok {
			f["forgotten_event_ids"] = float64(len(list))
		}
	}
	return f
}

// text is the text of a list of contents.
func text(contents any) string {
	var texts []string
	list, _ := contents.([]any)
	for _, item := range list {
		o, _ := item.(map[string]any)
		if s, ok := o["text"].(string); ok {
			texts = append(texts, s)
		}
	}
	return strings.Join(texts, "\n")
}
