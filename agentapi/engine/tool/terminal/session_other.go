//go:build !unix

package terminal

import (
	"context"
	"errors"
	"syscall"

	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
	"github.com/ohgw/ohgw/internal/sandbox"
)

const supported = false

// session would be a shell. Windows has no terminals that bash could use.
type session struct {
	wake, gone chan struct{}
}

func startSession(context.Context, sandbox.Box, sandbox.Program, *secretenv.Registry) (*session, error) {
	return nil, errors.ErrUnsupported
}

func (*session) begin(uint64, string, string)                {}
func (*session) input(string) error                          { return errors.ErrUnsupported }
func (*session) over(uint64) bool                            { return true }
func (*session) waitForMarker(context.Context, uint64) error { return nil }
func (*session) written() int64                              { return 0 }
func (*session) takeOutput(string) *output                   { return &output{} }
func (*session) state() prompt                               { return prompt{} }
func (*session) drain()                                      {}
func (*session) waitFor(context.Context, uint64) error       { return nil }
func (*session) exitCode() int                               { return running }
func (*session) resize(uint16, uint16) error                 { return nil }
func (*session) interrupt(uint64)                            {}
func (*session) signal(syscall.Signal, uint64)               {}
func (*session) signalFor(byte) (syscall.Signal, bool)       { return 0, false }
func (*session) stranded() bool                              { return false }
func (*session) revive(context.Context, uint64) bool         { return true }
func (*session) close()                                      {}
func (*session) endNow()                                     {}
func (*session) alive() bool                                 { return true }

func killAll(func() []int) {}
func tagged(string) []int  { return nil }
