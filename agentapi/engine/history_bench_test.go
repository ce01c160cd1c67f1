package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/enginetest"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/view"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/uuid"
)

// editLog is a log with edits of a file of 240 kB, whose contents each edit
// stores before and after.
func editLog(edits int) []event.Event {
	var log []event.Event
	add := func(source string, b event.Body) {
		parent := ""
		if len(log) > 0 {
			parent = log[len(log)-1].ID
		}
		log = append(log, event.New(uuid.New(), "2026-11-22T10:00:00.000000", source, parent, b))
	}
	none := []event.Content{}
	add(event.SourceUser, &event.Message{
		LLMMessage:      event.LLMMessage{Role: "user", Content: []event.Content{event.Text("edit it")}, ThinkingBlocks: []json.RawMessage{}},
		ActivatedSkills: []string{}, ExtendedContent: none,
	})
	content, _ := json.Marshal(strings.Repeat("a line of a file that is edited\n", 240<<10/32)) // a string always can be
	for i := range edits {
		id := fmt.Sprint("call_", i)
		add(event.SourceAgent, &event.Action{
			Thought: none, ThinkingBlocks: []json.RawMessage{}, Action: json.RawMessage(`{"command":"str_replace","path":"/w/a","kind":"FileEditorAction"}`),
			ToolName: "file_editor", ToolCallID: id, ToolCall: event.ToolCall{ID: id, Name: "file_editor", Arguments: `{"command":"str_replace","path":"/w/a"}`, Origin: "completion"},
			LLMResponseID: id,
		})
		add(event.SourceEnvironment, &event.Observation{
			ToolName: "file_editor", ToolCallID: id, ActionID: log[len(log)-1].ID, ExtendedContent: none,
			Observation: json.RawMessage(fmt.Sprintf(`{"content":[{"cache_prompt":false,"type":"text","text":"edited %d"}],"is_error":false,`+
				`"command":"str_replace","path":"/w/a","old_content":%s,"new_content":%s,"kind":"FileEditorObservation"}`, i, content, content)),
		})
	}
	return log
}

// BenchmarkRequestAfterEdits is what the history of a request costs, behind
// edits of a big file.
func BenchmarkRequestAfterEdits(b *testing.B) {
	for _, edits := range []int{10, 50, 100} {
		b.Run(fmt.Sprint(edits), func(b *testing.B) {
			v := view.New(func(observation json.RawMessage) ([]event.Content, bool) {
				content, isError, err := tool.Content(observation)
				if err != nil {
					b.Error(err)
				}
				return content, isError
			}, editLog(edits))
			b.ReportAllocs()
			for b.Loop() {
				if n := len(v.Messages()); n != 2*edits+1 {
					b.Fatalf("%d messages", n)
				}
			}
		})
	}
}

// BenchmarkMemoryOfEdits is the memory that an open conversation keeps of a log
// of 14 MB, behind a turn.
func BenchmarkMemoryOfEdits(b *testing.B) {
	cfg := enginetest.Config(b, "", enginetest.NewProfiles("main", "instant"))
	cfg.NewModel = func(_ engine.Profile, usage string) (llm.Model, error) { return instant{usage}, nil }
	request := agentapi.OpenRequest{ID: uuid.New(), Profile: "main", Workspace: b.TempDir()}
	use := func(measure func()) {
		e := engine.New(cfg)
		c, err := e.Open(b.Context(), request)
		if err != nil {
			b.Fatal(err)
		}
		hello(b, c)
		measure()
		if err := errors.Join(c.Close(), e.Close()); err != nil {
			b.Fatal(err)
		}
	}
	use(func() {})
	size := grow(b, cfg, request.ID, editLog(29))
	for b.Loop() {
		before := heap()
		use(func() { b.ReportMetric(float64(heap()-before), "kept-B") })
	}
	b.ReportMetric(float64(size), "log-B")
}

// grow adds events to the log of a conversation that is not open, and gives
// their size.
func grow(b *testing.B, cfg engine.Config, id string, events []event.Event) (size int) {
	b.Helper()
	dir, err := store.Open(cfg.Dir, id, store.Options{Holder: cfg.Holder})
	if err != nil {
		b.Fatal(err)
	}
	parent := dir.Head()
	for _, e := range events {
		e.ParentID, parent = parent, e.ID
		data, err := json.Marshal(e)
		if err != nil {
			b.Fatal(err)
		}
		size += len(data)
		if err := dir.Append(e, false); err != nil {
			b.Fatal(err)
		}
	}
	dir.State.LeafEventID = parent
	if err := errors.Join(dir.SaveState(false), dir.Close()); err != nil {
		b.Fatal(err)
	}
	return size
}
