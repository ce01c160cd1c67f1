package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/object"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/pattern"
)

// kindObservation is the class of all results.
const kindObservation = "MCPToolObservation"

// serverTool is one tool of one server.
type serverTool struct {
	member *member
	name   string // on the server
	def    tool.Definition
}

// notInName is what providers do not take in the name of a tool, and maxName
// how long it may be.
var notInName = pattern.Of(`[^a-zA-Z0-9_-]`)

const maxName = 64

func newTool(m *member, t *sdk.Tool) (tool.Tool, error) {
	name := t.Name
	if m.prefix {
		name = m.name + "_" + name
	}
	name = notInName().ReplaceAllString(name, "_")
	if name == "" || len(name) > maxName {
		return nil, fmt.Errorf("it has a tool whose name has %d characters; models take 1 to %d", len(name), maxName)
	}
	schema, err := inputSchema(t)
	if err != nil {
		return nil, err
	}
	renamed := *t
	renamed.Name = name
	if renamed.InputSchema == nil { // OpenHands opens no conversation with a tool that has none
		renamed.InputSchema = schema
	}
	described, err := json.Marshal(&renamed)
	if err != nil {
		return nil, fmt.Errorf("encode the tool %s: %w", t.Name, err)
	}
	def := tool.Definition{
		Name: name, Description: t.Description, Parameters: schema,
		ActionKind: tool.KindMCPAction, ObservationKind: kindObservation, Kind: "MCPToolDefinition",
		Annotations: annotations(t.Annotations), MCP: described,
	}
	if def.Description == "" {
		def.Description = t.Title
	}
	if _, err := def.Offer(); err != nil {
		return nil, err
	}
	return &serverTool{m, t.Name, def}, nil
}

// inputSchema is the schema of an object, whatever the server left out.
func inputSchema(t *sdk.Tool) (json.RawMessage, error) {
	if t.InputSchema == nil {
		return json.RawMessage(`{"type":"object"}`), nil
	}
	data, err := json.Marshal(t.InputSchema)
	if err != nil {
		return nil, fmt.Errorf("encode the schema of the tool %s: %w", t.Name, err)
	}
	o, err := object.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("the schema of the tool %s is not an object", t.Name)
	}
	return o.With("type", json.RawMessage(`"object"`)).JSON(), nil
}

// annotations fills in what MCP says about hints that are missing.
func annotations(a *sdk.ToolAnnotations) *tool.Annotations {
	if a == nil {
		return nil
	}
	or := func(b *bool) bool { return b == nil || *b }
	return &tool.Annotations{
		Title: a.Title, ReadOnly: a.ReadOnlyHint, Destructive: or(a.DestructiveHint),
		Idempotent: a.IdempotentHint, OpenWorld: or(a.OpenWorldHint),
	}
}

func (t *serverTool) Definition() tool.Definition { return t.def }

// Locks says that calls of one tool come one after the other.
func (t *serverTool) Locks(json.RawMessage) []string { return nil }

func (t *serverTool) Close() error { return nil }

// Run calls the server, which is reached again first if it was lost.
func (t *serverTool) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	args, err := t.arguments(ctx, call.Args)
	if err != nil {
		return t.failed(ctx, fmt.Sprintf("was not called: %v", err))
	}
	limit := callTimeout
	if s := t.member.server.Timeout; s > 0 {
		limit = time.Duration(s * float64(time.Second))
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	session, err := t.member.open(limited)
	if err != nil {
		return t.failed(ctx, fmt.Sprintf("was not called: its server %q cannot be reached: %v", t.member.name, err))
	}
	result, err := session.CallTool(limited, &sdk.CallToolParams{Name: t.name, Arguments: args})
	switch {
	case err != nil && errors.Is(limited.Err(), context.DeadlineExceeded):
		return t.failed(ctx, fmt.Sprintf("gave no answer within %s. It may have done its work all the same", limit))
	case err != nil:
		return t.failed(ctx, fmt.Sprintf("failed: %v", t.member.explain(err)))
	}
	return t.result(t.content(result), result.IsError)
}

// arguments puts the secrets in.
func (t *serverTool) arguments(ctx context.Context, raw json.RawMessage) (any, error) {
	var args any
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, errors.New("its arguments cannot be read")
	}
	return secretenv.Expand(args, true, func(name string) (string, error) {
		return t.member.client.cfg.Secrets.Value(ctx, name)
	})
}

func (t *serverTool) failed(ctx context.Context, what string) (tool.Result, error) {
	if err := ctx.Err(); err != nil {
		return tool.Result{}, err
	}
	text := fmt.Sprintf("The tool %s %s.", t.def.Name, what)
	return t.result([]event.Content{event.Text(t.member.client.cfg.Secrets.Mask(text))}, true)
}

func (t *serverTool) result(content []event.Content, isError bool) (tool.Result, error) {
	return tool.NewResult(kindObservation, content, isError, struct {
		Name string `json:"tool_name"`
	}{t.def.Name})
}
