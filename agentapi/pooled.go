package agentapi

import "time"

// Pooled is a [Backend] over a pool of servers.
type Pooled interface {
	// Members are the servers as far as they are known now. It sends no request.
	Members() []Member
	// Slots are how many runs the servers are meant for together, as far as they are
	// known now.
	Slots() int
}

// MemberState says whether a member of a pool gets new conversations.
type MemberState string

// The states of a member. [MemberDraining] outlives a loss.
const (
	MemberUp       MemberState = "up"
	MemberDraining MemberState = "drain" // a person wants it to get none; it keeps those it has
	MemberLost     MemberState = "lost"  // it does not answer
)

// Member is what a pool knows of one of its servers.
type Member struct {
	Name     string
	Address  string    // without credentials
	Profiles int       // how many it has
	Asked    time.Time // when that was found out; zero: never
	Err      error     // why it cannot be used now; nil when it can, or was never asked
	State    MemberState
	Runs     int      // conversations that are open at it
	Slots    int      // how many of those it is meant for
	Differs  []string // profiles that are not as at the others: it gets no new conversations for them
}
