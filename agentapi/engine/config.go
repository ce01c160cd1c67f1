package engine

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"path/filepath"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/modelset"
	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/store/journal"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
	"github.com/ohgw/ohgw/agentapi/engine/team"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/uuid"
)

// Config says where conversations are kept and what agents are made of. Dir,
// Profiles, NewModel and NewTools are required.
type Config struct {
	// Dir holds one directory for each conversation; it is made when needed.
	Dir      string
	Profiles modelset.Profiles
	// Agents are models besides the profiles. Nil: there are none.
	Agents Agents
	// Opened is told the workspace of each conversation that is opened. It may be nil.
	Opened func(workspace string)
	// NewModel makes a model of a profile's LLM object with its keys. usage is
	// the key of its numbers in a conversation's statistics.
	NewModel func(p Profile, usage string) (llm.Model, error)
	// NewTools makes the tools of a conversation.
	NewTools func(ctx context.Context, e ToolEnv) ([]tool.Tool, error)
	// Boxes makes the box of a conversation, in which all its programs run; it is
	// asked before the tools are made, and the box is closed after them. Nil:
	// programs run outside of every sandbox. An error ends the run that needs the
	// tools; the next one asks again.
	Boxes func(ctx context.Context, e BoxEnv) (sandbox.Box, error)
	// Sandbox says which boxes Boxes makes; it does not wait. Nil: none that takes
	// anything away.
	Sandbox func() agentapi.SandboxStatus
	// Allow answers what the box of a conversation has refused; the conversation
	// need not be open. Nil: such answers are agentapi.ErrUnsupported.
	Allow func(ctx context.Context, e BoxEnv, g agentapi.Grant) error
	// Settings are those of OpenHands; asked for each new conversation. Nil:
	// the defaults.
	Settings func(ctx context.Context) (Settings, error)
	// Confirm says which actions of new conversations wait for a person; empty:
	// those that the settings say.
	Confirm agentapi.Confirmation
	// Titles has the model find a title for each new conversation that is not a one-shot, in
	// a call of its own. Without it they have none: chat clients make their own.
	Titles  bool
	Version string // of this engine, for Status
	// Home is the user's home directory, and Base OpenHands' directory of the user, for
	// skills, agents, hooks and SOUL.md. Empty: none. Base is .openhands in Home if it is
	// not named.
	Home, Base string
	// Seal encrypts a secret for a conversation's directory, and Unseal does
	// the reverse. Without Seal the values are left out there: they come from
	// the settings again when the conversation is opened.
	Seal   func(value string) (string, error)
	Unseal func(stored string) (string, error)
	HTTP   *http.Client // for secrets that are looked up; nil: one of its own
	// BaseURL is the address of this server, for secrets that are looked up at a
	// path of it. Nil: none can be.
	BaseURL func() string
	// SkillEnv is the environment of commands inside of skills.
	SkillEnv []string
	// PromptSize says how much agents are told. The zero value: by the context of the
	// model.
	PromptSize conversation.PromptSize
	// MaxCost ends a run when its conversation has cost that much, in US
	// dollars; 0: no limit. OpenHands has no setting for it.
	MaxCost float64
	// Idle is how long an unused conversation stays open, with the
	// processes of its tools. Default: 30 min.
	Idle time.Duration
	// MaxIdle is how many such conversations stay open, and IdleMemory how much
	// memory they may hold together, in bytes. Beyond that, the one that was unused
	// for longest is closed. Closing loses the shell and what runs in it, nothing
	// else: the next message opens the conversation again.
	// Defaults: 100 and 128 MiB; a negative MaxIdle: none.
	MaxIdle    int
	IdleMemory int64
	// Grace is how long an interrupted call or tool may take to obey before it
	// is left alone. Default: 10 s.
	Grace time.Duration

	Holder store.Holder // who takes leases: this process
	Files  store.Files  // nil: the real disk
	Now    func() time.Time
	NewID  func() string // default: random UUIDs
	Log    *slog.Logger  // default: nothing is logged
	// TellsLeftOut says that whoever lists conversations tells which ones are damaged:
	// then the log does not.
	TellsLeftOut bool

	journal *journal.Journal // of [New]
}

// Profile is an LLM profile that can be called.
type Profile = modelset.Profile

