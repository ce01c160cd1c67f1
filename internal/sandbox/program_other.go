//go:build !unix

package sandbox

import (
	"errors"
	"os"
	"os/exec"
)

// program is a process of the box outside.
type program struct {
	box  *outside
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

func (r *program) start(path string, p Program) error {
	if p.Terminal || r.box.user != nil {
		return errors.ErrUnsupported
	}
	r.cmd = &exec.Cmd{Path: path, Args: p.Args, Dir: p.Dir, Env: p.Env, Stdin: p.Files[0], Stdout: p.Files[1], Stderr: p.Files[2]}
	if err := r.cmd.Start(); err != nil {
		return err
	}
	go func() {
		r.err = r.cmd.Wait()
		close(r.done)
		r.box.leave(r)
	}()
	return nil
}

// PID is the process's number.
func (r *program) PID() int { return r.cmd.Process.Pid }

// Wait waits for the program.
func (r *program) Wait() (int, error) {
	<-r.done
	if _, ok := errors.AsType[*exec.ExitError](r.err); ok || r.err == nil {
		return r.cmd.ProcessState.ExitCode(), nil
	}
	return -1, r.err
}

// Kill ends the program.
func (r *program) Kill() error {
	if err := r.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}
