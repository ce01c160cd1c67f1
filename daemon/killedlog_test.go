package daemon_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/daemon/apitest"
)

// turns are the answers in the log of the conversation, by the message before them.
func turns(t *testing.T, dir string) map[string][]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "conversations", strings.ReplaceAll(apitest.Conversation, "-", ""), "events", "event-*.json"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	events := make([]event.Event, len(files))
	for i, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &events[i]); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	out, twice := turnsOf(events)
	if len(twice) > 0 {
		t.Errorf("%q are twice in the log", twice)
	}
	return out
}

// turnsOf are the answers in a log, by the message of the user before them, and the
// messages that are in it twice. What the environment says to the model, as after an
// answer without text, is within a turn.
func turnsOf(log []event.Event) (out map[string][]string, twice []string) {
	out, now := map[string][]string{}, ""
	for _, e := range log {
		switch b := e.Body.(type) {
		case *event.Message:
			text := event.PlainText(b.LLMMessage.Content)
			switch e.Source {
			case event.SourceAgent:
				out[now] = append(out[now], text)
			case event.SourceUser:
				now = asked.FindString(text)
				if _, isThere := out[now]; isThere {
					twice = append(twice, now)
				}
				out[now] = []string{}
			}
		case *event.Action:
			var call struct{ Message string }
			if b.ToolName == "finish" && json.Unmarshal(b.Action, &call) == nil {
				out[now] = append(out[now], call.Message)
			}
		}
	}
	return out, twice
}

// TestTurnsOfALogAreThoseOfTheUser is of the expectation of the test of kills.
func TestTurnsOfALogAreThoseOfTheUser(t *testing.T) {
	t.Parallel()
	says := func(source, text string) event.Event {
		m := &event.Message{}
		m.LLMMessage.Content = []event.Content{event.Text(text)}
		return event.Event{Source: source, Body: m}
	}
	finish := event.Event{Source: event.SourceAgent, Body: &event.Action{ToolName: "finish", Action: json.RawMessage(`{"message":"Finished 2."}`)}}
	refused := event.Event{Source: event.SourceAgent, Body: &event.Action{ToolName: "finish"}}
	got, twice := turnsOf([]event.Event{
		says(event.SourceUser, "message 1."), says(event.SourceAgent, ""),
		says(event.SourceEnvironment, "Your last answer had neither text nor a tool call."), says(event.SourceAgent, "Done with message 1."),
		says(event.SourceUser, "message 2."), refused, finish,
		says(event.SourceUser, "message 3."), says(event.SourceEnvironment, "message 2."),
		says(event.SourceUser, "message 1."),
	})
	want := map[string][]string{"message 1.": {}, "message 2.": {"Finished 2."}, "message 3.": {}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("turns (-want +got):\n%s", diff)
	}
	if !slices.Equal(twice, []string{"message 1."}) {
		t.Errorf("twice: %q", twice)
	}
	got, _ = turnsOf([]event.Event{
		says(event.SourceUser, "message 4."), says(event.SourceAgent, " "), says(event.SourceEnvironment, "Go on."), says(event.SourceAgent, "Done."),
	})
	if diff := cmp.Diff(map[string][]string{"message 4.": {" ", "Done."}}, got); diff != "" {
		t.Errorf("turns (-want +got):\n%s", diff)
	}
}
