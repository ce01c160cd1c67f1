package boxes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/inside"
)

// process is a program in a box.
type process struct {
	runtime *runtime
	id      uint64
	started chan struct{}
	ended   chan struct{}
	once    sync.Once // for started

	pid  int   // before started is closed
	err  error // why it did not start
	code int   // before ended is closed
}

func (p *process) hasStarted(pid int, err error) {
	p.once.Do(func() {
		p.pid, p.err = pid, err
		close(p.started)
	})
}

// hasEnded records the exit code and wakes those who wait. It is called once: the
// process is not in the map any more.
func (p *process) hasEnded(code int, _ error) {
	p.code = code
	close(p.ended)
}

// PID is the number outside.
func (p *process) PID() int { return p.pid }

// Wait waits for the program.
func (p *process) Wait() (int, error) {
	<-p.ended
	return p.code, nil
}

// Kill ends the program and its group.
func (p *process) Kill() error {
	if !p.runtime.alive() {
		return nil
	}
	err := p.runtime.send(inside.Message{Kind: inside.KindKill, ID: p.id})
	if err != nil && p.runtime.alive() {
		return fmt.Errorf("kill a program in the sandbox: %w", err)
	}
	return nil
}

// start starts a program in the box.
func (r *runtime) start(ctx context.Context, prog sandbox.Program) (*process, error) {
	if len(prog.Args) == 0 {
		return nil, errors.New("start a program in the sandbox: it has no name")
	}
	s := inside.Start{Args: prog.Args, Env: prog.Env, Dir: prog.Dir, Terminal: prog.Terminal}
	files := []*os.File{nil}
	for _, f := range prog.Files {
		s.Files = append(s.Files, f != nil)
		if f != nil {
			f.Fd() // Programs wait in their reads: this makes the file a blocking one.
			files = append(files, f)
		}
	}
	data, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	if files[0], err = memory("start", data); err != nil {
		return nil, fmt.Errorf("start a program in the sandbox: %w", err)
	}
	defer func() { _ = files[0].Close() }()
	p := r.add()
	if err := r.send(inside.Message{Kind: inside.KindStart, ID: p.id}, files...); err != nil {
		r.forget(p)
		return nil, fmt.Errorf("start a program in the sandbox: %w", err)
	}
	select {
	case <-p.started:
	case <-r.gone:
		<-p.started
	case <-ctx.Done():
		// It may start all the same: then it is ended.
		_ = p.Kill()
		return nil, ctx.Err()
	}
	if p.err != nil {
		return nil, fmt.Errorf("start a program in the sandbox: %w", p.err)
	}
	return p, nil
}

func (r *runtime) add() *process {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	p := &process{runtime: r, id: r.last, started: make(chan struct{}), ended: make(chan struct{})}
	r.processes[p.id] = p
	return p
}

func (r *runtime) forget(p *process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.processes, p.id)
}

// pidOf reads the number of the process that a descriptor is for, as this process
// sees it; 0 if it is dead.
func pidOf(pidfd *os.File) int {
	raw, err := pidfd.SyscallConn()
	if err != nil {
		return 0
	}
	pid := 0
	_ = raw.Control(func(fd uintptr) {
		info, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(int(fd)))
		if err != nil {
			return
		}
		for line := range strings.Lines(string(info)) {
			if value, ok := strings.CutPrefix(line, "Pid:"); ok {
				pid, _ = strconv.Atoi(strings.TrimSpace(value))
			}
		}
	})
	return max(pid, 0)
}
