// Package run sees to it that no agent runs twice.
//
// A [Manager] takes requests and gives each an [Attachment] to a job: a new
// one, or one that an earlier request started and this one repeats. A job is
// one turn of one conversation. It keeps what it produced, so whoever attaches
// later gets everything from the start; it outlives the client that began it
// by a grace in which a repeat may come; and it is remembered for a while
// after it has ended, so that a client which never got its answer, or got a
// failure and tries again, is answered from memory.
//
// The rules of joining are in package repeat. Jobs of one
// conversation run one after the other in the order of their requests; all
// jobs together share a limited number of slots. The package knows nothing of
// HTTP.
package run

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/daemon/run/toll"
)

// Config is what a Manager needs. Zero durations and limits take the defaults
// of the constants beside them.
type Config struct {
	Backend agentapi.Backend
	Logger  *slog.Logger
	Now     func() time.Time

	MaxRuns    int           // jobs that run at the same time, unless the backend has room for fewer; 0: 8
	BySlots    bool          // a pool with more slots than MaxRuns has as many jobs run as those
	MaxQueue   int           // jobs that wait beyond those; 0: 64, negative: none
	OneShotTTL time.Duration // how long a one-shot stays after its last run; negative: 0, removed at once
	RunTimeout time.Duration // for requests that name none; 0: no limit
	MaxLog     int           // bytes of text that a job keeps for those who attach late; 0: 16 MiB
	Grace      time.Duration // how long a run whose client is gone goes on; 0: 10 s

	// Workspace is where all conversations work. Empty: each gets a directory
	// of its own below WorkspaceRoot, removed with it.
	Workspace     string
	WorkspaceRoot string
	// Tidy removes what the backend keeps for a directory below WorkspaceRoot that is
	// about to be removed. May be nil.
	Tidy func(workspace string) error
	// StateDir keeps the records of idempotency keys and of one-shots. Empty:
	// they are kept in memory only.
	StateDir string
	// BackendID names the backend in those records: one-shots of another one are
	// left alone until it is back. Empty: there is only one.
	BackendID string
	// InProcess says that the backend's runs end with this process, so that none
	// has to be noted for the next one.
	InProcess bool

	// Owners keeps whose a conversation is. Nil: no conversation has an owner.
	Owners Owners

	// Earlier is what clients said in a conversation outside of its runs, for a
	// message that is about to be sent there. May be nil.
	Earlier func(conversation, message string) Earlier

	// Ledger is what several gateways share that answer as one: it says which run answers a
	// request, which gateway looks after it, and when it may begin. Nil: this process is the
	// only gateway.
	Ledger ledger.Ledger
	// Shots are the one-shots of these gateways; nil: each gateway keeps its own.
	Shots ledger.Shots

	// Ended is told of every run when it is over, by the run's own goroutine:
	// not of answers from memory or from a record. May be nil.
	Ended func(Ended)
}

// Ended is a run that is over.
type Ended struct {
	Profile string
	Result  turn.Result
	Err     error         // as of [Attachment.Result]; nil where the backend told the end
	Started bool          // the agent may have begun
	Left    bool          // it was interrupted because no client was there any more
	Waited  time.Duration // for its conversation and its place among the running
	Took    time.Duration // from then to its end
}

const (
	defaultMaxRuns  = 8
	defaultMaxQueue = 64
	defaultMaxLog   = 16 << 20

	// maxConversationQueue is how many requests may wait for one conversation.
	maxConversationQueue = 8
	// openWait bounds how long Opened waits to learn what became of a
	// conversation that the request continues.
	openWait = time.Second
	// forkWait bounds the same for one that has to be copied first.
	forkWait = 5 * time.Second
	// maxRetained bounds what all ended jobs keep together, in bytes.
	maxRetained = 64 << 20
)

// most is how many jobs may run at the same time, whatever the backend has turned out to
// have room for.
func (c Config) most() int {
	if p, ok := c.Backend.(agentapi.Pooled); ok && c.BySlots {
		return max(p.Slots(), c.MaxRuns)
	}
	return c.MaxRuns
}

