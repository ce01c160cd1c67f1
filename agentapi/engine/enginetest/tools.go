package enginetest

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/sandbox"
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
	box := sandbox.Outside(sandbox.Off, sandbox.Mark{})
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
		var out strings.Builder
		err := sandbox.Run(ctx, box, sandbox.Program{
			Args: []string{"/bin/sh", "-c", in.Command}, Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH")},
		}, &out, time.Second)
		exit, ended := errors.AsType[*sandbox.ExitError](err)
		if err != nil && !ended {
			return tool.Result{}, err
		}
		code := 0
		if ended {
			code = exit.Code
		}
		return tool.NewResult("TerminalObservation", []event.Content{event.Text(out.String())}, false, struct {
			Command  string `json:"command"`
			ExitCode int    `json:"exit_code"`
		}{in.Command, code})
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
