// Package toolset puts the tools of a conversation together: those that its
// agent has stored, made for its workspace.
package toolset

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/browser"
	"github.com/ohgw/ohgw/agentapi/engine/tool/builtin"
	"github.com/ohgw/ohgw/agentapi/engine/tool/mcp"
	"github.com/ohgw/ohgw/agentapi/engine/tool/mcp/oauth"
	"github.com/ohgw/ohgw/agentapi/engine/tool/task"
	"github.com/ohgw/ohgw/agentapi/engine/tool/terminal"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/routing"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// Config is what tools need of this machine.
type Config struct {
	Environ    []string // of this process; tools get a part of it
	User, Host string   // as named in results
	// Confined keeps the file editor inside of the workspace.
	Confined bool
	// LookupEnv resolves ${NAME} in the settings of MCP servers.
	LookupEnv func(name string) (string, bool)
	HTTP      http.RoundTripper // for remote MCP servers
	Version   string            // of ohgw, which MCP servers are told
	Logins    oauth.Store       // to MCP servers, those of OpenHands' settings; may be nil
	Now       func() time.Time  // for the ends of logins; nil: the time of the system
	// Router finds the meta-profile of an agent, by its name and its copy in the agent; ""
	// is the first one there is. Nil: there is none.
	Router func(name string, inline []byte) (*routing.Router, error)
	// Shared is the box of the MCP servers that conversations at the levels Off and
	// External share; nil: one that is never closed.
	Shared sandbox.Box
	// Browser opens the browser of a conversation. Its error says why there is none. Nil:
	// there is never one.
	Browser func(ctx context.Context, e engine.ToolEnv, files BrowserFiles) (browser.Browser, error)
}

// New returns what makes the tools of a conversation. Tools of the stored agent
// that are not built here are left out and logged; the model is told which
// there are, and a stored call of another one is answered. The conversations of
// what New gives share MCP servers.
func New(cfg Config) func(context.Context, engine.ToolEnv) ([]tool.Tool, error) {
	if cfg.Shared == nil {
		cfg.Shared = sandbox.Outside(sandbox.Off, sandbox.Mark{})
	}
	pool := mcp.NewPool(cfg.Shared)
	shell := sync.OnceValue(func() string {
		path, err := sandbox.Find("bash", cfg.Environ)
		if err != nil {
			return "" // the terminal says so
		}
		return path
	})
	return func(ctx context.Context, e engine.ToolEnv) ([]tool.Tool, error) {
		m := maker{cfg: cfg, env: e, pool: pool, shell: shell}
		m.cfg.Environ = sandbox.EnvironOf(e.Box, cfg.Environ)
		if err := m.all(ctx); err != nil {
			for _, t := range m.tools {
				err = errors.Join(err, t.Close())
			}
			return nil, err
		}
		return m.tools, nil
	}
}

// Names are the names of the tools that a stored agent can have.
func Names() []string {
	return []string{"apply_patch", BrowserSet, "file_editor", "glob", "grep", "planning_file_editor", "task_tool_set", "task_tracker", "terminal"}
}

// Knows reports whether a tool of that name is one of this engine or of OpenHands.
// An agent with another one cannot start.
func Knows(name string) bool {
	switch name {
	case "TerminalTool", "FileEditorTool", "TaskTrackerTool", browserClass, "ClassifyAndSwitchLLMTool", builtin.RouteName:
		return true
	}
	return slices.Contains(Names(), name) || isOpenHands(name)
}

// isOpenHands reports whether a tool is one of OpenHands' own, by its name or that of
// its class, which this engine does not have: an agent can do without it.
func isOpenHands(name string) bool {
	switch name {
	case "task_tool_set", "task", "workflow_tool_set", "workflow",
		"edit", "write_file", "read_file", "list_directory", "delegate",
		"TaskToolSet", "WorkflowToolSet", "DelegateTool":
		return true
	}
	return false
}

// isTask reports whether a tool is that of sub-agents.
func isTask(name string) bool {
	return name == "task_tool_set" || name == "task" || name == "TaskToolSet"
}

// spec is a tool in a stored agent.
type spec struct {
	Name   string          `json:"name"`
	Params json.RawMessage `json:"params"`
}

type maker struct {
	cfg   Config
	env   engine.ToolEnv
	pool  *mcp.Pool
	shell func() string // where bash is, looked up once
	tools []tool.Tool
}

// member decodes a member of an agent. One that is missing or null leaves v as it is.
func member(agent storedagent.Agent, name string, v any) error {
	data := agent[name]
	if len(data) == 0 || string(data) == "null" {
		return nil
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("read %s of the agent: %w", name, err)
	}
	return nil
}

func (m *maker) all(ctx context.Context) error {
	var specs []spec
	if err := member(m.env.Agent, "tools", &specs); err != nil {
		return err
	}
	defaults := []string{"FinishTool", "ThinkTool"}
	if err := member(m.env.Agent, "include_default_tools", &defaults); err != nil {
		return err
	}
	for _, s := range specs {
		if s.Name == BrowserSet || s.Name == browserClass {
			m.browser(ctx)
			continue
		}
		t, err := m.make(ctx, s)
		if err != nil {
			return err
		}
		if t == nil && m.env.New && !isOpenHands(s.Name) {
			return fault.New(fmt.Sprintf("the embedded engine has no tool %q", s.Name), "start a conversation whose agent has no such tool", nil)
		}
		if t == nil && isTask(s.Name) {
			continue // the engine makes it
		}
		if t == nil {
			m.env.Log.Warn("the agent has a tool that the embedded engine does not have", "conversation", m.env.Conversation, "tool", s.Name)
			continue
		}
		m.tools = append(m.tools, t)
	}
	for _, name := range defaults {
		m.builtin(ctx, name)
	}
	return m.servers(ctx)
}

