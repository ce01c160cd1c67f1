// Package ledger is what several gateways that answer as one have to agree on: which
// run answers a request, who looks after it, and when it may begin.
package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/ohgw/ohgw/agentapi/turn"
)

// Errors of a ledger. After every other one it is unknown what the ledger has.
var (
	// ErrFenced: the run has another owner, or is over. A caller that gets it
	// does nothing more for the run.
	ErrFenced = errors.New("the run has another owner")
	// ErrConflict: the key was used for another request.
	ErrConflict = errors.New("the idempotency key was used for another request")
	// ErrLaneFull and ErrQueueFull: too many wait.
	ErrLaneFull  = errors.New("too many requests wait for this conversation")
	ErrQueueFull = errors.New("too many requests wait for a run")
	// ErrStopped: a client stopped the run before it began.
	ErrStopped = errors.New("the run was stopped")
	// ErrAway is in every error that says that what gateways share cannot be asked.
	ErrAway = errors.New("the shared state does not answer")
)

// Ledger is shared by all gateways. Its clock counts, and no other one.
type Ledger interface {
	// Claim finds the run that answers a request, or makes it. When it says Mine or
	// Taken, the caller looks after the run until it calls End, Drop or Release. That a run
	// was taken over is on the disk when that is said, here and below.
	Claim(ctx context.Context, c Claim) (Found, error)
	// Find is a run as it is now, taken over if its gateway is dead. Await waits until
	// a run that another gateway looks after is over, or this one's.
	// Runs are those of a conversation that are known still, without taking one over.
	Find(ctx context.Context, run int64) (Found, error)
	Runs(ctx context.Context, conversation string) ([]Found, error)
	Await(ctx context.Context, run int64) (Found, error)

	// Turn waits until a run is the first of its conversation and has a slot. One that was
	// claimed with its slot needs no Turn.
	Turn(ctx context.Context, t Ticket) error
	// Sending notes where a turn begins, and what another gateway needs to send it.
	// With a key the note is on the disk when it returns. It is ErrStopped where a client
	// has stopped the run.
	Sending(ctx context.Context, t Ticket, base turn.Baseline, request []byte, keyed bool) error
	// Secure returns when all that was noted before is on the disk. Without a key it is
	// asked for while the message is sent, and awaited before the run begins.
	Secure(ctx context.Context) error
	// Running is the fence between a message and its run: the run is still the caller's.
	Running(ctx context.Context, t Ticket) error
	// Started looks, once the run was started, whether it is the caller's still, and
	// interrupts it where no other gateway looks after it. It is ErrStopped where it is the
	// caller's, and a client has stopped it.
	Started(ctx context.Context, t Ticket, interrupt func(context.Context) error) error
	// Spends notes what a run that goes on has taken so far, for the account of its
	// token.
	Spends(ctx context.Context, t Ticket, u turn.Usage) error
	// End notes how a run ended, Drop forgets one of which nothing was started, and
	// Release gives it to the gateway that asks for it next.
	End(ctx context.Context, t Ticket, e Ending) error
	Drop(ctx context.Context, t Ticket) error
	Release(ctx context.Context, t Ticket) error

	// Left notes that a client went away without its answer, or with back that one
	// came for an answer that was owed; Delivered that one has it.
	Left(ctx context.Context, run int64, back bool) error
	Delivered(ctx context.Context, run int64) error
	// Watch notes that this gateway has clients for a run of another one, or with a
	// negative number that it has no more. Watched reports whether another gateway that
	// lives has some.
	Watch(ctx context.Context, run int64, n int) error
	Watched(ctx context.Context, run int64) (bool, error)

	// Stop stops the runs of a conversation that have not ended, on whatever gateway
	// they are, and counts them: with a key only that one, with an empty token those of
	// every token. One that was sent is interrupted, before a next one begins.
	Stop(ctx context.Context, token, conversation string, key []byte, interrupt func(context.Context) error) (int, error)
	// StopRun is Stop for one run; false: it is over, or was stopped before.
	StopRun(ctx context.Context, run int64, interrupt func(context.Context) error) (bool, error)
	// Orphans takes over runs that were sent and whose gateways are dead, and forgets
	// those that were not, if no client asked for them again for a while.
	Orphans(ctx context.Context) ([]Found, error)
	// Owned are the runs that this gateway looks after.
	Owned(ctx context.Context) ([]Ticket, error)
}

// Phase is how far a run is.
type Phase int

// The phases, in their order.
const (
	Queued  Phase = iota // nothing of it was sent
	Sending              // its message is being sent, or was
	Running              // its run is being started, or was
	Ended
)

// Ticket is the right to look after a run. It ends when another gateway gets one.
type Ticket struct{ Run, Epoch int64 }

// Claim is a request that wants an answer.
type Claim struct {
	Token        string
	Key          []byte // a hash of the client's key; nil: it gave none
	Print        []byte // what the request asks for
	Conversation string
	Request      []byte // what another gateway needs to know of it
	Revision     string
	// Once: the conversation is made for the run and removed after it; see Shots. Owned:
	// it is to belong to Token. The ledger may leave both to the caller.
	Once, Owned bool
	// Joins says which of the earlier runs with the same print answers a request
	// without a key, oldest first; -1, and nil: none does.
	Joins func([]Past) int
}

// Past is what the rule of joining knows of an earlier run.
type Past struct {
	Run                           int64
	Stopped, Ended, Failed        bool
	Owed, Deliveries              int
	Revision                      string
	EndedAt, FirstAt, DeliveredAt time.Time
	Now                           time.Time // by the same clock
}

// Kind is what a claim has found.
type Kind int

// The kinds.
const (
	Mine   Kind = iota // a new run
	Here               // a run that this gateway looks after
	There              // one that another gateway looks after
	Taken              // one whose gateway is dead: it is this one's now
	Closed             // one that is over
)

// Found is the run that answers a request.
type Found struct {
	Ticket // as it is now; the caller may use it where Kind is Mine or Taken

	Kind         Kind
	Phase        Phase
	Slot         bool // of a new run: its turn has come
	Noted        bool // of a new run: what Once and Owned say of its conversation
	Conversation string
	Token        string
	Print        []byte
	Request      []byte        // as of Claim, from Sending on as of that
	Baseline     turn.Baseline // from Sending on
	Ending       Ending        // of one that is over
}

// Ending is how a run ended.
type Ending struct {
	Result []byte     // as the gateway wants it back
	Failed bool       // it was a failure of the run
	Stop   string     // who stopped it; empty: it was not stopped
	Usage  turn.Usage // for the account of the token
}
