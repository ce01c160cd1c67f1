// Package control is what OpenHands' own programs may ask of an agent that runs in
// this process, beside what agentapi has for every backend: the conversations as
// they are stored, and each switch of their runs.
//
// Objects of OpenHands that only pass through (an agent, a policy, an event) are
// JSON here, in the form of the agent-server. Secrets in them are in the clear on
// the way in; nothing that comes out has one. Failures are [agentapi.Error]s.
package control

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Engine keeps conversations. Its methods may be called at the same time. An unknown
// id is agentapi.ErrConversationNotFound.
type Engine interface {
	// Start makes a conversation; it runs nothing. If there is one with that id
	// already, created is false and nothing has changed. What cannot be understood
	// is agentapi.ErrRefused, an unknown profile agentapi.ErrProfileNotFound.
	Start(ctx context.Context, s Start) (c Conversation, created bool, err error)
	// Open continues a conversation.
	Open(ctx context.Context, id string) (Conversation, error)
	// Record is a conversation as it is now, without opening it.
	Record(ctx context.Context, id string) (Record, error)
	// List is a page of the conversations, and Count their number.
	List(ctx context.Context, q ListQuery) (ListPage, error)
	Count(ctx context.Context, status event.Status) (int, error)
	// Children are the conversations that say that they are a part of these, the oldest
	// first. One without children, or an unknown one, is not in it.
	Children(ctx context.Context, ids ...string) (map[string][]string, error)
	// LoadPlugin gives a conversation a plugin of the marketplaces that its agent has:
	// "name" or "name@marketplace". ErrNoPlugin where none has it, agentapi.ErrBusy while a
	// run goes on. Handles on the conversation end with ErrReopened, and who watches it opens
	// it again.
	LoadPlugin(ctx context.Context, id, ref string) error
	// Change sets what people say about a conversation. Other tags are an event.
	Change(ctx context.Context, id string, ch Change) error
	// Remove deletes a conversation, interrupting its run; the workspace stays.
	Remove(ctx context.Context, id string) error
	// Rest closes what is open, as before a pause of the machine. Runs are interrupted and
	// stay paused. A conversation is opened again when a client asks for it.
	Rest(ctx context.Context) error

	// Search is a page of the log, CountEvents the number of events that a filter
	// lets through, and Event one of them; none of them opens the conversation. An
	// event that is not in the log is ErrNoEvent.
	Search(ctx context.Context, id string, q EventQuery) (EventPage, error)
	CountEvents(ctx context.Context, id string, f EventFilter) (int, error)
	Event(ctx context.Context, id, eventID string) (json.RawMessage, error)
	// Numbered are the events of a log with the numbers from one on, in a window of limit
	// numbers, and Number is that of an event. The first event has 0.
	Numbered(ctx context.Context, id string, from, limit int) (NumberedPage, error)
	Number(ctx context.Context, id, eventID string) (int, error)
	// Log is the directory of a conversation.
	Log(id string) (dir string, err error)
}

// ErrNoEvent says that the log has no event with that id.
var ErrNoEvent = errors.New("no such event")

// ErrParent says that a conversation cannot be a part of the one that Start.Parent names.
var ErrParent = errors.New("unsuitable parent")

// ErrTaken says that the id of a fork belongs to a conversation already.
var ErrTaken = errors.New("the conversation exists already")

// ErrReopened says that a conversation was closed in order to be opened again at once.
var ErrReopened = errors.New("the conversation is opened again")

// ErrNoPlugin says that no marketplace has a plugin, or that there is no such marketplace.
var ErrNoPlugin = errors.New("no such plugin")

