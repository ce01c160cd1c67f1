package agentapi

import "context"

// Forker is a [Conversation] that can begin another one with what it knows.
type Forker interface {
	// Fork makes the conversation req.ID, which knows this one up to an event
	// and goes its own way from there: it is idle, its statistics begin at
	// zero, it works in the same workspace with the same profile. This one
	// stays as it is; it may be running. An unknown event or an id that is
	// taken is ErrRefused.
	Fork(ctx context.Context, req ForkRequest) (Conversation, error)
}

// ForkRequest says what a fork begins with.
type ForkRequest struct {
	// ID of the new conversation: a UUID in lower case with dashes.
	ID string
	// From is the last event that is kept, with everything that led to it.
	// Empty: the whole log.
	From string
}
