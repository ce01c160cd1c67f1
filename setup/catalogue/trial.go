package catalogue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/mcp"
	"github.com/ohgw/ohgw/agentapi/engine/tool/mcp/oauth"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/daemon/openhandsapi/catalogue"
	"github.com/ohgw/ohgw/daemon/openhandsapi/logins"
	"github.com/ohgw/ohgw/internal/buildinfo"
	"github.com/ohgw/ohgw/internal/openhands/files"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/uuid"
	"github.com/ohgw/ohgw/setup"
)

// Trial tries MCP servers.
type Trial struct {
	env       *setup.Env
	transport http.RoundTripper
	boxes     func(context.Context, engine.BoxEnv) (sandbox.Box, error)
	log       *slog.Logger
	kept      *files.Store // decrypts what a client has of the settings
}

// NewTrial makes one that decrypts with the store what a client has of the settings.
func NewTrial(env *setup.Env, kept *files.Store, boxes func(context.Context, engine.BoxEnv) (sandbox.Box, error), log *slog.Logger) *Trial {
	return &Trial{env: env, kept: kept, transport: llm.NewHTTPClient(env.Getenv).Transport, boxes: boxes, log: log}
}

// Login tries a server with a person who can log in.
func (t *Trial) Login(ctx context.Context, of catalogue.Trial, b logins.Browser) (catalogue.Tried, error) {
	return t.run(ctx, of, &oauth.Browser{RedirectURL: b.RedirectURL, Visit: func(ctx context.Context, page string) (*auth.AuthorizationResult, error) {
		back, err := b.Visit(ctx, page)
		switch {
		case err != nil:
			return nil, oauth.Unfinished(err)
		case back.Error != "":
			return nil, &oauth.RefusedError{Code: back.Error}
		}
		return &auth.AuthorizationResult{Code: back.Code, State: back.State, Iss: back.Issuer}, nil
	}})
}

// run tries a server in an empty directory, which is gone afterwards.
func (t *Trial) run(ctx context.Context, of catalogue.Trial, browser *oauth.Browser) (_ catalogue.Tried, err error) {
	servers, err := json.Marshal(map[string]json.RawMessage{of.Name: t.kept.Servers.Plain(of.Server)})
	if err != nil {
		return catalogue.Tried{}, fmt.Errorf("encode the server: %w", err)
	}
	dir, err := os.MkdirTemp("", "ohgw-trial-")
	if err != nil {
		return catalogue.Tried{}, fmt.Errorf("make a directory for the trial: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	box, err := t.boxes(ctx, engine.BoxEnv{Conversation: uuid.New(), Dir: dir, Workspace: dir})
	if err != nil {
		return catalogue.Tried{}, err
	}
	defer func() { err = errors.Join(err, box.Close()) }()
	client, err := mcp.Connect(ctx, mcp.Config{
		Servers: servers, Dir: dir, Environ: sandbox.EnvironOf(box, t.env.Environ()), LookupEnv: t.env.Lookup,
		HTTP: t.transport, Version: buildinfo.Get().Version, Box: box, Conversation: "trial", Log: t.log,
		Browser: browser, Now: t.env.Now,
	})
	if err != nil {
		return catalogue.Tried{}, fmt.Errorf("connect: %w", err)
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	for _, warning := range slices.Concat(client.Warnings(), client.Partial()) { // the answer has no words of a program
		t.log.Warn("an MCP server was tried and cannot be used, or not all of its tools", "err", warning)
	}
	for _, status := range client.Status() {
		if status.State == agentapi.ServerFailed || status.State == agentapi.ServerDisabled {
			return catalogue.Tried{}, errors.New(status.Reason)
		}
	}
	tried := catalogue.Tried{}
	for _, offered := range client.Tools() {
		tried.Tools = append(tried.Tools, offered.Definition().Name)
	}
	if of.Call != nil {
		if tried.Result, err = callTool(ctx, client.Tools(), of.Call); err != nil {
			return tried, err
		}
	}
	tried.Login, err = t.loginOf(ctx, client, of.Name)
	return tried, err
}

// loginOf is the login to a server as a client is to store it, nil for none.
func (t *Trial) loginOf(ctx context.Context, client *mcp.Client, name string) (json.RawMessage, error) {
	state, err := client.Login(ctx, name)
	if err != nil || state.IsZero() {
		return nil, err
	}
	data, err := json.Marshal(state)
	if err != nil {
		return nil, fmt.Errorf("encode the login: %w", err)
	}
	return t.kept.Logins.Seal(data)
}

// callTool makes one call. That there is no such tool is a result, as it is with an
// MCP server.
func callTool(ctx context.Context, tools []tool.Tool, call *catalogue.Call) (*catalogue.Result, error) {
	i := slices.IndexFunc(tools, func(t tool.Tool) bool { return t.Definition().Name == call.Name })
	if i < 0 {
		return &catalogue.Result{IsError: true, Text: "Unknown tool: " + call.Name}, nil
	}
	args := call.Arguments
	if len(args) == 0 {
		args = json.RawMessage(`{}`)
	}
	result, err := tools[i].Run(ctx, tool.Call{ID: "trial", Args: args})
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", call.Name, err)
	}
	content := result.Content
	if len(content) > 0 && content[0].Text == "[result of "+call.Name+"]" { // that is for models
		content = content[1:]
	}
	return &catalogue.Result{IsError: result.IsError, Text: event.PlainText(content)}, nil
}
