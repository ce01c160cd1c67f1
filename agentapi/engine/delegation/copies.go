package delegation

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/tag"
	"github.com/ohgw/ohgw/agentapi/engine/tool/task"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/uuid"
)

// taskHistory is what the log of a conversation says of its tasks.
type taskHistory struct {
	turns   map[string]int // of each task: how often it was begun or resumed
	highest int            // number of a task
}

// historyOf reads a log. A resume that was stopped has a turn, and no result that names
// the task.
func historyOf(events []event.Event) taskHistory {
	h := taskHistory{turns: make(map[string]int)}
	resumes := make(map[string]string) // without a result: the task by the id of the action
	for _, e := range events {
		switch b := e.Body.(type) {
		case *event.Action:
			var args struct {
				Resume string `json:"resume"`
			}
			if b.ToolName == "task" && json.Unmarshal(b.Action, &args) == nil && args.Resume != "" {
				resumes[e.ID] = args.Resume
			}
		case *event.Observation:
			delete(resumes, b.ActionID)
			var result struct {
				ID string `json:"task_id"`
			}
			if b.ToolName == "task" && json.Unmarshal(b.Observation, &result) == nil && result.ID != "" {
				h.turns[result.ID]++
				h.highest = max(h.highest, taskNumber(result.ID))
			}
		}
	}
	for _, id := range resumes {
		h.turns[id]++
	}
	return h
}

// taskID is the id of a task with a number.
func taskID(n int) string { return fmt.Sprintf("task_%08x", n) }

// taskNumber is the number in the id of a task; 0 for another name.
func taskNumber(id string) (n int) {
	if _, err := fmt.Sscanf(strings.TrimPrefix(id, "task_"), "%x", &n); err != nil || taskID(n) != id {
		return 0
	}
	return n
}

// highestTask finds the highest number of a task that the log or the statistics of a
// conversation have. Other programs keep the conversations of tasks elsewhere.
func (t *tasks) highestTask() int {
	root, id := filepath.Dir(t.env.Dir), t.env.Conversation
	highest := 0
	if state, err := store.Peek(root, id); err == nil {
		var stats event.Stats
		_ = json.Unmarshal(state.Stats, &stats) // without numbers the log is left
		for name := range stats.UsageToMetrics {
			highest = max(highest, taskNumber(strings.TrimPrefix(name, taskUsage)))
		}
	}
	for from := ""; ; {
		events, next, err := store.Page(root, id, from, false, scanTasks)
		if err != nil {
			t.cfg.Log.Warn("read the tasks of the log", "conversation", id, "err", err)
			return highest
		}
		highest = max(highest, historyOf(events).highest)
		if from = next; from == "" {
			return highest
		}
	}
}

// scanTasks is how many events are read at a time.
const scanTasks = 500

// Copy gives a copy the conversations of the tasks that its events tell of, as
// they were then.
func (l *Delegation) Copy(from, to string, events []event.Event) {
	source, target := filepath.Join(from, subagents), filepath.Join(to, subagents)
	entries, err := os.ReadDir(source)
	if err != nil {
		return // there were none
	}
	history := historyOf(events)
	for _, entry := range entries {
		id, err := uuid.Parse(entry.Name())
		if err != nil {
			continue
		}
		if err := l.copySubagent(source, target, id, history); err != nil {
			l.cfg.Log.Warn("a copy of a conversation lacks a task", "conversation", filepath.Base(to), "task", id, "err", err)
		}
	}
}

func (l *Delegation) copySubagent(source, target, id string, history taskHistory) error {
	state, err := store.Peek(source, id)
	turns := history.turns[state.Tags[tag.Task]]
	if err != nil || turns == 0 {
		return err
	}
	made := l.cfg.NewID()
	state, events, err := store.PeekFork(source, id, made, func(log []event.Event) []event.Event { return firstTurns(log, turns) })
	if err != nil {
		return err
	}
	now := l.cfg.Now()
	dir, err := store.Create(target, state, store.Meta{Created: now, Updated: now, Parent: uuidOf(filepath.Dir(target)), ForkedFrom: id}, l.cfg.Options, events...)
	if err != nil {
		return err
	}
	if err := CopyTaskList(dir.Path(), events); err != nil {
		return err
	}
	l.cfg.Vault.Copy(made, id)
	return dir.Close()
}

// firstTurns is a log up to the end of a turn.
func firstTurns(log []event.Event, turns int) []event.Event {
	for i, e := range log {
		if _, message := e.Body.(*event.Message); !message || e.Source != event.SourceUser {
			continue
		}
		if turns--; turns < 0 {
			return log[:i]
		}
	}
	return log
}

// uuidOf is the id of the conversation whose directory it is.
func uuidOf(dir string) string {
	id, _ := uuid.Parse(filepath.Base(dir)) // it is one
	return id
}

// CopyTaskList keeps the agent's list of tasks as it was at the last of the
// events.
func CopyTaskList(dir string, events []event.Event) error {
	var list json.RawMessage
	for _, e := range events {
		o, ok := e.Body.(*event.Observation)
		if !ok || o.ToolName != "task_tracker" {
			continue
		}
		var stored struct {
			List json.RawMessage `json:"task_list"`
		}
		if json.Unmarshal(o.Observation, &stored) == nil && len(stored.List) > 0 {
			list = stored.List
		}
	}
	if list == nil {
		return nil
	}
	if err := atomicfile.Write(filepath.Join(dir, task.FileName), list, atomicfile.Options{}); err != nil {
		return fmt.Errorf("copy the task list: %w", err)
	}
	return nil
}
