package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
)

// kindObservation is the class of all results.
const kindObservation = "MCPToolObservation"

// serverTool is one tool of one server.
type serverTool struct {
	member *member
	name   string // on the server
	def    tool.Definition
}

// newTool makes a tool of what a server has, which models call by name. told is
// what there is to say of it.
func newTool(m *member, t *sdk.Tool, name string) (made tool.Tool, told string, err error) {
	renamed := *t
	renamed.Name = name
	schema, written := inputSchema(t.InputSchema)
	if !written { // OpenHands opens no conversation with a tool that has none
		renamed.InputSchema = schema
	}
	if !written && t.InputSchema != nil && t.InputSchema != true {
		told = fmt.Sprintf("the schema of its tool %q is not that of an object; the tool takes any arguments", t.Name)
	}
	if _, members := unread(t); members != "" {
		told = strings.TrimPrefix(told+"; "+fmt.Sprintf("what cannot be read of its tool %q: %s", t.Name, members), "; ")
		renamed.Meta = nil
	}
	described, err := json.Marshal(&renamed)
	if err != nil {
		return nil, "", fmt.Errorf("encode it: %w", err)
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
		return nil, "", err
	}
	return &serverTool{m, t.Name, def}, told, nil
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
	result, err := t.call(limited, args)
	unreached, never := errors.AsType[*unreachedError](err)
	switch {
	case never:
		return t.failed(ctx, fmt.Sprintf("was not called: its server %q cannot be reached: %v", t.member.name, unreached.err))
	case err != nil && errors.Is(limited.Err(), context.DeadlineExceeded):
		return t.failed(ctx, fmt.Sprintf("gave no answer within %s. It may have done its work all the same", limit))
	case err != nil:
		return t.failed(ctx, fmt.Sprintf("failed: %v", t.member.explain(err)))
	}
	return t.result(t.content(result), result.IsError)
}

// unreachedError is why there is no session for a call.
type unreachedError struct{ err error }

func (e *unreachedError) Error() string { return e.err.Error() }

// call makes the call. A remote server that was restarted knows no session of
// before: it refuses the call, which is made again in a new session, once.
func (t *serverTool) call(ctx context.Context, args any) (*sdk.CallToolResult, error) {
	for tries := 1; ; tries++ {
		session, err := t.member.open(ctx)
		if err != nil {
			return nil, &unreachedError{err}
		}
		this := &attempt{}
		result, err := session.CallTool(this.in(ctx), &sdk.CallToolParams{Name: t.name, Arguments: args})
		if err == nil || tries > 1 || ctx.Err() != nil || !this.unheard(err) || !t.member.renew(session) {
			return result, err
		}
	}
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
