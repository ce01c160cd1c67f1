package enginetest

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Func is a tool that is a function.
type Func struct {
	Def   tool.Definition
	Needs []string
	Do    func(ctx context.Context, call tool.Call) (tool.Result, error)
}

// Definition is what the model is told.
func (f *Func) Definition() tool.Definition { return f.Def }

// Locks are the tool's needs.
func (f *Func) Locks(json.RawMessage) []string { return f.Needs }

// Run calls the function.
func (f *Func) Run(ctx context.Context, call tool.Call) (tool.Result, error) { return f.Do(ctx, call) }

// Close does nothing.
func (f *Func) Close() error { return nil }

// Tools are finish, think, and a terminal that runs each command in a shell of
// its own in dir.
func Tools(dir string) []tool.Tool {
	return []tool.Tool{Terminal(dir), Finish(), Think()}
}

// Terminal runs each command in a shell of its own.
func Terminal(dir string) *Func {
	f := &Func{Needs: []string{"terminal:session"}, Def: tool.Definition{
		Name: "terminal", Description: "Runs a command.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`),
		ActionKind: "TerminalAction", ObservationKind: "TerminalObservation", Kind: "TerminalTool",
		Annotations: &tool.Annotations{Title: "terminal", Destructive: true, OpenWorld: true},
	}}
	f.Do = func(ctx context.Context, call tool.Call) (tool.Result, error) {
		var in struct{ Command string }
		if err := json.Unmarshal(call.Args, &in); err != nil {
			return tool.Result{}, err
		}
		cmd := exec.CommandContext(ctx, "/bin/sh", "-c", in.Command)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH")}
		cmd.WaitDelay = time.Second
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			return tool.Result{}, err
		}
		return tool.NewResult("TerminalObservation", []event.Content{event.Text(string(out))}, false, struct {
			Command  string `json:"command"`
			ExitCode int    `json:"exit_code"`
		}{in.Command, cmd.ProcessState.ExitCode()})
	}
	return f
}

// Finish ends the task.
func Finish() *Func {
	return echo("finish", "Finish", "message")
}

// Think takes a note.
func Think() *Func {
	return echo("think", "Think", "thought")
}

func echo(name, kind, param string) *Func {
	return &Func{
		Needs: []string{},
		Def: tool.Definition{
			Name: name, Description: "A test tool.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"` + param + `":{"type":"string"}},"required":["` + param + `"]}`),
			ActionKind: kind + "Action", ObservationKind: kind + "Observation", Kind: kind + "Tool",
			Annotations: &tool.Annotations{Title: name, ReadOnly: true, Idempotent: true},
		},
		Do: func(_ context.Context, call tool.Call) (tool.Result, error) {
			var in map[string]string
			if err := json.Unmarshal(call.Args, &in); err != nil {
				return tool.Result{}, err
			}
			return tool.NewResult(kind+"Observation", []event.Content{event.Text(in[param])}, false, nil)
		},
	}
}
