package agentapi

import "context"

// WaitsForRoom is what a person is told while a run waits for room.
const WaitsForRoom = "Waiting for the agent-server, which runs as many agents as it can"

// Limited is a [Backend] that may have room for fewer runs than it is asked for.
type Limited interface {
	// Room is how many runs of this process the backend has room for, as far as is known
	// now; 0: no limit is known. It sends no request and does not wait.
	Room() int
}

// FullError is in the chain of each error of the kind [ErrFull].
type FullError struct {
	// Stored says that the message is in the log all the same: it must not be sent
	// again. Otherwise nothing has changed.
	Stored bool
	// Again waits until there is room, in the order in which runs were refused, and
	// starts the run. Its error is ctx's if ctx ends before there is room: then
	// nothing was started. What it has sent, it completes. Before, unless it is nil, is
	// called before each attempt to start the run. Its error ends the wait, and is Again's.
	Again func(ctx context.Context, before func(context.Context) error) error
	// Err is the private cause. It is not in the chain: its kind is another one.
	Err error
}

func (e *FullError) Error() string { return "no room for a run: " + e.Err.Error() }
