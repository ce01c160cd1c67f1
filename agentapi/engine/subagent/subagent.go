// Package subagent is the tool task: an agent hands a part of its work to another
// one, which has a conversation of its own and answers once.
//
// It has the agents that come with OpenHands, in words of ours, and what the model is
// told of all of them. How a conversation of such an agent runs is its caller's.
package subagent

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/definition"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/oneline"
	"github.com/ohgw/ohgw/internal/truncate"
)

//go:embed builtin/*.md
var builtin embed.FS

//go:embed task.md
var description string

// Default is the agent for a call that names none.
const Default = "general-purpose"

// Builtin are the agents that are always there.
func Builtin() []definition.Definition {
	var all []definition.Definition
	for _, name := range []string{Default, "code-explorer", "bash-runner"} {
		file := path.Join("builtin", name+".md")
		data, err := builtin.ReadFile(file)
		if err != nil {
			panic(err) // it is in the program
		}
		d, _ := definition.Parse(file, data)
		all = append(all, d)
	}
	return all
}

// Find is the agent of a name, or of another name that OpenHands has for it.
func Find(all []definition.Definition, name string) (definition.Definition, bool) {
	for _, want := range []string{name, aliasOf(name)} {
		if i := slices.IndexFunc(all, func(d definition.Definition) bool { return d.Name == want }); i >= 0 {
			return all[i], true
		}
	}
	return definition.Definition{}, false
}

func aliasOf(name string) string {
	switch name {
	case "", "default", "default cli mode", "general purpose":
		return Default
	case "explore":
		return "code-explorer"
	case "bash":
		return "bash-runner"
	}
	return name
}

// parameters are shared by all conversations and never changed.
var parameters = []byte(`{"type":"object","properties":{` +
	`"description":{"type":"string","description":"What the task is, in three to five words, for the person who watches."},` +
	`"prompt":{"type":"string","description":"The task, with everything that the agent has to know."},` +
	`"subagent_type":{"type":"string","description":"The name of the agent. The default is general-purpose.","default":"general-purpose"},` +
	`"resume":{"type":"string","description":"The ID of an earlier task whose agent is to go on: it still knows what it did."}` +
	`},"required":["prompt"],"additionalProperties":false}`)

// Args are those of a call.
type Args struct {
	Description string `json:"description"`
	Prompt      string `json:"prompt"`
	Type        string `json:"subagent_type"`
	Resume      string `json:"resume"`
}

// Outcome is what became of a task.
type Outcome struct {
	ID     string
	Text   string
	Failed bool
}

// Task is the tool.
type Task struct {
	// Agents are those that can be asked.
	Agents []definition.Definition
	// Do does a task of a call and waits for it. The end of ctx ends it.
	Do func(ctx context.Context, a Args, call tool.Call) (Outcome, error)
	// End is called at the end of the conversation. May be nil.
	End func() error
}

// How much of the description of an agent the model is told, in characters: each request
// has those of all agents.
const (
	minDescription  = 60
	maxDescription  = 1000
	maxDescriptions = 32 << 10 // of all agents, unless there are many
)

// Definition is what the model is told.
func (t *Task) Definition() tool.Definition {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(description) + "\n\nThe agents:\n")
	each := max(minDescription, min(maxDescription, maxDescriptions/max(1, len(t.Agents))))
	for _, d := range t.Agents {
		fmt.Fprintf(&b, "- %s: %s (tools: %s)\n", oneline.Of(d.Name), truncate.Within(oneline.Of(d.Description), each, "…"), strings.Join(d.Tools, ", "))
	}
	return tool.Definition{
		Name: "task", Description: strings.TrimSpace(b.String()), Parameters: parameters,
		ActionKind: "TaskAction", ObservationKind: "TaskObservation", Kind: "TaskTool",
		Annotations: &tool.Annotations{Title: "task", Destructive: true, OpenWorld: true},
	}
}

// Locks says that calls need nothing for themselves: several run at once.
func (t *Task) Locks(json.RawMessage) []string { return []string{} }

// Close ends what runs.
func (t *Task) Close() error {
	if t.End == nil {
		return nil
	}
	return t.End()
}

// Run executes one call.
func (t *Task) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	a := Args{Type: Default}
	if err := json.Unmarshal(call.Args, &a); err != nil {
		return tool.Result{}, &tool.ArgumentError{Msg: "the arguments of task cannot be read"}
	}
	done, err := t.Do(ctx, a, call)
	if ctx.Err() != nil {
		return tool.Result{}, ctx.Err()
	}
	if waits, ok := errors.AsType[*tool.WaitingError](err); ok {
		return tool.Result{}, waits
	}
	if err != nil {
		done = Outcome{ID: "unknown", Text: err.Error(), Failed: true}
	}
	status := "completed"
	if done.Failed {
		status = "error"
	}
	text, err := tool.Truncate(done.Text, tool.LimitTerminal, "", "")
	if err != nil {
		return tool.Result{}, err
	}
	result, err := tool.NewResult("TaskObservation", []event.Content{event.Text(text)}, done.Failed, struct {
		ID     string `json:"task_id"`
		Agent  string `json:"subagent"`
		Status string `json:"status"`
	}{done.ID, a.Type, status})
	if err != nil {
		return tool.Result{}, err
	}
	return result, nil
}
