// Package agentapi is what an OpenHands agent is to ohgw: the seam between the
// gateway and whatever runs the agent.
//
// A [Backend] knows profiles and conversations. A [Conversation] takes one
// user message at a time and can be watched: its [Stream] is OpenHands' own
// events. What those events mean for an answer is decided in agentapi/turn;
// a backend never does, and a gateway never does. docs/adr/0002 walks one
// prompt through these types for each backend.
//
// Two rules hold everywhere. Watching and running are two things: ending a
// watch never stops a run, and only [Conversation.Interrupt] does. And an
// error says what became of the request (see [Error]), because a client may
// repeat what was not started and must not repeat what may have been.
package agentapi

import (
	"context"
	"time"

	"github.com/ohgw/ohgw/agentapi/event"
)

// Backend is something that runs OpenHands agents. Its methods may be called
// at the same time.
type Backend interface {
	// Status asks the backend how it is. It never fails: not being reachable
	// is part of the answer.
	Status(ctx context.Context) Status

	// Profiles lists the LLM profiles, and the agents that are models, in the order
	// of their names.
	Profiles(ctx context.Context) ([]Profile, error)

	// Open makes the conversation req.ID, or continues it if it exists. It
	// starts no run. An unknown profile is ErrProfileNotFound.
	Open(ctx context.Context, req OpenRequest) (Conversation, error)

	// Remove deletes a conversation, interrupting its run. The workspace
	// stays. An unknown id is ErrConversationNotFound.
	Remove(ctx context.Context, id string) error

	// About describes a conversation without opening it. An unknown id is
	// ErrConversationNotFound.
	About(ctx context.Context, id string) (About, error)

	// Events reads a page of the log of a conversation without opening it: a run
	// may be going on, and none is started. What cannot be decoded is left out.
	// An unknown id is ErrConversationNotFound; an event that is not in the log
	// is ErrRefused.
	Events(ctx context.Context, id string, q EventQuery) (EventPage, error)

	// Extensions lists the MCP servers and the skills of a conversation without
	// opening it or starting anything. An unknown id is ErrConversationNotFound.
	Extensions(ctx context.Context, id string) (Extensions, error)

	// Close lets go of everything the backend holds here. Runs in a server of
	// their own go on.
	Close() error
}

// Conversation is a handle on one conversation. Messages are sent one at a
// time: the caller waits for a turn to end before it sends the next.
type Conversation interface {
	// Info is how the conversation was when it was opened.
	Info() Info

	// State asks for the state now, statistics included.
	State(ctx context.Context) (event.State, error)

	// Watch opens a stream of the conversation's events. With after "" it
	// brings what is new; with the id of an event, everything after that one;
	// with FromStart, everything.
	Watch(ctx context.Context, after string) (Stream, error)

	// Send appends a user message and starts a run. It returns when the
	// backend has taken the message, not when the run ends. ErrFull where the backend
	// has no room for the run.
	Send(ctx context.Context, m Message) error

	// Decide answers a conversation that waits for confirmation. Accepting
	// starts a run, ErrFull where there is no room for it; rejecting leaves the
	// conversation idle.
	Decide(ctx context.Context, d Decision) error

	// Interrupt stops the run at once, its LLM call and tools included. It
	// returns when the backend has taken the request; the stream tells the end.
	// Without a run it does nothing.
	Interrupt(ctx context.Context) error

	// Switch makes the following turns use another profile: ErrUnsupported
	// where the backend cannot, ErrProfileNotFound for an unknown profile.
	Switch(ctx context.Context, profile string) error

	// Confirm makes the following actions wait for a person as the mode says, and
	// has them rated where the mode needs that. What waits already goes on
	// waiting. ErrUnsupported where the backend cannot.
	Confirm(ctx context.Context, mode Confirmation) error

	// Condense replaces what was said and done earlier by a summary of the model,
	// for all that the model is sent from now on. The log keeps it. It returns
	// when that is done, after a call of the model. ErrBusy while a run goes on,
	// ErrRefused while actions wait for a person, ErrUnsupported where the backend
	// cannot. After an error, and without Done, nothing has changed.
	Condense(ctx context.Context) (Condensed, error)

	// Fork makes a new conversation that knows the log of this one up to an
	// event, with the same profile, system text, workspace and rules of
	// confirmation. The copied events keep their ids, the statistics begin at
	// zero, nothing runs, and this conversation stays as it is: it may be
	// running, and its step in flight may have to be waited for.
	// ErrUnsupported where the backend cannot; ErrRefused for an event that is
	// not in the log, or an id that is taken.
	Fork(ctx context.Context, req ForkRequest) (Conversation, error)

	// Close lets go of the handle. The conversation stays, its run goes on.
	Close() error
}

// Stream is the events of one conversation, in the order of its log.
//
//   - The first event is a full_state update: the state before everything that
//     follows.
//   - Events with a place in the log come exactly once. Deltas come before the
//     event they belong to and are not repeated.
//   - A full_state update also follows whatever had to be fetched (every replay,
//     even an empty one; a connection that was lost and found again), and every
//     end of a run.
//   - When the backend is lost for good, Next fails with ErrLost.
type Stream interface {
	// Next waits for the next event. Its error is ctx's, or final.
	Next(ctx context.Context) (event.Event, error)
	// Close ends the watch and frees all that belongs to it.
	Close() error
}