// builtin adds a tool that needs no parameters, by the name of its class.
func (m *maker) builtin(ctx context.Context, name string) {
	switch name {
	case "FinishTool":
		m.tools = append(m.tools, builtin.Finish())
	case "ThinkTool":
		m.tools = append(m.tools, builtin.Think())
	case "SwitchLLMTool":
		m.tools = append(m.tools, builtin.SwitchLLM(switcher{ctx, m.env}))
	case "ClassifyAndSwitchLLMTool":
		m.tools = append(m.tools, m.router(ctx, storedagent.RouteParams{}))
	default:
		m.env.Log.Warn("the agent has a tool that the embedded engine does not have", "conversation", m.env.Conversation, "tool", name)
	}
}

// make makes a tool, nil if there is none of that name. Older conversations
// have the names of classes.
func (m *maker) make(ctx context.Context, s spec) (tool.Tool, error) {
	switch s.Name {
	case "terminal", "TerminalTool":
		cfg := terminal.Config{
			Dir: m.env.Workspace, ID: m.env.Conversation, Environ: m.cfg.Environ, Box: m.env.Box, User: m.cfg.User, Host: m.cfg.Host,
			SaveDir: filepath.Join(m.env.Dir, "observations"), Secrets: m.env.Secrets,
			Replaced: m.env.HadShell,
		}
		var err error
		if cfg.Params, err = terminal.ParseParams(s.Params); err != nil {
			return nil, err
		}
		cfg.Params.ShellPath = cmp.Or(cfg.Params.ShellPath, m.shell())
		return made(terminal.New(cfg))
	case "file_editor", "FileEditorTool":
		return m.editor()
	case "task_tracker", "TaskTrackerTool":
		return made(task.New(m.env.Dir))
	case "ClassifyAndSwitchLLMTool", builtin.RouteName:
		return m.routerOf(ctx, s.Params)
	}
	if t, err := m.makeFound(s); t != nil || err != nil {
		return t, err
	}
	return builtin.Client(s.Name, s.Params), nil
}

// made keeps a nil pointer from becoming a tool.
func made[T tool.Tool](t T, err error) (tool.Tool, error) {
	if err != nil {
		return nil, err
	}
	return t, nil
}

// servers adds the tools of the MCP servers. One that cannot be used is told of,
// and the conversation goes on without it.
func (m *maker) servers(ctx context.Context) error {
	if len(m.env.Servers) == 0 {
		return nil
	}
	client, err := mcp.Connect(ctx, mcp.Config{
		Servers: m.env.Servers, Dir: m.env.Workspace, Environ: m.cfg.Environ, LookupEnv: m.cfg.LookupEnv,
		Secrets: m.env.Secrets, HTTP: m.cfg.HTTP, Version: m.cfg.Version, Log: m.env.Log.With("conversation", m.env.Conversation), Changed: m.env.Host.ReplaceMCP, Pool: m.pool,
		Box: m.ownBox(), Conversation: m.env.Conversation, Logins: m.cfg.Logins, Now: m.cfg.Now,
	})
	if err != nil {
		return err
	}
	if m.env.Watch != nil {
		m.env.Watch(client.Status)
	}
	for _, warning := range client.Warnings() {
		m.env.Log.Warn("an MCP server cannot be used", "conversation", m.env.Conversation, "err", warning)
		m.env.Host.Notice(missing(warning, "Its"))
	}
	for _, partial := range client.Partial() {
		m.env.Log.Warn("some tools of an MCP server cannot be used", "conversation", m.env.Conversation, "err", partial)
		m.env.Host.Notice(missing(partial, "These"))
	}
	tools := client.Tools()
	if len(tools) == 0 {
		return client.Close()
	}
	tools[0] = closer{tools[0], client.Close}
	m.tools = append(m.tools, tools...)
	return nil
}

// ownBox is the conversation's box if what runs in it cannot be shared.
func (m *maker) ownBox() sandbox.Box {
	if m.env.Box == nil || m.env.Box.Level() == sandbox.Off || m.env.Box.Level() == sandbox.External {
		return nil
	}
	return m.env.Box
}

// missing tells the model and the person about a server that cannot be used, or tools
// of it, without the cause, which may be the output of a stranger's program.
func missing(warning error, whose string) string {
	why := "An MCP server cannot be used"
	more := "The log of ohgw serve has the cause."
	if f, ok := errors.AsType[*fault.Error](warning); ok {
		why = strings.ToUpper(f.Msg[:1]) + f.Msg[1:]
		if oauth.Needed(warning) {
			more = "To use them, " + f.Hint + "."
		}
	}
	return why + ". " + whose + " tools are missing in this conversation; continue without them. " + more
}

// closer is the one of a client's tools that ends the client.
type closer struct {
	tool.Tool
	end func() error
}

// Close ends the client.
func (c closer) Close() error { return c.end() }

// switcher is the conversation as the tool switch_llm sees it.
type switcher struct {
	ctx context.Context
	env engine.ToolEnv
}

func (s switcher) Profiles() ([]string, error) {
	return s.env.Profiles(context.WithoutCancel(s.ctx))
}

func (s switcher) SwitchLLM(ctx context.Context, profile string) (string, error) {
	return s.env.Host.Switch(ctx, strings.TrimSpace(profile))
}
