// Package task is the agent's list of what it has to do. The list is kept in a
// file beside the conversation, so that it outlives the process.
package task

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/atomicfile"
)

//go:embed task_tracker.md
var description string

// parameters are shared by all conversations and never changed.
var parameters = []byte(`{"type":"object","properties":{` +
	`"command":{"type":"string","enum":["view","plan"],"description":"view shows the list, plan replaces it. The default is view.","default":"view"},` +
	`"task_list":{"type":"array","description":"For plan, required: the whole new list.","default":[],"items":{"type":"object","properties":{` +
	`"title":{"type":"string","description":"What is to be done, in a few words."},` +
	`"notes":{"type":"string","description":"What else there is to know about it.","default":""},` +
	`"status":{"type":"string","enum":["todo","in_progress","done"],"description":"How far it is. The default is todo.","default":"todo"}` +
	`},"required":["title"]}}},"additionalProperties":false}`)

// FileName is the name of the file with the list; it is OpenHands' own.
const FileName = "TASKS.json"

// Item is one task.
type Item struct {
	Title  string `json:"title"`
	Notes  string `json:"notes"`
	Status string `json:"status"` // todo, in_progress or done
}

// UnmarshalJSON fills in the status, and reads other words for it.
func (i *Item) UnmarshalJSON(data []byte) error {
	type plain Item
	p := plain{Status: "todo"}
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	*i = Item(p)
	i.Status = Status(i.Status)
	return nil
}

// Tracker is the tool of one conversation.
type Tracker struct {
	path string // empty: the list is not kept

	mu   sync.Mutex
	list []Item
}

// New makes the tool and reads the list in dir, if there is one. Without a
// directory the list is not kept. A file that holds no list, which a machine
// that died may leave, is set aside as TASKS.json.damaged.
func New(dir string) (*Tracker, error) {
	t := &Tracker{list: []Item{}}
	if dir == "" {
		return t, nil
	}
	t.path = filepath.Join(dir, FileName)
	data, err := os.ReadFile(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the task list: %w", err)
	}
	if err := json.Unmarshal(data, &t.list); err != nil {
		t.list = []Item{}
		if err := os.Rename(t.path, t.path+".damaged"); err != nil {
			return nil, fmt.Errorf("set the damaged task list aside: %w", err)
		}
	}
	return t, nil
}

// Definition is what the model is told.
func (t *Tracker) Definition() tool.Definition {
	return tool.Definition{
		Name:            "task_tracker",
		Description:     strings.TrimSpace(description),
		Parameters:      parameters,
		ActionKind:      "TaskTrackerAction",
		ObservationKind: "TaskTrackerObservation",
		Kind:            "TaskTrackerTool",
		Annotations:     &tool.Annotations{Title: "task_tracker", Idempotent: true},
	}
}

// Locks says that calls come one after the other.
func (t *Tracker) Locks(json.RawMessage) []string { return nil }

// Close has nothing to do.
func (t *Tracker) Close() error { return nil }

// Run executes one call.
func (t *Tracker) Run(_ context.Context, call tool.Call) (tool.Result, error) {
	args := struct {
		Command string  `json:"command"`
		List    *[]Item `json:"task_list"`
	}{Command: "view"}
	if err := json.Unmarshal(call.Args, &args); err != nil {
		return tool.Result{}, &tool.ArgumentError{Msg: "the arguments of task_tracker cannot be read"}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if args.Command != "plan" {
		return t.result("view", show(t.list))
	}
	if args.List == nil {
		return tool.Result{}, &tool.ArgumentError{Msg: "plan needs task_list, the whole new list. Nothing was changed."}
	}
	if err := t.save(*args.List); err != nil {
		return tool.Result{}, err
	}
	t.list = *args.List
	if t.list == nil {
		t.list = []Item{}
	}
	return t.result("plan", fmt.Sprintf("The list now has %d tasks.", len(t.list)))
}

func (t *Tracker) result(command, text string) (tool.Result, error) {
	return tool.NewResult("TaskTrackerObservation", []event.Content{event.Text(text)}, false, struct {
		Command string `json:"command"`
		List    []Item `json:"task_list"`
	}{command, t.list})
}

func (t *Tracker) save(list []Item) error {
	if t.path == "" {
		return nil
	}
	if list == nil {
		list = []Item{}
	}
	data, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return fmt.Errorf("save the task list: %w", err)
	}
	if err := atomicfile.Write(t.path, data, atomicfile.Options{}); err != nil {
		return fmt.Errorf("save the task list: %w", err)
	}
	return nil
}

// show prints the list as the model reads it.
func show(list []Item) string {
	if len(list) == 0 {
		return "The list is empty. plan fills it."
	}
	var b strings.Builder
	for i, item := range list {
		mark := map[string]string{"done": "[x]", "in_progress": "[>]"}[item.Status]
		if mark == "" {
			mark = "[ ]"
		}
		fmt.Fprintf(&b, "%d. %s %s\n", i+1, mark, item.Title)
		if item.Notes != "" {
			fmt.Fprintf(&b, "       %s\n", strings.ReplaceAll(item.Notes, "\n", "\n       "))
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
