// Package usershell runs a command line that a person typed, in their shell,
// with their rights. It asks nothing and checks nothing.
package usershell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"time"
)

// patience is how long a command may take to end after it was interrupted, and
// how long Run waits for the output of one that ended.
const patience = 2 * time.Second

// Command is a command line and where it runs.
type Command struct {
	Line string
	Dir  string // absolute
	// Shell is a program that takes -c; empty: /bin/sh, on Windows cmd.exe.
	Shell string
	Env   []string
}

// Run runs a command and writes its output and its errors to out. The command
// has no stdin and no terminal. The end of ctx interrupts it with all that it
// has started; code is then -1 and the error that of ctx. Other errors mean that
// the command did not start.
func Run(ctx context.Context, c Command, out io.Writer) (code int, err error) {
	words := []string{c.Shell, "-c", c.Line}
	switch {
	case c.Shell != "":
	case runtime.GOOS == "windows":
		words = []string{"cmd.exe", "/C", c.Line}
	default:
		words[0] = "/bin/sh"
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Dir, c.Env, out, out
	cmd.WaitDelay = patience
	own(cmd)
	err = cmd.Run()
	if cause := ctx.Err(); cause != nil {
		end(cmd)
		return -1, cause
	}
	if _, ok := errors.AsType[*exec.ExitError](err); ok || errors.Is(err, exec.ErrWaitDelay) {
		return cmd.ProcessState.ExitCode(), nil
	}
	if err != nil {
		return -1, fmt.Errorf("run command: %w", err)
	}
	return 0, nil
}