// Profiles is where LLM profiles come from.
type Profiles = modelset.Profiles

// Settings are what OpenHands' settings say about conversations.
type Settings struct {
	// Agent is the object agent_settings, its secrets in the clear; nil: none.
	Agent json.RawMessage
	// MaxIterations is the number of steps of a run. 0: OpenHands' 500.
	MaxIterations int
	// Confirm says which actions wait for a person. Config.Confirm comes first.
	Confirm agentapi.Confirmation
	// Browser gives the agent a browser, where its tools are the standard ones.
	Browser bool
	// Analyzer has the model rate the risk of its actions.
	Analyzer bool

	least agentapi.Confirmation // at least these actions wait, whatever is chosen
}

// BoxEnv is what a box is made for.
type BoxEnv struct {
	Conversation string // its id
	Dir          string // its directory, absolute: not for its programs, but for observations in it
	Workspace    string // absolute
	Profile      string // the only one that the agent has had; "" if it had others, or if that is not known
	// Blocked is told what the box refuses, as soon as that happens. It does not wait.
	// It may be nil.
	Blocked func(sandbox.Block)
	// ReadOnly says that programs do not change the workspace.
	ReadOnly bool
	// Progress is told a line about what programs in the box wait for. It may be nil.
	Progress func(line string)
	// Read are files and directories that the box shows beside those of the agent's: it is
	// for the user's hooks, and not where a person answers what is refused.
	Read []string
	// Shown are directories without links that the box shows, read-only, besides those of
	// every agent: those of the conversation's plugins.
	Shown []string
	// Memory is the directory of the user's notes, without links, which the box shows and
	// programs write; "": none. Programs of a conversation that is ReadOnly only read it.
	Memory string
}

// ToolEnv is what tools are made of.
type ToolEnv struct {
	Box          sandbox.Box // where their programs run
	Conversation string      // its id
	Dir          string      // its directory, for outputs that are too long
	Workspace    string
	ReadOnly     bool              // as in [BoxEnv]
	Profile      string            // as in [BoxEnv]
	Shown        []string          // as in [BoxEnv]
	Memory       string            // as in [BoxEnv]
	Agent        storedagent.Agent // what of it says which tools it has
	Team         *team.Team        // that answers in the conversation; nil: there is no team
	Panel        *team.Panel       // has all members answer; nil: they do not
	Servers      json.RawMessage   // MCP servers as in mcp_config, secrets in the clear; nil: none
	Host         conversation.Host
	// Profiles lists the names of the profiles there are.
	Profiles func(ctx context.Context) ([]string, error)
	// SwitchOwn makes the next call go to an LLM of the agent's meta-profile, and gives
	// the name of its model.
	SwitchOwn func(ctx context.Context, name string) (model string, err error)
	Secrets   *secretenv.Registry // of the conversation and of the settings
	// Watch is given what lists the MCP servers as they are at the moment. May be
	// nil.
	Watch func(status func() []agentapi.MCPServer)
	// New is true if the conversation has no message yet: its agent was made for this
	// engine, so an unknown tool is an error.
	New bool
	// HadShell says that the log has results of a terminal, whose shell is gone.
	HadShell bool
	Log      *slog.Logger
}

// complete returns the configuration with the defaults of what it leaves out.
func (cfg Config) complete() *Config {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Base == "" && cfg.Home != "" {
		cfg.Base = filepath.Join(cfg.Home, ".openhands")
	}
	if cfg.NewID == nil {
		cfg.NewID = uuid.New
	}
	if cfg.Boxes == nil {
		cfg.Boxes = func(context.Context, BoxEnv) (sandbox.Box, error) {
			return sandbox.Outside(sandbox.Off, sandbox.Mark{}), nil
		}
	}
	if cfg.Opened == nil {
		cfg.Opened = func(string) {}
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.HTTP == nil {
		cfg.HTTP = &http.Client{}
	}
	if cfg.Idle == 0 {
		cfg.Idle = defaultIdle
	}
	if cfg.MaxIdle == 0 {
		cfg.MaxIdle = defaultMaxIdle
	}
	cfg.MaxIdle = max(0, cfg.MaxIdle)
	if cfg.IdleMemory == 0 {
		cfg.IdleMemory = defaultIdleMemory
	}
	return &cfg
}
