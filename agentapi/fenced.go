package agentapi

import "context"

// Fenced is a [Conversation] that takes a message and starts its run in two calls.
// Between the two its caller can find out whether the run is still its own: a
// message that comes twice is text, a run that comes twice does the work twice.
// Backends that cannot do that have conversations without these methods.
type Fenced interface {
	Conversation

	// Append appends a user message and starts nothing. It is for a conversation
	// in which no run goes on and nothing waits for confirmation.
	Append(ctx context.Context, m Message) error

	// Start starts the run that answers the messages which were appended. It does
	// nothing where that run goes on already, waits for confirmation, or has finished: a
	// caller that does not know whether a Start has arrived may call it again. Nor does it
	// do anything where there is no message. A run that was interrupted, or has failed, it
	// starts again. ErrFull where the backend has no room for the run: the message stays in
	// the log, and Start can be called again.
	Start(ctx context.Context) error
}