// Conversation is a handle on an open conversation.
type Conversation interface {
	agentapi.Conversation

	// Record is the conversation as it is now.
	Record(ctx context.Context) (Record, error)
	// Append takes a message into the log. With run, a run follows; if one goes on,
	// that one answers. What waits for confirmation is accepted then.
	Append(ctx context.Context, m Message, run bool) error
	// Run starts a run: agentapi.ErrBusy while one goes on. It accepts what waits
	// for confirmation, and does nothing where the agent has finished.
	Run(ctx context.Context) error
	// Pause ends the run after the step in flight; what is idle is paused at once.
	// Interrupt waits a while for the end of the run, and is Pause without one.
	Pause(ctx context.Context) error
	// SetPolicy and SetAnalyzer replace the confirmation policy and the security analyzer.
	// With a nil analyzer, actions are not rated.
	SetPolicy(ctx context.Context, policy json.RawMessage) error
	SetAnalyzer(ctx context.Context, analyzer json.RawMessage) error
	// AddSecrets adds or replaces secrets; a source each, by name.
	AddSecrets(ctx context.Context, sources map[string]json.RawMessage) error
	// SwitchLLM makes the following calls go to another model, an LLM object with
	// its keys in the clear. One with a usage id that the conversation knows is
	// passed over, as OpenHands does.
	SwitchLLM(ctx context.Context, llm json.RawMessage) error
	// Ask asks the model a question about the conversation, which leaves no event.
	Ask(ctx context.Context, question string) (answer string, err error)
	// Navigate makes the event with an id the one that the next one is appended to;
	// "" is the beginning. An unknown one is ErrNoEvent, agentapi.ErrBusy while a
	// run goes on.
	Navigate(ctx context.Context, eventID string) error
	// Copy makes a new conversation that knows the log of this one; see
	// agentapi.Conversation.Fork. An id that is taken is ErrTaken, an unknown event
	// ErrNoEvent.
	Copy(ctx context.Context, f Fork) (Conversation, error)
	// Child makes a conversation that is a part of this one: with its agent, settings,
	// tags and secrets, and a log of its own. It runs nothing.
	Child(ctx context.Context, ch Child) (Conversation, error)
	// StartGoal runs the agent until a judge, a call of its model, says that the
	// objective is reached, or as often as allowed. StopGoal ends that and leaves a run
	// that goes on to its end; so does a message of the user. ResumeGoal goes on.
	// ErrNoGoal where there is none, agentapi.ErrBusy while one goes on.
	StartGoal(ctx context.Context, objective string, iterations int) error
	StopGoal(ctx context.Context) error
	ResumeGoal(ctx context.Context) error
}

// ErrNoGoal says that a conversation has no goal that could be stopped or resumed.
var ErrNoGoal = errors.New("no goal")

// Start is what a conversation begins with: the request of an agent-server's
// POST /api/conversations, its agent found.
type Start struct {
	ID string // a UUID in lower case with dashes; "" lets the engine choose
	// One of these three says who answers. Agent is an agent of OpenHands; Settings
	// are agent_settings, of which the engine makes one; Profile names an LLM
	// profile, which takes the model's place in Settings, or in those of the user
	// where Settings is nil.
	Agent    json.RawMessage
	Settings json.RawMessage
	Profile  string
	// Suffix is appended to the agent's system message suffix.
	Suffix string
	// Skills are Skill objects of OpenHands, which the agent gets besides its own.
	Skills []json.RawMessage

	Workspace string // absolute
	// Prepare makes the workspace once the parent and the agent are found to be good. It may
	// set another one, such as a worktree, and add to Suffix. Nil: the engine makes the
	// directory if it is not there.
	Prepare func(ctx context.Context, s *Start) error
	// Policy and Analyzer are objects of OpenHands; nil: NeverConfirm, and none.
	Policy, Analyzer json.RawMessage
	MaxIterations    int // 0: OpenHands' 500
	// NoStuck switches the detection of repetitions off.
	NoStuck bool
	Secrets map[string]json.RawMessage // a source each, by name
	Tags    map[string]string
	Parent  string // the conversation that this one is a part of
	// Hooks are OpenHands' hook_config; nil: none.
	Hooks json.RawMessage
	// Plugins are what the agent gets beside its own, in this order.
	Plugins []Plugin
	// Title has a model find a title after the first message.
	Title bool
	// Request is the request as it came, without secrets, to be kept in meta.json
	// with what is not named here.
	Request json.RawMessage
}

