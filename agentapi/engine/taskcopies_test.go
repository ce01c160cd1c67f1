//go:build unix

package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// A copy has its own copies of the tasks that its history tells of, as they were then,
// however it is made. What happens to them in one conversation, the other does not know.
func TestACopyHasTheTasksOfItsHistory(t *testing.T) {
	t.Parallel()
	for name, fork := range map[string]func(w *world, at string){
		"of a turn": func(w *world, at string) { w.fork(at) },
		"by OpenHands' own programs": func(w *world, at string) {
			c, err := w.controlled().Copy(w.ctx(), control.Fork{ID: uuid.New(), From: at})
			if err != nil {
				w.t.Fatal(err)
			}
			defer c.Close()
			w.id, w.conv = c.Info().ID, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, subAgents)
			w.llm.Reply(task(`{"prompt":"one"}`), llmtest.Text("first"), llmtest.Text("ok"))
			w.say("go")
			at := w.at(4) // SP U A O M
			w.llm.Reply(
				task(`{"prompt":"two","resume":"task_00000001"}`), llmtest.Text("second"), task(`{"prompt":"other"}`), llmtest.Text("third"), llmtest.Text("ok"),
			)
			w.say("more")
			source := w.id
			fork(w, at)
			if dirs := children(t, w); len(dirs) != 1 {
				t.Fatalf("the copy has the tasks %v", dirs)
			}
			w.llm.Reply(task(`{"prompt":"instead","resume":"task_00000001"}`), llmtest.Text("fourth"), task(`{"prompt":"new"}`), llmtest.Text("fifth"), llmtest.Text("ok"))
			n := len(w.llm.Requests())
			w.say("otherwise")
			child := told(w.llm.Requests()[n+1])
			if !strings.Contains(child, "first") || !strings.Contains(child, "instead") || strings.Contains(child, "second") {
				t.Errorf("the task was resumed with %s", child)
			}
			if o := lastTask(t, w); o.ID != "task_00000002" || o.IsError {
				t.Errorf("the next task is %+v", o)
			}
			w.id, w.conv = source, nil
			w.llm.Reply(task(`{"prompt":"back","resume":"task_00000001"}`), llmtest.Text("sixth"), task(`{"prompt":"next"}`), llmtest.Text("seventh"), llmtest.Text("ok"))
			n = len(w.llm.Requests())
			w.say("and again")
			child = told(w.llm.Requests()[n+1])
			if !strings.Contains(child, "second") || strings.Contains(child, "instead") {
				t.Errorf("the task of the source was resumed with %s", child)
			}
			if o := lastTask(t, w); o.ID != "task_00000003" {
				t.Errorf("the next task of the source is %+v", o)
			}
		})
	}
}

// A number is given once, also where the conversation of its task is not here: other
// programs keep it elsewhere. The log or the statistics have it.
func TestTheNumberOfATaskIsGivenOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(w *world)
		want   string
	}{
		"in the log and the statistics": {func(*world) {}, "task_00000002"},
		"in the statistics only": {func(w *world) {
			w.change("base_state.json", func(data []byte) []byte {
				return []byte(strings.ReplaceAll(string(data), "task:task_00000001", "task:task_0000000a"))
			})
		}, "task_0000000b"},
		"in the log only": {func(w *world) {
			w.change("base_state.json", func(data []byte) []byte {
				return []byte(strings.ReplaceAll(string(data), "task:task_00000001", "other"))
			})
		}, "task_00000002"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, subAgents)
			w.llm.Reply(task(`{"prompt":"one"}`), llmtest.Text("first"), llmtest.Text("ok"))
			w.say("go")
			w.close()
			if err := os.RemoveAll(filepath.Join(w.dir(), "subagents")); err != nil {
				t.Fatal(err)
			}
			tt.change(w)
			before := w.usages()
			w.start()
			w.llm.Reply(task(`{"prompt":"two"}`), llmtest.Text("second"), llmtest.Text("ok"))
			w.say("more")
			if o := lastTask(t, w); o.ID != tt.want {
				t.Errorf("the task = %+v, want the ID %s", o, tt.want)
			}
			w.close()
			after := w.usages()
			for key, was := range before {
				if strings.HasPrefix(key, "task:") && string(after[key]) != string(was) {
					t.Errorf("the statistics of %s were %s and are %s", key, was, after[key])
				}
			}
		})
	}
}

// told are the messages of a request behind the system prompt.
func told(r *llmtest.Request) string {
	var texts []string
	for _, m := range r.Messages[1:] {
		texts = append(texts, m.Text)
	}
	return strings.Join(texts, " | ")
}

// usages are the statistics on the disk.
func (w *world) usages() map[string]json.RawMessage {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir(), "base_state.json"))
	if err != nil {
		w.t.Fatal(err)
	}
	var s struct {
		Stats struct {
			All map[string]json.RawMessage `json:"usage_to_metrics"`
		} `json:"stats"`
	}
	if err := json.Unmarshal(data, &s); err != nil {
		w.t.Fatal(err)
	}
	return s.Stats.All
}