// limit is how many jobs may run at the same time now.
func (c Config) limit() int {
	if b, ok := c.Backend.(agentapi.Limited); ok {
		if n := b.Room(); n > 0 {
			return min(n, c.most())
		}
	}
	return c.most()
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now //nolint:forbidigo // the default of the injected clock
	}
	if c.MaxRuns <= 0 {
		c.MaxRuns = defaultMaxRuns
	}
	if c.MaxQueue == 0 {
		c.MaxQueue = defaultMaxQueue
	}
	c.MaxQueue = max(0, c.MaxQueue)
	c.OneShotTTL = max(0, c.OneShotTTL)
	if c.MaxLog <= 0 {
		c.MaxLog = defaultMaxLog
	}
	if c.Grace <= 0 {
		c.Grace = defaultGrace
	}
	if c.Owners == nil {
		c.Owners = nobodys{}
	}
	return c
}

// Fingerprint identifies requests that ask for the same: who asks, in which
// conversation, for what.
type Fingerprint [sha256.Size]byte

// Request is one request of a client. It is made whole, and only this package changes
// a copy of it.
type Request struct {
	Asker
	Place
	Terms
	Words
	Course
}

// Asker is who asks, and by what a repeat of the request is known.
type Asker struct {
	// Access is whose conversations the request may enter. No run and no answer is
	// shared between tokens.
	Access
	// Who is the name of that token, for lists.
	Who         string
	Fingerprint Fingerprint
	// IdempotencyKey is the client's own name for the request; may be empty.
	IdempotencyKey string
	// Retry says that the client marked the request as a repeat.
	Retry bool
	// Fresh asks for a new run whatever came before.
	Fresh bool
}

// Place is where the run goes on or begins.
type Place struct {
	// ConversationID is the conversation to continue, or to make under this
	// id. Empty: a one-shot.
	ConversationID string
	// Made says that ConversationID was just made: no backend has it.
	Made bool
	// Origin is a conversation that the one of this request takes the place of:
	// what runs there without a client is interrupted first. With From, an event
	// of it, the new conversation is a copy up to there, where the backend can
	// make one.
	Origin, From string
	// Existing asks for no new conversation: where that of the id is not there any
	// more, the job ends with ErrConversationNotFound and starts nothing.
	Existing bool
	// Keep makes the new conversation of a request without an id one that stays:
	// the caller removes it, see [Manager.Remove].
	Keep bool
	// Once leaves a one-shot that the request continues a one-shot: its time begins
	// again with the end of the run. Without it the conversation stays.
	Once bool
	// Workspace is where a new conversation works; empty: as Config says.
	Workspace string
	// Named says that the client named Workspace: a known conversation that works
	// in another directory is refused with a *WorkspaceError.
	Named bool
	// ReadOnly says that a new conversation does not change its workspace.
	ReadOnly bool
}

// Terms are the model of the run, and what it may do without a confirmation.
type Terms struct {
	Profile string
	// ProfileRevision is the revision of that profile now. A failure under
	// another revision is not repeated: the profile may have been repaired.
	ProfileRevision string
	// AnyModel says that the client named no profile: a conversation with a model of
	// its own continues with that model.
	AnyModel bool
	// Note is the first line of progress; empty: none.
	Note string
	// Chosen is what the choice of the profile took: it is part of what the run takes.
	Chosen turn.Usage
	// Confirmation is the mode of the conversation from this message on; empty: as
	// it is. It may not be below the mode that the conversation has, unless it is
	// at least Floor; an empty Floor allows no lower one.
	Confirmation, Floor agentapi.Confirmation
	// Least is the lowest mode of the conversation during the turn: one that has a
	// lower one is raised. Empty: any.
	Least agentapi.Confirmation
}