// Plugin is where a plugin is, as OpenHands' PluginSource says it.
type Plugin struct {
	Source string // a directory of this machine, absolute or of the home directory, or its file URL
	Ref    string // a branch, a tag or a commit of a repository
	Path   string // of the plugin below its source
}

// Record is a conversation as it is stored, without secrets.
type Record struct {
	ID string
	// State is the object of base_state.json, and Meta that of meta.json. What
	// would be a secret in them is "**********".
	State, Meta      json.RawMessage
	Title            string
	Created, Updated time.Time
	Status           event.Status
	// LeftOut is how many events are on the disk behind one that is missing: no page,
	// and no archive's reader, has them. It is told of a single record, in no list.
	LeftOut int
}

// Orders of lists.
const (
	ByCreated     = "CREATED_AT"
	ByUpdated     = "UPDATED_AT"
	ByCreatedDesc = "CREATED_AT_DESC" // the default
	ByUpdatedDesc = "UPDATED_AT_DESC"
)

// ListQuery selects a page of conversations.
type ListQuery struct {
	// From is the id that the page begins with; "" is the first. An unknown one is
	// the first, too, as with an agent-server.
	From   string
	Limit  int
	Status event.Status // "" is every one
	Order  string       // one of the orders of lists; "" is ByCreatedDesc
}

// ListPage is a part of the list of conversations.
type ListPage struct {
	Records []Record
	Next    string // the id that the next page begins with; "" at the end
	// LeftOut are the conversations that cannot be read, on the first page of a list of
	// every status.
	LeftOut []LeftOut
}

// LeftOut is a conversation that is in no list.
type LeftOut struct {
	ID     string
	Reason string // a sentence with what to do
}

// Change is what people say about a conversation; nil leaves it as it is.
type Change struct {
	Title *string
	Tags  map[string]string // in the place of all that there are, but ohgw's own
}

// EventFilter lets events through. A zero field lets all through.
type EventFilter struct {
	Kind   string // a class name such as MessageEvent, with or without its module
	Source string // agent, user, environment or hook
	Body   string // a part of a message's text, in any case
	// From and Before bound the timestamps, which are local time without a zone: the
	// first is let through, the second is not.
	From, Before string
}

// EventQuery selects a page of a log.
type EventQuery struct {
	EventFilter

	Page   string // the id of the event that the page begins with; "" is the first
	Limit  int    // 1 to agentapi.MaxEvents
	Newest bool   // from the end of the log towards its beginning
}

// EventPage is a part of a log: the events as they are stored.
type EventPage struct {
	Events []json.RawMessage
	Next   string // the id of the event that the next page begins with; "" at the end
	// LeftOut is how many events are on the disk behind one that is missing.
	LeftOut int
}

// NumberedPage is a part of a log. An event that cannot be read is left out, and its
// number with it.
type NumberedPage struct {
	Events []Numbered
	Length int // of the whole log
	// LeftOut is how many events are on the disk behind one that is missing.
	LeftOut int
}

// Numbered is an event as it is stored, with its place in the log.
type Numbered struct {
	Number int
	Event  json.RawMessage
}

// Message is a message of the user.
type Message struct {
	Content []event.Content
	Sender  string
}

// Fork says what a new conversation takes along.
type Fork struct {
	ID    string // "" lets the engine choose
	Title string
	Tags  map[string]string // nil: those of the source
	From  string            // the last event; "" is the whole log
	// KeepMetrics takes the statistics along.
	KeepMetrics bool
}

// Child says how a part of a conversation differs from the whole.
type Child struct {
	ID    string // "" lets the engine choose
	Title string
	// Workspace is where it works; "" is where the whole does. Worktree says that it is
	// a worktree of its own, and Suffix is told to the agent about it.
	Workspace string
	Worktree  bool
	Suffix    string
}
