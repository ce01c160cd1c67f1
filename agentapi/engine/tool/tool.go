// Package tool is what the embedded agent can do: the tools' descriptions, the
// checking of a call's arguments, and how a tool is run.
//
// Each tool is a package below this one, or a file: its code and, as embedded
// text, what the model is told of it. Names, parameters and kinds are
// OpenHands' own, so that a stored conversation can be continued by its Python
// SDK; every word of the descriptions is ours.
package tool

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ohgw/ohgw/agentapi/engine/tool/object"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Definition is a tool as stored in a SystemPromptEvent and told to the model.
type Definition struct {
	Name        string
	Description string
	// Parameters is the JSON schema of the tool's own arguments: what a call is
	// checked against. The model gets the simpler one of [Definition.Offer].
	Parameters json.RawMessage
	// ActionKind, ObservationKind and Kind are class names: "TerminalAction",
	// "TerminalObservation", "TerminalTool".
	ActionKind, ObservationKind, Kind string
	// Annotations is nil for an MCP tool whose server says nothing: it counts
	// as one that may change things.
	Annotations *Annotations
	// Client says that the client of the conversation carries the calls out: the
	// stored tool then has its name and parameters.
	Client bool
	// MCP is the server's own description of the tool, stored with it; nil for
	// tools of ours.
	MCP json.RawMessage
}

// ReadOnly reports whether a call changes nothing, so that its risk need not be known.
func (d Definition) ReadOnly() bool { return d.Annotations != nil && d.Annotations.ReadOnly }

// Annotations say how careful a caller must be, in the terms of MCP.
type Annotations struct {
	Title       string `json:"title,omitempty"`
	ReadOnly    bool   `json:"readOnlyHint"`
	Destructive bool   `json:"destructiveHint"`
	Idempotent  bool   `json:"idempotentHint"`
	OpenWorld   bool   `json:"openWorldHint"`
}

// Tool is one tool of one conversation. Run may be called at the same time
// only where Locks allows it.
type Tool interface {
	Definition() Definition

	// Locks names what a call needs for itself: "file:/abs/path",
	// "terminal:session". Nil stands for the tool as a whole, an empty list for
	// nothing.
	Locks(args json.RawMessage) []string

	// Run executes a call whose arguments fit the schema. Cancelling ctx stops
	// it at once. The error is for a call that could not be made; a call that
	// was made and failed is a Result with IsError.
	Run(ctx context.Context, call Call) (Result, error)

	// Close frees what the tool holds: processes, files.
	Close() error
}

// Holder is a tool that keeps something large between its calls.
type Holder interface {
	// Held is how many bytes of memory that is. It never waits for a call.
	Held() int64
}

// Call is one checked call.
type Call struct {
	ID   string          // of the tool call
	Args json.RawMessage // an object; risk and summary are taken out
	// Accepted says that a person has confirmed what the call has waited for; see
	// [WaitingError].
	Accepted bool
}

// WaitingError says that actions of a sub-agent wait for a person. The call is made again
// when the person has confirmed them.
type WaitingError struct {
	Label   string        // the name of the sub-agent
	Actions []event.Event // without the values of secrets
}

// Error names the sub-agent.
func (e *WaitingError) Error() string { return e.Label + " waits for a confirmation" }

// Result is what a tool answers.
type Result struct {
	// Observation is the object stored in the event, kind and content included.
	Observation json.RawMessage
	// Content is what the model sees; often, not always, the observation's.
	Content []event.Content
	IsError bool
}

// StoppedError says that a call was interrupted, and what its program had written by then.
type StoppedError struct {
	Output string // for the model; secrets are masked
	Err    error  // of the context
}

// Error is that of the context.
func (e *StoppedError) Error() string { return e.Err.Error() }

// Unwrap gives the error of the context.
func (e *StoppedError) Unwrap() error { return e.Err }

// NewResult makes a result whose observation has the given kind and, between
// content and kind, the members of fields: a struct, or nil.
func NewResult(kind string, content []event.Content, isError bool, fields any) (Result, error) {
	if content == nil {
		content = []event.Content{}
	}
	o := object.Object{}
	for _, part := range []any{
		struct {
			Content []event.Content `json:"content"`
			IsError bool            `json:"is_error"`
		}{content, isError},
		fields,
		struct {
			Kind string `json:"kind"`
		}{kind},
	} {
		if part == nil {
			continue
		}
		data, err := json.Marshal(part)
		if err != nil {
			return Result{}, fmt.Errorf("encode %s: %w", kind, err)
		}
		members, err := object.Parse(data)
		if err != nil {
			return Result{}, fmt.Errorf("encode %s: %w", kind, err)
		}
		o = append(o, members...)
	}
	return Result{Observation: o.JSON(), Content: content, IsError: isError}, nil
}

// ArgumentError is a call that cannot be made as it was asked: the model is
// told, and may try again.
type ArgumentError struct{ Msg string }

// Error is the sentence for the model.
func (e *ArgumentError) Error() string { return e.Msg }
