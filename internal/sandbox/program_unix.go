//go:build unix

package sandbox

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"syscall"
)

// program is a process of the box outside.
type program struct {
	box *outside
	pid int
	// done is closed when the program has ended, after code and err are set.
	done chan struct{}
	code int
	err  error

	mu   sync.Mutex
	gone bool // the number may be another process's
}

// start starts the program, and a goroutine that waits for its end. The kernel
// ends a program that asked for it with the thread that started it, so that
// thread waits for nothing else.
func (r *program) start(path string, p Program) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		process, err := os.StartProcess(path, p.Args, &os.ProcAttr{Dir: p.Dir, Env: p.Env, Files: p.Files, Sys: attributes(p.Terminal, r.box.user)})
		if err != nil {
			started <- err
			return
		}
		r.pid = process.Pid
		started <- nil
		state, err := process.Wait()
		r.mu.Lock()
		r.gone = true
		r.mu.Unlock()
		r.code, r.err = exitCode(state), err
		close(r.done)
		r.box.leave(r)
	}()
	return <-started
}

func attributes(terminal bool, user *User) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: terminal, Setctty: terminal, Setpgid: !terminal}
	if user != nil {
		attr.Credential = &syscall.Credential{Uid: user.UID, Gid: user.GID}
	}
	endWithUs(attr)
	return attr
}

func exitCode(state *os.ProcessState) int {
	if state == nil {
		return -1
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

// PID is the process's number.
func (r *program) PID() int { return r.pid }

// Wait waits for the program.
func (r *program) Wait() (int, error) {
	<-r.done
	return r.code, r.err
}

// Kill ends the program and its group. The number of a group cannot become that
// of a process while the group has members: if there is such a process after ours
// has ended, the group is gone and the number is a stranger's.
func (r *program) Kill() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone && !errors.Is(syscall.Kill(r.pid, 0), syscall.ESRCH) {
		return nil
	}
	err := syscall.Kill(-r.pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EPERM) && runtime.GOOS == "darwin" { // a zombie, there
		return nil
	}
	return err
}