// FromStart asks Watch for the whole log.
const FromStart = "start"

// Status is how a backend is.
type Status struct {
	Name    string   // "agent-server", "embedded", "cloud"
	Version string   // of the agent, e.g. "1.43.1"; empty while unknown
	Address string   // where it is, without credentials; empty in this process
	Missing []string // what this version lacks, each a short sentence
	Err     error    // why it cannot be used now; nil when it can
	// SharesFiles says that paths of this machine are the same files to the
	// agents: a conversation can work in any directory of this machine.
	SharesFiles bool
	// Members are the servers of a pool, in the order of the configuration; nil: there
	// is no pool.
	Members []Member
}

// Profile is one model of the gateway: an LLM profile of OpenHands, or an agent
// with a model, tools and limits of its own.
type Profile struct {
	Name     string
	Model    string    // as stored, e.g. "anthropic/claude-sonnet-4-5"
	BaseURL  string    // empty: the provider's own
	Active   bool      // the profile that is used when none is named
	Modified time.Time // when it was last written; zero if unknown
	// Revision changes when the profile or the settings change, as far as the
	// backend can see. It has no other meaning.
	Revision string
	// Agent is the name of an agent for people, and Description when to use it. An
	// LLM profile has neither. Name is then made of the name, see [AgentPrefix] and
	// [TeamPrefix], and Model is that of its LLM profile.
	Agent, Description string
}

// OpenRequest selects a conversation, and how to create it if it is new.
type OpenRequest struct {
	// ID is a UUID in lower case with dashes. The caller makes it.
	ID string
	// New promises that the id was just made: no conversation has it yet, so the backend
	// does not look for one.
	New bool
	// Existing asks for no new conversation: an unknown id is
	// ErrConversationNotFound. Not together with New.
	Existing bool
	// Once says that no other turn is expected. What a backend keeps in memory
	// and running for the next turn, such as a shell, it may end as soon as the
	// run has ended and the handle is closed. The conversation stays as it is:
	// it can be opened again, and a later Open without Once takes this back.
	Once bool
	// Unkept says that the conversation does not have to outlive a loss of power. A backend
	// in this process does not wait for the disk then. A later Open without Unkept takes
	// this back, also for what happened before.
	Unkept bool
	// OneShot says that a new conversation is removed after its turn: its agent keeps no
	// notes for later ones, and it gets no title.
	OneShot bool
	// Profile is the Name of the [Profile] for a new conversation.
	Profile string
	// Workspace is the directory in which a new conversation works, on the
	// machine of the backend.
	Workspace string
	// ReadOnly says that a new conversation does not change its workspace. It takes
	// a sandbox of ohgw: see [Sandboxed].
	ReadOnly bool
	// System is appended to the agent's own system prompt in a new conversation.
	System string
	// Progress is called with a line about what takes a while before the
	// conversation is open, such as the start of a sandbox. May be nil.
	Progress func(line string)
}

// ForkRequest selects what a fork copies from its source.
type ForkRequest struct {
	// ID is the new conversation's: a UUID as in OpenRequest, just made.
	ID string
	// From is the last event that it has. Empty: the whole log.
	From string
}

// Info is how a conversation was when it was opened.
type Info struct {
	ID      string
	Created bool   // this Open made it
	Profile string // the Name of its Profile; empty if the backend does not report it
	// OwnModel says that the agent answers with a model of its own, which is not the model
	// of a profile.
	OwnModel bool
	// SystemKnown reports whether the backend knows the system text the
	// conversation was made with, and System is that text.
	SystemKnown bool
	System      string
	Workspace   string
	ReadOnly    bool // as in OpenRequest
}

// Message is one message of the user.
type Message struct {
	Text   string
	Images []string // data URLs, or http(s) URLs for the model's provider
	// Meter limits the run that the message starts, where the backend is in this process.
	// Nil: the run has no limit beside its agent's.
	Meter Meter
}

// Goal is what a message is to reach.
type Goal struct {
	Objective string
	Rounds    int // how often a judge looks at most, from 1
}

// Pursuer is a [Conversation] that may be able to pursue goals.
type Pursuer interface {
	// Pursues returns nil where the conversation can pursue a goal as it is now. Else the
	// error is ErrUnsupported, for the reason ErrNoGoals. It changes nothing.
	Pursues(ctx context.Context) error
	// Pursue does what Send does, and has a judge say after each run whether the goal is
	// reached. Where it is not, the agent is told what is missing, and runs again. The
	// events of the key [event.KeyGoal] tell that. Interrupt ends it, and so does the next
	// message.
	Pursue(ctx context.Context, m Message, g Goal) error
}

// Content is the message in OpenHands' form.
func (m Message) Content() []event.Content {
	items := make([]event.Content, 0, 2)
	if m.Text != "" || len(m.Images) == 0 {
		items = append(items, event.Text(m.Text))
	}
	if len(m.Images) > 0 {
		items = append(items, event.Images(m.Images...))
	}
	return items
}

// Condensed is what came of [Conversation.Condense].
type Condensed struct {
	// Done is false where there was nothing to summarize.
	Done bool
	// Before and After estimate the size of the next request, in tokens. 0: not known.
	Before, After int64
}

// Decision answers a conversation that waits for confirmation.
type Decision struct {
	Accept bool
	Reason string // for the agent, when rejecting
	// Meter limits the run that accepting starts, as that of a [Message] does.
	Meter Meter
}
