package conversation

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/condenser"
	"github.com/ohgw/ohgw/agentapi/engine/critic"
	"github.com/ohgw/ohgw/agentapi/engine/hook"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/budget"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// Config is what a conversation needs of the engine. Every field without a
// default is required.
type Config struct {
	Dir    *store.Dir
	Models Models
	// Model says which model answers when the conversation is opened.
	Model Choice
	// PromptSize says how much the agent is told; the zero value: AutoPrompt.
	PromptSize PromptSize
	// Condenser says when the history is too long; the zero value: never.
	Condenser condenser.Settings
	// Tools makes the conversation's tools; it is called once, before the
	// first message is taken.
	Tools func(ctx context.Context, host Host) ([]tool.Tool, error)
	// ModelName is the model of the stored agent, as the statistics begin with it.
	ModelName string
	// Schemas are shared with other conversations. May be nil.
	Schemas *tool.Schemas
	// Secrets are masked in all that is stored, shown to the model and told to
	// watchers. May be nil.
	Secrets *secretenv.Registry
	// Prompt is what the agent is told besides its history.
	Prompt Prompt
	// Hooks are told of what happens, and may refuse it. May be nil.
	Hooks *hook.Runner
	// HookAgent has an agent answer for a hook of a conversation with that state, and returns
	// what that has cost, also with an error.
	HookAgent func(ctx context.Context, parent store.State, q hook.Question) (answer string, spent event.Stats, err error)
	// Critic scores the work of the agent, and may send it back to work. May be nil.
	Critic *critic.Critic
	// Concurrency is how many calls of one answer may run at once. Default: 1.
	Concurrency int
	// Titles has the model find a title for a new conversation.
	Titles bool
	// MaxCost ends a run when the conversation has cost that much, in US
	// dollars. 0: no limit.
	MaxCost float64
	// MaxRun ends a run when that run, with its sub-agents, has taken that much.
	MaxRun budget.Amount
	// Unasked says that the agent does what the person has asked for, so that its calls
	// are not confirmed: its sub-agents ask for what they do.
	Unasked bool
	// RunEnded is told that a run has ended. It must not wait for the
	// conversation. May be nil.
	RunEnded func()
	// Memory is kept at what the conversation holds in memory, in bytes: an
	// estimate by what its model is shown. May be nil.
	Memory *atomic.Int64
	// Grace is how long an interrupted call or tool may take to obey before it
	// is left alone. Default: 10 s.
	Grace time.Duration
	Now   func() time.Time
	NewID func() string
	Log   *slog.Logger
}

// stamp is the time now, as events have it.
func (cfg *Config) stamp() string { return cfg.Now().Format(timestampFormat) }

// Choice is a profile and the key of its numbers in the statistics.
type Choice struct{ Profile, Usage string }

// Models gives the models that profiles stand for. Its errors are
// [agentapi.Error]s.
type Models interface {
	// Model is the model as its profile is now. It is asked at the beginning of
	// each run, so a model must not be made again for an unchanged profile.
	Model(ctx context.Context, c Choice) (llm.Model, error)
	// Switched is the choice of a profile in a conversation that used another,
	// and the stored agent with that profile's model.
	Switched(ctx context.Context, agent json.RawMessage, profile string) (Choice, json.RawMessage, error)
}

// Prompt is what the agent is told besides its history.
type Prompt interface {
	// System is what a SystemPromptEvent holds besides the tools; dynamic may
	// be empty.
	System(tools []tool.Definition, model string) (static, dynamic string)
	// Small is System for a model with a small context.
	Small(tools []tool.Definition, model string) (static, dynamic string)
	// Message finds what belongs to a message of the user: the contents of the
	// skills that it triggers, without those that are active already.
	Message(text string, active []string) (extended []event.Content, activated []string)
	// Path finds the rules for a file that a tool looked at.
	Path(path string, active []string) (extended []event.Content, activated []string)
}

// Host is what tools may ask of their conversation while they run.
type Host interface {
	// Switch makes the next call of the model go to another profile, and gives
	// the name of its model.
	Switch(ctx context.Context, profile string) (model string, err error)
	// SwitchOwn is Switch to a model of the conversation's own.
	SwitchOwn(ctx context.Context, usage string, change func(agent json.RawMessage) (json.RawMessage, error)) error
	// Recent is what the last n messages say.
	Recent(ctx context.Context, n int) (string, error)
	// Consult asks a model something that is not part of the conversation.
	Consult(ctx context.Context, choice Choice, system, user string) (string, error)
	// SkillInvoked records that the model has read a skill.
	SkillInvoked(ctx context.Context, name string) error
	// Notice tells the model and the person something about the agent's
	// surroundings, with the next message of the user, once in a conversation.
	Notice(text string)
	// Blocked tells the model and those who watch what a box has refused. It does
	// not wait, and may be called at any time.
	Blocked(b sandbox.Block)
	// ExplainPaths says how to find out whether a path that a command failed at is
	// refused. What it says is told, and nothing is decided by it.
	ExplainPaths(explain func(path string) (sandbox.Block, bool))
	// Vision reports whether the model that answers next is shown images.
	Vision() bool
	// Progress tells those who watch a line about what a tool is doing.
	Progress(line string)
	// Spent replaces what the statistics have under a key by the sum of others.
	Spent(ctx context.Context, key string, s event.Stats) error
	// Meter limits the runs of sub-agents to what is left of this conversation's run.
	Meter(ctx context.Context) (agentapi.Meter, error)
	// Stored is the state as it is stored.
	Stored(ctx context.Context) (store.State, error)
	// ReplaceMCP offers other tools in the place of those of MCP servers, from
	// the next step on. It does not wait for it.
	ReplaceMCP(tools []tool.Tool)
}
