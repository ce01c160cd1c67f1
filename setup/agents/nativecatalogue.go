package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/definition"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/skill"
	"github.com/ohgw/ohgw/agentapi/engine/subagent"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/mcp"
	"github.com/ohgw/ohgw/agentapi/engine/tool/mcp/oauth"
	"github.com/ohgw/ohgw/agentapi/engine/toolset"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/daemon/openhandsapi/catalogue"
	"github.com/ohgw/ohgw/daemon/openhandsapi/logins"
	"github.com/ohgw/ohgw/internal/buildinfo"
	"github.com/ohgw/ohgw/internal/openhands/files"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/uuid"
	"github.com/ohgw/ohgw/setup"
)

// maxProjectFile bounds a file of a project that is read whole, in bytes.
const maxProjectFile = 1 << 20

// catalogueOf is what an agent can be given. Programs of MCP servers are tried
// in a box of their own; the log has what those printed that cannot be used.
func catalogueOf(user skill.User, servers *trial) catalogue.Config {
	return catalogue.Config{
		Tools:  toolset.Names(),
		Skills: func(dir string, own bool) []catalogue.Skill { return skillsOf(dir, user, own) },
		Agents: func(ctx context.Context, dir string, own, builtin bool) []catalogue.Agent {
			return agentsOf(ctx, dir, user, own, builtin, servers.kept.MaskedServers)
		},
		ReadFile:  readProjectFile,
		TryServer: func(ctx context.Context, t catalogue.Trial) (catalogue.Tried, error) { return servers.run(ctx, t, nil) },
	}
}

// skillsOf finds the skills of a directory, and those of the user with own.
func skillsOf(dir string, user skill.User, own bool) []catalogue.Skill {
	if !own {
		user = skill.User{}
	}
	found, _ := skill.Find(dir, user)
	list := make([]catalogue.Skill, 0, len(found))
	for _, s := range found {
		list = append(list, catalogue.Skill{
			Name: s.Name, Description: s.Description, Content: s.Body, Source: s.Path, Triggers: s.Triggers,
			Always: s.Always, Directory: s.Dir != "", Hidden: s.Dir != "" && !s.Invocable, Own: s.Own,
		})
	}
	return list
}

// agentsOf finds the agents that one in a directory can give tasks to. masked hides the
// secrets of MCP servers.
func agentsOf(ctx context.Context, dir string, user skill.User, own, builtin bool, masked func([]byte) json.RawMessage) []catalogue.Agent {
	if !own {
		user = skill.User{}
	}
	found, _ := definition.Load(ctx, definition.Dirs(dir, user.Home, user.Base)...) // "ohgw agents check" tells of problems
	var list []catalogue.Agent
	add := func(d definition.Definition, source string) {
		var servers json.RawMessage
		if len(d.Servers) > 0 {
			servers = masked(d.Servers)
		}
		list = append(list, catalogue.Agent{
			Name: d.Name, Description: d.Description, Model: d.Model, Prompt: d.Prompt, Color: d.Color, Permission: d.Permission,
			Tools: d.Tools, Skills: d.Skills, Examples: d.Examples, MaxIterations: d.MaxIterations, MaxBudget: d.MaxBudget,
			Servers: servers, Hooks: d.Hooks, Condenser: d.Condenser, NoCondenser: d.NoCondenser,
			ProfileDir: d.ProfileDir, Metadata: d.Metadata, Source: source, User: d.User,
		})
	}
	for _, d := range found {
		add(d, d.Path)
	}
	if !builtin {
		return list
	}
	for _, d := range subagent.Builtin() {
		if !slices.ContainsFunc(found, func(f definition.Definition) bool { return f.Name == d.Name }) {
			add(d, "")
		}
	}
	return list
}

// readProjectFile reads a file below a directory, and follows no link out of it.
func readProjectFile(dir, name string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open project: %w", err)
	}
	defer func() { _ = root.Close() }() // It was only read.
	f, err := root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read project: %w", err)
	}
	defer func() { _ = f.Close() }() // It was only read.
	data, err := io.ReadAll(io.LimitReader(f, maxProjectFile))
	if err != nil {
		return nil, fmt.Errorf("read project: %w", err)
	}
	return data, nil
}

// trial tries MCP servers.
type trial struct {
	env       *setup.Env
	transport http.RoundTripper
	boxes     func(context.Context, engine.BoxEnv) (sandbox.Box, error)
	log       *slog.Logger
	kept      *files.Store // decrypts what a client has of the settings
}

func newTrial(env *setup.Env, kept *files.Store, boxes func(context.Context, engine.BoxEnv) (sandbox.Box, error), log *slog.Logger) *trial {
	return &trial{env: env, kept: kept, transport: llm.NewHTTPClient(env.Getenv).Transport, boxes: boxes, log: log}
}

// login tries a server with a person who can log in.
func (t *trial) login(ctx context.Context, of catalogue.Trial, b logins.Browser) (catalogue.Tried, error) {
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
func (t *trial) run(ctx context.Context, of catalogue.Trial, browser *oauth.Browser) (_ catalogue.Tried, err error) {
	servers, err := json.Marshal(map[string]json.RawMessage{of.Name: t.kept.PlainServer(of.Server)})
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
func (t *trial) loginOf(ctx context.Context, client *mcp.Client, name string) (json.RawMessage, error) {
	state, err := client.Login(ctx, name)
	if err != nil || state.IsZero() {
		return nil, err
	}
	data, err := json.Marshal(state)
	if err != nil {
		return nil, fmt.Errorf("encode the login: %w", err)
	}
	return t.kept.SealedLogin(data)
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
