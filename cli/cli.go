// Package cli is the program ohgw: the tree of its commands, the errors that it
// prints and the exit codes it ends with.
//
// The commands are in the packages below it, one for each noun; what they work
// with is assembled in setup. Stdout is data, stderr is everything else.
// Invariants: the environment, the clock, the streams, the user, the network and
// the keyring reach a command through its [Env] only, and systemEnv is the one
// function that takes them from the process; files are read and written at paths
// that come from the Env, the settings or the command line; an error is printed
// in one place (report); a secret is never printed, except by the two commands
// that are there for it (tokens create, tokens show).
package cli

import (
	"context"
	"errors"
	"syscall"

	"github.com/ohgw/ohgw/cli/chat"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/hardening"
)

// Main runs the program with the arguments after its name and returns its exit
// code. Each change is made to the world before the command runs: a test of the
// whole process gives it another clock.
func Main(args []string, changes ...func(*kit.Env)) int {
	hardening.Process()
	env := systemEnv()
	for _, change := range changes {
		change(env)
	}
	return run(env, args)
}

// run runs the program in a world until a signal ends it.
func run(env *kit.Env, args []string) int {
	ctx, stop := kit.WithSignals(context.Background(), env.Exit)
	defer stop()
	return Run(ctx, env, args)
}

// Run runs one command line in env and returns the exit code. When ctx ends, a
// command stops as soon as it can.
func Run(ctx context.Context, env *kit.Env, args []string) int {
	a := &kit.App{Env: env}
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	setColor(a)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	if ended, ok := errors.AsType[*kit.ExitError](err); ok {
		return ended.Code // A program that was run said why, if it had to.
	}
	if errors.Is(err, kit.ErrReaderGone) {
		return 128 + int(syscall.SIGPIPE) // as if it had ended us
	}
	if code, ok := kit.Interrupted(ctx, err); ok {
		err = &fault.Error{Msg: "interrupted", Code: code}
	}
	chat.End(ctx, a, cmd, args, err)
	report(a, cmd, args, err)
	return int(fault.CodeOf(err))
}
