// Package placement is what the gateways of a pool note of it: which agent-server has
// a conversation, and which servers take new ones.
//
// Invariants: a conversation has one server at a time, and keeps it until it is
// removed. A note is written before its conversation is made. A server that drains, or
// is lost, gets no new conversations.
//
// The package asks no server anything: who uses it says what they answered.
package placement

import (
	"context"
	"errors"
	"time"

	"github.com/ohgw/ohgw/agentapi"
)

const (
	// MaxMisses is after how many missing answers in a row a server is lost.
	MaxMisses = 3
	// Interval is how often a server is looked at, by one of all gateways.
	Interval = 5 * time.Second
)

// ErrNone says that no server takes the conversation.
var ErrNone = errors.New("no server takes new conversations")

// ErrUnknown says that there is no such server.
var ErrUnknown = errors.New("no such server")

// Server is an agent-server as it is noted.
type Server struct {
	Name  string // its identity: the URL of one that is configured, the host and port of one that DNS names
	URL   string // without credentials
	State agentapi.MemberState
	Slots int // how many runs it is meant for
	// Runs is how many conversations have a run that waits or goes on, at all
	// gateways; 0 where gateways share nothing.
	Runs    int
	Checked time.Time // when it was last looked at; zero: never
	Err     string    // why it did not answer then; empty if it did
}

// Candidate is a server that a new conversation may be given to.
type Candidate struct {
	Name string
	Runs int // that go on there, as far as the caller knows
	// Room is how many runs it has turned out to have room for; 0: no limit is known
	// beside its slots.
	Room int
}

// Placer keeps the notes. Its methods may be called at the same time, by several
// gateways.
type Placer interface {
	// Join makes servers known, with their addresses and slots. What else is noted of
	// one stays.
	Join(ctx context.Context, servers []Server) error
	// Servers lists what is known, in the order of the names.
	Servers(ctx context.Context) ([]Server, error)
	// Drain stops new conversations for a server, or lets it have them again.
	// ErrUnknown for one that never joined.
	Drain(ctx context.Context, server string, on bool) error

	// Place gives the server that a conversation is noted for. Without a note it makes
	// one, for the candidate that is up and has the most free slots, or where several
	// gateways place at the same time, for one of them by the free slots they have.
	// Where all are full, it is the one with the smallest load. ErrNone if no
	// candidate is up.
	Place(ctx context.Context, conversation string, among []Candidate) (server string, err error)
	// Put notes where a conversation is, in place of an earlier note.
	Put(ctx context.Context, conversation, server string) error
	// Find is the server that a conversation is noted for; "" for none.
	Find(ctx context.Context, conversation string) (server string, err error)
	// Remove drops the note of a conversation if it is for that server.
	Remove(ctx context.Context, conversation, server string) error

	// Due reports whether the caller is the one to look at a server now. With several
	// gateways one of them is, once in an Interval.
	Due(ctx context.Context, server string) (bool, error)
	// Seen notes how a server answered: failed is empty, or says why it did not.
	Seen(ctx context.Context, server, failed string) error
}
