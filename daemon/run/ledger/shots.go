package ledger

import (
	"context"
	"time"
)

// Shots are the conversations of all gateways that no client asked to keep: they are removed
// after their time, by the gateway that comes first. After an error it is unknown what the
// ledger has.
type Shots interface {
	// Add notes a conversation that is about to be made for a run, and Hold one that a
	// client continues: it stays while a run of it goes on or waits at any gateway,
	// and without Ends for a while after.
	Add(ctx context.Context, conversation string) error
	Hold(ctx context.Context, conversation string) error
	// Ends says how long the conversation stays from now on.
	Ends(ctx context.Context, conversation string, after time.Duration) error
	// Keep takes the conversation out, on the disk when it returns, and Forget one that
	// is not there.
	Keep(ctx context.Context, conversation string) error
	Forget(ctx context.Context, conversation string) error
	// Has reports whether a conversation is one of them.
	Has(ctx context.Context, conversation string) (bool, error)
	// Due calls remove with one conversation whose time has come, in which no run goes
	// on, waits or can begin meanwhile; found is false where there is none. orphan is
	// how long one stays for which Ends was not called. A remove that returns a time has
	// failed: the conversation is due again after that. tries counts the times before.
	Due(ctx context.Context, orphan time.Duration, remove func(ctx context.Context, conversation string, tries int) (again time.Duration)) (found bool, err error)
	// Alone calls f while no run of a conversation goes on or waits at any gateway, and
	// none can begin. It is false where there is one. Every other call for the conversation
	// waits until f has returned, so f makes none.
	Alone(ctx context.Context, conversation string, f func(context.Context) error) (bool, error)
}