// Words are what is said to the agent.
type Words struct {
	System  string
	Message agentapi.Message
	// Goal is what the message is to reach; nil: one run answers it.
	Goal *agentapi.Goal
	// Quoted is put before the message when the conversation is new: what
	// client and model said before.
	Quoted string
	// Compose says what goes before the message, once the conversation is open, what
	// the request is to it, and a line of progress about that, if there is something
	// to say. It takes the place of Quoted. Nil: Chat's, if there is one.
	Compose func(info agentapi.Info, forked bool) (text, kind, line string)
	// Chat is the chat of a UI that the request belongs to; nil: none. It takes
	// the place of Quoted.
	Chat Chat
	// Kind is what the request is expected to be to that chat, until Compose has
	// said what it is.
	Kind string
	// Decision answers what waits for a confirmation. A decision to accept that
	// comes while the conversation is at work is dropped: its sender cannot have
	// seen what may wait then.
	Decision *agentapi.Decision
}

// Course is how the run goes on, and who sees that.
type Course struct {
	// Timeout interrupts the run; 0: the manager's default.
	Timeout time.Duration
	// Budget is what the run may take; nil: there is no limit.
	Budget *toll.Budget
	// Detach lets the run go on when its client goes.
	Detach bool
	// Details: the client wants tool calls described. A request that joins a run
	// gets descriptions from there on, if no client wanted them before.
	Details bool
	// Form completes the result of a turn that has an answer, before anybody has
	// it: the answer may need a form, and more usage for that. It is called with
	// what ends the run, and shows what it does with emit. Its error is the end of
	// the job. May be nil.
	Form func(ctx context.Context, res *turn.Result, emit func(turn.Update)) error
	// Observer sees what becomes of the job that the request makes. May be nil.
	Observer Observer
	// Gone reports whether the client has hung up; it is called under locks and does
	// not block. Nil: nothing is known of that. A client that has hung up starts no
	// run, unless it is to go on without one.
	Gone func() bool
}

// Observer sees what becomes of a job, in this order. It is not told of a job
// that its request joined: that has the observer of another request.
type Observer interface {
	// Admitted names the conversation and the answer, see [Attachment.AnswerID].
	// It is called under the manager's lock and does no IO.
	Admitted(conversation, answer string, created time.Time)
	// Begin is called before the message is sent. Its error ends the job, which
	// has started nothing then. It is not called for a turn that is followed.
	Begin(base turn.Baseline) error
	// Update is called with every update, before any client has it.
	Update(u turn.Update)
	// End is called when the job is over, before any client has its result. The
	// error is as of [Attachment.Result]; began reports whether the agent may
	// have begun.
	End(res turn.Result, err error, began bool)
	// Size is how many bytes the observer keeps after the end.
	Size() int
}

// Chat is told what becomes of a request. Its methods are called in this order
// by the job that the request made, none of them for a request that joined
// another's.
type Chat interface {
	// Compose gives what goes before the user's message, once the conversation
	// is open, what the request is to its chat, and a line of progress about
	// that, if there is something to say.
	Compose(info agentapi.Info, forked bool) (text, kind, line string)
	// Begin is called before the message is sent.
	Begin(base turn.Baseline)
	// End is called when the job is over: began reports whether the message was
	// sent, stopped whether the run was ended because it had no client.
	End(began, stopped bool)
}

// Earlier is what was said in a conversation outside of its runs. Its methods are
// called in this order by the job that a request made: not for a request that
// joined another's, and not for a turn that is followed.
type Earlier interface {
	// Compose gives what goes before the user's message, once the conversation is
	// open. Its error, or that of Begin, ends the job, which has started nothing then.
	Compose() (text string, err error)
	// Begin is called before the message is sent.
	Begin() error
	// End is called when the job is over: began reports whether the message was
	// sent, or may have been.
	End(began bool)
}

// Stats is what the manager is doing.
type Stats struct {
	Running int // runs that go on
	Queued  int // requests that wait for one
}

// Stats counts the jobs of this gateway now: where there are several, each one counts its own.
func (m *Manager) Stats() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	running := m.slots.Used()
	if m.peers != nil {
		running = m.peers.running
	}
	return Stats{Running: running, Queued: m.active - running}
}

// Remembered counts the jobs that could still answer a request.
func (m *Manager) Remembered() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, jobs := range m.prints {
		n += jobs.Len()
	}
	return n
}
